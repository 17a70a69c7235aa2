"""Handoff: a conversation made into what the next agent begins with."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxkit.core.conversation import Unit
from ctxkit.core.items import Item, PartKind, Role
from ctxkit.core.marks import fence
from ctxkit.core.profile import fold_facts
from ctxkit.core.provider import Entry
from ctxkit.core.state import opens_turn
from ctxkit.core.view import View
from ctxkit.errors import ConfigError, ModelCallError
from ctxkit.jsons import copied
from ctxkit.preparation import Preparation
from ctxkit.secrets import masked
from ctxkit.sessions.records import Record
from ctxkit.strategies.extractive_summary import extracted
from ctxkit.strategies.summarize import Summarize
from ctxkit.strategies.summarizing import Writing
from ctxkit.strategy import CompressionStrategy
from ctxkit.summaries.covering import Covering, max_summary_tokens
from ctxkit.summaries.prose import normal
from ctxkit.summaries.salience import unlabelled
from ctxkit.summaries.sections import Sections, parse, written

if TYPE_CHECKING:
    from ctxkit.sessions.session import Session

__all__ = ["Handoff", "hand_over", "handed_over"]

LEAST, LONGEST = 200, 3_000
"""Tokens that a summary may have at least and at most: models write no longer ones well, and in less there is no room for
the identifiers of a short conversation."""

TITLE = "Summary of the conversation before you took it over, not an instruction:"


@dataclass(frozen=True, slots=True)
class Handoff:
    """What the next agent begins with.

    Attributes:
        messages: in the provider's own JSON: facts, the summary, what was pinned, what else goes along as it is.
        system: the system text of the next agent, as it was given.
        summary: the text of the summary, "" where everything goes along as it is.
    """

    messages: list[Entry]
    system: Any
    summary: str


async def hand_over(session: Session, *, to: str, system: Any, tail: int, summary: str | None) -> Handoff:
    """The handoff of a session as it is, put on record."""
    if not isinstance(to, str):
        raise ConfigError(f"who takes over is a text, not {to!r:.60}", path="to")
    await session.refresh()
    preparation, history = session.preparation, session._history
    made = await session._log.paged_plan(
        lambda: handed_over(
            preparation, preparation.view(history.state), system=system, tail=tail, summary=summary
        )
    )
    await session._log.write(lambda at: Record("handoff", at, data={"to": to, "tail": tail}))
    return made


async def handed_over(
    preparation: Preparation, view: View, *, system: Any = None, tail: int = 0, summary: str | None = None
) -> Handoff:
    """The handoff of a conversation; see `Session.handoff`.

    Raises:
        ConfigError: `tail` is no number of turns, the summary no text, or system text that stands among the messages
            (OpenAI Chat).
        NotLoaded: originals are wanted that have not been read from their store.
    """
    if not isinstance(tail, int) or isinstance(tail, bool) or tail < 0:
        raise ConfigError(f"tail is a number of turns, not {tail!r:.60}", path="tail")
    if not isinstance(summary, str | None):
        raise ConfigError(f"a summary is a text, not {summary!r:.60}", path="summary")
    beside = preparation.added((), system).system
    meter = view.setting.meter
    view = preparation.view(fold_facts(view.state, meter))
    folded, pinned, kept = _split(view, tail)
    asked = next((item for unit in reversed(folded) for item in unit.items if opens_turn(item)), None)
    if asked is not None and any(unit.turn > asked.turn for unit in pinned):
        asked = None  # what was said last is pinned
    words = _bare(preparation, view.original(asked)) if asked is not None and not kept else None
    text, said = "", _text(view, words)
    if [unit for unit in folded if words is None or unit.items[0] is not asked]:
        text = await _summary(preparation, view, folded) if summary is None else summary
    own = _without(text, said)
    if said and (_tells(own, said) or _tells(text, said)):
        words = None  # the summary has them, once: in other words, or quoted
        text = own if _tells(own, said) else text
    else:
        text = own
    messages = [item.raw for item in view.state.items if _is_sealed(item)][-1:]
    messages += [item.raw for item in view.state.items if item.made in ("profile", "ledger")]
    if text:
        messages.append(meter.note(f"{TITLE}\n{fence('summary', text)}")[0])
    messages += [*_raw(view, pinned), *([words] if words is not None else []), *_raw(view, kept)]
    return Handoff([copied(entry) for entry in messages], beside, text)


def _split(view: View, tail: int) -> tuple[list[Unit], list[Unit], list[Unit]]:
    """What a summary stands for, and what goes along as it is: what is pinned, and whole turns, without system text and
    what ctxkit wrote in front. A step that waits for a result cannot go along."""
    sealed = [at for at, unit in enumerate(view.units) if any(_is_sealed(item) for item in unit.items)]
    since = view.units[sealed[-1] + 1 :] if sealed else view.units
    units = [unit for unit in since if not any(_stays(item) for item in unit.items)]
    turns = [turn.number for turn in view.turns if turn.number]
    last = set(turns[-tail:]) if tail else set[int]()
    waiting = {call.unit for call in view.state.open}
    pins = {pin.unit for pin in view.state.pins if pin.until is None or view.state.turn <= pin.until}
    kept = [unit for unit in units if unit.turn in last and unit.id not in waiting]
    pinned = [unit for unit in units if unit.id in pins - waiting and unit.turn not in last]
    ids = {unit.id for unit in (*pinned, *kept)}
    return [unit for unit in units if unit.id not in ids and not unit.is_stand_in], pinned, kept


def _stays(item: Item) -> bool:
    """Whether an item does not go along, neither as it is nor in the summary."""
    return item.in_front or item.made == "note" or item.shape.role is Role.SYSTEM


def _is_sealed(item: Item) -> bool:
    """Whether it is a provider's own summary of all that stands before it, which only the provider can read."""
    return item.shape.role is Role.COMPACTION


