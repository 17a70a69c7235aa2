"""Logs of every version of the record format are read, for good: those that are kept here, and those that are migrated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ctxkit
from ctxkit import MemoryStore, Session, SessionError
from ctxkit.sessions import checkpoints, records
from ctxkit.sessions.records import VERSION, told_in
from ctxkit.sessions.verifying import verify
from tests.sessions.old_log import DATA, SETTINGS, told

LOGS = sorted(DATA.glob("v*/*.jsonl"))
Json = dict[str, Any]


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def expected(path: Path) -> Json:
    """What a log came to when it was written."""
    found: Json = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))[path.stem]
    return found


async def opened(path: Path, bodies: list[bytes]) -> Session:
    """The session of a log."""
    store = MemoryStore()
    await store.append(path.stem, bodies, after=0)
    return await Session.open(path.stem, store, **SETTINGS)


@pytest.mark.parametrize("path", LOGS, ids=name_of)
async def test_it_is_the_same_session_and_goes_on(path: Path) -> None:
    session = await opened(path, lines(path))
    assert await told(session) == expected(path)
    assert (await verify(session.store, session.id)).findings == ()
    for call in session.open_calls():
        await session.answer(str(call.call.id), "shipped")
    entry = {"role": "user", "content": "Thanks."}
    await session.add(entry)
    await session.prepare()
    assert await session.pop() == entry
    again = await Session.open(session.id, session.store, **SETTINGS)
    assert await told(again) == await told(session)


@pytest.mark.parametrize("path", LOGS, ids=name_of)
async def test_its_checkpoint_says_the_same(path: Path) -> None:
    session = await opened(path, lines(path))
    await session._log.checkpoint()
    assert await told(await Session.open(session.id, session.store, **SETTINGS)) == expected(path)


def test_there_are_logs_of_each_version() -> None:
    assert {path.parent.name for path in LOGS} == {f"v{number}" for number in range(1, VERSION + 1)}


def test_the_newest_have_every_kind_of_record() -> None:
    """A new kind comes into the data: `python -m tests.sessions.old_log`, where its version is not released yet."""
    newest = [path for path in LOGS if path.parent.name == f"v{VERSION}"]
    there = {told_in(body, session=path.stem)["kind"] for path in newest for body in lines(path)}
    source = "".join(
        path.read_text(encoding="utf-8") for path in Path(str(ctxkit.__file__)).parent.rglob("*.py")
    )
    written = set(re.findall(r'\b(?:Record|Step)\(\s*"(\w+)"', source))
    assert written >= {"session", "items", "compaction", "retention", "child", "handoff"}
    assert there == written | {"undo", "redo", "erased"}


# Versions that are to come


@pytest.fixture
def third(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A ctxkit whose format is the third: the first said `type` where it says `kind`, both said `time` where it says
    `at`. It gives the versions that were migrated."""
    migrated: list[int] = []

    def renaming(old: str, new: str, version: int) -> Callable[[Json], Json]:
        def migrate(record: Json) -> Json:
            migrated.append(record["v"])
            return {**{new if key == old else key: value for key, value in record.items()}, "v": version}

        return migrate

    monkeypatch.setattr(records, "MIGRATIONS", {1: renaming("type", "kind", 2), 2: renaming("time", "at", 3)})
    for module in (records, checkpoints):
        monkeypatch.setattr(module, "VERSION", 3)
    return migrated


def written_as(version: int, body: bytes) -> bytes:
    """A record of today as a version before the third wrote it."""
    names = {"at": "time", **({"kind": "type"} if version == 1 else {})} if version < 3 else {}
    record = {names.get(key, key): value for key, value in json.loads(body).items()}
    return records.to_bytes({**record, "v": version})


NEWEST = [path for path in LOGS if path.parent.name == f"v{VERSION}"]


@pytest.mark.parametrize("versions", [(1,), (2,), (1, 2, 3)], ids=str)
@pytest.mark.parametrize("path", NEWEST, ids=name_of)
async def test_older_records_are_migrated_step_by_step(
    path: Path, versions: tuple[int, ...], third: list[int]
) -> None:
    bodies = lines(path)
    share = -(-len(bodies) // len(versions))
    old = [written_as(versions[at // share], body) for at, body in enumerate(bodies)]
    session = await opened(path, old)
    assert await told(session) == expected(path)
    assert set(third) == {version for first in versions for version in range(first, 3)}
    assert (await verify(session.store, session.id)).findings == ()


async def test_what_is_written_and_erased_in_an_older_log_is_of_todays_version(third: list[int]) -> None:
    path = next(path for path in NEWEST if path.stem == "desk")
    session = await opened(path, [written_as(1, body) for body in lines(path)])
    before = len(await session.store.read("desk"))
    await session.add({"role": "user", "content": "Thanks."})
    await session.clear()
    bodies = [json.loads(body) for body in await session.store.read("desk")]
    assert [body["v"] for body in bodies] == [1, *[3] * (len(bodies) - 1)]
    assert [body["kind"] for body in bodies[before:]] == ["erased", "clear"]
    again = await Session.open("desk", session.store, **SETTINGS)
    assert again.messages == []
    assert (await verify(session.store, "desk")).findings == ()


async def test_a_checkpoint_of_another_version_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(path for path in NEWEST if path.stem == "desk")
    session = await opened(path, lines(path))
    await session._log.checkpoint()
    kept = await session.store.checkpoint("desk")
    assert kept is not None
    for version in (VERSION + 1, VERSION - 1):
        body = {"v": version, "of": "another form"}
        await session.store.save_checkpoint("desk", kept[0], records.to_bytes(body))
        assert await told(await Session.open("desk", session.store, **SETTINGS)) == expected(path)


async def test_a_version_without_its_migration_is_told(
    third: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(records.MIGRATIONS, 1)
    path = NEWEST[0]
    with pytest.raises(SessionError, match=f"record 1 of session '{path.stem}' cannot be read"):
        await opened(path, [written_as(1, body) for body in lines(path)])
