"""Reading: what the units of a conversation say, as facts with their sources, without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from ctxkit.core.conversation import Unit
from ctxkit.core.facts import Fact, Speaker
from ctxkit.core.items import Item, PartKind, Role
from ctxkit.core.view import View
from ctxkit.hooks import Called
from ctxkit.keyfacts.finding import Found, bound_by, stated_in
from ctxkit.keyfacts.results import given_in, told_by_tool

__all__ = ["Reader"]

MOST_OF_MESSAGE = 24
"""Facts of one text that do not have to be kept."""

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
    """

    view: View
    hooks: Called
    own: tuple[str, ...] = ()
    specific: bool = True
    secret: dict[int, int] = field(default_factory=dict)

    _hooked: dict[tuple[str, Speaker], list[Fact]] = field(default_factory=dict, repr=False)

    def bound(self, units: Iterable[Unit]) -> Iterator[Found]:
        """What must be kept of what users said, and of what plugins say so of."""
        for item, text, by in self._texts(units):
            if by != "tool":
                ruled = bound_by(text, self.own) if by == "user" else []
                hooked = [Found(fact) for fact in self._of_plugins(text, by) if fact.must_keep]
                yield from self._clean(item, text, by, [*ruled, *hooked])

    def stated(self, units: Iterable[Unit]) -> Iterator[Found]:
        """All else that they say."""
        for item, text, by in self._texts(units):
            if by == "tool" and not self.specific:
                continue
            hooked = [fact for fact in self._of_plugins(text, by) if by == "tool" or not fact.must_keep]
            found = [Found(replace(fact, must_keep=False)) for fact in hooked]
            stated = islice(self._stated(item, text, by), MOST_OF_MESSAGE)
            yield from self._clean(item, text, by, [*found, *stated])

    def _of_plugins(self, text: str, by: Speaker) -> list[Fact]:
        """What plugins find in a text; each is asked once."""
        if (text, by) not in self._hooked:
            self._hooked[text, by] = self.hooks.facts_in(text, by)
        return self._hooked[text, by]

    def _stated(self, item: Item, text: str, by: Speaker) -> Iterator[Found]:
        if by == "user" or (self.specific and not item.shape.results and not _is_json(text)):
            yield from stated_in(text, by, self.own, specific=self.specific)
        elif self.specific:
            yield from told_by_tool(text) if by == "tool" else given_in(text)

    def _texts(self, units: Iterable[Unit]) -> Iterator[tuple[Item, str, Speaker]]:
        """The texts of units, and who said each. What stands beside results in one entry is a user's."""
        for item in (item for unit in units for item in unit.items if not item.synthetic):
            shape, parts = self.view.setting.meter.read(self.view.original(item))
            if shape.role is Role.SYSTEM:
                continue
            for part in parts:
                match part.kind:
                    case PartKind.TEXT:
                        by: Speaker = "user" if shape.words else "assistant"
                        yield item, part.text, "tool" if item.document else by
                    case PartKind.RESULT:
                        yield item, part.text, "tool"
                    case PartKind.ARGUMENTS:
                        yield item, part.text, "assistant"

    def _clean(self, item: Item, text: str, by: Speaker, found: Sequence[Found]) -> Iterator[Found]:
        """Facts with their source, without those that hold a secret of the text."""
        secrets = self.hooks.secrets_in(text) if found else []
        for each in found:
            if any(_holds(each.fact, secret) for secret in secrets):
                self.secret[item.id] = self.secret.get(item.id, 0) + 1
                continue
            trust: Speaker = by if each.fact.said_by == "user" else each.fact.said_by
            if item.shape.results:  # the entry is a tool's too, and a fact has the least trust of its sources
                trust = "tool"
            fact = replace(each.fact, source=(item.id,), turn=item.turn, said_by=trust)
            yield replace(each, fact=fact)


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _holds(fact: Fact, secret: str) -> bool:
    texts = (fact.value, fact.key, fact.subject)
    return any(secret in each or (len(each) >= SHORTEST and each in secret) for each in texts)
