"""Which wire format a conversation is read in: the same in every command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit.cli import main
from ctxkit.cli.formats import Formats
from ctxkit.cli.inputs import InputError
from ctxkit.config import load
from ctxkit.errors import UnknownPluginError

HI = {"role": "user", "content": "Hi"}
THERE = {"role": "assistant", "content": "There"}
UNCLEAR = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
CONTENTS = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": "There"}]}]
GEMINI = {"contents": CONTENTS}
ANTHROPIC = {"format": "anthropic", "messages": [HI, THERE]}
COMMANDS = {
    "check": (),
    "compress": ("--window", "1000"),
    "explain": ("--window", "1000"),
    "eval": ("--share", "1"),
}

CHAT_CONFIG = {"format": "openai-chat", "budget": {"window": 1_000}}
GEMINI_CONFIG = {"format": "gemini", "budget": {"window": 1_000}}
BARE_CONFIG = {"budget": {"window": 1_000}}


def _run(command: str, tmp_path: Path, value: Any, *options: str) -> int:
    (tmp_path / "in.json").write_text(json.dumps(value))
    return main([command, str(tmp_path / "in.json"), *COMMANDS[command], *options])


SAID = {"check": "1 conversation, no rule broken\n"}
"""What a command says on stderr of a conversation with which all is well."""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "value",
    [ANTHROPIC, GEMINI, {"format": "gemini", **GEMINI}, CONTENTS, [HI, THERE], {"input": [HI, THERE]}],
)
def test_a_format_that_is_named_or_can_be_told_need_not_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, value: Any
) -> None:
    assert _run(command, tmp_path, value) == 0
    assert capsys.readouterr().err == SAID.get(command, "")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_contradicts_the_object_is_an_error_with_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert _run(command, tmp_path, ANTHROPIC, "--format", "openai-chat") == 3
    said = capsys.readouterr().err
    assert "InputError: its `format` is 'anthropic', and --format says 'openai-chat'; " in said
    assert _run(command, tmp_path, ANTHROPIC, "--format", "anthropic") == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_be_told_says_how_to_name_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert _run(command, tmp_path, [UNCLEAR]) == 3
    assert "it names no wire format, and none can be told from it; " in capsys.readouterr().err
    assert _run(command, tmp_path, [UNCLEAR], "--format", "anthropic") == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_a_history_under_anothers_key_says_what_it_looks_like(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert _run(command, tmp_path, GEMINI, "--format", "openai-chat") == 3
    assert "an object without a list `messages`; it looks like gemini" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_format_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert _run(command, tmp_path, {"format": "chat", "messages": [HI]}) == 3
    assert "no format 'chat'; there are: openai-chat, " in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_config_says_it_for_those_that_do_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "own.json").write_text(json.dumps({"format": "anthropic", "budget": {"window": 1_000}}))
    config = ("--config", str(tmp_path / "own.json"))
    assert _run(command, tmp_path, [UNCLEAR], *config) == 0
    assert _run(command, tmp_path, {"format": "gemini", **GEMINI}, *config) == 0
    assert _run(command, tmp_path, CONTENTS, *config, "--format", "gemini") == 0
    assert capsys.readouterr().err == 3 * SAID.get(command, "")


def test_the_order_of_what_counts() -> None:
    chat, gemini, bare = (load(each) for each in (CHAT_CONFIG, GEMINI_CONFIG, BARE_CONFIG))
    told = {"messages": [HI, {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]}]}
    assert Formats("gemini").of(told) == "gemini"
    assert Formats.said("gemini", chat).of(told) == "gemini"
    assert Formats.said(None, gemini).of(told) == "gemini"
    assert Formats.said(None, gemini).of(ANTHROPIC) == "anthropic"
    assert Formats.said(None, gemini, gemini, bare).of(told) == "gemini"
    # two that do not agree say nothing
    assert Formats.said(None, gemini, chat).of(told) == "anthropic"
    assert Formats.said(None, bare).of(told) == "anthropic"
    # what a config is in that does not say so
    assert Formats.said(None, bare).of([UNCLEAR]) == "openai-chat"
    assert Formats.said(None, bare).of(CONTENTS) == "gemini"


@pytest.mark.parametrize("value", [3, "Hi", None, {}, {"role": "user"}, {"messages": 3}])
def test_what_is_no_conversation_has_no_format(value: Any) -> None:
    with pytest.raises(InputError, match="neither a list of messages nor an object with a list `messages`"):
        Formats().of(value)


def test_an_unknown_format_beside_another_is_told_with_both() -> None:
    with pytest.raises(InputError, match=r"its `format` is 'x\\n', and --format says 'gemini'"):
        Formats("gemini").of({"format": "x\n", "messages": []})
    with pytest.raises(UnknownPluginError):
        Formats().of({"format": ["gemini"], "messages": []})


def test_what_compress_writes_names_its_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out.jsonl")
    system = {"role": "system", "parts": [{"text": "Be brief."}]}
    for value in ({**GEMINI, "systemInstruction": system}, {"input": [HI], "instructions": "Be brief."}):
        assert _run("compress", tmp_path, value, "-o", out) == 0
        record = json.loads(Path(out).read_text())
        assert record["format"] == record["report"]["format"]
        assert main(["check", out]) == 0
    assert capsys.readouterr().err == 2 * SAID["check"]
