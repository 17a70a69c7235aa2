"""History: a conversation that is added to, compacted and restored, by many at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from ctxkit.archive import Archive, Handles, Kept, handles_of
from ctxkit.core.arrivals import Arrival, append, waiting_with
from ctxkit.core.edits import Edit, Pin, Plan, Unpin, malformed
from ctxkit.core.facts import USER, active_facts
from ctxkit.core.flaws import check_flaws, mended, refuse
from ctxkit.core.items import NOBODY, Item, Writer
from ctxkit.core.kernel import Setting, apply
from ctxkit.core.popping import newest, without, without_erased
from ctxkit.core.profile import note_facts, without_facts
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter, State, open_tail, wire
from ctxkit.core.view import Past, View
from ctxkit.engine import Outcome
from ctxkit.errors import ConfigError, ConversationError, OpenCallsError, ProviderFormatError
from ctxkit.jsons import copied, json_text
from ctxkit.rebase import beside, given_up_in, rebase, since

__all__ = ["ERASES", "UNDO_DEPTH", "Added", "History", "Snapshot", "Step", "StepKind"]

UNDO_DEPTH = 8
"""Compactions that can be undone, newest first."""

Rewriting = Literal["compaction", "undo", "redo", "pop", "rollback", "clear", "retention"]
StepKind = Literal["items", "edit", "tools", "notes", "attempt", "request", "fork", Rewriting]
"""What happens to a conversation; a fork is less what was erased since."""

REWRITES: tuple[StepKind, ...] = get_args(Rewriting)
"""Kinds of steps after which a compaction that was planned before cannot be taken over as it is."""

ERASES: tuple[StepKind, ...] = ("clear", "retention")
"""Kinds of steps that take out for good what was there before."""

BROKEN = ": the prompt cache is broken"
"""Ends what is told of a change in front of what was sent."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A conversation at one moment, and how often it had been compacted or restored by then."""

    state: State
    version: int


