"""`ctxkit compress`, run in this process, and in one of its own for the memory that it takes."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ctxkit.cli import main
from ctxkit.cli.outputs import CLEAR, Progress

LONG = "word " * 40
HISTORY = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": LONG},
    {"role": "assistant", "content": LONG},
    {"role": "user", "content": "and now?"},
]
KEPT = [HISTORY[0], HISTORY[3]]
ORPHAN = [{"role": "tool", "tool_call_id": "x", "content": "?"}]
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
OPEN = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [CALL]}]
OPTIONS = ("--format", "openai-chat", "--window", "60", "--strategy", "drop-oldest")


def _printed(terminal: io.TextIOWrapper) -> str:
    terminal.flush()
    assert isinstance(terminal.buffer, io.BytesIO)
    return terminal.buffer.getvalue().decode()


def _lines(*records: Any) -> str:
    return "".join(json.dumps(each) + "\n" for each in records)


def _compressed(tmp_path: Path, text: str, *options: str) -> tuple[int, list[dict[str, Any]]]:
    (tmp_path / "in").write_text(text)
    code = main(["compress", str(tmp_path / "in"), "-o", str(tmp_path / "out"), *(options or OPTIONS)])
    return code, [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]


def test_a_conversation_is_written_with_its_report(tmp_path: Path) -> None:
    code, (record,) = _compressed(tmp_path, "\n" + json.dumps({"id": 7, "messages": HISTORY}))
    assert code == 0
    assert list(record) == ["id", "format", "messages", "report"]
    assert (record["id"], record["messages"]) == (7, KEPT)
    (edit,) = record["report"]["edits"]
    assert (edit["kind"], edit["positions"], edit["line"]) == ("Drop", [1, 2], 2)
    assert edit["handle"].startswith("ctx:")


def test_a_list_has_no_id(tmp_path: Path) -> None:
    _, (record,) = _compressed(tmp_path, json.dumps(HISTORY, indent=1))
    assert list(record) == ["format", "messages", "report"]


def test_system_text_beside_the_messages_is_written_beside_them(tmp_path: Path) -> None:
    text = json.dumps({"messages": HISTORY[1:], "system": "Be brief."})
    options = ("--format", "anthropic", *OPTIONS[2:])
    _, (record,) = _compressed(tmp_path, text, *options)
    assert record["system"] == "Be brief."


def test_tools_count(tmp_path: Path) -> None:
    _, (bare,) = _compressed(tmp_path, json.dumps(HISTORY[3:]))
    _, (tooled,) = _compressed(
        tmp_path, json.dumps({"messages": HISTORY[3:], "tools": [{"type": "function"}]})
    )
    assert tooled["report"]["tokens_before"] > bare["report"]["tokens_before"]


def test_what_fails_gets_a_line_and_the_rest_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = {"id": "large", "messages": [{"role": "user", "content": LONG * 2}]}
    text = _lines({"id": "orphan", "messages": ORPHAN}, {"id": None, "messages": OPEN}, large) + "oops\n"
    code, records = _compressed(tmp_path, text + _lines(HISTORY))
    assert code == 3
    *failed, last = records
    found = [(each.get("id", "none"), each["line"], each["error"]["type"]) for each in failed]
    assert found == [
        ("orphan", 1, "ProviderFormatError"),
        (None, 2, "OpenCallsError"),
        ("large", 3, "BudgetExceededError"),
        ("none", 4, "InputError"),
    ]
    assert last["messages"] == KEPT
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 4
    assert said[0].startswith(f"ctxkit: {tmp_path / 'in'}:1 orphan: ProviderFormatError: ")
    assert failed[2]["error"]["message"] in said[2]


def test_repair_mends(tmp_path: Path) -> None:
    text = json.dumps(ORPHAN + HISTORY[3:])
    code, (record,) = _compressed(tmp_path, text, *OPTIONS, "--repair")
    assert code == 0
    assert record["messages"] == HISTORY[3:]
    assert len(record["report"]["normalised"]) == 1


def test_lone_surrogates_leave_the_output_valid(tmp_path: Path) -> None:
    text = _lines([{"role": "user", "content": "\ud83d"}], [{"role": "user", "content": "é"}])
    _compressed(tmp_path, text)
    first, second = (tmp_path / "out").read_bytes().splitlines()
    assert b"\\ud83d" in first
    assert "é".encode() in second


def test_a_number_that_json_lacks_fails_its_conversation(tmp_path: Path) -> None:
    code, (record,) = _compressed(tmp_path, '[{"role": "user", "content": "hi", "x": 1e999}]')
    assert (code, record["line"], record["error"]["type"]) == (3, 1, "ProviderFormatError")


def test_a_packed_output_can_be_read_again(tmp_path: Path) -> None:
    (tmp_path / "in.gz").write_bytes(gzip.compress(json.dumps(HISTORY).encode()))
    out = tmp_path / "out.gz"
    assert main(["compress", str(tmp_path / "in.gz"), "-o", str(out), *OPTIONS]) == 0
    assert json.loads(gzip.decompress(out.read_bytes()))["messages"] == KEPT


@pytest.mark.parametrize("command", ["compress", "explain"])
def test_without_in_stdin_is_read_unless_it_is_a_terminal(
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminal: io.TextIOWrapper,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(HISTORY).encode())))
    assert main([command, *OPTIONS, *(["--show", "-o", os.devnull] if command == "compress" else [])]) == 0
    assert capsys.readouterr().out.startswith("stdin:1")
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main([command, *OPTIONS]) == 2
    assert capsys.readouterr() == ("", "ctxkit: IN is missing: a file of conversations, or - for stdin\n")


def test_what_fails_is_told_with_options_instead_of_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = [{"role": "user", "content": []}]
    gemini = [{"role": "user", "parts": [{"text": "hi"}]}]
    late = [HISTORY[1], ORPHAN[0], HISTORY[3]]
    code, records = _compressed(tmp_path, _lines(empty, gemini, late))
    assert code == 3
    said = [record["error"]["message"] for record in records]
    assert said[0].endswith("(see C9 in docs/wire-rules.md; --repair mends what can be mended)")
    assert "; is --format openai-chat right?" in said[1]
    assert "(with --repair it is mended, and the mending reported)" in said[2]
    assert [line.split(": ", 3)[3] for line in capsys.readouterr().err.splitlines()] == said


@pytest.mark.parametrize("options", [(), ("--repair",)])
def test_no_mending_is_promised_for_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, (record,) = _compressed(tmp_path, "[]", *OPTIONS, *options)
    assert code == 3
    assert record["error"]["message"].endswith("the list of messages is empty (see C9 in docs/wire-rules.md)")


def test_stdin_and_stdout(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(HISTORY).encode())))
    assert main(["compress", "-", *OPTIONS]) == 0
    assert json.loads(capfdbinary.readouterr().out)["messages"] == KEPT


def test_the_config_file_is_read_and_options_win(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        'format = "gemini"\n[budget]\nwindow = 9\n[strategy]\nkind = "drop-oldest"\n'
    )
    options = ("--format", "openai-chat", "--config", str(tmp_path / "a.toml"), "--window", "60")
    _, (record,) = _compressed(tmp_path, json.dumps(HISTORY), *options)
    assert record["messages"] == KEPT
    assert record["report"]["limit"] == 60


def test_a_known_model_needs_no_window(tmp_path: Path) -> None:
    options = ("--format", "openai-chat", "--model", "gpt-5", "--strategy", "drop-oldest")
    _, (record,) = _compressed(tmp_path, json.dumps(HISTORY), *options)
    assert record["report"]["limit"] == 272_000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--format", "openai-chat", "--window", "9", "--strategy", "drop-oldst"),
            "did you mean drop-oldest",
        ),
        (("--format", "openai-chat", "--strategy", "drop-oldest"), "--window is missing"),
        (("--format", "x", "--window", "9"), "invalid choice: 'x'"),
        (("--format", "openai-chat", "--window", "x"), "invalid int value"),
        ((*OPTIONS, "--reply", "60"), "reply (60) must be smaller than window (60)"),
        ((*OPTIONS, "--config", "a.toml"), "not allowed with argument --strategy"),
        (("--config", "/nowhere/a.toml"), "/nowhere/a.toml cannot be read: No such file"),
    ],
)
def test_wrong_options_are_2_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "in").write_text(json.dumps(HISTORY))
    assert main(["compress", str(tmp_path / "in"), "-o", str(tmp_path / "out"), *options]) == 2
    assert said in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["in"]


def test_files_that_cannot_be_opened_are_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compress", str(tmp_path / "none"), "-o", str(tmp_path / "out"), *OPTIONS]) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err
    (tmp_path / "in").write_text("[]")
    assert main(["compress", str(tmp_path / "in"), "-o", str(tmp_path / "no" / "out"), *OPTIONS]) == 2
    folder = tmp_path / "no"
    assert f"OUT cannot be {folder / 'out'}: there is no folder {folder}" in capsys.readouterr().err
    assert main(["compress", str(tmp_path / "in"), "-o", str(tmp_path), *OPTIONS]) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["in"]


def test_the_input_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text("[]")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    assert main(["compress", str(tmp_path / "in"), "-o", str(tmp_path / "link"), *OPTIONS]) == 2
    assert "OUT is the file IN" in capsys.readouterr().err
    assert (tmp_path / "in").read_text() == "[]"


def test_an_interrupted_run_leaves_the_old_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").write_text("old")

    class Interrupted(io.BytesIO):
        def __next__(self) -> bytes:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted()))
    assert main(["compress", "-", "-o", str(tmp_path / "out"), *OPTIONS]) == 130
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out", "old")]


def test_the_output_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "out").symlink_to(real)
    _compressed(tmp_path, json.dumps(HISTORY))
    assert (tmp_path / "out").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert json.loads(real.read_text())["messages"] == KEPT


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(json.dumps(HISTORY))
    assert main(["compress", str(tmp_path / "in"), "-o", "/dev/null", *OPTIONS]) == 0
    assert not Path("/dev/null").is_file()


def test_show_tells_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _compressed(
        tmp_path, json.dumps({"id": "a", "messages": HISTORY}), *OPTIONS, "--model", "gpt-5", "--show"
    )
    said = capsys.readouterr().out
    assert said.startswith(f"{tmp_path / 'in'}:1 a\n  tokens ")
    assert "$" in said
    assert "Drop by drop-oldest: the oldest, until the target is met" in said
    assert f"{tmp_path / 'in'}:1 messages[1..2] ctx:" in said
    assert "\x1b" not in said


def test_show_does_not_mix_with_the_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text(json.dumps(HISTORY))
    assert main(["compress", str(tmp_path / "in"), *OPTIONS, "--show"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["messages"] == KEPT
    assert "tokens" in err


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_gets_the_view_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: io.TextIOWrapper, no_color: str
) -> None:
    (tmp_path / "in").write_text(json.dumps(HISTORY))
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("NO_COLOR", no_color)
    assert main(["compress", str(tmp_path / "in"), *OPTIONS]) == 0
    text = _printed(terminal)
    assert '"messages"' not in text
    assert "Drop" in text
    assert ("\x1b[" in text) is not bool(no_color)


def test_many_conversations_are_told_in_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: io.TextIOWrapper
) -> None:
    (tmp_path / "in").write_text(_lines(HISTORY, HISTORY, ORPHAN))
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["compress", str(tmp_path / "in"), *OPTIONS]) == 3
    text = _printed(terminal)
    assert text.startswith("3 conversations, 2 compacted, 1 failed; tokens ")
    assert text.count("\n") == 1


@pytest.mark.parametrize("command", ["compress", "explain", "check"])
def test_nothing_in_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    (tmp_path / "in").write_text("\n \n")
    options = OPTIONS[:2] if command == "check" else OPTIONS
    assert main([command, str(tmp_path / "in"), *options]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"ctxkit: no conversation in {tmp_path / 'in'}\n")


def test_what_is_no_json_at_all_is_one_failure(tmp_path: Path) -> None:
    code, records = _compressed(tmp_path, "date,words\n1,2\n3,4\n")
    assert (code, [record["error"]["type"] for record in records]) == (3, ["InputError"])


def test_a_window_that_contradicts_the_file_says_what_is_from_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_text(json.dumps(HISTORY))
    (tmp_path / "a.toml").write_text("[budget]\nwindow = 90\ncompact_at = 80\n")
    file = str(tmp_path / "a.toml")
    assert main(["compress", str(tmp_path / "in"), "--config", file, "--window", "60"]) == 2
    assert capsys.readouterr().err == (
        f"ctxkit: budget: compact_at (80) is above window less reply (60) (in {file}; "
        "window = 60 comes from the options, everything else from the file)\n"
    )


def test_progress_is_for_terminals_and_long_work(
    monkeypatch: pytest.MonkeyPatch, terminal: io.TextIOWrapper, capsys: pytest.CaptureFixture[str]
) -> None:
    long_ago = time.monotonic() - 60
    Progress(started=long_ago).at(5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", terminal)
    Progress().at(5)
    assert _printed(terminal) == ""
    progress = Progress(started=long_ago)
    progress.at(1_200)
    progress.clear()
    said = _printed(terminal)
    assert said.startswith("\r1,200 conversations, ")
    assert said.endswith(CLEAR)


def test_what_is_warned_of_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _compressed(tmp_path, json.dumps({"id": "\x1b[2J\ud800", "messages": ORPHAN}))
    assert ":1 \\x1b[2J\\ud800: ProviderFormatError" in capsys.readouterr().err


MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Runs a command and prints how much memory it took at most. It is small itself, for a process begins with the peak of the
one that starts it."""


def _peak_memory(folder: Path, conversations: int) -> int:
    """How much memory `ctxkit compress` takes at most for so many conversations, in units of the operating system."""
    source, out = folder / f"{conversations}.jsonl", folder / f"{conversations}.out.jsonl"
    with source.open("w", encoding="utf-8") as lines:
        for number in range(conversations):
            said = (f"Question {number}, {at}. {LONG * 12}" for at in range(5))
            lines.write(_lines({"messages": [{"role": "user", "content": each} for each in said]}))
    options = ("--format", "openai-chat", "--window", "600", "--strategy", "drop-oldest", "-o", str(out))
    command = (sys.executable, "-m", "ctxkit.cli", "compress", str(source), *options)
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], check=True, capture_output=True)
    with out.open(encoding="utf-8") as written:
        assert [json.loads(line)["report"]["compacted"] for line in written] == [True] * conversations
    return int(done.stdout)


def test_memory_does_not_grow_with_the_number_of_conversations(tmp_path: Path) -> None:
    few, many = _peak_memory(tmp_path, 300), _peak_memory(tmp_path, 3_000)
    assert many <= 1.2 * few
