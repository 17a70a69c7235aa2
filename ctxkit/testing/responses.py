"""Generated conversations written as OpenAI Responses input items."""

from __future__ import annotations

from typing import Any

from ctxkit.core.provider import Entry
from ctxkit.testing.responses_tools import call_pair, hosted
from ctxkit.testing.script import TOOLS, Answer, End, Step, Turn
from ctxkit.testing.texts import png
from ctxkit.testing.writer import Writer, schema

__all__ = ["ResponsesWriter"]

_PNG = "data:image/png;base64," + png(512, 512)


class ResponsesWriter(Writer):
    """Responses; the script's `form` picks `instructions` or system items, a compaction, items without ids."""

    ids_may_return = False

    def __init__(self, script: Any) -> None:
        super().__init__(script)
        self._late: list[Entry] = []

    def open(self) -> None:
        if self.script.form == 11:
            self.entries.append(self._compaction())
        if not self._beside:
            for number, words in enumerate(self.script.system):
                self.entries.append({"role": ("system", "developer")[number % 2], "content": words})
        if self.script.opening is not None:
            self.entries.append({"role": "assistant", "content": self.script.opening})

    def close(self) -> None:
        """The outputs that are still due."""
        self._pay()

    def turn(self, turn: Turn, end: End = "answered") -> None:
        """One turn; a compaction stands in front of some. No output comes after a user message that is the last."""
        if end == "user":
            self._pay()
        if self.script.form == 5 and turn.form == 11 and not self._late:
            self.entries.append(self._compaction())
        super().turn(turn, end)

    def user(self, words: str, form: int) -> None:
        entry: Entry = {"role": "user", "content": _user_content(words, form)}
        self.entries.append(entry if form % 2 else {"type": "message", **entry})
        self._pay()

    def note(self, words: str) -> None:
        if self.script.form % 4 == 1:
            tool = {"type": "function", "name": "late_tool", "parameters": schema()}
            self.entries.append({"type": "additional_tools", "role": "developer", "tools": [tool]})
            return
        content: Any = [{"type": "input_text", "text": words}] if self.script.form % 2 else words
        self.entries.append({"type": "message", "role": "developer", "content": content})

    def step(self, step: Step, *, thinks: bool, answered: int) -> None:
        if thinks:
            self._reason(step.words, step.form)
        if step.words is not None:
            self._say(step.words, with_id=thinks)
        elif step.form in (15, 16):
            self.entries.append(hosted(self, step.uses[0].form))
        pairs = [call_pair(self, use, step.form) for use in step.uses]
        ided = thinks or step.form % 2 == 0
        calls = [call if ided else _without_id(call) for call, _ in pairs]
        outputs = [output for _, output in pairs]
        if step.form == 20 and answered == len(pairs):
            self._run_program(calls, outputs)
        elif step.form == 21 and answered == len(pairs):
            self.entries += [call | {"async": True} for call in calls]
        elif step.form == 4 and answered == len(pairs):
            self.entries += [entry for pair in zip(calls, outputs, strict=True) for entry in pair]
        else:
            self.entries += calls
            self._give(step, outputs, answered)
        if step.beside is not None and answered == len(pairs):
            self.entries.append({"role": "user", "content": step.beside})
            self._pay()

    def answer(self, answer: Answer, *, thinks: bool) -> None:
        if thinks:
            self._reason(answer.words, answer.form)
        match answer.form:
            case 5:
                content = [{"type": "refusal", "refusal": answer.words}]
                self._say_parts(content, with_id=True)
            case 6 | 7:
                self.entries.append(hosted(self, answer.form + len(answer.words)))
                self._say(answer.words, with_id=True)
            case 8 if not thinks:
                self.entries.append({"role": "assistant", "content": answer.words})
            case _:
                self._say(answer.words, with_id=thinks or answer.form % 2 == 0)
        if self.script.form % 2:
            self._pay()

    def system(self) -> Any:
        return "\n\n".join(self.script.system) if self._beside and self.script.system else None

    def tools(self) -> list[dict[str, Any]]:
        return [{"type": "function", "name": name, "parameters": schema(), "strict": False} for name in TOOLS]

    @property
    def _beside(self) -> bool:
        return self.script.form % 4 == 0

    def _pay(self) -> None:
        self.entries += self._late
        self._late = []

    def _give(self, step: Step, outputs: list[Entry], answered: int) -> None:
        given, kept_back = outputs[:answered], outputs[answered:]
        self.withheld += kept_back
        if step.form % 2:
            given = given[::-1]
        if step.form in (18, 19) and not kept_back:
            self._late += given
        else:
            self.entries += given

    def _run_program(self, calls: list[Entry], outputs: list[Entry]) -> None:
        program_id = self.next_call()
        self.entries.append(
            {
                "type": "program",
                "id": self.next_id("prog"),
                "call_id": program_id,
                "code": "lookup()",
                "fingerprint": self.next_opaque(),
            }
        )
        caller = {"type": "program", "caller_id": program_id}
        self.entries += [call | {"caller": caller} for call in calls]
        self.entries += outputs
        self.entries.append(
            {"type": "program_output", "call_id": program_id, "result": "done", "status": "completed"}
        )

    def _compaction(self) -> Entry:
        return {"type": "compaction", "id": self.next_id("cmp"), "encrypted_content": self.next_opaque(600)}

    def _reason(self, words: str | None, form: int) -> None:
        summary = [{"type": "summary_text", "text": f"**Plan** {words}"}] if words else []
        entry: Entry = {"type": "reasoning", "id": self.next_id("rs"), "summary": summary}
        entry["encrypted_content"] = self.next_opaque(400)
        if form == 3:
            self.entries.append({"type": "reasoning", "id": self.next_id("rs"), "summary": []})
        self.entries.append(entry)

    def _say(self, words: str, *, with_id: bool) -> None:
        self._say_parts([{"type": "output_text", "text": words, "annotations": []}], with_id=with_id)

    def _say_parts(self, content: list[dict[str, Any]], *, with_id: bool) -> None:
        entry: Entry = {"type": "message", "role": "assistant", "content": content}
        if with_id:
            entry |= {"id": self.next_id("msg"), "status": "completed"}
            if self.script.form % 3 == 1:
                entry["phase"] = "final_answer"
        self.entries.append(entry)


def _without_id(call: Entry) -> Entry:
    needs_id = call["type"] in ("computer_call", "local_shell_call", "mcp_approval_request")
    return call if needs_id else {key: value for key, value in call.items() if key != "id"}


def _user_content(words: str, form: int) -> Any:
    text = {"type": "input_text", "text": words}
    match form:
        case 4:
            return [text]
        case 5:
            return [text, {"type": "input_text", "text": "and one thing more"}]
        case 6:
            return [text, {"type": "input_image", "image_url": _PNG, "detail": "auto"}]
        case 7:
            return [{"type": "input_image", "image_url": "https://img.example/a.png", "detail": "low"}]
        case 8 | 9:
            data = "data:application/pdf;base64," + "JVBERi0x" * 60
            return [text, {"type": "input_file", "filename": "a.pdf", "file_data": data}]
        case 10:
            return ""
    return words