@dataclass(frozen=True, slots=True)
class Added:
    """What a caller adds, checked and copied.

    Attributes:
        entries: in the provider's own JSON.
        system: system text that stands beside the messages; None for what there was.
        region: the budget region that the caller names, "" for the one that each belongs to.
        waiting: ids of calls whose result may take several turns.
        writer: who wrote them; an entry that says itself who did says so where this does not.
    """

    entries: list[Entry]
    system: Any = None
    region: str = ""
    waiting: tuple[str, ...] = ()
    writer: Writer = NOBODY


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens to a conversation; nothing has changed until a `History` takes it.

    Attributes:
        kind: what happens.
        state: the conversation after it.
        arrived: items that came in, as they arrived.
        kept: handles that it made, with what they stand for.
        past: a compaction, or the attempt at one, in figures.
        popped: id of the item that it took back.
        sent: items that have been in a request after it have ids below this; None when it sends nothing.
        announced: what had to be rearranged, or breaks the prompt cache.
    """

    kind: StepKind
    state: State
    arrived: tuple[Item, ...] = ()
    kept: Handles = ()
    past: Past | None = None
    popped: int | None = None
    sent: int | None = None
    announced: tuple[str, ...] = ()


class History:
    """The states that a conversation goes through, a `Step` after the other.

    What may happen to it is made as a step by one of the methods, from the conversation as it is now, and then
    taken: at once by `do`, or when it has been written to a store.

    Args:
        meter: how entries are counted and read.
        reasoning: see `Setting`.
        repair: mend what comes in broken, and announce it.
    """

    def __init__(self, meter: Meter, *, reasoning: Any, repair: bool) -> None:
        self.archive = Archive()
        self.setting = Setting(
            meter, self.archive.original, self.archive.taken, self.archive.items, reasoning
        )
        self.lock = threading.RLock()
        self.undoable: deque[State] = deque(maxlen=UNDO_DEPTH)
        self.redoable: deque[State] = deque(maxlen=UNDO_DEPTH)
        self.first_unsent = 0
        self._meter = meter
        self._provider = meter.provider
        self._repair = repair
        self._checked: int | None = None
        self._state = State()
        self.version = 0
        self._announced: list[str] = []
        self._told = 0

    @property
    def state(self) -> State:
        """The conversation as it is now."""
        return self._state

    def restore(
        self,
        state: State,
        undoable: Iterable[State],
        redoable: Iterable[State],
        *,
        first_unsent: int,
        version: int,
    ) -> None:
        """Go on where a history was that a checkpoint was made of."""
        self._state = state
        self.undoable.extend(undoable)
        self.redoable.extend(redoable)
        self.first_unsent, self.version = first_unsent, version

    def snapshot(self) -> Snapshot:
        """The conversation as it is now, for a compaction that is to be committed later."""
        with self.lock:
            return Snapshot(self._state, self.version)

    def do(self, make: Callable[[], Step | None]) -> Step | None:
        """Make a step and take it, undisturbed by others; None when there was nothing to do."""
        with self.lock:
            step = make()
            if step is not None:
                self.take(step)
            return step

    def take(self, step: Step) -> None:
        """Let a step have happened; it was made from the conversation as it is now."""
        with self.lock:
            if step.kind == "compaction":
                self.undoable.append(self._state)
                self.redoable.clear()
            elif step.kind == "undo":
                self.redoable.append(self._state)
                self.undoable.pop()
            elif step.kind == "redo":
                self.undoable.append(self._state)
                self.redoable.pop()
            elif step.kind == "fork" or step.kind in REWRITES:
                self._begin_anew(step)
            if step.kind in REWRITES:
                self.version += 1
            self.archive.arrive(step.arrived)
            self.archive.keep(step.kept)
            if step.past is not None:
                self.archive.past.append(step.past)
            if step.sent is not None:
                self.first_unsent = max(self.first_unsent, step.sent)
            self._announced.extend(step.announced)
            if step.kind == "request":
                self._told = len(self._announced)
            self._state = step.state

    def _begin_anew(self, step: Step) -> None:
        """What was taken back must not come back with an older state."""
        if step.popped is not None:
            turns = (item.turn for item in self._state.items if item.id == step.popped)
            self.archive.erase((step.popped,))
            self.archive.forget_reasons(next(turns, self._state.turn))
        if step.kind in ERASES:
            self.archive.erase_below(step.state.next_id)
            self.first_unsent = 0
        self.undoable.clear()
        self.redoable.clear()

    # What may happen

    def adding(self, added: Added) -> Step:
        """Entries come in, all or none.

        Raises:
            ProviderFormatError: an entry is malformed, would be refused whatever stands around it, or answers no call
                that waits.
        """
        entries, system, state = added.entries, added.system, self._state
        if system is not None and system != state.system:
            tokens = self._meter.weight(self._provider.weigh_system(system))
            state = replace(state, system=system, system_tokens=tokens)
        announced: list[str] = []
        first = 0
        if self._repair:
            first = state.next_id  # a report counts in the whole input, an error in what was given
            mend = mended if state.items else lambda given, provider: provider.repair(given)
            entries, repairs = mend(entries, self._provider)
            announced = [f"messages[{first + each.index}]: {each.rule}: {each.message}" for each in repairs]
        check_flaws(entries, self._provider, mended=self._repair)
        arrivals = [Arrival(entry, added.region, writer=self._writer(added, entry)) for entry in entries]
        state, arrived, normalised = append(state, arrivals, self._meter, lenient=self._repair, first=first)
        state = replace(state, waiting=waiting_with(self._state, state, arrived, added.waiting))
        if self.first_unsent and state.system != self._state.system:
            announced.append(f"the system text changed{BROKEN}")
        return Step("items", state, arrived=tuple(arrived), announced=(*announced, *normalised))

    def refuse_repeated(self, entries: Sequence[Entry]) -> None:
        """Refuse entries that begin with all that was added so far, as a loop gives them that hands over its own list.

        Raises:
            ProviderFormatError: they do. One message, or a question and its answer, may be said once more.
        """
        there, name, field = self._state.next_id, self._provider.name, self._provider.field
        if there < 2 or len(entries) < max(there, 3):
            return
        if all(self.archive.original(id) == entry for id, entry in zip(range(there), entries, strict=False)):
            told = f"these {there} were added already, and are kept; add only what is new: {field}[{there}:]"
            raise ProviderFormatError(told, format=name, path=f"{field}[:{there}]")

    def _writer(self, added: Added, entry: Entry) -> Writer:
        writer = added.writer
        return writer if writer.author else writer._replace(author=self._provider.author(entry))

    def using_tools(self, tools: Any) -> Step | None:
        """Other tool schemas go along from now on."""
        if tools == self._state.tools:
            return None
        state = replace(self._state, tools=tools, tools_tokens=self._meter.count(json_text(tools)))
        changed = (f"the tool schemas changed{BROKEN}",) if self.first_unsent else ()
        return Step("tools", state, announced=changed)

    def editing(self, edit: Edit) -> Step:
        """One edit that pins, remembers or closes is carried out.

        Raises:
            ConfigError: its values are not right.
        """
        wrong = malformed(edit)
        if wrong:
            raise ConfigError(wrong)
        return Step("edit", apply(self._state, Plan.of(edit), self.setting)[0])

    def pinning(self, positions: Sequence[int], until: int | None) -> Step:
        """Messages are pinned by their positions in the input, negative ones from the end.

        Raises:
            ConfigError: a position or `until` is no whole number.
            ConversationError: there is no such message, or it was left out.
        """
        return self.editing(Pin(self._units(positions), until, by=USER))

    def unpinning(self, positions: Sequence[int]) -> Step:
        """Pins are taken off messages; raises what `pinning` raises."""
        return self.editing(Unpin(self._units(positions), by=USER))

    def _units(self, positions: Sequence[int]) -> tuple[int, ...]:
        state = self._state
        units = {item.id: item.unit for item in state.items if not item.synthetic}
        found = []
        for position in positions:
            if not isinstance(position, int) or isinstance(position, bool):
                raise ConfigError(f"a position is a whole number, not {position!r:.60}", path="positions")
            id = position + state.next_id if position < 0 else position
            if id not in units:
                left_out = "was left out by a compaction; undo() it first"
                gone = left_out if 0 <= id < state.next_id else "is unknown"
                raise ConversationError(f"messages[{position}] {gone}")
            found.append(units[id])
        return tuple(dict.fromkeys(found))

    def noting(self, view_of: Callable[[State], View]) -> Step | None:
        """What was remembered since the last request is written into the conversation, before a request is made.

        Args:
            view_of: the view of a state; it tells what a provider would refuse.

        Raises:
            OpenCallsError: a request would end on a call without result.
            ProviderFormatError: it would be empty, or is broken: the first, and the first after each step back.
        """
        if self._checked != self.version or not self._state.items:
            self.check(view_of(self._state))
            self._checked = self.version
        else:
            _check_tail(self._state)
        noted = note_facts(self._state, self.first_unsent, self._meter)
        if noted is self._state or view_of(self._state).newly_refused(view_of(noted)):
            return None
        return Step("notes", noted)

    def check(self, view: View) -> None:
        """Refuse a request that a provider would refuse.

        Raises:
            OpenCallsError: it ends on a call without result.
            ProviderFormatError: it is empty, or broken.
        """
        _check_tail(view.state)
        for violation in view.violations.values():
            if violation.rule in self._provider.certain:
                refuse(violation, self._provider, mends=not self._repair and violation.index >= 0)

    def committing(self, outcome: Outcome, version: int) -> Step | None:
        """A compaction is taken over, with what came in while it was planned; None when that cannot be.

        Args:
            version: of the snapshot that it was planned on.
        """
        if version != self.version:
            return None
        rebased = rebase(outcome, self._state, self.archive, self._meter)
        if rebased is None:
            return None
        kept = handles_of(outcome.after.applied, outcome.after.named, outcome.past.turn)
        return Step("compaction", rebased, kept=kept, past=outcome.past)

    def attempting(self, outcome: Outcome) -> Step | None:
        """What failed in a compaction that changed nothing is put down, for `view.past`."""
        return Step("attempt", self._state, past=outcome.past) if outcome.failures else None

    def undoing(self) -> Step:
        """The last compaction is taken back; what was added, pinned and remembered since stays.

        Raises:
            ConversationError: there is none that can be undone.
            NotLoaded: what came since has not been read from the store.
        """
        if not self.undoable:
            raise ConversationError(f"there is no compaction to undo (the last {UNDO_DEPTH} are kept)")
        return self._restoring("undo", self.undoable[-1], "undone")

    def redoing(self) -> Step:
        """The compaction that was undone last is taken over again; raises what `undoing` raises."""
        if not self.redoable:
            raise ConversationError("there is no undone compaction to redo")
        return self._restoring("redo", self.redoable[-1], "redone")

    def _restoring(self, kind: StepKind, before: State, what: str) -> Step:
        now = self._state
        kept = replace(
            before,
            facts=now.facts,
            pins=tuple(pin for pin in now.pins if pin.by == USER or pin in before.pins),
            compactions=now.compactions,
            **beside(now),
        )
        try:
            came = since(before, self.archive, now.next_id)
            state = given_up_in(append(given_up_in(kept, now), came, self._meter, first=kept.next_id)[0], now)
        except ProviderFormatError as error:
            raise ConversationError(f"what came since cannot follow what was there: {error}") from error
        changed = sorted((_pinned(now) - _pinned(before)) & _less_whole(state, now))
        if changed:
            raise ConversationError(
                f"the compaction cannot be {what}: it changed messages{changed}, which were pinned since; unpin them first"
            )
        announced = (f"the last compaction was {what}{BROKEN}",)
        return Step(kind, state, announced=announced)

    def popping(self) -> Step | None:
        """The newest entry is taken back, for good, with the facts that were read out of it alone; None when there is
        none.

        Raises:
            ConversationError: it was merged into another entry, as late results are.
            NotLoaded: it was edited, and its original has not been read from the store.
        """
        item = newest(self._state)
        if item is None:
            return None
        if item.stands_for:
            raise ConversationError(
                "the newest message holds late results of several; it cannot be taken back"
            )

        original = self.archive.original(item.id)

        def is_popped(id: int) -> bool:
            return id == item.id or self.archive.is_popped(id)

        left = without_facts(without(self._state, item, self._meter, original), is_popped, self._meter)
        return Step("pop", left, popped=item.id)

    def clearing(self) -> Step:
        """Everything is taken back, for good; only the count of messages goes on."""
        now = self._state
        return Step("clear", State(next_id=now.next_id, next_synthetic=now.next_synthetic))

    def retaining(self) -> Step:
        """Everything but the facts in force is taken out, for good."""
        now = self._state
        facts = tuple(active_facts(now.facts).values())
        left = replace(self.clearing().state, turn=now.turn, facts=facts, compactions=now.compactions)
        return Step("retention", left)

    def rolling_back(self, then: State) -> Step:
        """The conversation is again as it was; what came since stays on record, and was not erased since.

        Raises:
            NotLoaded: what came since has not been read from the store.
        """
        now = self._state
        since_then = self.archive.items(range(then.next_id, now.next_id))
        synthetic = min(now.next_synthetic, then.next_synthetic)
        state = replace(self.less_erased(then), next_id=now.next_id, next_synthetic=synthetic)
        handle = self.setting.handle(since_then) if since_then else ""
        left = Kept((range(then.next_id, now.next_id),), "dropped", USER, "rolled back")
        announced = (f"the conversation was rolled back{BROKEN}",)
        return Step("rollback", state, kept=((handle, left),) if handle else (), announced=announced)

    def less_erased(self, then: State, *archives: Archive) -> State:
        """An earlier state without what was taken out for good since, here or in what other archives know."""
        known = (self.archive, *archives)
        state = without_erased(then, lambda id: any(each.is_erased(id) for each in known), self._meter)
        return without_facts(state, lambda id: any(each.is_popped(id) for each in known), self._meter)

    def sending(self, state: State) -> Step:
        """A request is made from a state; its entries count as sent from now on."""
        return Step("request", self._state, sent=state.next_id)

    # What there is to read

    def entries(self, state: State) -> list[Entry]:
        """The messages of a request with a state, as copies."""
        return [copied(entry) for entry in wire(state, self._provider)[0]]

    def announce(self, line: str) -> None:
        """Say something in the next report."""
        with self.lock:
            self._announced.append(line)

    def was_told(self) -> None:
        """What was announced before the last request was told in its report, by another worker: it is not said again."""
        with self.lock:
            del self._announced[: self._told]
            self._told = 0

    def announced(self) -> tuple[str, ...]:
        """What had to be rearranged or broke the prompt cache since this was last asked; that it is broken is said once."""
        with self.lock:
            announced, self._announced, self._told = tuple(self._announced), [], 0
        last = max((at for at, line in enumerate(announced) if line.endswith(BROKEN)), default=0)
        return tuple(line.removesuffix(BROKEN) if at < last else line for at, line in enumerate(announced))

    def original(self, handle: str) -> list[Entry]:
        """The entries that a handle stands for, as they arrived; copies.

        Raises:
            UnknownHandleError: nothing is kept under that handle.
        """
        return [copied(self.archive.original(id)) for id in self.archive.positions(handle)]


def _check_tail(state: State) -> None:
    waiting = [each.call.id or each.call.name for each in open_tail(state) if not each.call.deferred]
    if waiting:
        raise OpenCallsError(
            f"the messages end on calls without result: {', '.join(waiting)}; add their results first",
            calls=waiting,
        )


def _pinned(state: State) -> set[int]:
    """The units that the user pinned."""
    return {pin.unit for pin in state.pins if pin.by == USER}


def _less_whole(state: State, now: State) -> set[int]:
    """The units of which less is there than now: they were left out, or changed."""
    there = {item.id: item for item in state.items}
    return {
        item.unit
        for item in now.items
        if item.id not in there or (there[item.id].edited and there[item.id].raw != item.raw)
    }
