"""Generated conversations written as Gemini contents."""

from __future__ import annotations

import json
import re
from typing import Any

from ctxkit.core.provider import Entry
from ctxkit.testing.script import TOOLS, Answer, Step, Use
from ctxkit.testing.texts import png
from ctxkit.testing.writer import Writer, schema

__all__ = ["GeminiWriter"]

_PNG = png(800, 600)


class GeminiWriter(Writer):
    """Gemini; the script's `form` picks ids or none, signatures or none, camelCase or snake_case.

    An answer is put between neighbouring user contents, since sources differ on whether Gemini takes those.
    """

    id_prefix = "fc"

    def user(self, words: str, form: int) -> None:
        if self.entries and self.entries[-1].get("role") != "model" and not self.withheld:
            self.entries.append({"role": "model", "parts": [{"text": "ok"}]})
        entry: Entry = {"role": "user", "parts": self._user_parts(words, form)}
        if form == 3:
            del entry["role"]
        self.entries.append(entry)

    def step(self, step: Step, *, thinks: bool, answered: int) -> None:
        ids = [self.next_call() if self._has_ids else None for _ in step.uses]
        calls = [self._call_part(use, call_id) for use, call_id in zip(step.uses, ids, strict=True)]
        if self._signed:
            calls[0][self._key("thoughtSignature")] = self.next_opaque()
        before = self._before_calls(step, thinks=thinks)
        if step.form == 10 and len(calls) > 1:
            self.entries.append({"role": "model", "parts": [*before, calls[0]]})
            self.entries.append({"role": "model", "parts": calls[1:]})
        else:
            self.entries.append({"role": "model", "parts": [*before, *calls]})
        responses = [self._response_part(use, call_id) for use, call_id in zip(step.uses, ids, strict=True)]
        self._respond(step, responses, answered)

    def answer(self, answer: Answer, *, thinks: bool) -> None:
        parts: list[dict[str, Any]] = self._thought(answer.words) if thinks else []
        text: dict[str, Any] = {"text": answer.words}
        match answer.form:
            case 6 if self._signed:
                text[self._key("thoughtSignature")] = self.next_opaque()
                parts.append(text)
            case 7 if self._signed:
                parts += [text, {"text": "", self._key("thoughtSignature"): self.next_opaque()}]
            case 8:
                parts += [*self._executed(), text]
            case 9:
                parts += [*self._searched(), text]
            case _:
                parts.append(text)
        self.entries.append({"role": "model", "parts": parts})

    def system(self) -> Any:
        if not self.script.system:
            return None
        if self.script.form % 2:
            return {"parts": [{"text": words} for words in self.script.system]}
        return "\n\n".join(self.script.system)

    def tools(self) -> list[dict[str, Any]]:
        declarations = [{"name": name, "description": "a tool", "parameters": schema()} for name in TOOLS]
        return [{self._key("functionDeclarations"): declarations}]

    @property
    def _has_ids(self) -> bool:
        return self.script.form % 2 == 0

    @property
    def _signed(self) -> bool:
        return self.script.form % 4 < 2

    def _key(self, name: str) -> str:
        if self.script.form < 12:
            return name
        return re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name)

    def _thought(self, words: str) -> list[dict[str, Any]]:
        return [{"text": f"**Thinking** about it: {words}", "thought": True}]

    def _before_calls(self, step: Step, *, thinks: bool) -> list[dict[str, Any]]:
        parts = self._thought(step.words or "a tool is needed") if thinks else []
        if step.words is not None:
            parts.append({"text": step.words})
        if step.form == 9:
            parts += self._executed()
        if step.form == 11:
            parts += self._searched()
        return parts

    def _call_part(self, use: Use, call_id: str | None) -> dict[str, Any]:
        call: dict[str, Any] = {"name": self.tool_name(use.tool), "args": json.loads(use.arguments)}
        if call_id is not None:
            call["id"] = call_id
        return {self._key("functionCall"): call}

    def _response_part(self, use: Use, call_id: str | None) -> dict[str, Any]:
        response: dict[str, Any] = {"name": self.tool_name(use.tool), "response": _response(use)}
        if call_id is not None:
            response["id"] = call_id
        if use.form == 8:
            blob = {self._key("mimeType"): "image/png", "data": _PNG}
            response["parts"] = [{self._key("inlineData"): blob}]
        return {self._key("functionResponse"): response}

    def _respond(self, step: Step, responses: list[dict[str, Any]], answered: int) -> None:
        given, kept_back = responses[:answered], responses[answered:]
        names = {use.tool for use in step.uses}
        if step.form % 2 and (self._has_ids or len(names) == len(step.uses)):
            given = given[::-1]
        role = "function" if step.form == 8 else "user"
        if step.beside is not None and not kept_back:
            given.append({"text": step.beside})
        if given:
            self.entries.append({"role": role, "parts": given})
        if kept_back:
            self.withheld.append({"role": role, "parts": kept_back})

    def _executed(self) -> list[dict[str, Any]]:
        code = {"language": "PYTHON", "code": "print(6 * 7)"}
        return [
            {self._key("executableCode"): code},
            {self._key("codeExecutionResult"): {"outcome": "OUTCOME_OK", "output": "42\n"}},
        ]

    def _searched(self) -> list[dict[str, Any]]:
        call_id = self.next_id("ts")
        kind = {self._key("toolType"): "GOOGLE_SEARCH_WEB", "id": call_id}
        signature = self._key("thoughtSignature")
        return [
            {self._key("toolCall"): {**kind, "args": {"queries": ["news"]}}, signature: self.next_opaque()},
            {self._key("toolResponse"): {**kind, "response": {"found": 3}}, signature: self.next_opaque()},
        ]

    def _user_parts(self, words: str, form: int) -> list[dict[str, Any]]:
        text = {"text": words}
        mime, inline, file = self._key("mimeType"), self._key("inlineData"), self._key("fileData")
        match form:
            case 5:
                return [text, {"text": "and one thing more"}]
            case 6:
                return [text, {inline: {mime: "image/png", "data": _PNG}}]
            case 7:
                return [{file: {mime: "image/jpeg", self._key("fileUri"): "https://files.example/a.jpg"}}]
            case 8:
                return [text, {inline: {mime: "audio/wav", "data": "UklGRg==" * 40}}]
            case 9:
                return [text, {inline: {mime: "application/pdf", "data": "JVBERi0x" * 60}}]
            case 10:
                return [text, {"text": " "}]
        return [text]


def _response(use: Use) -> dict[str, Any]:
    if use.form == 6:
        return {}
    if use.form == 7:
        return {"error": use.result}
    try:
        value = json.loads(use.result)
    except ValueError:
        return {"output": use.result}
    return value if isinstance(value, dict) else {"result": value}
