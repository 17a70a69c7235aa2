"""Folding: old units become one text that holds their values beside their field names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Plan, Replace
from ctxkit.core.items import Part, PartKind, Role
from ctxkit.core.provider import Entry
from ctxkit.core.view import View
from ctxkit.jsons import json_text
from ctxkit.literals import as_json
from ctxkit.strategies.digesting import Digester, Level, fields_of

RAW_SHARE = 0.35
OVERHEAD = 70
MAX_ENTRIES = 2000


class Fold:
    def __init__(self, view: View, kind: str) -> None:
        self._view = view
        self._kind = kind
        self._provider = view.setting.meter.provider

    def plan(self) -> Plan:
        view = self._view
        free = [u for u in view.free() if not u.synthetic or u.items[0].edited == self._kind]
        if not free:
            return Plan()
        room = sum(u.tokens for u in free) - view.over
        raw = int(room * RAW_SHARE)
        cut = len(free)
        while cut and free[cut - 1].tokens <= raw:
            cut -= 1
            raw -= free[cut].tokens
        old = free[:cut]
        if not old:
            return Plan()
        budget = room - sum(u.tokens for u in free[cut:]) - OVERHEAD
        text = self._text(old, max(30, budget))
        return Plan.of(Replace(tuple(u.id for u in old), text, "old steps, their values kept"))

    def _text(self, old: Sequence[Unit], budget: int) -> str:
        entries = self._entries(old)
        asked = frozenset(
            name
            for entry in [*entries, *(i.raw for i in self._view.state.items if not i.synthetic)]
            for part in self._provider.parts(entry)
            if part.kind is PartKind.ARGUMENTS
            for name in fields_of(as_json(part.text))
        )
        steps = list(_steps(entries, self._provider))
        count = self._view.count
        richer: list[str] = []
        for level in Level:
            lines = self._lines(steps, asked, level)
            sizes = [count(line) + 1 if line else 0 for line in lines]
            if sum(sizes) <= budget:
                return self._mixed(richer, lines, budget)
            richer = lines
        at = len(lines)
        while at and budget - sizes[at - 1] >= 0:
            at -= 1
            budget -= sizes[at]
        return "\n".join(line for line in lines[at:] if line) or "-"

    def _mixed(self, richer: list[str], lines: list[str], budget: int) -> str:
        if richer:
            count = self._view.count
            left = budget - sum(count(l) + 1 for l in lines if l)
            for at in range(len(lines) - 1, -1, -1):
                more = count(richer[at]) - count(lines[at])
                if more > left:
                    break
                left -= more
                lines[at] = richer[at]
        return "\n".join(line for line in lines if line) or "-"

    def _entries(self, old: Sequence[Unit]) -> list[Entry]:
        original = self._view.setting.original
        ids = [
            id
            for unit in old
            for item in unit.items
            for id in (
                [item.id] if not item.synthetic else [i for span in item.stands_for for i in span]
            )
        ]
        return [original(id) for id in sorted(set(ids))[-MAX_ENTRIES:]]

    def _lines(self, steps: list[Any], asked: frozenset[str], level: Level) -> list[str]:
        digester = Digester(asked, level)
        lines = [_line(step, digester) for step in reversed(steps)]
        return lines[::-1]


@dataclass
class Said:
    role: Role
    text: str


@dataclass
class Called:
    name: str
    arguments: Any
    results: list[Part]


def _steps(entries: Iterable[Entry], provider: Any) -> Iterator[Said | Called]:
    calls: dict[str | None, Called] = {}
    for entry in entries:
        shape = provider.shape(entry)
        names = {call.id: call.name for call in shape.calls}
        for part in provider.parts(entry):
            match part.kind:
                case PartKind.TEXT if part.text.strip():
                    yield Said(shape.role, part.text)
                case PartKind.ARGUMENTS:
                    called = Called(part.name or names.get(part.call, ""), as_json(part.text), [])
                    calls[part.call] = called
                    yield called
                case PartKind.RESULT:
                    if part.call in calls:
                        calls[part.call].results.append(part)
                    else:
                        yield Called(part.name, None, [part])


def _line(step: Said | Called, digester: Digester) -> str:
    if isinstance(step, Said):
        if step.role is Role.USER and digester.level is Level.LIGHT:
            return f"user: {step.text.strip()}"
        text = digester.text(step.text).replace("\n", " ")
        if digester.level is Level.KEYS and step.role is not Role.USER:
            return ""
        return f"{'user' if step.role is Role.USER else 'assistant'}: {text}" if text else ""
    results = []
    for part in step.results:
        value = as_json(part.text)
        digest = digester.value(value) if value is not None else digester.text(part.text) or (part.text if len(part.text) < 40 else "")
        if digest:
            results.append(digest if isinstance(digest, str) else json_text(digest))
    arguments = digester.value(step.arguments)
    shown = json_text(arguments) if arguments else ""
    if not shown and not results:
        return ""
    return f"{step.name} {shown} -> {' '.join(results)}" if results else f"{step.name} {shown}"
