"""Generated conversations written as Anthropic messages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ctxkit.testing.script import TOOLS, Answer, End, Step, Turn, Use
from ctxkit.testing.texts import png
from ctxkit.testing.writer import Writer, schema

__all__ = ["AnthropicWriter"]

Block = dict[str, Any]
_PNG = png(1024, 768)
_PDF = "JVBERi0x" * 60


class AnthropicWriter(Writer):
    """Anthropic Messages; the script's `form` picks a provider compaction in front, a pause at the end, and how often a
    tool loop thinks."""

    id_prefix = "toolu"
    ids_may_return = False
    _marks = 0
    _thought = False
    _answers_user = True

    def open(self) -> None:
        if self.script.form not in (5, 11):
            return
        block: Block = {"type": "compaction", "content": self.script.opening or "What came before."}
        if self.script.form == 11:
            block |= {"content": None, "encrypted_content": self.next_opaque()}
        self.entries.append({"role": "assistant", "content": [block]})

    def close(self) -> None:
        """A paused server tool at the end for one habit; no white space at the end of a final answer."""
        last = self.entries[-1]
        if self.script.form == 7 and self.script.end == "answered":
            self.entries.append({"role": "assistant", "content": [self._server_call("web_search")]})
        elif last["role"] == "assistant" and isinstance(last["content"], str):
            last["content"] = last["content"].rstrip()
        elif last["role"] == "assistant" and last["content"][-1]["type"] == "text":
            last["content"][-1]["text"] = last["content"][-1]["text"].rstrip()

    def turn(self, turn: Turn, end: End = "answered") -> None:
        """Once a turn has thinking all later ones have: an open tool loop must have it where thinking is on."""
        self._thought = self._thought or turn.thinks
        self._answers_user = True
        super().turn(replace(turn, thinks=self._thought), end)

    def user(self, words: str, form: int) -> None:
        self.entries.append({"role": "user", "content": self._user_content(words, form)})

    def note(self, words: str) -> None:
        content: Any = [{"type": "text", "text": words}] if self.script.form % 2 else words
        self.entries.append({"role": "system", "content": content})

    def step(self, step: Step, *, thinks: bool, answered: int) -> None:
        """A step; for three habits it thinks only behind words of a user, as without interleaved thinking."""
        thinks = thinks and (self._answers_user or self.script.form not in (6, 8, 10))
        calls = [self._call_block(use) for use in step.uses]
        blocks = self._thinking(step.words or "a tool", step.form) if thinks else []
        if step.words is not None:
            blocks.append({"type": "text", "text": step.words})
        if step.form == 8:
            blocks += self._searched()
        if step.form == 9:
            blocks += self._executed()
        if step.form == 14:
            blocks += self._asked_server()
        whole = answered == len(calls)
        late = self._server_call("web_search") if step.form == 13 and whole else None
        if step.form == 10 and len(calls) > 1:
            self.entries.append({"role": "assistant", "content": [*blocks, calls[0]]})
            self.entries.append({"role": "assistant", "content": calls[1:]})
        else:
            self.entries.append(
                {"role": "assistant", "content": [*blocks, *([late] if late else ()), *calls]}
            )
        results = [self._result_block(call["id"], use) for call, use in zip(calls, step.uses, strict=True)]
        self._give(step, results, answered, words=not late)
        if late:
            lead = self._thinking("what was found", step.form) if thinks else []
            self.entries.append({"role": "assistant", "content": [*lead, self._found(late["id"])]})

    def answer(self, answer: Answer, *, thinks: bool) -> None:
        blocks = self._thinking(answer.words, answer.form) if thinks else []
        text: Block = {"type": "text", "text": answer.words}
        match answer.form:
            case 7:
                blocks += [*self._searched(), self._cited(answer.words)]
            case 8:
                blocks += [*self._executed(), text]
            case 9:
                blocks += [text, {"type": "text", "text": "That is all."}]
            case _:
                blocks.append(text)
        plain = answer.form < 3 and not thinks
        self.entries.append({"role": "assistant", "content": answer.words if plain else blocks})

    def system(self) -> Any:
        if not self.script.system:
            return None
        if self.script.form % 3 == 0:
            return "\n\n".join(self.script.system)
        blocks: list[Block] = [{"type": "text", "text": words} for words in self.script.system]
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
        return blocks

    def tools(self) -> list[dict[str, Any]]:
        return [{"name": name, "description": "a tool", "input_schema": schema()} for name in TOOLS]

    def _give(self, step: Step, results: list[Block], answered: int, *, words: bool) -> None:
        given, kept_back = results[:answered], results[answered:]
        if step.form % 2:
            given = given[::-1]
        self._answers_user = step.beside is not None and words and not kept_back
        if self._answers_user:
            given.append({"type": "text", "text": step.beside})
        if given:
            self.entries.append({"role": "user", "content": given})
        if kept_back:
            self.withheld.append({"role": "user", "content": kept_back})

    def _thinking(self, words: str, form: int) -> list[Block]:
        block: Block = {
            "type": "thinking",
            "thinking": f"Let me see: {words}",
            "signature": self.next_opaque(),
        }
        hidden: Block = {"type": "redacted_thinking", "data": self.next_opaque()}
        if form % 5 == 1:
            return [hidden]
        if form % 5 == 2:
            return [block, hidden]
        if form % 5 == 3:
            return [block | {"thinking": ""}]
        return [block]

    def _call_block(self, use: Use) -> Block:
        name = self.tool_name(use.tool)
        return {"type": "tool_use", "id": self.next_call(), "name": name, "input": json.loads(use.arguments)}

    def _result_block(self, call_id: str, use: Use) -> Block:
        text: Block = {"type": "text", "text": use.result}
        block: Block = {"type": "tool_result", "tool_use_id": call_id, "content": use.result}
        match use.form:
            case 2:
                block["content"] = [text]
            case 3:
                del block["content"]
            case 4:
                block["content"] = ""
            case 5:
                block["content"] = []
            case 6:
                block["is_error"] = True
            case 7:
                block["content"] = [text, _image()]
            case 8:
                block["content"] = [text, _document(), _search_result(use.result)]
            case 9:
                block["content"] = [text, {"type": "text", "text": "done"}]
                self._mark(block)
        return block

    def _mark(self, block: Block) -> None:
        if self._marks < 3:
            self._marks += 1
            block["cache_control"] = {"type": "ephemeral"}

    def _server_call(self, name: str) -> Block:
        query = {"query": "news of 2026-03-14"}
        return {"type": "server_tool_use", "id": self.next_id("srvtoolu"), "name": name, "input": query}

    def _found(self, call_id: str) -> Block:
        page = {
            "type": "web_search_result",
            "url": "https://news.example/1",
            "title": "News",
            "page_age": None,
        }
        content = [page | {"encrypted_content": self.next_opaque(400)}]
        return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": content}

    def _searched(self) -> list[Block]:
        call = self._server_call("web_search")
        return [call, self._found(call["id"])]

    def _cited(self, words: str) -> Block:
        citation = {
            "type": "web_search_result_location",
            "url": "https://news.example/1",
            "cited_text": "News",
        }
        citation |= {"title": "News", "encrypted_index": self.next_opaque()}
        return {"type": "text", "text": words, "citations": [citation]}

    def _executed(self) -> list[Block]:
        call = self._server_call("code_execution") | {"input": {"code": "print(6 * 7)"}}
        ran = {
            "type": "code_execution_result",
            "stdout": "42\n",
            "stderr": "",
            "return_code": 0,
            "content": [],
        }
        return [call, {"type": "code_execution_tool_result", "tool_use_id": call["id"], "content": ran}]

    def _asked_server(self) -> list[Block]:
        call_id = self.next_id("mcptoolu")
        call = {"type": "mcp_tool_use", "id": call_id, "name": "ask", "server_name": "wiki", "input": {}}
        content = [{"type": "text", "text": "The wiki says 42."}]
        return [
            call,
            {"type": "mcp_tool_result", "tool_use_id": call_id, "is_error": False, "content": content},
        ]

    def _user_content(self, words: str, form: int) -> Any:
        text: Block = {"type": "text", "text": words}
        match form:
            case 4:
                self._mark(text)
                return [text]
            case 5:
                return [text, {"type": "text", "text": "and one thing more"}]
            case 6:
                return [_image(), text]
            case 7:
                return [{"type": "image", "source": {"type": "url", "url": "https://img.example/a.png"}}]
            case 8:
                return [_document(), text]
            case 9:
                source = {"type": "text", "media_type": "text/plain", "data": words}
                return [{"type": "document", "source": source, "title": "notes"}, text]
            case 10:
                return [{"type": "text", "text": " "}, text]
            case 11:
                return [text]
        return words


def _image() -> Block:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}}


def _document() -> Block:
    return {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": _PDF}}


def _search_result(words: str) -> Block:
    content = [{"type": "text", "text": words}]
    return {"type": "search_result", "source": "https://docs.example/1", "title": "Docs", "content": content}
