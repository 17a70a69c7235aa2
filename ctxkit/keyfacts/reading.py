"""Reading: what the units of a conversation say, as facts with their sources, without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice

from ctxkit.core.conversation import Unit
from ctxkit.core.facts import Fact, Speaker, is_rule, unnumbered, withdraws
from ctxkit.core.items import Item, Part, PartKind, Role, Shape, Writer
from ctxkit.core.marks import is_marked
from ctxkit.core.profile import told_again
from ctxkit.core.view import View
from ctxkit.hooks import Called
from ctxkit.keyfacts.finding import MOST_RULES, NAMED, READ, VITAL, Found, bound_by, is_users, stated_in
from ctxkit.keyfacts.results import given_in, told_by_tool
from ctxkit.keyfacts.words import denies

__all__ = ["LONGEST_TEXT", "MOST_OF_MESSAGE", "Reader"]

MOST_OF_MESSAGE = 24
"""Facts of one text that do not have to be kept: of plugins, and as many that are found by rule."""

LONGEST_TEXT = 100_000
"""Characters of a text that are read for facts, half from its beginning and half from its end; what users said is read
whole for what must be kept."""

CUT = 2_000
"""Characters within which a text is cut where a line, a sentence or a word ends."""

SHORTEST = 4
"""Characters of the shortest value that is taken for a piece of a secret."""


@dataclass
class Reader:
    """Reads units of a view.

    Attributes:
        view: it reads the entries as they arrived, whatever was shortened since.
        hooks: plugins that find facts and secrets too.
        own: words that make a sentence one that must be kept.
        specific: see `stated_in`; without it, nothing that tools and the assistant say is read.
        secret: facts with a secret in them that were left out, by the item that they stood in.
        surplus: facts of plugins that one text has too many of, by the item that they stood in.
        unread: items with a text that was not read whole.
        partial: items with a rule in them of which the fact says but a part.
    """

    view: View
    hooks: Called
    own: tuple[str, ...] = ()
    specific: bool = True
    secret: dict[int, int] = field(default_factory=dict)
    surplus: dict[int, int] = field(default_factory=dict)
    unread: set[int] = field(default_factory=set)
    partial: set[int] = field(default_factory=set)

    def bound(self, units: Iterable[Unit]) -> Iterator[Found]:
        """What must be kept of what users said, and of what plugins say so of."""
        for item, text, by in self._texts(units):
            if by != "tool":
                ruled = bound_by(text, self.own) if by == "user" else []
                if any(each.partial for each in ruled):
                    self.partial.add(item.id)
                hooked = [fact for fact in self._of_plugins(text, by) if fact.must_keep]
                found = map(Found, self._likeliest(item, hooked, MOST_RULES))
                yield from self._clean(item, text, by, [*ruled, *found])

    def stated(self, units: Iterable[Unit]) -> Iterator[Found]:
        """All else that they say."""
        for item, text, by in self._texts(units):
            if by == "tool" and not self.specific:
                continue
            hooked = [fact for fact in self._of_plugins(text, by) if by == "tool" or not fact.must_keep]
            likeliest = self._likeliest(item, hooked, MOST_OF_MESSAGE)
            found = [Found(replace(fact, must_keep=False)) for fact in likeliest]
            stated = islice(self._stated(item, text, by), MOST_OF_MESSAGE)
            if by != "tool" and len(text) > LONGEST_TEXT:
                self.unread.add(item.id)
            # of several people all is told under the speaker's name: what supersedes has to come first
            both = [*stated, *found] if item.writer.author else [*found, *stated]
            yield from self._clean(item, text, by, both)

    def told_again(self, units: Iterable[Unit], *, rules: bool) -> Iterator[Found]:
        """The facts that notes of ctxkit's own tell which came back as messages, and that none of these withdrew: what
        users said must be kept, or all others."""
        ids = {item.id for unit in units for item in unit.items}
        for item, fact in chain.from_iterable(self._noted.values()):
            if item.id in ids and rules == is_users(fact):
                priority = VITAL if rules else NAMED if fact.said_by == "assistant" else READ
                again = replace(fact, key=unnumbered(fact.key), must_keep=rules, priority=priority)
                yield Found(replace(again, denied=denies(fact.value), source=(item.id,), turn=item.turn))

    @cached_property
    def _noted(self) -> dict[tuple[bool, tuple[str, str], str], list[tuple[Item, Fact]]]:
        """By name, what tools told apart: the facts of the newest note that has it. Of rules each that any note has:
        they may be of several conversations, and anybody can write a note. Each goes only where a later one withdraws
        the very words of it."""
        noted: dict[tuple[bool, tuple[str, str], str], list[tuple[Item, Fact]]] = {}
        for item, fact in self._told():
            by_tool = fact.said_by == "tool"
            if fact.retracted:
                for name, told in noted.items():
                    gone = [each for each in told if each[0] is not item and withdraws(fact, each[1])]
                    if gone and name[0] == by_tool:
                        noted[name] = [each for each in told if each not in gone]
                continue
            name = by_tool, fact.name, fact.value if is_users(fact) else ""
            noted[name] = [*(each for each in noted.pop(name, ()) if each[0] is item), (item, fact)]
        return noted

    def _told(self) -> Iterator[tuple[Item, Fact]]:
        """What all notes tell that came back."""
        for item in (item for unit in self.view.units for item in unit.items if not item.synthetic):
            for shape, part in self._parts(item):
                if _came_back(item, shape, part):
                    yield from ((item, fact) for fact in told_again(part.text))

    def _of_plugins(self, text: str, by: Speaker) -> list[Fact]:
        """What plugins find in a text."""
        return [fact for piece in _pieces(text) for fact in self.hooks.facts_in(piece, by)]

    def _likeliest(self, item: Item, facts: list[Fact], most: int) -> list[Fact]:
        """The first of highest priority, in the order in which they were found."""
        if len(facts) <= most:
            return facts
        self.surplus[item.id] = self.surplus.get(item.id, 0) + len(facts) - most
        best = sorted(range(len(facts)), key=lambda at: (-facts[at].priority, at))[:most]
        return [facts[at] for at in sorted(best)]

    def _stated(self, item: Item, text: str, by: Speaker) -> Iterator[Found]:
        if by == "user" or (self.specific and not item.shape.results and not _is_json(text)):
            for piece in _pieces(text):
                yield from stated_in(piece, by, self.own, specific=self.specific)
        elif self.specific:
            yield from told_by_tool(text) if by == "tool" else given_in(text)

    def _texts(self, units: Iterable[Unit]) -> Iterator[tuple[Item, str, Speaker]]:
        """The texts of units, and who said each: what stands beside results in one entry is a user's."""
        for item in (item for unit in units for item in unit.items if not item.synthetic):
            for shape, part in self._parts(item):
                if shape.role is Role.SYSTEM or _came_back(item, shape, part):
                    continue
                match part.reads_as:
                    case PartKind.TEXT:
                        by: Speaker = "user" if shape.words else "assistant"
                        yield item, part.text, "tool" if item.document else by
                    case PartKind.RESULT:
                        yield item, part.text, "tool"
                    case PartKind.ARGUMENTS:
                        yield item, part.text, "assistant"

    def _parts(self, item: Item) -> Iterator[tuple[Shape, Part]]:
        """The parts of an item as they arrived, each with the shape of its entry."""
        for entry in self.view.originals(item):
            shape, parts = self.view.setting.meter.read(entry)
            yield from ((shape, part) for part in parts)

    def _clean(self, item: Item, text: str, by: Speaker, found: Sequence[Found]) -> Iterator[Found]:
        """Facts with their source, without those that hold a secret of the text."""
        secrets = self.hooks.secrets_in(text) if found else []
        for each in found:
            if any(_holds(each.fact, secret) for secret in secrets):
                self.secret[item.id] = self.secret.get(item.id, 0) + 1
                continue
            if is_rule(each.fact) and not each.fact.must_keep:  # what must be kept alone is called so
                each = replace(each, fact=replace(each.fact, key=f"{each.fact.key} of {by}"))
            trust: Speaker = by if each.fact.said_by == "user" else each.fact.said_by
            fact = replace(each.fact, source=(item.id,), turn=item.turn, said_by=trust)
            if by != "tool":
                fact = _written(fact, item.writer)
            yield replace(each, fact=fact)


