"""History: a conversation that is added to, compacted and restored, by many at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxkit.archive import Archive
from ctxkit.core.arrivals import Arrival, append
from ctxkit.core.edits import Edit, Pin, Plan, Unpin, malformed
from ctxkit.core.facts import USER
from ctxkit.core.kernel import Setting, apply
from ctxkit.core.profile import note_facts
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter, State, open_tail, stand_ins, wire
from ctxkit.core.view import View
from ctxkit.engine import Outcome
from ctxkit.errors import ConfigError, ConversationError, OpenCallsError, ProviderFormatError
from ctxkit.jsons import copied, json_text
from ctxkit.rebase import rebase, since

__all__ = ["UNDO_DEPTH", "History", "Snapshot"]

UNDO_DEPTH = 8
"""Compactions that can be undone, newest first."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A conversation at one moment, and how often it had been compacted or restored by then."""

    state: State
    version: int


class History:
    """The states that a conversation goes through. Each method is one step for all who share it.

    Args:
        meter: how entries are counted and read.
        reasoning: see `Setting`.
        repair: mend what comes in broken, and announce it.
    """

    def __init__(self, meter: Meter, *, reasoning: Any, repair: bool) -> None:
        self.archive = Archive()
        self.setting = Setting(meter, self.archive.original, self.archive.taken, reasoning)
        self._meter = meter
        self._provider = meter.provider
        self._repair = repair
        self._lock = threading.RLock()
        self._state = State()
        self._version = 0
        self._undo: deque[State] = deque(maxlen=UNDO_DEPTH)
        self._sent = 0
        self._announced: list[str] = []

    @property
    def state(self) -> State:
        """The conversation as it is now."""
        return self._state

    def snapshot(self) -> Snapshot:
        """The conversation as it is now, for a compaction that is to be committed later."""
        with self._lock:
            return Snapshot(self._state, self._version)

    def add(self, entries: list[Entry], *, system: Any, region: str, waiting: Iterable[str]) -> None:
        """Add entries, all or none; system text replaces what there was, unless it is None.

        Raises:
            ProviderFormatError: an entry is malformed, or answers no call that waits.
        """
        with self._lock:
            state = replace(self._state, waiting=self._state.waiting | frozenset(waiting))
            if system is not None and system != state.system:
                tokens = self._meter.weight(self._provider.weigh_system(system))
                state = replace(state, system=system, system_tokens=tokens)
            announced: list[str] = []
            if self._repair and not state.items:
                entries, repairs = self._provider.repair(entries)
                announced = [f"messages[{each.index}]: {each.rule}: {each.message}" for each in repairs]
            arrivals = [Arrival(entry, region) for entry in entries]
            state, arrived, normalised = append(state, arrivals, self._meter, lenient=self._repair)
            if self._sent and state.system != self._state.system:
                announced.append("the system text changed: the prompt cache is broken")
            self.archive.log.extend(arrived)
            self._announced += [*announced, *normalised]
            self._state = state

    def use_tools(self, tools: Any) -> None:
        """The tool schemas that go along from now on."""
        with self._lock:
            if tools != self._state.tools:
                tokens = self._meter.count(json_text(tools))
                self._state = replace(self._state, tools=tools, tools_tokens=tokens)
                if self._sent:
                    self._announced.append("the tool schemas changed: the prompt cache is broken")

    def edit(self, edit: Edit) -> None:
        """Carry out one edit that pins or remembers.

        Raises:
            ConfigError: its values are not right.
        """
        wrong = malformed(edit)
        if wrong:
            raise ConfigError(wrong)
        with self._lock:
            self._state, _, _ = apply(self._state, Plan.of(edit), self.setting)

    def pin(self, positions: Sequence[int], until: int | None) -> None:
        """Pin messages by their positions in the input, negative ones from the end.

        Raises:
            ConfigError: a position or `until` is no whole number.
            ConversationError: there is no such message, or it was left out.
        """
        with self._lock:
            self.edit(Pin(self._units(positions), until, by=USER))

    def unpin(self, positions: Sequence[int]) -> None:
        """Take pins off messages; raises what `pin` raises."""
        with self._lock:
            self.edit(Unpin(self._units(positions), by=USER))

    def _units(self, positions: Sequence[int]) -> tuple[int, ...]:
        state = self._state
        units = {item.id: item.unit for item in state.items}
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

    def ready(self, view_of: Callable[[State], View]) -> Snapshot:
        """The conversation as it is now, with what was remembered since the last request written into it.

        Args:
            view_of: the view of a state; it tells what a provider would refuse.

        Raises:
            OpenCallsError: a request would end on a call without result.
            ProviderFormatError: it is the first, and broken as it is.
        """
        with self._lock:
            tail = [each.call for each in open_tail(self._state) if not each.call.deferred]
            if tail:
                waiting = [call.id or call.name for call in tail]
                raise OpenCallsError(
                    f"the messages end on calls without result: {', '.join(waiting)}; add their results first",
                    calls=waiting,
                )
            if not self._sent:
                self._refuse_broken(view_of(self._state))
            noted = note_facts(self._state, self._sent, self._meter)
            if noted is not self._state and not view_of(self._state).newly_refused(view_of(noted)):
                self._state = noted
            return self.snapshot()

    def _refuse_broken(self, view: View) -> None:
        for violation in view.violations.values():
            if violation.rule in self._provider.certain:
                raise ProviderFormatError(
                    f"the provider would refuse this: {violation.message} (see {violation.rule} in "
                    "docs/wire-rules.md; repair=True mends what can be mended)",
                    format=self._provider.name,
                    path=violation.path,
                    rule=violation.rule,
                )

    def commit(self, outcome: Outcome, version: int) -> bool:
        """Take a compaction over, with what came in while it was planned; False when that cannot be.

        Args:
            version: of the snapshot that it was planned on.
        """
        with self._lock:
            if version != self._version:
                return False
            rebased = rebase(outcome, self._state, self.archive, self._meter)
            if rebased is None:
                return False
            self._undo.append(outcome.before.state)
            self.archive.commit(outcome.after.applied, outcome.after.named, outcome.past)
            self._state = rebased
            self._version += 1
            return True

    def note_attempt(self, outcome: Outcome) -> None:
        """Put down what failed in a compaction that changed nothing, for `view.past`."""
        if outcome.failures:
            with self._lock:
                self.archive.past.append(outcome.past)

    def undo(self) -> None:
        """Take the last compaction back; what was added, pinned and remembered since stays.

        Raises:
            ConversationError: there is none that can be undone.
        """
        with self._lock:
            if not self._undo:
                raise ConversationError(f"there is no compaction to undo (the last {UNDO_DEPTH} are kept)")
            before, now = self._undo[-1], self._state
            kept = replace(
                before,
                facts=now.facts,
                pins=tuple(pin for pin in now.pins if pin.by == USER or pin in before.pins),
                waiting=now.waiting,
                system=now.system,
                tools=now.tools,
                system_tokens=now.system_tokens,
                tools_tokens=now.tools_tokens,
                compactions=now.compactions,
            )
            try:
                self._state, _, _ = append(kept, since(before, self.archive), self._meter)
            except ProviderFormatError as error:
                raise ConversationError(f"what came since cannot follow what was there: {error}") from error
            self._undo.pop()
            self._version += 1
            self._announced.append("the last compaction was undone: the prompt cache is broken")

    def sent(self, state: State) -> list[Entry]:
        """The messages of a request with this state, as copies; from now on they count as sent."""
        entries, _ = wire(state, self._provider)
        with self._lock:
            self._sent = max(self._sent, state.next_id)
            self._announced.extend(stand_ins(state))
        return [copied(entry) for entry in entries]

    def announced(self) -> tuple[str, ...]:
        """What had to be rearranged or broke the prompt cache since this was last asked."""
        with self._lock:
            announced, self._announced = tuple(self._announced), []
            return announced

    def original(self, handle: str) -> list[Entry]:
        """The entries that a handle stands for, as they arrived; copies.

        Raises:
            UnknownHandleError: nothing is kept under that handle.
        """
        return [copied(self.archive.original(id)) for id in self.archive.positions(handle)]
