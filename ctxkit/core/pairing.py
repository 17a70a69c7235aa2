"""Pairing: which of the calls that wait a result answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from ctxkit.core.items import Call, Part, Result
from ctxkit.core.state import OpenCall

__all__ = ["Awaited", "OpenCalls", "ids_first", "named"]

Kept = TypeVar("Kept")


def ids_first(results: Sequence[Result]) -> list[int]:
    """The places of the results of one entry, in the order in which they find their calls: an id means one call alone,
    so that those without get what is left."""
    return sorted(range(len(results)), key=lambda at: results[at].id is None)


class OpenCalls:
    """Calls that wait for a result, oldest first, found by id or by name without looking at the others."""

    def __init__(self, calls: Iterable[OpenCall]) -> None:
        self._calls: dict[int, OpenCall] = {}
        self._by_id: dict[tuple[bool, str], _Steps] = {}
        self._alike: dict[tuple[bool, bool, str], _Steps] = {}
        self._count = 0
        for call in calls:
            self.add(call)

    def __iter__(self) -> Iterator[OpenCall]:
        return iter(self._calls.values())

    def add(self, call: OpenCall) -> int:
        """One more, the newest; its key, which counts all that were ever added."""
        key = self._count
        self._put(key, call)
        self._count += 1
        return key

    def _put(self, key: int, call: OpenCall) -> None:
        id, closed = call.call.id, bool(call.closed)
        self._calls[key] = call
        if id is not None:
            self._by_id.setdefault((closed, id), _Steps()).add(call.unit, key)
        self._alike.setdefault((closed, id is not None, call.call.name), _Steps()).add(call.unit, key)

    def put_back(self, taken: Mapping[int, OpenCall]) -> None:
        """Calls by the keys that they had are open again, each in its place."""
        calls = sorted({**self._calls, **taken}.items())
        self._calls, self._by_id, self._alike = {}, {}, {}
        for key, call in calls:
            self._put(key, call)

    def find(self, result: Result) -> int | None:
        """The key of the call that a result answers: of the newest step that has one, its first. One that was given up
        is meant only where no other is."""
        for way in (self._with_id, self._named):
            for closed in (False, True):
                if (key := way(result, closed=closed)) is not None:
                    return key
        return None

    def _with_id(self, result: Result, *, closed: bool) -> int | None:
        """By the id: the first of the newest step that has any."""
        steps = None if result.id is None else self._by_id.get((closed, result.id))
        return None if steps is None else steps.first_of_newest(self._calls)

    def _named(self, result: Result, *, closed: bool) -> int | None:
        """By the name, where one of the two has no id: the first of the newest step that has any."""
        firsts = [
            first
            for (is_closed, has_id, name), steps in self._alike.items()
            if is_closed is closed
            and not (has_id and result.id is not None)
            and _same_name(result.name, name)
            if (first := steps.first_of_newest(self._calls)) is not None
        ]
        newest = max(firsts, default=None)
        return None if newest is None else min(key for key in firsts if self._in_one_step(key, newest))

    def _in_one_step(self, one: int, other: int) -> bool:
        return self._calls[one].unit == self._calls[other].unit

    def pop(self, key: int) -> OpenCall:
        """The call with a key, no longer open."""
        return self._calls.pop(key)

    def take(self, result: Result) -> int | None:
        """The key of the call that a result answers, no longer open; None when none waits for it."""
        key = self.find(result)
        if key is not None:
            self.pop(key)
        return key

    def take_all(self, results: Sequence[Result]) -> list[int | None]:
        """The same for each of the results of one entry."""
        taken: list[int | None] = [None] * len(results)
        for at in ids_first(results):
            taken[at] = self.take(results[at])
        return taken

    def left(self) -> list[tuple[int, OpenCall]]:
        """The calls that still wait, with their keys."""
        return list(self._calls.items())


class _Steps:
    """Calls that only their order tells from each other, by their step, the newest step last."""

    def __init__(self) -> None:
        self._keys: dict[int, deque[int]] = {}

    def add(self, unit: int, key: int) -> None:
        """One more, the newest of its step."""
        self._keys.setdefault(unit, deque()).append(key)

    def first_of_newest(self, there: Container[int]) -> int | None:
        """The first of the newest step that has any still `there`; the others are forgotten."""
        while self._keys:
            unit, keys = next(reversed(self._keys.items()))
            while keys and keys[0] not in there:
                keys.popleft()
            if keys:
                return keys[0]
            del self._keys[unit]
        return None


class Awaited(Generic[Kept]):
    """What a reader of entries keeps of each call that he has read, until he comes to its result.

    Calls that no result stands between are of one step.
    """

    def __init__(self) -> None:
        self._open = OpenCalls(())
        self._kept: dict[int, Kept] = {}
        self._results = 0

    def add(self, call: Part, kept: Kept) -> None:
        """A call, by its arguments, and what to keep of it."""
        opened = OpenCall(Call(call.call, call.name), unit=self._results, turn=0)
        self._kept[self._open.add(opened)] = kept

    def take(self, result: Part) -> Kept | None:
        """What was kept of the call that a result answers, which waits no longer; None when none waits for it."""
        self._results += 1
        key = self._open.take(Result(result.call, result.name))
        return None if key is None else self._kept.pop(key)


def named(calls: Sequence[OpenCall], name: str) -> int | None:
    """Where the open call stands that an id or the name of a tool means, of those that were not given up: the first with
    that id, or else with that name, of the newest step that has one. None when there is none."""
    waiting = [(at, each) for at, each in enumerate(calls) if not each.closed]
    by_id = [at for at, each in waiting if each.call.id == name]
    meant = by_id or [at for at, each in waiting if each.call.name == name]
    return next((at for at in meant if calls[at].unit == calls[meant[-1]].unit), None)


def _same_name(one: str, other: str) -> bool:
    return not one or not other or one == other
