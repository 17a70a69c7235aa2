"""The sections of a summary: read from any text, written stably, merged and shortened line by line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ctxkit.summaries.language import Language
from ctxkit.summaries.prose import content, normal, one_line
from ctxkit.summaries.salience import worth
from ctxkit.summaries.superseding import finishes, named, superseded

__all__ = ["HEADINGS", "SECTIONS", "Sections", "merged", "parse", "shortened", "written"]

SECTIONS = ("goal", "facts", "decisions", "done", "open", "exact")
"""The sections in the order in which they are written."""

HEADINGS: Mapping[Language, Mapping[str, str]] = {
    "en": dict(zip(SECTIONS, ("Goal", "Facts", "Decisions", "Done", "Open", "Exact values"), strict=True)),
    "zh": dict(zip(SECTIONS, ("目标", "事实", "决定", "已完成", "待办", "原值"), strict=True)),
}

_ALSO = {
    "goal": "goals; main goal; objective; objectives; task; user goal; user's goal; 目的; 任务; 用户目标",
    "facts": "fact; key facts; important facts; context; background; constraints; preferences; 关键事实; 重要事实; 背景",
    "decisions": "decision; decisions made; key decisions; agreed; 决策; 已决定; 关键决定",
    "done": "completed; finished; progress; actions taken; work done; 完成; 已做; 进展; 已完成事项",
    "open": "open items; open questions; open issues; open tasks; pending; to do; todo; to-do; next steps; remaining"
    "; unresolved; 未完成; 待办事项; 待解决; 下一步; 未决",
    "exact": "exact; exact value; identifiers; exact identifiers; key values; verbatim values; verbatim; 精确值; 准确值; 标识符; 关键数值",
}
_NAMES = {name.casefold(): section for by in HEADINGS.values() for section, name in by.items()} | {
    name: section for section, names in _ALSO.items() for name in names.split("; ")
}

TITLE_WORDS = 4
"""Words of four letters (pairs of Chinese characters) that a line before a colon may have to be a heading."""

_HASHES = re.compile(r"#{1,6}[ \t]+")
_BOLD = re.compile(r"\*\*([^*]{1,60})\*\*(.*)\Z")
_BULLET = re.compile(r"[-*•·+](?:[ \t]+|\Z)|\d{1,3}[.)](?:[ \t]+|\Z)")
_NOTHING = frozenset(
    (
        "none",
        "nothing",
        "n/a",
        "null",
        "empty",
        "-",
        "—",
        "无",
        "没有",
        "暂无",
        "空",
        "不适用",
        "(none)",
        "（无）",
    )
)

RECENCY_WORTH = 1.0
"""What the newest line of a section is worth more than its oldest."""


@dataclass(frozen=True, slots=True)
class Sections:
    """A summary as lines by section.

    Lines have no line breaks and no blank ends; blank ones and placeholders ("none", "无") are left out.
    """

    goal: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in SECTIONS:
            lines = (one_line(line) for line in self.of(name))
            kept = tuple(line for line in lines if line and line.casefold().rstrip(".。") not in _NOTHING)
            object.__setattr__(self, name, kept)

    @classmethod
    def gathered(cls, lines: Iterable[tuple[str, str]]) -> Sections:
        """Sections of pairs of a section's name and a line."""
        found: dict[str, list[str]] = {name: [] for name in SECTIONS}
        for section, line in lines:
            found[section].append(line)
        return cls(**{name: tuple(lines) for name, lines in found.items()})

    def __bool__(self) -> bool:
        return any(self.of(name) for name in SECTIONS)

    def of(self, section: str) -> tuple[str, ...]:
        """The lines of one section, by its name in `SECTIONS`."""
        lines: tuple[str, ...] = getattr(self, section)
        return lines

    def lines(self) -> tuple[tuple[str, str], ...]:
        """Every line with its section before it, in the order in which they are written."""
        return tuple((name, line) for name in SECTIONS for line in self.of(name))


def parse(text: str) -> Sections:
    """The sections of a summary that somebody wrote: headings in Markdown, in bold or before a colon, in English or
    Chinese, content on the heading's own line too. What stands under no or an unknown heading is kept in facts.
    `parse(written(x)) == x`."""
    lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("```")]
    if not any(_heading(line) for line in lines if not _BULLET.match(line)):
        lines = [_unmarked(line) if _heading(_unmarked(line)) else line for line in lines]
    section = "facts"
    found: list[tuple[str, str]] = []
    for at, line in enumerate(lines):
        heading = None if _BULLET.match(line) else _heading(line)
        if heading is not None:
            section, line = heading
        elif not found and at == 0 and line.endswith((":", "：")):
            continue  # "Here is the summary:"
        found.append((section, _unmarked(line) if heading is None else line))
    return Sections.gathered(found)


