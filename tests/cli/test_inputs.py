"""What `IN` may be: JSON, JSON Lines, gzip, stdin, and the objects of each format."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxkit.cli.formats import Formats
from ctxkit.cli.inputs import Conversation, Unread, conversations, opened

CHAT = "openai-chat"
HI = {"role": "user", "content": "hi"}
BYE = {"role": "user", "content": "bye"}


def _read(text: str | bytes, *, format: str = CHAT, name: str = "in") -> list[Conversation | Unread]:
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return list(conversations(io.BytesIO(raw), name=name, formats=Formats(format)))


def _message(one: Conversation | Unread) -> str:
    assert isinstance(one, Unread)
    return str(one.error)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("before", ["", "\n \n", "\ufeff"])
def test_a_list_of_messages_is_one_conversation(indent: int | None, before: str) -> None:
    line = 1 + before.count("\n")
    assert _read(before + json.dumps([HI, BYE], indent=indent)) == [
        Conversation(line, None, False, [HI, BYE], CHAT)
    ]


def test_a_whole_response_among_them_is_the_entries_that_it_holds() -> None:
    answer = {"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": BYE}]}
    assert _read(json.dumps([HI, answer])) == [Conversation(1, None, False, [HI, BYE], CHAT)]
    assert _read(json.dumps({"messages": [HI, answer]})) == [Conversation(1, None, False, [HI, BYE], CHAT)]


@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_has_id_system_and_tools(indent: int | None) -> None:
    whole: dict[str, Any] = {"id": None, "messages": [HI], "system": "s", "tools": [{}], "else": 1}
    assert _read(json.dumps(whole, indent=indent)) == [Conversation(1, None, True, [HI], CHAT, "s", [{}])]


def test_json_lines_are_numbered_as_they_stand_in_the_file() -> None:
    text = json.dumps({"id": 1, "messages": [HI]}) + "\n\n" + json.dumps([BYE]) + "\r\n"
    assert _read(text) == [Conversation(1, 1, True, [HI], CHAT), Conversation(3, None, False, [BYE], CHAT)]


@pytest.mark.parametrize(
    "first",
    ['{"id": 1, oops}', "oops", '{"messages": [{"role": "user"', '{"messages": [', "{", "[1, 2", '"text'],
)
def test_a_broken_first_line_does_not_swallow_the_others(first: str) -> None:
    broken, *others = _read(first + "\n" + json.dumps({"id": 2, "messages": [HI]}) + "\n")
    assert _message(broken).startswith("not JSON: ")
    assert others == [Conversation(2, 2, True, [HI], CHAT)]


@pytest.mark.parametrize("second", ["oops", "3", '{"a": 1}', "null"])
def test_what_is_no_json_is_one_error(second: str) -> None:
    (broken,) = _read(f"oops\n{second}\n" + "oops\n" * 50)
    assert _message(broken).startswith("not JSON: ")
    assert len(_read(f"oops\n{second}\n", name="a.ndjson")) == 2


def test_a_name_that_ends_in_jsonl_is_read_line_by_line() -> None:
    broken, second = _read('{"messages": [\n[]\n', name="a.JSONL")
    assert isinstance(broken, Unread)
    assert second == Conversation(2, None, False, [], CHAT)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3", "neither a list of messages nor an object"),
        ("{}", "an object without a list `messages`"),
        ('{"messages": {}}', "an object without a list `messages`"),
        ('{"messages": [NaN]}', "NaN is no JSON number"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5_000 + "}", "not JSON"),
        (b"\xff[]", "not JSON"),
        ("[\n" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_conversation_says_why(text: str | bytes, said: str) -> None:
    (one,) = _read(text)
    assert said in _message(one)


def test_an_unread_conversation_keeps_its_id() -> None:
    (one,) = _read('{"id": "x"}')
    assert (one.line, one.id, one.has_id) == (1, "x", True)


def test_an_empty_file_has_no_conversations() -> None:
    assert _read("") == _read(" \n\n") == []


@pytest.mark.parametrize(
    ("format", "whole", "messages", "system"),
    [
        ("openai-responses", {"input": [HI], "instructions": "s"}, [HI], "s"),
        ("openai-responses", {"messages": [HI], "system": "s"}, [HI], "s"),
        ("openai-responses", {"input": "hi", "previous_response_id": None}, [HI], None),
        ("gemini", {"contents": [HI], "systemInstruction": "s"}, [HI], "s"),
        ("gemini", {"contents": [HI], "system_instruction": "s"}, [HI], "s"),
        ("anthropic", {"messages": [HI], "system": [{"type": "text", "text": "s"}], "conversation": 1}, [HI], [{"type": "text", "text": "s"}]),
    ],
)  # fmt: skip
def test_each_format_has_its_own_keys(format: str, whole: Any, messages: Any, system: Any) -> None:
    assert _read(json.dumps(whole), format=format) == [Conversation(1, None, False, messages, format, system)]


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_a_history_on_the_server_is_refused(key: str) -> None:
    (one,) = _read(json.dumps({"input": [HI], key: "resp_1"}), format="openai-responses")
    assert key in _message(one)
    assert "the history is on the server" in _message(one)


def test_keys_of_other_formats_are_no_history() -> None:
    (one,) = _read(json.dumps({"input": [HI]}), format="anthropic")
    assert "an object without a list `messages`" in _message(one)


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(json.dumps([HI]).encode()))
    with opened(str(tmp_path / "a")) as stream:
        assert list(conversations(stream, name="a", formats=Formats())) == [
            Conversation(1, None, False, [HI], CHAT)
        ]


def test_a_damaged_gzip_file_ends_in_an_error(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"id": at, "messages": [HI]}) + "\n" for at in range(5_000))
    (tmp_path / "a.gz").write_bytes(gzip.compress(lines.encode())[:-2_000])
    with opened(str(tmp_path / "a.gz")) as stream:
        *read, last = conversations(stream, name="a.gz", formats=Formats(CHAT))
    assert read
    assert all(isinstance(each, Conversation) for each in read)
    assert "the gzip file is damaged from here on" in _message(last)


def test_stdin_may_be_packed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BufferedReader(io.BytesIO(gzip.compress(json.dumps([HI]).encode())))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(packed))
    with opened("-") as stream:
        assert len(list(conversations(stream, name="-", formats=Formats(CHAT)))) == 1


def test_lines_are_read_one_at_a_time() -> None:
    taken = 0

    class Counted(io.BytesIO):
        def __next__(self) -> bytes:
            nonlocal taken
            taken += 1
            return super().__next__()

    stream = Counted((json.dumps({"messages": [HI]}) + "\n").encode() * 1_000)
    next(conversations(stream, name="in", formats=Formats(CHAT)))
    assert taken == 2
