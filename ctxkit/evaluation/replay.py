"""Replay: one conversation lived through in one setting, and each of its requests measured."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxkit.core.provider import Entry
from ctxkit.errors import BudgetExceededError, OpenCallsError
from ctxkit.evaluation.constraints import constraints
from ctxkit.evaluation.needs import Mentions, Need
from ctxkit.evaluation.recording import Read, Recording
from ctxkit.evaluation.settings import Setting
from ctxkit.evaluation.shown import Shown
from ctxkit.manager import ContextManager, Request

__all__ = ["Judge", "Measured", "Replay", "replay"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One request that was asked for.

    Attributes:
        at: position of the recorded entry that answers it.
        turn: number of the turn that it was made in.
        limit: tokens that it may have.
        needs: what the calls of the answer need; `held` says whether it was shown.
        constraints: sentences that bind it, said before the current user message; `kept` are those of them that
            it shows word for word.
        refusal: why there is none, "" when there is one. Then all that follows is empty, but for `failures`.
        violations: wire rules that it breaks and the conversation itself does not.
        tokens: its size, what goes along with the messages included.
        cached: tokens of its common prefix with the request before, in whole messages.
        repeated: its tokens without the messages that came in since the request before; 0 for the first.
        everything: tokens of a request with all that was said until then; `everything_cached` of the one before.
        answer: tokens of the recorded answer.
        compacted: whether a compaction was made for it.
        failures: steps of the strategy that were rolled back or could not do all, each with its reason; of a request
            that was refused too.
        seconds: what it took; not compared.
    """

    at: int
    turn: int
    limit: int
    needs: tuple[Need, ...] = ()
    constraints: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    refusal: str = ""
    violations: tuple[str, ...] = ()
    tokens: int = 0
    cached: int = 0
    repeated: int = 0
    everything: int = 0
    everything_cached: int = 0
    answer: int = 0
    compacted: bool = False
    failures: tuple[tuple[str, str], ...] = ()
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Replay:
    """One conversation in one setting.

    Attributes:
        requests: in order.
        excluded: how many moments were left out because no request can fit: system text, current user message and
            newest unit alone exceed the limit.
        waiting: how many because a call had no result yet.
    """

    requests: tuple[Measured, ...]
    excluded: int = 0
    waiting: int = 0


def replay(recording: Recording, setting: Setting, *, mentions: Mentions | None = None) -> Replay:
    """Add a conversation entry by entry, ask for the request that comes before each answer, and measure it.

    The answers are the recorded ones, whatever a request left out. Same arguments, same result, but for `seconds`.

    Args:
        mentions: those of the recording, when they are known from another replay.

    Raises:
        ConfigError: the setting contradicts itself for a conversation of this size.
        ProviderFormatError: the conversation is broken in a way that cannot be mended.
        StrategyError: a strategy failed, and the setting is strict.
    """
    manager = setting.start(recording.transcript.format, recording.tokens)
    return _Replaying(recording, manager, mentions or Mentions(recording)).run()


class _Replaying:
    def __init__(self, recording: Recording, manager: ContextManager, mentions: Mentions) -> None:
        self._recording, self._manager = recording, manager
        self._judge = Judge(recording, manager.budget.limit, mentions=mentions)
        self._excluded = self._waiting = 0

    def run(self) -> Replay:
        """The whole conversation."""
        asked = set(self._recording.requests)
        requests: list[Measured] = []
        for at, read in enumerate(self._recording.reads):
            if at in asked:
                requests += self._request(at)
            system = self._recording.transcript.system if at == 0 else None
            self._manager.add(read.entry, system=system)
        return Replay(tuple(requests), self._excluded, self._waiting)

    def _request(self, at: int) -> list[Measured]:
        """The request before the entry at `at`, none where there can be none."""
        if self._recording.least(at) > self._manager.budget.limit:
            self._excluded += 1
            return []
        started = time.perf_counter()
        try:
            request = self._manager.prepare_sync(self._recording.transcript.tools)
        except OpenCallsError:
            self._waiting += 1
            return []
        except BudgetExceededError as error:
            failures = tuple(
                (step, why) for step, _, why in (each.partition(": ") for each in error.failures)
            )
            refused = self._judge.refused(at, str(error))
            return [replace(refused, failures=failures, seconds=time.perf_counter() - started)]
        seconds = time.perf_counter() - started
        return [self._told(request, self._judge.sent(at, request.messages, request.system), seconds)]

    @staticmethod
    def _told(request: Request, measured: Measured, seconds: float) -> Measured:
        report = request.report
        failures = tuple((each.by, each.why) for each in report.failures)
        return replace(measured, compacted=report.compacted, failures=failures, seconds=seconds)


