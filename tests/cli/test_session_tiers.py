"""`ctxkit session` on two stores that are one, and on one half of them."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ctxkit import EncryptedStore, Session, SQLiteStore, Store, TieredStore
from ctxkit.cli import main

SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": {"window": 4_000, "reply": 200}}
KEY = bytes(range(32))
NEVER = "0.0000001"
"""Days, less than it takes to come to the next command."""

Run = Callable[..., tuple[int, str, str]]


class Tiers:
    """Two files: of session "chat" the first message is in the archive, and the second came after the move."""

    def __init__(self, folder: Path, encrypted: bool) -> None:
        self.hot, self.archive = str(folder / "hot.db"), str(folder / "archive.db")
        self.encrypted = encrypted
        keys = folder / "keys"
        keys.write_bytes(base64.b64encode(KEY))
        self.key = ("--key-file", str(keys)) if encrypted else ()
        self.both = ("--store", f"sqlite:{self.hot}", "--archive", f"sqlite:{self.archive}", *self.key)

    def half(self, which: str) -> tuple[str, ...]:
        return ("--store", getattr(self, which), *self.key)

    def with_store(self, do: Callable[[Store, TieredStore], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            tiered = TieredStore(SQLiteStore(self.hot), SQLiteStore(self.archive), idle_s=0.0)
            async with EncryptedStore(tiered, KEY) if self.encrypted else tiered as store:
                return await do(store, tiered)

        return asyncio.run(run())

    def say(self, text: str, *, moving: bool = False) -> None:
        async def said(store: Store, tiered: TieredStore) -> None:
            session = await Session.open("chat", store, **SETTINGS)
            await session.add({"role": "user", "content": text})
            if moving:
                assert await tiered.move_idle() == ["chat"]

        self.with_store(said)

    def shown(self) -> list[str]:
        async def texts(store: Store, _: TieredStore) -> list[str]:
            return [each["content"] for each in (await Session.open("chat", store, **SETTINGS)).messages]

        found: list[str] = self.with_store(texts)
        return found


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def tiers(request: pytest.FixtureRequest, tmp_path: Path) -> Tiers:
    if request.param:
        pytest.importorskip("cryptography")
    made = Tiers(tmp_path, request.param)
    made.say("I am allergic to sesame.", moving=True)
    made.say("I sit on the aisle.")
    return made


BOTH = ["I am allergic to sesame.", "I sit on the aisle."]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run an action; its exit code, and what it said on stdout and stderr."""
    for name in ("CTXKIT_STORE", "CTXKIT_ARCHIVE", "CTXKIT_KEY"):
        monkeypatch.delenv(name, raising=False)

    def ran(*words: str) -> tuple[int, str, str]:
        code = main(["session", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return ran


@pytest.mark.parametrize(
    "words",
    [("gc", "--days", NEVER, "--yes"), ("gc",), ("gc", "chat"), ("rm", "chat", "--yes"), ("rm", "chat")],
)
@pytest.mark.parametrize("which", ["hot", "archive"])
def test_one_half_destroys_nothing_and_says_what_to_do(
    run: Run, tiers: Tiers, which: str, words: tuple[str, ...]
) -> None:
    code, out, err = run(*words, *tiers.half(which))
    assert (code, out) == (3, "")
    assert "in two stores" in err
    assert "--store HOT --archive ARCHIVE" in err
    assert err.count("\n") == 1
    assert tiers.shown() == BOTH


@pytest.mark.parametrize("which", ["hot", "archive"])
def test_nothing_is_imported_over_one_half(run: Run, tiers: Tiers, which: str, tmp_path: Path) -> None:
    file = str(tmp_path / "log.jsonl")
    assert run("export", "chat", "-o", file, *tiers.both)[0] == 0
    code, _, err = run("import", file, *tiers.half(which))
    assert code == 3
    assert "in two stores" in err
    assert run("import", file, "--as", "copy", *tiers.half(which))[0] == 0
    assert tiers.shown() == BOTH


def test_gc_tells_of_a_half_and_does_the_others(run: Run, tiers: Tiers, tmp_path: Path) -> None:
    file = str(tmp_path / "log.jsonl")
    assert run("export", "chat", "-o", file, *tiers.both)[0] == 0
    assert run("import", file, "--as", "own", *tiers.half("archive"))[0] == 0
    code, out, err = run("gc", "--days", NEVER, "--yes", *tiers.half("archive"))
    assert (code, out) == (3, "own: only its facts in force are left\n")
    assert err.startswith("ctxkit: chat: session 'chat' is in two stores")


def test_the_archive_alone_says_that_it_is_one(run: Run, tiers: Tiers, tmp_path: Path) -> None:
    archive = tiers.half("archive")
    code, out, err = run("ls", *archive)
    assert code == 0
    assert out.startswith("chat  ")
    assert out.endswith("  archived part\n")
    assert "may be older than the session; --archive beside --store" in err
    assert "all right: 2 records" in run("verify", *archive)[1]
    assert "archived part, which may be older" in run("verify", *archive)[1]
    for words in (
        ("show", "chat"),
        ("why", "chat", "sesame"),
        ("export", "chat", "-o", str(tmp_path / "log.jsonl")),
        ("export", "chat"),
    ):
        code, out, err = run(*words, *archive)
        assert (code, err.split(",")[0]) == (0, "ctxkit: chat: this is the archived part")
        assert "archived part" not in out
        assert run(*words, *tiers.both)[2] == ""


def test_the_hot_store_alone_says_where_the_bytes_are(run: Run, tiers: Tiers, tmp_path: Path) -> None:
    hot, file = tiers.half("hot"), tmp_path / "log.jsonl"
    for words in (("show", "chat"), ("why", "chat", "sesame"), ("export", "chat", "-o", str(file))):
        code, out, err = run(*words, *hot)
        assert (code, out) == (3, "")
        assert "in an archive" in err
        assert "--archive" in err
    assert not file.exists()
    code, out, err = run("verify", *hot)
    assert code == 1
    assert "in an archive" in err
    assert "not encrypted with any of these keys" not in err
    code, out, err = run("ls", *hot)
    assert code == 0
    assert out.endswith("  hot part\n")
    assert err == (
        "ctxkit: where it says hot part, the rest is in an archive; "
        "--archive beside --store opens both halves as one\n"
    )
    assert not out.split()[3].startswith("-")


def test_both_are_one_store(run: Run, tiers: Tiers) -> None:
    code, out, err = run("ls", *tiers.both)
    assert (code, out.split()[:3], err) == (0, ["chat", "3", "records"], "")
    assert "part" not in out
    assert "2 messages" in run("show", "chat", *tiers.both)[1]
    assert run("verify", *tiers.both)[1].startswith("chat  all right: 3 records")
    assert "record 2" in run("why", "chat", "sesame", *tiers.both)[1]
    assert run("gc", *tiers.both) == (0, "", "")
    done = run("gc", "--days", NEVER, "--yes", *tiers.both)
    assert done == (0, "chat: only its facts in force are left\n", "")
    assert tiers.shown() == []


def test_rm_deletes_from_both(run: Run, tiers: Tiers) -> None:
    assert run("rm", "chat", "--yes", *tiers.both) == (0, "deleted: chat, 3 records\n", "")
    for where in (tiers.both, tiers.half("hot"), tiers.half("archive")):
        assert run("ls", *where) == (0, "", "")


def test_move_needs_no_key_and_moves_what_is_idle(run: Run, tiers: Tiers) -> None:
    both, there = tiers.both[:4], "is in the archive, or another process is moving it\n"
    for minutes, of in ((), "30"), (("--minutes", "60.5"), "60.5"):
        told = f"nothing was moved: all that nobody wrote to for {of} minutes {there}"
        assert run("move", *minutes, *both) == (0, told, "")
    assert run("move", "--minutes", "0", *both) == (0, "chat: moved to the archive\n", "")
    assert run("move", "--minutes", "0", *both) == (0, f"nothing was moved: all there is {there}", "")
    assert run("verify", *tiers.half("archive"))[1].startswith("chat  all right: 3 records")
    assert tiers.shown() == BOTH


def test_move_makes_the_archive(run: Run, tiers: Tiers, tmp_path: Path) -> None:
    hot = str(tmp_path / "other.db")
    asyncio.run(_begun(hot))
    anew = tmp_path / "anew.db"
    assert run("ls", "--store", hot, "--archive", str(anew))[2] == f"ctxkit: store: there is no file {anew}\n"
    code, out, err = run("move", "--store", hot, "--archive", str(anew))
    assert (code, out.split(":")[0]) == (0, "nothing was moved")
    assert err == f"ctxkit: there is no file {anew}; what is moved first makes it\n"
    assert not anew.exists()
    assert run("move", "--minutes", "0", "--store", hot, "--archive", str(anew)) == (
        0,
        "a: moved to the archive\n",
        f"ctxkit: there was no file {anew}: the archive was begun there\n",
    )
    assert run("move", "--store", hot, "--archive", str(anew))[2] == ""
    assert run("ls", "--store", str(anew))[1].endswith("archived part\n")


def test_an_archive_with_a_slip_in_its_name_is_told(run: Run, tiers: Tiers, tmp_path: Path) -> None:
    wrong = tmp_path / "achrive.db"
    code, out, err = run("move", "--minutes", "0", "--store", tiers.hot, "--archive", str(wrong))
    assert (code, out) == (3, "")
    begun, lacks = err.splitlines()
    assert begun == f"ctxkit: there was no file {wrong}: the archive was begun there"
    assert lacks == "ctxkit: the archive lacks record 1 of session 'chat'"
    assert tiers.shown() == BOTH


async def _begun(path: str) -> None:
    async with SQLiteStore(path) as store:
        await (await Session.open("a", store, **SETTINGS)).add({"role": "user", "content": "Hi"})


def test_what_move_cannot_do_is_said(run: Run, tiers: Tiers) -> None:
    swapped = ("--store", tiers.archive, "--archive", tiers.hot)
    for words, code, told in (
        (("move", "--store", tiers.hot), 2, "--archive is missing; it may be in $CTXKIT_ARCHIVE"),
        (("move", "--minutes", "-1", *tiers.both), 2, "--minutes takes a number, 0 or more, not -1.0"),
        (("move", "--minutes", "nan", *tiers.both), 2, "--minutes takes a number, 0 or more, not nan"),
        (("move", "--archive", "x.db"), 2, "--store is missing"),
        (("move", "--store", tiers.hot, "--archive", f"sqlite:{tiers.hot}"), 2, "are the same"),
        (("move", "--minutes", "0", *swapped), 3, "in two stores"),
        (("rm", "chat", "--yes", *swapped, *tiers.key), 3, "in two stores"),
    ):
        done = run(*words)
        assert done[:2] == (code, "")
        assert told in done[2]
    assert tiers.shown() == BOTH


def test_both_may_be_in_the_environment(run: Run, tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXKIT_ARCHIVE", tiers.archive)
    assert "3 records" in run("ls", *tiers.half("hot"))[1]
    assert run("show", "chat", *tiers.half("hot"))[0] == 0
    monkeypatch.setenv("CTXKIT_STORE", tiers.hot)
    monkeypatch.setenv("CTXKIT_KEY", base64.b64encode(KEY).decode() if tiers.encrypted else "")
    assert json.loads(run("export", "chat")[1].splitlines()[0])["records"] == 3
    assert run("show", "chat", "--archive", "")[0] == 3  # the hot one alone
    assert run("rm", "chat", "--yes")[0] == 0
    assert run("ls")[1] == ""


def test_the_archive_in_the_environment_is_of_no_other_store(
    run: Run, tiers: Tiers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = str(tmp_path / "other.db")
    asyncio.run(_begun(other))
    monkeypatch.setenv("CTXKIT_STORE", tiers.hot)
    monkeypatch.setenv("CTXKIT_ARCHIVE", tiers.archive)
    assert [line.split()[0] for line in run("ls", "--store", other)[1].splitlines()] == ["a"]
    assert run("rm", "chat", "--yes", "--store", other)[0] == 2
    assert tiers.shown() == BOTH


def test_passwords_of_neither_are_printed(run: Run, tiers: Tiers) -> None:
    pytest.importorskip("redis")
    one, two = "redis://:pa55w0rd@127.0.0.1:1", "redis://127.0.0.1:1?password=0therw0rd"
    for words in ((one, two), (two, one), (tiers.hot, two), (one, tiers.archive)):
        code, out, err = run("ls", "--store", words[0], "--archive", words[1])
        assert code == 3
        assert not [each for each in ("pa55w0rd", "0therw0rd") if each in out + err]
