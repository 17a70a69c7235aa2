"""Writers that are killed: a program that appends and tells what was acknowledged, and what has to be there after.

Run as a program it writes to one session with several tasks until it is killed, a line for each append that was
acknowledged:

    python -m tests.sessions.crashing sqlite:/tmp/sessions.db run-1
    run-1.0/0 2
    run-1.2/0 4

which is the key of the call and the position that it gave. Each call appends two records.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ctxkit.errors import ConflictError
from ctxkit.sessions.store import Store
from ctxkit.sessions.stores import open_store

__all__ = ["ROOT", "SESSION", "Killed", "checked", "kill_writers"]

ROOT = Path(__file__).resolve().parents[2]
SESSION = "patient-7"
TASKS = 3


@dataclass
class Killed:
    """What writers told before they were killed.

    Attributes:
        names: of the tasks that wrote.
        acknowledged: key -> position, as told; in a session positions are not told, and 0.
    """

    names: list[str] = field(default_factory=list)
    acknowledged: dict[str, int] = field(default_factory=dict)


def kill_writers(
    address: str,
    *,
    kills: int,
    seed: int,
    talk: bool = False,
    crash: Callable[[], None] | None = None,
) -> Killed:
    """Start writers one after the other and kill each (SIGKILL) at a moment that chance names.

    Args:
        talk: they talk in a session, instead of appending to its log.
        crash: instead of killing the writer at once, kill and restart its server; the writer is killed after.
    """
    chance = random.Random(seed)
    killed = Killed()
    for run in range(kills):
        name = f"run-{run}"
        talking = ["tests.sessions.talking", address, SESSION, name, str(TASKS)]
        program = talking if talk else ["tests.sessions.crashing", address, name]
        killed.names += [f"{name}.{task}" for task in range(TASKS)]
        killed.acknowledged |= _killed(program, chance, crash)
    return killed


def _killed(program: list[str], chance: random.Random, crash: Callable[[], None] | None) -> dict[str, int]:
    """What one writer told. The first line is waited for; from then on time decides."""
    command = [sys.executable, "-m", *program]
    kept_back = subprocess.DEVNULL if crash else None  # it may well complain that its server is gone
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=kept_back, text=True, cwd=ROOT) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(chance.choice((1, 1, 2, 10)))]
        time.sleep(chance.random() / 50)
        if crash:
            crash()
        writer.kill()
        lines += writer.stdout.readlines()
    told = [line.split() for line in lines if line.endswith("\n")]
    assert told, f"the writer told nothing; it ended with {writer.returncode}"
    return {key: int(position[0]) if position else 0 for key, *position in told}


async def checked(store: Store, killed: Killed) -> int:
    """Everything acknowledged is there once, in its place; nothing is in part. Then each task's next call, which may
    have been carried out or not when its writer was killed, is made again with its key: it is there once too.

    Returns:
        how many records there are.
    """
    there = await store.read(SESSION)
    for key, position in killed.acknowledged.items():
        assert there[position - 2 : position] == _bodies(key), f"{key} was acknowledged at {position}"
    _whole(there, killed.names)
    for name in killed.names:
        count = sum(key.startswith(f"{name}/") for key in killed.acknowledged)
        await _append(store, f"{name}/{count}", len(there))
    there = await store.read(SESSION)
    _whole(there, killed.names)
    assert len(there) == 2 * len(killed.acknowledged) + 2 * len(killed.names)
    return len(there)


def _whole(there: list[bytes], names: list[str]) -> None:
    """Both records of each call stand together, and each task's calls in order, each once."""
    told = [key.decode() for key in there[::2]]
    assert there == [body for key in told for body in _bodies(key)]
    numbers: dict[str, list[int]] = {name: [] for name in names}
    for key in told:
        name, _, number = key.partition("/")
        numbers[name].append(int(number))
    for name, counted in numbers.items():
        assert counted == list(range(len(counted))), f"{name} wrote {counted}"


def _bodies(key: str) -> list[bytes]:
    return [key.encode(), key.encode() * 100]


async def _append(store: Store, key: str, after: int) -> int:
    """Its position; tried again after each conflict."""
    while True:
        try:
            return await store.append(SESSION, _bodies(key), after=after, key=key)
        except ConflictError as conflict:
            after = conflict.position


async def _write(address: str, run: str) -> None:
    async with open_store(address) as store:
        await asyncio.gather(*(_write_on(store, f"{run}.{task}") for task in range(TASKS)))


async def _write_on(store: Store, name: str) -> None:
    after, number = 0, 0
    while True:
        after = await _append(store, f"{name}/{number}", after)
        print(f"{name}/{number}", after, flush=True)
        number += 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_write(sys.argv[1], sys.argv[2]))
