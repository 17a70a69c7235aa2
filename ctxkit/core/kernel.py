"""The kernel: applies a plan to a state, stage by stage, and refuses what cannot be applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from ctxkit.core.edits import (
    Close,
    Drop,
    Edit,
    Pin,
    Plan,
    Remember,
    Replace,
    Retract,
    Shorten,
    Strip,
    Unpin,
    malformed,
)
from ctxkit.core.facts import TRUST, USER, Fact, Speaker, active_facts, displaced
from ctxkit.core.gaps import Gap, Names, Taken, close_gaps, ids_of
from ctxkit.core.items import Item, PartKind, Role
from ctxkit.core.marks import is_marked
from ctxkit.core.pairing import named
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter, Pinned, State, fixed_units, ledger_of, newest_unit
from ctxkit.errors import PlanError, PlanRejected

__all__ = ["Applied", "Setting", "apply"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What stays the same while a conversation changes.

    Attributes:
        meter: how entries and texts are counted; it knows the provider.
        original: the entry that an item id arrived as.
        taken: whether a handle is in use for other originals than these.
        arrived: the items of some ids as they arrived, in their order, without those that were erased.
        reasoning: for a model that ties reasoning to all that stands before it, what happens to the reasoning
            behind a change: "strip" it, "refuse" the change; "keep" it for all other models.
    """

    meter: Meter
    original: Callable[[int], Entry]
    taken: Taken
    arrived: Callable[[Iterable[int]], list[Item]]
    reasoning: Literal["keep", "strip", "refuse"] = "keep"

    def handle(self, items: Iterable[Item]) -> str:
        """The handle under which items can be read as they arrived."""
        arrived = [each if each.synthetic else replace(each, raw=self.original(each.id)) for each in items]
        return Names(self.taken).of(arrived)


@dataclass(frozen=True, slots=True)
class Applied:
    """One edit as it was carried out.

    Attributes:
        edit: the edit.
        ids: the originals that it touched.
        handle: the name under which they can be read, "" where none is touched.
        tokens_before, tokens_after: their size.
    """

    edit: Edit
    ids: tuple[range, ...] = ()
    handle: str = ""
    tokens_before: int = 0
    tokens_after: int = 0


Named = dict[str, tuple[range, ...]]
"""The originals behind each handle that a stand-in or summary names."""


def apply(state: State, plan: Plan, setting: Setting) -> tuple[State, list[Applied], Named]:
    """The state after a plan, each edit as it was carried out, and the handles that stand-ins name.

    Raises:
        PlanRejected: an edit names what is not there, touches what is fixed, or would grow an entry.
    """
    applied: list[Applied] = []
    named: Named = {}
    after = state
    for edits in plan.stages:
        stage = _Stage(after, setting)
        after = stage.apply(edits)
        applied.extend(stage.applied)
        named.update(stage.named)
    if setting.reasoning != "keep":
        after = _strip_bound(state, after, setting, applied)
    return after, applied, named


