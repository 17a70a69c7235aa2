"""Whereabouts: why a message or a fact is not where somebody looks for it, and where it went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ctxkit.core.facts import USER, Fact, active_facts
from ctxkit.core.items import SHOWN
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter, State
from ctxkit.core.view import View
from ctxkit.errors import ConfigError
from ctxkit.explain import Explanation, explain
from ctxkit.sessions.comparing import Difference
from ctxkit.sessions.log import Log
from ctxkit.sessions.paging import records
from ctxkit.sessions.records import legible

__all__ = ["Whereabouts", "facts_between", "said_in", "whereabouts"]

FACT = "fact"
"""What a fact is among differences."""

Reasons = Mapping[str, tuple[str, str]]
"""Who took a fact back, and why, by its key."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where something is now, and why.

    Attributes:
        what: "message" or "fact".
        name: the position of a message in the input; the key of a fact, behind its subject if it has one.
        says: what it says.
        fate: of a message, as in `Explanation.fate`, or "erased"; of a fact: "in force", "superseded", "taken back",
            "evicted", "not taken over".
        by, why: who decided, and the reason.
        handle: the name of the original, "" for none.
        record: position of the record that it came with, 0 where that is not known.
        into: the kind of what stands for it in the next request: "summary", "gap", "" for nothing.
    """

    what: str
    name: str
    says: str
    fate: str
    by: str = ""
    why: str = ""
    handle: str = ""
    record: int = 0
    into: str = ""


async def whereabouts(log: Log, view: View, wanted: int | str) -> list[Whereabouts]:
    """Messages and facts, oldest first: the message at a position, or all that say a text (in any case of letters).

    Messages that were erased are found by position alone.

    Raises:
        ConfigError: neither a position nor a text.
    """
    if not isinstance(wanted, int | str) or isinstance(wanted, bool):
        raise ConfigError(f"what is looked for is a position or a text, not {wanted!r:.60}", path="wanted")
    archive, state = log.history.archive, view.state
    explained = await log.paged(lambda: explain(view, archive))
    if isinstance(wanted, int):
        erased = 0 <= wanted < state.next_id and all(each.position != wanted for each in explained)
        found = [each for each in explained if each.position == wanted]
        gone = Whereabouts("message", str(wanted), "", "erased", why="it was taken out of the log for good")
        return [gone] if erased else [_message(log, view, each) for each in found]
    text = wanted.casefold()
    messages = [_message(log, view, each) for each in explained]
    facts = [fact for fact in state.facts if text in fact.line.casefold() and not fact.retracted]
    reasons = await _reasons(log) if facts else {}
    return [
        *(each for each in messages if text in each.says.casefold()),
        *(_fact(log, state, fact, reasons) for fact in dict.fromkeys(facts)),
    ]


def _message(log: Log, view: View, told: Explanation) -> Whereabouts:
    archive = log.history.archive
    says = said_in(archive.original(told.position), view.setting.meter)
    covers = (item for item in view.state.items if any(told.position in span for span in item.stands_for))
    into = next((item.made or "message" for item in covers), "")
    return Whereabouts(
        "message",
        str(told.position),
        says,
        told.fate,
        told.by,
        told.why,
        told.handle,
        log.book.position_of(told.position),
        into,
    )


def said_in(entry: Entry, meter: Meter) -> str:
    """What an entry says: its texts, behind the names of the tools that it calls."""
    shape, parts = meter.read(entry)
    texts = "\n".join(part.text for part in parts if part.reads_as in SHOWN and part.text)
    return " ".join((*(call.name for call in shape.calls), texts))


async def facts_between(log: Log, before: State, after: State) -> list[Difference]:
    """The facts that are not in force any more, and those that came into force since, with the reasons."""
    one, two = ({fact.line: fact for fact in active_facts(state.facts).values()} for state in (before, after))
    left = [fact for line, fact in one.items() if line not in two]
    came = [fact for line, fact in two.items() if line not in one]
    reasons = await _reasons(log) if left else {}
    return [
        *(_left(after, fact, reasons) for fact in left),
        *(
            Difference("came", -1, FACT, by=fact.by, why=f"remembered in turn {fact.turn}", says=fact.line)
            for fact in came
        ),
    ]


def _left(state: State, fact: Fact, reasons: Reasons) -> Difference:
    by, why = "", "the session went back to before it"
    if fact in state.facts:
        fate, by, why = _settled(state, fact, reasons)
        why = why if why.startswith(fate) else f"{fate} {why}"
    return Difference("left", -1, FACT, by=by, why=why, says=fact.line)


async def _reasons(log: Log) -> Reasons:
    """Why strategies took facts back, from the records of compactions; the newest reason counts."""
    found: dict[str, tuple[str, str]] = {}
    async for position, told in records(log.store, log.id, upto=log.position):
        if told["kind"] == "compaction":
            with legible(log.id, position):
                edits = told.get("data", {}).get("edits", ())
                found.update(
                    {each["detail"]: (each["by"], each["why"]) for each in edits if each["kind"] == "Retract"}
                )
    return found


def _fact(log: Log, state: State, fact: Fact, reasons: Reasons) -> Whereabouts:
    fate, by, why = _settled(state, fact, reasons)
    name = f"{fact.subject} / {fact.key}" if fact.subject else fact.key
    known = [id for id in fact.source if id >= log.history.archive.erased_to]
    record = log.book.position_of(known[0]) if known else 0
    return Whereabouts("fact", name, fact.value, fate, by, why, record=record)


def _settled(state: State, fact: Fact, reasons: Reasons) -> tuple[str, str, str]:
    """What became of a fact, through whom, and why."""
    if active_facts(state.facts).get(fact.name) == fact:
        return "in force", fact.by, f"remembered in turn {fact.turn}"
    at = max(place for place, each in enumerate(state.facts) if each == fact)
    winner = next(_after(state, at, fact), None)
    if winner is None:
        return "not taken over", fact.by, "an earlier fact of higher confidence, or of a user, stays in force"
    if not winner.retracted:
        return "superseded", winner.by, f"in turn {winner.turn}: {winner.line}"
    if winner.by == USER:
        return "taken back", USER, f"in turn {winner.turn}"
    by, why = reasons.get(fact.key, (winner.by, f"in turn {winner.turn}"))
    return "evicted" if why.startswith("evicted") else "taken back", by, why


def _after(state: State, at: int, fact: Fact) -> Iterator[Fact]:
    """What was remembered under the same name later and may have taken the place of a fact."""
    for each in state.facts[at + 1 :]:
        outranked = each.confidence < fact.confidence or (fact.by == USER != each.by)
        if each.name == fact.name and not outranked:
            yield each
