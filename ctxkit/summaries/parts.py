"""Parts: a conversation as text for a model, cut into pieces that it can read, without losing a character."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ctxkit.core.conversation import Unit
from ctxkit.core.items import Item
from ctxkit.core.view import View
from ctxkit.summaries.language import Language
from ctxkit.summaries.prompt import QUOTE
from ctxkit.summaries.prose import one_line
from ctxkit.summaries.salience import Said, Speaker, said, who

__all__ = ["Part", "Turned", "original_units", "parted", "sliced", "spoken"]

CHARACTERS = 4
"""A line is cut when it has more characters than a quarter of the tokens of a part: no character has more tokens."""

LEAST_CUT = 64
"""Characters of the shortest piece of a line."""


@dataclass(frozen=True, slots=True)
class Turned:
    """What somebody said, and in which turn."""

    turn: int
    said: Said


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a conversation: the text that a model is shown, and what it holds of whom."""

    text: str
    sources: tuple[Said, ...]


def spoken(view: View, units: Iterable[Unit]) -> tuple[Turned, ...]:
    """What was said in units, from the originals, in order."""
    return tuple(Turned(unit.turn, each) for unit in units for each in said(view, (unit,)))


def original_units(view: View, items: Iterable[Item]) -> tuple[Unit, ...]:
    """What summaries stand for, as it arrived, less what was erased since: one unit a turn."""
    ids = sorted({id for item in items for span in item.stands_for for id in span})
    by_turn: dict[int, list[Item]] = {}
    for item in view.setting.arrived(ids):
        by_turn.setdefault(item.turn, []).append(item)
    return tuple(Unit(items[0].id, turn, tuple(items), view.parts) for turn, items in by_turn.items())


def parted(
    turned: Sequence[Turned], *, room: int, count: Callable[[str], int], language: Language
) -> list[Part]:
    """A conversation in as few pieces as have about `room` tokens each; together they hold every line of it.

    A line that tells who speaks stands before each message, and every line of the message behind a sign of quoting, so
    that nothing that is said can pass for such a line. A piece ends between messages where it can, else between lines,
    else at a blank.
    """
    parts: list[Part] = []
    texts: list[str] = []
    sources: list[Said] = []
    left = room
    for head, source in _messages(turned, language):
        for piece in _pieces(source, room - count(head), count):
            text = "\n".join([head, *(QUOTE + line for line in piece.text.splitlines())])
            tokens = count(text) + 1
            if tokens > left and texts:
                parts.append(Part("\n".join(texts), tuple(sources)))
                texts, sources, left = [], [], room
            texts.append(text)
            sources.append(piece)
            left -= tokens
    return [*parts, Part("\n".join(texts), tuple(sources))] if texts else parts


def sliced(turned: Sequence[Turned], *, slices: int) -> list[tuple[Turned, ...]]:
    """A conversation in so many pieces of about the same length, between messages; together they hold all of it."""
    sizes = [len(each.said.text) + len(each.said.call) for each in turned]
    whole, before = max(1, sum(sizes)), 0
    found: list[list[Turned]] = [[] for _ in range(slices)]
    for each, size in zip(turned, sizes, strict=True):
        found[min(slices - 1, (2 * before + size) * slices // (2 * whole))].append(each)
        before += size
    return [tuple(each) for each in found]


def _messages(turned: Sequence[Turned], language: Language) -> Iterator[tuple[str, Said]]:
    """Each message behind the line that tells who speaks; a call is the assistant's, its result the tool's."""
    for each in turned:
        tool = one_line(each.said.tool)
        if each.said.call:
            yield _head(language, each.turn, "assistant", tool, calls=True), Said("assistant", each.said.call)
        name = tool if each.said.by == "tool" else who(language, each.said.writer)
        yield _head(language, each.turn, each.said.by, name), replace(each.said, call="")


def _head(language: Language, turn: int, by: Speaker, name: str, *, calls: bool = False) -> str:
    if language == "zh":
        speaker = f"{_NAMES[by]}调用" if calls else _NAMES[by]
        return f"第 {turn} 轮，{speaker}{f' {name}' if name else ''}："
    speaker = f"{by} calls" if calls else by
    return f"turn {turn}, {speaker}{f' {name}' if name else ''}:"


_NAMES: dict[Speaker, str] = {"user": "用户", "assistant": "助手", "tool": "工具", "system": "系统"}


def _pieces(source: Said, room: int, count: Callable[[str], int]) -> Iterator[Said]:
    """A message, in pieces of whole lines when it is larger than the room."""
    if count(source.text) <= room:
        yield source
        return
    lines: list[str] = []
    left = room
    for line in (each for whole in source.text.splitlines() for each in _cut(whole, room // CHARACTERS)):
        tokens = count(QUOTE + line) + 1
        if tokens > left and lines:
            yield replace(source, text="\n".join(lines))
            lines, left = [], room
        lines.append(line)
        left -= tokens
    yield replace(source, text="\n".join(lines))


def _cut(line: str, longest: int) -> Iterator[str]:
    """A line in pieces of at most so many characters, cut at a blank where one is near."""
    at, longest = 0, max(longest, LEAST_CUT)
    while len(line) - at > longest:
        blank = line.rfind(" ", at + longest // 2, at + longest)
        end = blank + 1 if blank >= 0 else at + longest
        yield line[at:end]
        at = end
    yield line[at:]