def _unmarked(line: str) -> str:
    """A line without its bullet."""
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def _heading(line: str) -> tuple[str, str] | None:
    """The section that a line opens and what stands behind its heading; None for a line of content."""
    hashes = _HASHES.match(line)
    plain = line[hashes.end() :] if hashes else line
    bold = _BOLD.match(plain)
    name, colon, rest = (bold.group(1), ":", bold.group(2)) if bold else _split(plain)
    known = _NAMES.get(_numberless(name.strip().rstrip(":：")).casefold())
    if known is not None and (colon or hashes or not rest):
        return known, rest.strip().lstrip(":：").strip()
    title = (colon and not rest and len(content(name)) <= TITLE_WORDS) or (bold and not rest.strip(":： "))
    return ("facts", "") if hashes or title else None


def _split(text: str) -> tuple[str, str, str]:
    """What stands before the first colon, the colon, and what stands behind it."""
    at = min((text.find(each) for each in ":：" if each in text), default=-1)
    return (text.strip(), "", "") if at < 0 else (text[:at].strip(), text[at], text[at + 1 :].strip(" \t*"))


def _numberless(name: str) -> str:
    return re.sub(r"^(?:\d{1,2}[.)、]|[一二三四五六七八九十][、.])\s*", "", name)


def written(sections: Sections, language: Language = "en") -> str:
    """The text of a summary: a heading, then `- ` and a line each; "" for none. The same sections, the same text."""
    colon = "：" if language == "zh" else ":"
    return "\n".join(
        "\n".join([HEADINGS[language][name] + colon, *(f"- {line}" for line in sections.of(name))])
        for name in SECTIONS
        if sections.of(name)
    )


def merged(old: Sections, new: Sections) -> Sections:
    """An earlier summary with what a newer one adds.

    Old lines stay byte-identical and in place; what they say is not said again. An open item that the newer one has
    in done leaves open. `name: value` with a new value of the same sort supersedes the old line in its place, which
    then ends in the value before.
    """
    lines = [
        (section, line)
        for section, line in old.lines()
        if section != "open" or not any(finishes(done, line) for done in new.done)
    ]
    said = {_same(*each) for each in lines}
    places = {(section, named(line)): at for at, (section, line) in enumerate(lines)}
    for section, line in new.lines():
        at = places.get((section, named(line)), -1) if named(line) else -1
        newer = superseded(lines[at][1], line) if at >= 0 else ""
        if newer:
            lines[at] = (section, newer)
        elif _same(section, line) not in said:
            lines.append((section, line))
        said.add(_same(section, line))
    return Sections.gathered(lines)


def _same(section: str, line: str) -> tuple[bool, str]:
    """What two lines that say the same have in common; exact values have to be the same to the letter."""
    return (True, line) if section == "exact" else (False, normal(line))


def shortened(
    sections: Sections, max_tokens: int, count: Callable[[str], int], language: Language = "en"
) -> Sections:
    """The sections without their least worthy lines, so that `written` takes at most `max_tokens`.

    What tools said goes first, then plain facts, what is done and open, decisions, goals, constraints; exact values
    last, older lines before newer ones. The same in, the same out.
    """
    over = count(written(sections, language)) - max_tokens
    if over <= 0:
        return sections
    lines = sections.lines()
    worths = [each for name in SECTIONS for each in _worths(name, sections.of(name))]
    kept = set(range(len(lines)))
    for at in sorted(kept, key=lambda at: (worths[at], at)):
        kept.remove(at)
        over -= count(f"- {lines[at][1]}\n")
        if over <= 0:
            smaller = Sections.gathered(lines[each] for each in sorted(kept))
            over = count(written(smaller, language)) - max_tokens
            if over <= 0:
                return smaller
    return Sections()


def _worths(section: str, lines: tuple[str, ...]) -> list[float]:
    """What the lines of a section are worth, newer ones a little more."""
    return [worth(line, section) + RECENCY_WORTH * (at + 1) / len(lines) for at, line in enumerate(lines)]
