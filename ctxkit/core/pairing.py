"""Pairing: which of the calls that wait a result answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from ctxkit.core.items import Call, Part, Result
from ctxkit.core.state import OpenCall

__all__ = ["Awaited", "OpenCalls", "named"]

Kept = TypeVar("Kept")


class OpenCalls:
    """Calls that wait for a result, oldest first, found by id in constant time."""

    def __init__(self, calls: Iterable[OpenCall]) -> None:
        self._calls: dict[int, OpenCall] = {}
        self._by_id: dict[str, list[int]] = {}
        self._count = 0
        for call in calls:
            self.add(call)

    def __iter__(self) -> Iterator[OpenCall]:
        return iter(self._calls.values())

    def add(self, call: OpenCall) -> int:
        """One more, the newest; its key."""
        key = self._count
        self._calls[key] = call
        if call.call.id is not None:
            self._by_id.setdefault(call.call.id, []).append(key)
        self._count += 1
        return key

    def find(self, result: Result) -> int | None:
        """The key of the call that a result answers: of the newest step that has one, its first. One that was given up
        is meant only where no other is."""
        if result.id is not None and (keys := self._by_id.get(result.id)):
            return next((key for key in reversed(keys) if not self._calls[key].closed), keys[-1])
        found = self._named(result, lambda call: not call.closed)
        return found if found is not None else self._named(result, lambda call: bool(call.closed))

    def _named(self, result: Result, is_meant: Callable[[OpenCall], bool]) -> int | None:
        found: int | None = None
        for key in reversed(self._calls):
            call = self._calls[key]
            if found is not None and call.unit != self._calls[found].unit:
                break
            unnamed = result.id is None or call.call.id is None
            if unnamed and _same_name(result, call.call) and is_meant(call):
                found = key
        return found

    def pop(self, key: int) -> OpenCall:
        """The call with a key, no longer open."""
        call = self._calls.pop(key)
        if call.call.id is not None:
            self._by_id[call.call.id].remove(key)
        return call

    def take(self, result: Result) -> OpenCall | None:
        """The call that a result answers, no longer open; None when none waits for it."""
        key = self.find(result)
        return None if key is None else self.pop(key)


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
        key = self._open.find(Result(result.call, result.name))
        if key is None:
            return None
        self._open.pop(key)
        return self._kept.pop(key)


def named(calls: Sequence[OpenCall], name: str) -> int | None:
    """Where the open call stands that an id or the name of a tool means, of those that were not given up: the newest
    with that id, or the first with that name of the newest step that has one. None when there is none."""
    waiting = [(at, each) for at, each in enumerate(calls) if not each.closed]
    by_id = [at for at, each in waiting if each.call.id == name]
    if by_id:
        return by_id[-1]
    by_name = [at for at, each in waiting if each.call.name == name]
    return next((at for at in by_name if calls[at].unit == calls[by_name[-1]].unit), None)


def _same_name(result: Result, call: Call) -> bool:
    return not result.name or not call.name or result.name == call.name