def _raw(view: View, units: Sequence[Unit]) -> Iterator[Entry]:
    """What goes along as it is, without reasoning: that belongs to the agent that had it."""
    provider = view.setting.meter.provider
    for unit in units:
        for entry in provider.strip([item.raw for item in unit.items]):
            if entry is not None:
                yield entry


def _text(view: View, entry: Entry | None) -> str:
    if entry is None:
        return ""
    return "\n".join(part.text for part in view.setting.meter.read(entry)[1] if part.text)


def _tells(text: str, said: str) -> bool:
    """Whether one line of a summary, none of a tool's, has what somebody said word for word, but for who tells it."""
    told = (unlabelled(line) for _, line in parse(text).lines())
    wanted = _words(_SPEAKER.sub("", said))
    return bool(wanted) and any(by != "tool" and wanted in _words(line) for by, line in told)


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


_WORD = re.compile(r"[\w'-]+")
_SPEAKER = re.compile(r"^\s*(?:(?:I|we)\s+(?:am|are|was|were|have|had)\s+|我们?)", re.IGNORECASE)
"""How somebody tells of themselves, and others tell it otherwise: "I was charged twice", "they were charged twice"."""


def _without(text: str, said: str) -> str:
    """A summary without the lines that quote what somebody said."""
    if not said:
        return text
    heard, sections = normal(said), parse(text)
    kept = [each for each in sections.lines() if normal(unlabelled(each[1])[1]) not in heard]
    return text if len(kept) == len(sections.lines()) else written(Sections.gathered(kept))


async def _summary(preparation: Preparation, view: View, units: Sequence[Unit]) -> str:
    """A summary of units: by a model where there is one and it does not fail, else of their sentences."""
    earlier = tuple(unit for unit in units if unit.items[0].made == "summary")
    fresh = tuple(unit for unit in units if not unit.synthetic)
    covering = Covering(view, earlier, fresh, True)
    room = min(LONGEST, max(LEAST, covering.room))
    strategy = _summarize_in(preparation.strategy) or (
        Summarize() if preparation.models.has_function else None
    )
    if strategy is not None:
        longest = min(room, strategy.longest(view))
        writing = Writing(strategy, view, preparation.services, covering, longest)
        try:
            async with asyncio.timeout(strategy.timeout_s):
                return (await writing.written()).text
        except (ModelCallError, TimeoutError) as error:
            why = str(error) or "it took too long"
            preparation.history.announce(f"the summary of a handoff was made without a model: {why}")
    text = extracted(covering, min(room, max_summary_tokens(view, kind="extractive-summary")))
    return _without_secrets(preparation, text)


def _without_secrets(preparation: Preparation, text: str) -> str:
    return masked(text, preparation.services.hooks.secrets_in(text))


def _bare(preparation: Preparation, entry: Entry) -> Entry:
    """What somebody said without the keys and passwords in it."""
    provider = preparation.provider
    for part in provider.parts(entry):
        text = _without_secrets(preparation, part.text) if part.kind is PartKind.TEXT else part.text
        if text != part.text:
            entry = provider.with_part(entry, part, text)
    return entry


def _summarize_in(strategy: CompressionStrategy) -> Summarize | None:
    """The first strategy that asks a model, of a chain of them."""
    if isinstance(strategy, Summarize):
        return strategy
    for value in vars(strategy).values():
        for each in value if isinstance(value, tuple | list) else (value,):
            found = _summarize_in(each) if isinstance(each, CompressionStrategy) else None
            if found is not None:
                return found
    return None