class _Stage:
    """One stage in the making: edits mark what changes, then the items are written anew."""

    def __init__(self, state: State, setting: Setting) -> None:
        self._state = state
        self._setting = setting
        self._provider = setting.meter.provider
        self._fixed = fixed_units(state)
        self._newest = newest_unit(state)
        self._units: dict[int, list[Item]] = {}
        for item in state.items:
            self._units.setdefault(item.unit, []).append(item)
        self._items = {item.id: item for item in state.items}
        self._names = Names(setting.taken)
        self._gone: dict[int, Drop | Replace] = {}
        self._changed: dict[int, Item | None] = {}
        self._facts: list[Fact] = []
        self.applied: list[Applied] = []
        self.named: Named = {}

    def apply(self, edits: Sequence[Edit]) -> State:
        wrong = [problem for problem in map(malformed, edits) if problem] or list(_at_odds(edits))
        if wrong:
            raise PlanRejected(wrong)
        shortened: dict[int, list[Shorten]] = {}
        for edit in edits:
            if isinstance(edit, Shorten):
                shortened.setdefault(edit.item, []).append(edit)
        for edit in edits:
            if not isinstance(edit, Shorten):
                self._mark(edit)
            elif edit.item in shortened:
                self._shorten(shortened.pop(edit.item))
        if self._facts:
            self._state = replace(self._state, facts=self._state.facts + tuple(self._facts))
        return self._written() if self._gone or self._changed else self._state

    def _mark(self, edit: Edit) -> None:
        match edit:
            case Drop() | Replace():
                self._leave_out(edit)
            case Strip():
                self._strip(edit)
            case Close():
                self._close(edit)
            case Pin():
                self._pin(edit)
            case Unpin():
                self._unpin(edit)
            case Remember():
                fact = replace(edit.fact, turn=self._state.turn, by=edit.by or edit.fact.by)
                self._make_way(fact)
                self._keep(edit, replace(fact, said_by=self._said_by(fact)))
            case Retract(key=key, confidence=confidence, subject=subject):
                turn, by = self._state.turn, edit.by
                fact = Fact(key, "", confidence, turn, by, retracted=True, subject=subject)
                self._make_way(fact)
                self._keep(edit, replace(fact, source=self._sources_of(fact)))

    def _keep(self, edit: Edit, fact: Fact) -> None:
        self._facts.append(fact)
        self.applied.append(Applied(edit))

    @cached_property
    def _known_facts(self) -> dict[tuple[str, str], Fact]:
        """The facts in force before the stage, all edits of which are somebody's alone."""
        return active_facts(self._state.facts)

    def _make_way(self, fact: Fact) -> None:
        """What somebody else had it remember under the name of a fact: users are obeyed, but what must be kept goes on
        under a name of its own; a strategy has to leave alone what a user said and what must be kept, and takes back
        its own facts only."""
        held = self._known_facts.get(fact.name)
        if held is None or fact.by in (held.by, ""):
            return
        if fact.by != USER and (fact.retracted or held.must_keep or held.by == USER):
            whose = "a user" if held.by == USER else held.by
            raise PlanRejected([f"the fact {fact.key!r:.80} is {whose}'s; remember yours under another key"])
        moved = displaced(self._known_facts, fact)
        if moved is not None:
            self._facts.append(moved)

    def _sources_of(self, back: Fact) -> tuple[int, ...]:
        """What all facts that are taken back were read out of; nothing where one of them was read out of none. A
        strategy takes back what there is: the key of anything else might tell what was erased."""
        sources = [fact.source for fact in (*self._state.facts, *self._facts) if fact.name == back.name]
        if not sources and back.by != USER:
            raise PlanRejected([f"there is no fact {back.key!r:.80} to take back"])
        return tuple(dict.fromkeys(id for each in sources for id in each)) if all(sources) else ()

    def _said_by(self, fact: Fact) -> Speaker:
        """Who said a fact: the least trusted of those that it claims and that it was taken from (P11)."""
        sources = (self._items[id] for id in fact.source if id in self._items)
        return max((fact.said_by, *(self._speaker(item, fact) for item in sources)), key=TRUST.index)

    def _speaker(self, item: Item, fact: Fact) -> Speaker:
        """Who said an item: where a user's words stand beside results, the user what stands in them."""
        if item.synthetic or item.document:
            return "tool"
        if item.shape.results:
            said, told = " ".join(fact.value.split()), " ".join(" ".join(self._words(item)).split())
            return "user" if said and said in told else "tool"
        return "user" if item.shape.role is Role.USER and item.shape.words else "assistant"

    def _words(self, item: Item) -> Iterator[str]:
        """What users said beside results, as it arrived."""
        ids = (item.id, *(id for span in item.stands_for for id in span)) if item.shape.words else ()
        for shape, parts in (self._setting.meter.read(self._setting.original(id)) for id in ids):
            told = (part.text for part in parts if shape.words and part.reads_as is PartKind.TEXT)
            yield from (text for text in told if not is_marked(text))

    def _pin(self, edit: Pin) -> None:
        self._known(edit.units)
        pins = tuple(Pinned(unit, edit.until, edit.by, edit.why) for unit in edit.units)
        self._state = replace(self._state, pins=(*self._state.pins, *pins))
        self.applied.append(Applied(edit, ids_of(item for unit in edit.units for item in self._units[unit])))

    def _unpin(self, edit: Unpin) -> None:
        """A strategy takes off its own pins alone, users take off any."""
        pins = self._state.pins if edit.by not in (USER, "") else ()
        own = {pin.unit for pin in pins if pin.by == edit.by}
        for pin in pins:
            if pin.unit in edit.units and pin.unit not in own:
                whose = "a user" if pin.by == USER else pin.by
                raise PlanRejected([f"the pin of unit {pin.unit} is {whose}'s, who alone takes it off"])
        kept = tuple(
            pin
            for pin in self._state.pins
            if pin.unit not in edit.units or (edit.by != USER and pin.by != edit.by)
        )
        self._state = replace(self._state, pins=kept)
        self.applied.append(Applied(edit))

    def _known(self, units: Iterable[int]) -> None:
        for unit in units:
            if unit not in self._units:
                raise PlanRejected([f"there is no unit {unit}"])

    def _leave_out(self, edit: Drop | Replace) -> None:
        self._known(edit.units)
        for unit in edit.units:
            if unit in self._fixed:
                raise PlanRejected([f"unit {unit} is pinned and cannot be left out"])
            if unit == self._newest:
                raise PlanRejected([f"unit {unit} is the newest, which the model has yet to answer"])
            if unit in self._gone or any(item.id in self._changed for item in self._units[unit]):
                raise PlanRejected([f"unit {unit} is changed twice in one stage"])
            self._gone[unit] = edit
        items = [item for unit in edit.units for item in self._units[unit]]
        before = sum(item.tokens for item in items)
        self.applied.append(Applied(edit, ids_of(items), self._names.of(items), before))

    def _shorten(self, edits: Sequence[Shorten]) -> None:
        """Shorten parts of one item; what is inside another part comes before it."""
        item = self._items.get(edits[0].item)
        if item is None:
            raise PlanRejected([f"there is no item {edits[0].item}"])
        if item.synthetic:
            raise PlanRejected([f"item {item.id} was written by ctxkit and is left out or kept whole"])
        if item.unit in self._fixed:
            raise PlanRejected([f"item {item.id} is pinned and cannot be shortened"])
        if item.id in self._changed or item.unit in self._gone:
            raise PlanRejected(
                [f"item {item.id} is changed twice in one stage; give the second change its own"]
            )
        (_, parts), raw = self._setting.meter.read(item.raw), item.raw
        for edit in sorted(edits, key=lambda each: -each.part):
            if not 0 <= edit.part < len(parts):
                raise PlanRejected([f"item {item.id} has no part {edit.part}"])
            try:
                raw = self._provider.with_part(raw, parts[edit.part], edit.content)
            except PlanError as error:
                raise PlanRejected([f"item {item.id}, part {edit.part}: {error}"]) from error
        tokens = self._setting.meter.entry(raw)
        if tokens > item.tokens:
            raise PlanRejected([f"item {item.id} would grow from {item.tokens} to {tokens} tokens"])
        if tokens < item.tokens:
            self._changed[item.id] = replace(item, raw=raw, tokens=tokens, edited=edits[0].by or "plan")
            self._tell_shortened(edits, item, tokens)

    def _tell_shortened(self, edits: Sequence[Shorten], item: Item, tokens: int) -> None:
        """Put down the edits of one item; of several parts the first edit tells the size of the whole."""
        ids, handle = ids_of([item]), self._setting.handle([item])
        sizes = [(item.tokens, tokens), *[(0, 0)] * (len(edits) - 1)]
        self.applied.extend(
            Applied(edit, ids, handle, before, after)
            for edit, (before, after) in zip(edits, sizes, strict=True)
        )

    def _strip(self, edit: Strip) -> None:
        self._known(edit.units)
        for unit in edit.units:
            items = self._units[unit]
            if items[0].turn == self._state.turn and not self._provider.strips_open_turn:
                raise PlanRejected([f"unit {unit} belongs to the current turn, which keeps its reasoning"])
            if unit in self._gone or any(item.id in self._changed for item in items):
                raise PlanRejected(
                    [f"unit {unit} is changed twice in one stage; give the second change its own"]
                )
            stripped = _without_reasoning(items, self._setting.meter)
            self._changed.update(stripped)
            self.applied.append(_applied_strip(edit, items, stripped, self._setting))

    def _close(self, edit: Close) -> None:
        at = named(self._state.open, edit.call)
        if at is None:
            raise PlanRejected([f"there is no open call {edit.call!r}"])
        calls = list(self._state.open)
        calls[at] = replace(calls[at], closed=edit.text)
        self._state = replace(self._state, open=tuple(calls))
        self.applied.append(Applied(edit))

    def _written(self) -> State:
        next_synthetic = self._state.next_synthetic
        items, self.named = close_gaps(list(self._slots()), next_synthetic, self._setting.meter, self._names)
        self._weigh_summaries(items)
        dropped = [call.call for call in self._state.open if call.unit in self._gone and not call.closed]
        return replace(
            self._state,
            items=tuple(items),
            ledger=ledger_of(items),
            next_synthetic=next_synthetic - len(self.named),
            open=tuple(call for call in self._state.open if call.unit not in self._gone),
            lost=(*self._state.lost, *dropped),
            pins=tuple(pin for pin in self._state.pins if pin.unit not in self._gone),
        )

    def _weigh_summaries(self, items: Sequence[Item]) -> None:
        """Put down what each summary takes, and refuse one that is no smaller than what it stands for."""
        fresh = [item for item in items if item.id <= self._state.next_synthetic and item.made == "summary"]
        for at, applied in enumerate(self.applied):
            if not isinstance(applied.edit, Replace):
                continue
            start = applied.ids[0].start if applied.ids else None
            size = next((i.tokens for i in fresh if any(start in span for span in i.stands_for)), 0)
            if size >= applied.tokens_before:
                raise PlanRejected(
                    [
                        f"a summary of {size} tokens is not smaller than the {applied.tokens_before} it stands for"
                    ]
                )
            self.applied[at] = replace(applied, tokens_after=size)

    def _slots(self) -> Iterable[Item | Gap]:
        """What is there in wire order; a unit that goes leaves one gap, where it began."""
        marked: set[int] = set()
        for item in self._state.items:
            edit = self._gone.get(item.unit)
            if edit is None:
                kept = self._changed.get(item.id, item)
                if kept is not None:
                    yield kept
            elif item.unit not in marked:
                marked.add(item.unit)
                summary = edit if isinstance(edit, Replace) else None
                yield Gap(item.turn, tuple(self._units[item.unit]), summary)


