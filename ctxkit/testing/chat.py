"""Generated conversations written as OpenAI Chat Completions messages."""

from __future__ import annotations

from typing import Any

from ctxkit.core.provider import Entry
from ctxkit.testing.script import TOOLS, Answer, Step, Use
from ctxkit.testing.texts import png
from ctxkit.testing.writer import Writer, schema

__all__ = ["ChatWriter"]

_PNG = "data:image/png;base64," + png(640, 480)


class ChatWriter(Writer):
    """Chat Completions; the script's `form` picks a dialect with `reasoning_content`."""

    def open(self) -> None:
        for number, words in enumerate(self.script.system):
            role = "developer" if (number + self.script.form) % 3 == 2 else "system"
            content: Any = [{"type": "text", "text": words}] if self.script.form % 4 == 3 else words
            self.entries.append({"role": role, "content": content})
        if self.script.opening is not None:
            self.entries.append({"role": "assistant", "content": self.script.opening})

    def user(self, words: str, form: int) -> None:
        entry: Entry = {"role": "user", "content": _user_content(words, form)}
        if form == 3:
            entry["name"] = "customer_7"
        self.entries.append(entry)

    def note(self, words: str) -> None:
        self.entries.append({"role": "developer" if self.script.form % 2 else "system", "content": words})

    def step(self, step: Step, *, thinks: bool, answered: int) -> None:
        if step.form == 13 and answered == len(step.uses):
            self._old_function(step.uses[0])
            return
        calls = [self._call_of(use, step.form) for use in step.uses]
        entry = self._caller(step)
        entry["tool_calls"] = calls
        self._reason(entry, step.words or "so I call a tool", thinks=thinks)
        self.entries.append(entry)
        answers = [_tool_message(call["id"], use) for call, use in zip(calls, step.uses, strict=True)]
        given, kept_back = answers[:answered], answers[answered:]
        self.entries.extend(reversed(given) if step.form % 2 else given)
        self.withheld.extend(kept_back)
        if step.beside is not None and not kept_back:
            self.entries.append({"role": "user", "content": step.beside})

    def answer(self, answer: Answer, *, thinks: bool) -> None:
        entry: Entry = {"role": "assistant", "content": answer.words}
        match answer.form:
            case 5:
                entry |= {"content": None, "refusal": answer.words}
            case 6:
                entry["content"] = [{"type": "text", "text": answer.words}]
            case 7:
                entry |= _extras()
            case 8:
                entry["content"] = [{"type": "refusal", "refusal": answer.words}]
            case 9:
                entry |= {"content": "", "name": "helper"}
        self._reason(entry, answer.words, thinks=thinks)
        self.entries.append(entry)

    def system(self) -> None:
        return None

    def tools(self) -> list[dict[str, Any]]:
        return [
            {"type": "function", "function": {"name": name, "description": "a tool", "parameters": schema()}}
            for name in TOOLS
        ]

    def _reason(self, entry: Entry, words: str, *, thinks: bool) -> None:
        if self.script.form % 4 == 1:
            entry["reasoning_content"] = f"I think: {words}" if thinks else ""

    def _caller(self, step: Step) -> Entry:
        entry: Entry = {"role": "assistant", "content": step.words}
        match step.form:
            case 6:
                entry["content"] = None
            case 7:
                del entry["content"]
            case 8:
                entry["content"] = ""
            case 9:
                entry["content"] = [{"type": "text", "text": step.words or "one moment"}]
            case 11:
                entry |= _extras()
        return entry

    def _call_of(self, use: Use, form: int) -> dict[str, Any]:
        name = self.tool_name(use.tool)
        if form == 10:
            return {
                "id": self.next_call(),
                "type": "custom",
                "custom": {"name": name, "input": use.arguments},
            }
        call: dict[str, Any] = {
            "id": self.next_call(),
            "type": "function",
            "function": {"name": name, "arguments": use.arguments},
        }
        if form == 12:
            call |= {"index": 0, "extra_content": {"google": {"thought_signature": self.next_opaque()}}}
        return call

    def _old_function(self, use: Use) -> None:
        name = self.tool_name(use.tool)
        function_call = {"name": name, "arguments": use.arguments}
        self.entries.append({"role": "assistant", "content": None, "function_call": function_call})
        self.entries.append({"role": "function", "name": name, "content": use.result})


def _extras() -> Entry:
    return {"annotations": [], "provider_specific_fields": {"cost": 1.0, "seq": 1}}


def _tool_message(call_id: str, use: Use) -> Entry:
    content: Any = use.result
    if use.form == 6:
        content = ""
    elif use.form == 7:
        content = [{"type": "text", "text": use.result}, {"type": "text", "text": "done"}]
    entry: Entry = {"role": "tool", "tool_call_id": call_id, "content": content}
    if use.form == 8:
        entry["name"] = TOOLS[use.tool]
    elif use.form == 9:
        entry["cache_control"] = {"type": "ephemeral"}
    return entry


def _user_content(words: str, form: int) -> Any:
    text = {"type": "text", "text": words}
    match form:
        case 4:
            return [text]
        case 5:
            return [text, {"type": "text", "text": "and one thing more"}]
        case 6:
            return [text, {"type": "image_url", "image_url": {"url": _PNG, "detail": "high"}}]
        case 7:
            return [{"type": "image_url", "image_url": {"url": "https://img.example/a.png"}}]
        case 8:
            return [text, {"type": "input_audio", "input_audio": {"data": "UklGRg==" * 40, "format": "wav"}}]
        case 9:
            file = {"filename": "a.pdf", "file_data": "data:application/pdf;base64," + "JVBERi0x" * 60}
            return [text, {"type": "file", "file": file}]
        case 10:
            return ""
        case 11:
            return " \n"
    return words
