"""`ctxkit session`: on a SQLite file that another process could have written."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ctxkit
from ctxkit import Budget, EncryptedStore, Session, SQLiteStore, Store
from ctxkit.cli import main

ROOT = Path(ctxkit.__file__).parents[1]
Run = Callable[..., tuple[int, str, str]]


def exchange(number: int) -> list[dict[str, Any]]:
    rows = json.dumps([{"order": f"W{number * 100 + k:07}", "total": k * 9.5} for k in range(30)])
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"Where is the order W{number:07}?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": rows},
        {"role": "assistant", "content": f"The order W{number:07} is on its way."},
    ]


async def filled(store: Store, id: str = "shop/7") -> list[int]:
    """A session with six requests; their positions."""
    session = await Session.open(id, store, format="openai-chat", budget=Budget(window=3_000, reply=500))
    positions = []
    await session.remember("address", "12 Long Street, second floor")
    for number in range(6):
        await session.add(exchange(number))
        if number == 3:
            await session.remember("address", "3 Short Lane, under the roof")
            await session.name("moved")
        await session.prepare()
        positions.append(session.position)
    await session.add({"role": "user", "content": "my password: correct-horse-battery"})
    await session.add({"role": "assistant", "content": None, "tool_calls": exchange(9)[1]["tool_calls"]})
    await session.reply({"role": "assistant", "content": "made and not delivered"})
    return positions


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'sessions.db'}"


@pytest.fixture
def positions(address: str) -> list[int]:
    async def run() -> list[int]:
        async with SQLiteStore(address.removeprefix("sqlite:")) as store:
            return await filled(store)

    return asyncio.run(run())


@pytest.fixture
def run(address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run an action on the store; its exit code, and what it said on stdout and stderr."""
    monkeypatch.setenv("CTXKIT_STORE", address)

    def ran(*words: str) -> tuple[int, str, str]:
        code = main(["session", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return ran


def test_ls_has_a_line_a_session(run: Run, positions: list[int]) -> None:
    code, out, _ = run("ls")
    assert code == 0
    (line,) = out.splitlines()
    assert line.split()[:3] == ["shop/7", str(positions[-1] + 3), "records"]


def test_show_tells_what_there_is(run: Run, positions: list[int]) -> None:
    code, out, _ = run("show", "shop/7")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith(f"shop/7  openai-chat, {positions[-1] + 3} records, ")
    assert any("tool_results █" in line for line in lines)
    for told in ("    address: 3 Short Lane, under the roof (user)", "    look_up call_9"):
        assert told in lines
    (named,) = [line for line in lines if "moved at" in line]
    assert named.split()[-1] == str(positions[3] - 3)
    assert "  drafts  1" in lines
    assert "  requests  6" in lines
    assert "12 Long Street" not in out


def test_show_tells_the_children(run: Run, address: str, positions: list[int]) -> None:
    async def begin() -> None:
        async with SQLiteStore(address.removeprefix("sqlite:")) as store:
            session = await Session.open("shop/7", store, format="openai-chat", budget=Budget(window=3_000))
            await session.child("shop/7/refund", purpose="give the money back")
            await session.child("shop/7/mail")
            await session.returned("shop/7/mail", {"role": "user", "content": "the mail is out"})

    asyncio.run(begin())
    lines = run("show", "shop/7")[1].splitlines()
    at = lines.index("  children  2")
    assert lines[at + 1 : at + 3] == [
        "    shop/7/refund, give the money back, not returned yet",
        "    shop/7/mail, returned",
    ]


def test_show_tells_one_request_and_where_each_entry_is_from(run: Run, positions: list[int]) -> None:
    code, out, _ = run("show", "shop/7", "--request", str(positions[-1]))
    assert code == 0
    assert f"request at position {positions[-1]}" in out
    assert "seal   it is as it was sent, byte for byte" in out
    rows = [line.split() for line in out.splitlines() if line[2:3].isdigit()]
    assert [(row[0], row[1]) for row in rows] == [
        ("0", "profile"),
        ("1", "summary"),
        ("2", "stand-in"),
        ("3..11", "message"),
    ]
    assert rows[1][2] == "messages[0..14]"
    assert "digest-tool-results:" in rows[1]
    assert rows[3][2] == "messages[15..23]"
    assert rows[3][-4:] == ["records", "10", "to", "18"]


def test_show_gives_the_payload_as_it_was_sent(run: Run, positions: list[int], address: str) -> None:
    async def sent() -> list[dict[str, Any]]:
        async with SQLiteStore(address.removeprefix("sqlite:")) as store:
            session = await Session.open("shop/7", store, format="openai-chat", budget={"window": 9_000})
            return (await session.request(positions[-1])).messages

    code, out, _ = run("show", "shop/7", "--json")
    assert code == 0
    assert json.loads(out) == {"messages": asyncio.run(sent())}


def test_diff_says_what_came_and_what_left_and_why(run: Run, positions: list[int]) -> None:
    code, out, _ = run("diff", "shop/7", str(positions[0]), str(positions[-1]))
    assert code == 0
    head, *rest = out.splitlines()
    assert head.startswith(f"request {positions[0]} to {positions[-1]}  ")
    told = [line.split() for line in rest]
    assert ["came", "messages[15..23]"] in [words[:2] for words in told]
    (left,) = [words for words in told if words[:2] == ["left", "messages[0..3]"]]
    assert "digest-tool-results:" in left
    assert run("diff", "shop/7", str(positions[0]), str(positions[0]))[1].endswith("nothing changed\n")


def test_why_follows_a_fact_and_a_message(run: Run, positions: list[int]) -> None:
    code, out, _ = run("why", "shop/7", "12 long street")
    assert code == 0
    assert "fact address  superseded" in out
    assert "address: 3 Short Lane, under the roof" in out
    assert "fact address  in force" in run("why", "shop/7", "short lane")[1]
    by_position, by_text = run("why", "shop/7", "2")[1], run("why", "shop/7", "W0000029")[1]
    assert by_position == by_text
    assert by_position.startswith("messages[2]  ")
    assert "whole  ctx:" in by_position


def test_secrets_are_masked(run: Run, positions: list[int]) -> None:
    out = run("why", "shop/7", "my password")[1]
    assert "my password: [...]" in out
    assert "battery" not in out


def test_what_is_not_there_is_said(run: Run, positions: list[int]) -> None:
    for words, told in (
        (("show", "nobody"), "there is no session 'nobody'"),
        (("show", "shop/7", "--request", "1"), "has no request at position 1"),
        (("why", "shop/7", "nothing like it"), "has no message or fact 'nothing like it'"),
        (("rm", "nobody", "--yes"), "there is no session 'nobody'"),
        (("ls", "--store", "sqlite:nowhere.db"), "there is no file nowhere.db"),
        (("ls", "--store", "ftp://host"), "the address of a store is"),
        (("gc", "shop/7", "--days", "3"), "goes over all sessions"),
    ):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert told in err
    assert not Path("nowhere.db").exists()


def test_no_store_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXKIT_STORE")
    assert run("ls")[2] == "ctxkit: --store is missing; it may be in $CTXKIT_STORE\n"


@pytest.mark.parametrize(
    "address", ["redis://:pa55w0rd@127.0.0.1:1", "redis://127.0.0.1:1?password=pa55w0rd"]
)
def test_a_password_is_not_printed(run: Run, address: str) -> None:
    pytest.importorskip("redis")
    code, out, err = run("ls", "--store", address)
    assert code == 3
    assert "pa55w0rd" not in out + err


def test_export_and_import_are_the_same_byte_for_byte(run: Run, positions: list[int], tmp_path: Path) -> None:
    one, two, other = tmp_path / "one.jsonl", tmp_path / "two.jsonl", f"sqlite:{tmp_path / 'other.db'}"
    assert run("export", "shop/7", "-o", str(one))[0] == 0
    assert run("import", str(one), "--store", other)[0] == 0
    assert run("export", "shop/7", "-o", str(two), "--store", other)[0] == 0
    assert one.read_bytes() == two.read_bytes()
    assert run("verify", "--store", other)[0] == 0
    code, _, err = run("import", str(one))
    assert code == 3
    assert "there is a session 'shop/7' already; give this one another id" in err
    assert "--as ID" in err


def test_import_refuses_what_was_cut_off(run: Run, positions: list[int], tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl.gz"
    assert run("export", "shop/7", "-o", str(file))[0] == 0
    file.write_bytes(file.read_bytes()[:-40])
    code, _, err = run("import", str(file), "--as", "again")
    assert code == 3
    assert "of the file cannot be read (EOFError)" in err
    assert "again" not in run("ls")[1]


def test_a_file_is_imported_from_stdin(address: str, positions: list[int]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CTXKIT_STORE": address}
    command = [sys.executable, "-m", "ctxkit.cli", "session"]
    log = subprocess.run(
        [*command, "export", "shop/7"], capture_output=True, env=environment, check=True
    ).stdout
    done = subprocess.run(
        [*command, "import", "-", "--as", "copy"], input=log, capture_output=True, env=environment, check=True
    )
    assert done.stdout.decode().startswith(f"copy: {positions[-1] + 3} records read, the last hash is ")


def test_verify_says_what_is_wrong(run: Run, positions: list[int], address: str) -> None:
    assert run("verify")[:2] == (
        0,
        f"shop/7  all right: {positions[-1] + 3} records, 6 of 6 requests by their seals\n",
    )

    async def altered() -> None:
        async with SQLiteStore(address.removeprefix("sqlite:")) as store:
            records = await store.read("shop/7")
            at = next(at for at, body in enumerate(records, 1) if b"W0000001 is on its way" in body)
            await store.rewrite("shop/7", {at: records[at - 1].replace(b"W0000001", b"W0000002")})

    asyncio.run(altered())
    code, out, err = run("verify", "shop/7")
    assert code == 1
    assert "wrong: " in out
    assert "does not match its seal: the log was altered" in err


def test_rm_asks_unless_told_not_to(run: Run, positions: list[int]) -> None:
    code, _, err = run("rm", "shop/7")
    assert code == 2
    assert "--yes deletes without asking" in err
    assert run("rm", "shop/7", "--yes")[:2] == (0, f"deleted: shop/7, {positions[-1] + 3} records\n")
    assert run("ls")[1] == ""


def _damaged(address: str, id: str) -> None:
    """Make the last record of a session unreadable."""

    async def damage() -> None:
        async with SQLiteStore(address.removeprefix("sqlite:")) as store:
            await store.rewrite(id, {len(await store.read(id)): b"{"})

    asyncio.run(damage())


def test_rm_deletes_what_cannot_be_read_and_says_what_stays(
    run: Run, positions: list[int], address: str
) -> None:
    _damaged(address, "shop/7")
    code, out, err = run("rm", "shop/7", "--yes")
    assert (code, out) == (0, f"deleted: shop/7, {positions[-1] + 3} records\n")
    assert err.startswith("ctxkit: shop/7: what is under it is not known, and stays: record ")
    assert run("ls")[1] == ""


def test_gc_and_verify_go_on_behind_what_cannot_be_read(run: Run, positions: list[int], address: str) -> None:
    async def beside() -> None:
        async with SQLiteStore(address.removeprefix("sqlite:")) as store:
            await filled(store, "shop/8")

    asyncio.run(beside())
    _damaged(address, "shop/7")
    code, out, err = run("gc", "--days", "0", "--yes")
    assert (code, out) == (3, "shop/8: only its facts in force are left\n")
    assert err.startswith("ctxkit: shop/7: record ")
    assert err.count("\n") == 1
    code, out, err = run("verify")
    assert code == 1
    assert [line.split()[:2] for line in out.splitlines()] == [["shop/7", "1"], ["shop/8", "all"]]


@pytest.mark.parametrize(
    "content", [b"[" * 100_000 + b"\n", b'{"a":' * 100_000 + b"\n", b"\xff\xfe\n", b"9" * 9_999 + b"\n"]
)
def test_import_refuses_what_nobody_can_read(run: Run, address: str, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log.jsonl").write_bytes(content)
    code, out, err = run("import", str(tmp_path / "log.jsonl"))
    assert (code, out) == (3, "")
    assert "line 1 of the file cannot be read" in err


@pytest.mark.parametrize("content", [b"\xff\x00\x9f" * 16, b"no key at all\n", "é".encode()])
def test_a_key_file_that_holds_no_keys_is_told(
    run: Run, positions: list[int], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "keys").write_bytes(content)
    code, out, err = run("ls", "--key-file", str(tmp_path / "keys"))
    assert (code, out) == (2, "")
    assert "keys holds no keys in base64, one a line" in err


def test_a_time_that_no_calendar_has_is_shown_as_it_is(run: Run, positions: list[int], address: str) -> None:
    with sqlite3.connect(address.removeprefix("sqlite:")) as connection:
        connection.execute("UPDATE ctxkit_sessions SET touched = 1e300")
    connection.close()
    code, out, _ = run("ls")
    assert (code, out.split()[-1]) == (0, "1e+300")


def test_gc_leaves_the_facts_of_what_is_old(run: Run, positions: list[int]) -> None:
    assert run("gc", "--days", "1") == (0, "", "")
    assert run("gc", "--days", "0", "--yes") == (0, "shop/7: only its facts in force are left\n", "")
    assert "address: 3 Short Lane, under the roof" in run("show", "shop/7")[1]
    assert run("verify")[0] == 0
    assert run("why", "shop/7", "2")[1].startswith("messages[2]  erased\n")


def test_an_encrypted_store_needs_its_key(
    run: Run, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    keys = [os.urandom(32), os.urandom(32)]

    async def fill() -> None:
        async with EncryptedStore(SQLiteStore(address.removeprefix("sqlite:")), keys[1]) as store:
            await filled(store)

    asyncio.run(fill())
    file = tmp_path / "keys"
    file.write_text("".join(base64.b64encode(key).decode() + "\n" for key in keys))
    assert run("verify", "--key-file", str(file))[0] == 0
    assert run("show", "shop/7")[0] == 3
    out = tmp_path / "log.jsonl"
    for words in (("export", "shop/7"), ("export", "shop/7", "-o", str(out))):
        code, told, err = run(*words)
        assert (code, told) == (3, "")
        assert "perhaps it is encrypted" in err
    assert not out.exists()
    code, told, err = run("verify")
    assert (code, err.count("\n")) == (1, 1)
    assert told.startswith("shop/7  1 wrong: ")
    monkeypatch.setenv("CTXKIT_KEY", base64.b64encode(keys[1]).decode())
    assert run("show", "shop/7")[0] == 0
    monkeypatch.setenv("CTXKIT_KEY", base64.b64encode(keys[0]).decode())
    code, told, err = run("show", "shop/7")
    assert (code, told) == (3, "")
    assert base64.b64encode(keys[0]).decode() not in err
    monkeypatch.setenv("CTXKIT_KEY", "no key")
    assert run("show", "shop/7")[2] == "ctxkit: $CTXKIT_KEY holds no keys in base64, one a line\n"


def test_a_call_is_found_by_the_name_of_its_tool(run: Run, positions: list[int]) -> None:
    code, out, _ = run("why", "shop/7", "Look_Up")
    assert code == 0
    lines = out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("messages")] == [
        f"messages[{at}]" for at in (1, 5, 9, 13, 17, 21, 25)
    ]
    assert lines[1] == "  says   look_up {}"


def test_show_gives_the_messages_behind_a_handle(run: Run, positions: list[int]) -> None:
    why = run("why", "shop/7", "2")[1]
    handle = next(line.split()[-1] for line in why.splitlines() if line.startswith("  whole"))
    code, out, _ = run("show", "shop/7", "--handle", handle)
    assert code == 0
    there = [json.loads(line) for line in out.splitlines()]
    assert exchange(0)[2] in there
    assert run("show", "shop/7", "--handle", handle[4:-1]) == (0, out, "")
    for wrong, told in (
        (("--handle", "nothing"), "keeps no original under the handle 'ctx:nothing'"),
        (("--handle", ""), "keeps no original under the handle"),
        (("--handle", handle, "--request", "5"), "--handle and --request exclude each other"),
    ):
        code, out, err = run("show", "shop/7", *wrong)
        assert (code, out) == (2, "")
        assert told in err


def test_show_tells_what_each_entry_of_a_request_says(run: Run, positions: list[int]) -> None:
    shown = ("show", "shop/7", "--request", str(positions[-1]))
    lines = run(*shown)[1].splitlines()
    said = [line.split(maxsplit=2) for line in lines if line.startswith("      ")]
    assert said[3] == ["the", "last", "8 of 9 (--all)"]
    assert [(each[0], each[1]) for each in said[4:7]] == [("4", "user:"), ("5", "model:"), ("6", "tool:")]
    assert said[4][2] == "Where is the order W0000004?"
    assert said[5][2] == "look_up {}"
    assert "      3  model: The order W0000003 is on its way." in run(*shown, "--all")[1].splitlines()
    assert all(len(line) < 130 for line in lines if line.startswith("      "))


def test_show_masks_secrets_in_what_a_request_says(run: Run, address: str) -> None:
    async def fill() -> int:
        async with SQLiteStore(address.removeprefix("sqlite:")) as store:
            session = await Session.open("s", store, format="openai-chat", budget={"window": 3_000})
            await session.add({"role": "user", "content": "my password: correct-horse-battery"})
            await session.prepare()
            return session.position

    out = run("show", "s", "--request", str(asyncio.run(fill())))[1]
    assert "user: my password: [...]" in out
    assert "battery" not in out


def test_messages_of_one_record_are_told_as_one(run: Run, positions: list[int]) -> None:
    out = run("show", "shop/7", "--request", str(positions[0]))[1]
    (row,) = [line for line in out.splitlines() if "  message " in line]
    assert row.endswith("  record 3")


def test_diff_says_what_came_of_each_fact(run: Run, positions: list[int]) -> None:
    code, out, _ = run("diff", "shop/7", str(positions[0]), str(positions[3]))
    assert code == 0
    facts = [" ".join(line.split()) for line in out.splitlines() if line.split()[1:2] == ["fact"]]
    assert facts[:2] == [
        "left fact address: 12 Long Street, second floor user: superseded in turn 4: address: 3 Short Lane, "
        "under the roof",
        "came fact address: 3 Short Lane, under the roof user: remembered in turn 4",
    ]
    back = run("diff", "shop/7", str(positions[3]), str(positions[0]))[1]
    assert "fact address: 3 Short Lane, under the roof  the session went back to before it" in back


def test_what_a_missing_request_is_looked_up_with_is_a_command(run: Run, positions: list[int]) -> None:
    assert "`ctxkit session show shop/7 --all`" in run("show", "shop/7", "--request", "1")[2]


def test_gc_asks_before_it_takes_anything_out(
    run: Run, positions: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run("gc", "--days", "0")
    assert (code, out) == (2, "")
    assert "--yes takes it out without asking" in err
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "yes" if len(asked) > 1 else ""

    monkeypatch.setattr("sys.stdin", _Typing())
    monkeypatch.setattr("builtins.input", answer)
    assert run("gc", "--days", "0") == (0, "nothing was taken out\n", "")
    assert len(json.loads(run("show", "shop/7", "--json")[1])["messages"]) == 12
    assert run("gc", "--days", "0")[1] == "shop/7: only its facts in force are left\n"
    assert asked == ["take all but the facts out of session shop/7, for good? [y/N] "] * 2
    assert run("gc", "--days", "0") == (0, "", "")
    assert run("gc") == (0, "", "")
    assert len(asked) == 2


class _Typing(io.StringIO):
    """Somebody at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("words", [(), ("show",), ("gc",)])
def test_help_says_what_exit_codes_mean_here(run: Run, words: tuple[str, ...]) -> None:
    code, out, _ = run(*words, "--help")
    assert code == 0
    assert "3 a store or a log failed" in " ".join(out.split())


def test_an_address_with_a_slip_is_told_as_one(run: Run, tmp_path: Path) -> None:
    for action in (("ls",), ("import", "-")):
        code, _, err = run(*action, "--store", f"sqlight:{tmp_path / 'a.db'}")
        assert code == 2
        assert "did you mean sqlite:?" in err
    assert not list(tmp_path.glob("*a.db"))


def test_why_tells_the_newest_of_many_and_all_when_asked(run: Run, address: str) -> None:
    async def fill() -> None:
        async with SQLiteStore(address.removeprefix("sqlite:")) as store:
            session = await Session.open("s", store, format="openai-chat", budget={"window": 9_000})
            for number in range(10):
                await session.add({"role": "user", "content": f"{number}: the boiler"})
                await session.remember(f"part {number}", "of the boiler")

    asyncio.run(fill())
    code, out, _ = run("why", "s", "boiler")
    names = [line.split("  ")[0] for line in out.splitlines() if not line.startswith("  ")]
    assert code == 0
    assert names == [
        "the last 8 of 10 messages that say it (--all)",
        *(f"messages[{number}]" for number in range(2, 10)),
        "the last 8 of 10 facts that say it (--all)",
        *(f"fact part {number}" for number in range(2, 10)),
    ]
    names = [
        line.split("  ")[0] for line in run("why", "s", "boiler", "--all")[1].splitlines() if line[0] != " "
    ]
    assert names == [*(f"messages[{at}]" for at in range(10)), *(f"fact part {at}" for at in range(10))]
    assert "--all" not in run("why", "s", "7: the boiler")[1]


def test_an_id_that_is_none_is_told_which_letters_it_may_have(run: Run, positions: list[int]) -> None:
    code, out, err = run("show", "größe")
    assert (code, out) == (2, "")
    assert "1 to 200 ASCII letters, digits and" in err