def _at_odds(edits: Iterable[Edit]) -> Iterator[str]:
    """The facts that one author gives two values in one stage, of which only the last would be kept, without a word."""
    values: dict[tuple[str, tuple[str, str]], str] = {}
    for fact, by in ((each.fact, each.by or each.fact.by) for each in edits if isinstance(each, Remember)):
        if values.setdefault((by, fact.name), fact.value) != fact.value:
            about = f" of {fact.subject!r:.80}" if fact.subject else ""
            yield (
                f"the fact {fact.key!r:.80}{about} has two values in one plan, and only one is kept; number the keys, as "
                f"in {f'2. {fact.key}'!r:.80}, or join the values"
            )


def _without_reasoning(items: Sequence[Item], meter: Meter) -> dict[int, Item | None]:
    """The items of one unit that change when their reasoning goes; None for one that goes with it."""
    stripped = meter.provider.strip([item.raw for item in items])
    return {
        item.id: None if raw is None else replace(item, raw=raw, tokens=meter.entry(raw), edited=STRIPPED)
        for item, raw in zip(items, stripped, strict=True)
        if raw is not item.raw
    }


STRIPPED = "strip"
"""`Item.edited` of an item that lost its reasoning and nothing else."""


def _applied_strip(
    edit: Strip, items: Sequence[Item], stripped: dict[int, Item | None], setting: Setting
) -> Applied:
    touched = [item for item in items if item.id in stripped]
    before = sum(item.tokens for item in touched)
    after = sum(item.tokens for item in stripped.values() if item is not None)
    return Applied(edit, ids_of(touched), setting.handle(touched), before, after)


def _strip_bound(before: State, after: State, setting: Setting, applied: list[Applied]) -> State:
    """Take the reasoning away that a change before it has made invalid (wire rule A18)."""
    first = next(
        (at for at, (old, new) in enumerate(zip(before.items, after.items, strict=False)) if old is not new),
        len(after.items),
    )
    if first == len(after.items) == len(before.items):
        return after
    units: dict[int, list[Item]] = {}
    for item in after.items[first:]:
        units.setdefault(item.unit, []).append(item)
    changed: dict[int, Item | None] = {}
    for unit, items in units.items():
        stripped = _without_reasoning(items, setting.meter)
        if not stripped:
            continue
        if items[0].turn == after.turn or setting.reasoning == "refuse":
            raise PlanRejected([f"the model ties the reasoning in unit {unit} to everything before it"])
        changed.update(stripped)
        edit = Strip((unit,), "the model ties reasoning to everything before it", "binds-reasoning")
        applied.append(_applied_strip(edit, items, stripped, setting))
    kept = [item for item in (changed.get(item.id, item) for item in after.items) if item is not None]
    return replace(after, items=tuple(kept), ledger=ledger_of(kept))