def _came_back(item: Item, shape: Shape, part: Part) -> bool:
    """Whether a part is a text of ctxkit's own: a message alone, or what a program put before words of a user's."""
    spoken = shape.words and part.kind is PartKind.TEXT and not item.document
    return spoken and (item.returned or is_marked(part.text))


def _written(fact: Fact, writer: Writer) -> Fact:
    """A fact with who said it, where and when."""
    author, place, said_at = writer
    subject = _of_author(fact.subject, author) if author else fact.subject
    return replace(fact, subject=subject, place=place, said_at=said_at)


def _of_author(subject: str, author: str) -> str:
    """Whom a fact is about where several people talk: whoever said it, or whom of theirs it names."""
    author = " ".join(author.split())
    if subject in ("", "user"):
        return author
    return f"{author}'s {subject}" if subject.isascii() else f"{author}的{subject}"


def _pieces(text: str) -> list[str]:
    """What is read of a text: all of it, or its ends, up to a break between lines or words."""
    if len(text) <= LONGEST_TEXT:
        return [text]
    head, tail = text[: LONGEST_TEXT // 2], text[-(LONGEST_TEXT // 2) :]
    for mark in ("\n", "。", ". ", " "):
        if mark in head[-CUT:] and mark in tail[:CUT]:
            return [head[: head.rindex(mark) + 1], tail[tail.index(mark) + 1 :]]
    return [head, tail]


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _holds(fact: Fact, secret: str) -> bool:
    """Whether a fact tells a secret, or a piece of it. A name of letters only may stand in one by chance."""
    if secret in fact.value or (len(fact.value) >= SHORTEST and fact.value in secret):
        return True
    names = (fact.key, fact.subject)
    return any(secret in name or (name in secret and _is_piece(name)) for name in names)


def _is_piece(name: str) -> bool:
    return len(name) >= SHORTEST and not name.replace(" ", "").isalpha()