class Judge:
    """Measures the requests of one replay in order, whoever makes them.

    Args:
        limit: tokens that a request may have.
        mentions: those of the recording, when they are known from another replay.
    """

    def __init__(self, recording: Recording, limit: int, *, mentions: Mentions | None = None) -> None:
        self._recording, self._limit = recording, limit
        self._mentions = mentions or Mentions(recording)
        self._constraints = constraints(recording)
        self._before: list[Read] | None = None
        self._before_at = 0

    def refused(self, at: int, why: str) -> Measured:
        """A request that was not made: nothing that it needs is held."""
        return replace(self._asked(at), refusal=why)

    def sent(self, at: int, messages: Sequence[Entry], system: Any) -> Measured:
        """A request that was made.

        Args:
            at: position of the recorded entry that answers it.
            messages, system: what was sent.
        """
        recording, asked = self._recording, self._asked(at)
        reads = self._read(messages, at)
        shown = Shown(recording, self._mentions, at, reads)
        tokens = recording.beside + sum(read.tokens for read in reads)
        common, repeated = self._compared(reads, at)
        first = self._before is None
        before_at, self._before, self._before_at = self._before_at, reads, at
        return replace(
            asked,
            needs=tuple(replace(need, held=shown.holds(need.literal)) for need in asked.needs),
            kept=tuple(each for each in asked.constraints if shown.says(each)),
            violations=self._violations(messages, system, at),
            tokens=tokens,
            cached=0 if first else recording.beside + sum(read.tokens for read in reads[:common]),
            repeated=0 if first else recording.beside + sum(read.tokens for read in reads[:repeated]),
            everything=recording.beside + recording.upto[at],
            everything_cached=0 if first else recording.beside + recording.upto[before_at],
            answer=sum(read.tokens for read in recording.answer(at)),
        )

    def _asked(self, at: int) -> Measured:
        turns = self._recording.turns
        current = turns.index(turns[at])
        binding = tuple(each.sentence for each in self._constraints if each.at < current)
        needs = tuple(self._mentions.needs(at))
        return Measured(at, turns[at], self._limit, needs, binding)

    def _read(self, messages: Sequence[Entry], at: int) -> list[Read]:
        """The messages of a request; what is equal to one of the request before, or to the end of the recording,
        is not read and counted again."""
        known: dict[int, Read] = {}
        for k, (message, read) in enumerate(zip(messages, self._before or (), strict=False)):
            if message != read.entry:
                break
            known[k] = read
        for k in range(1, min(len(messages), at) + 1):
            read = self._recording.reads[at - k]
            if messages[-k] != read.entry:
                break
            known[len(messages) - k] = read
        return [known.get(k) or self._recording.read(message) for k, message in enumerate(messages)]

    def _compared(self, reads: Sequence[Read], at: int) -> tuple[int, int]:
        """How many messages begin this request as they began the one before, and how many are not new."""
        repeated = len(reads) - self._added(reads, at)
        common = 0
        for read, before in zip(reads[:repeated], self._before or (), strict=False):
            if read.entry != before.entry:
                break
            common += 1
        return common, repeated

    def _added(self, reads: Sequence[Read], at: int) -> int:
        """How many messages at the end came in since the request before, whether or not results were shortened."""
        count = 0
        while count < min(at - self._before_at, len(reads)):
            received, read = self._recording.reads[at - 1 - count], reads[-1 - count]
            shortened = bool(read.shape.results) and read.shape == received.shape
            if read.entry != received.entry and not shortened:
                break
            count += 1
        return count

    def _violations(self, messages: Sequence[Entry], system: Any, at: int) -> tuple[str, ...]:
        found = self._recording.provider.violations(messages, system=system)
        if not found:
            return ()
        new = Counter(each.rule for each in found) - self._recording.broken(at)
        return tuple(sorted(new.elements()))
