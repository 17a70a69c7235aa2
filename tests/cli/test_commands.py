"""`ctxkit check`, `explain`, `strategies` and `schema`, run in this process; and the program itself."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Literal

import pytest

import ctxkit
from ctxkit import CompressionStrategy, ConfigError, Plan, Services, Session, View
from ctxkit.cli import main, strategies
from ctxkit.cli.owner import foreign_owners
from ctxkit.config import schema
from ctxkit.registry import Installed, installed, strategy_class

LONG = "word " * 40
HISTORY = [
    {"role": "user", "content": LONG},
    {"role": "assistant", "content": LONG},
    {"role": "user", "content": "and now?"},
]
ORPHAN = [{"role": "tool", "tool_call_id": "x", "content": "?"}]
OPTIONS = ("--format", "openai-chat", "--window", "60", "--strategy", "drop-oldest")
COMMAND = (sys.executable, "-m", "ctxkit.cli")


def _file(tmp_path: Path, *records: object) -> str:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return str(tmp_path / "in.jsonl")


def _environment() -> dict[str, str]:
    root = str(Path(ctxkit.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": root, "PYTHONIOENCODING": "utf-8"}


def test_check_counts_what_is_right_beside_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stdout has one line a violation and nothing else."""
    assert main(["check", _file(tmp_path, HISTORY), "--format", "openai-chat"]) == 0
    assert capsys.readouterr() == ("", "1 conversation, no rule broken\n")
    assert main(["check", _file(tmp_path, *[HISTORY] * 1_001), "--format", "openai-chat"]) == 0
    assert capsys.readouterr() == ("", "1,001 conversations, no rule broken\n")
    assert main(["check", _file(tmp_path, HISTORY, ORPHAN), "--format", "openai-chat"]) == 1
    assert capsys.readouterr().err == ""


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLS = [*HISTORY, {"role": "assistant", "content": None, "tool_calls": [CALL]}]


@pytest.mark.parametrize(
    ("messages", "format", "other"),
    [
        (CALLS, "gemini", "openai-chat"),
        (HISTORY, "gemini", "openai-chat"),
        ([{"role": "user", "parts": [{"text": "Hi"}]}], "openai-chat", "gemini"),
        (ORPHAN, "openai-chat", None),
        ([{"role": "nobody", "content": "Hi"}], "anthropic", None),
    ],
)
def test_check_says_that_a_file_looks_like_another_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], messages: list[object], format: str, other: str | None
) -> None:
    file = _file(tmp_path, messages)
    assert main(["check", file, "--format", format]) == 1
    looks = f"ctxkit: {file}:1: it was read as {format} and looks like {other}; say which with --format\n"
    assert capsys.readouterr().err == (looks if other else "")


@pytest.mark.parametrize("command", [["check"], ["explain", *OPTIONS], ["compress", *OPTIONS], ["eval"]])
def test_a_config_in_the_place_of_conversations_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    file = _config(tmp_path)
    assert main([command[0], file, *command[1:]]) == 2
    said = f"ctxkit: {file} is no file of conversations; a config file is given with --config {file}\n"
    assert capsys.readouterr().err == said


def test_check_says_one_line_a_violation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path, HISTORY, {"id": "a\x1b[2J", "messages": ORPHAN + ORPHAN})
    assert main(["check", file, "--format", "openai-chat"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"{file}:2 a\\x1b[2J: messages[0]: C2: ")


def test_check_fails_where_it_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path, ORPHAN, {"previous_response_id": "r", "input": []})
    assert main(["check", file, "--format", "openai-responses"]) == 3
    said = capsys.readouterr()
    assert "the history is on the server" in said.err
    assert f"{file}:1: " in said.out


CONFIG = """
[budget]
window = 9_000
[strategy]
kind = "hybrid"
steps = [
    "drop-reasoning",
    { kind = "within", region = "recent", strategy = "drop-oldest" },
    { kind = "hybrid", steps = ["drop-media", "drop-oldest"] },
]
"""


def _config(tmp_path: Path, text: str = CONFIG) -> str:
    (tmp_path / "own.toml").write_text(text)
    return str(tmp_path / "own.toml")


def test_check_takes_a_config_alone_and_tells_its_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _config(tmp_path)
    assert main(["check", "--config", file]) == 0
    steps = "drop-reasoning, within (drop-oldest), hybrid (drop-media, drop-oldest)"
    assert capsys.readouterr() == (f"{file} is fine: hybrid ({steps})\n", "")


def test_a_config_whose_function_is_given_in_python_is_fine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _config(tmp_path, 'strategy = "summarize"\nbudget.window = 900')
    assert main(["check", "--config", file]) == 0
    assert capsys.readouterr() == (f"{file} is fine: summarize\n", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[budget]\nwindow = 0", "budget.window: "),
        ("strategy = 'drop-oldes'\nbudget.window = 9", "did you mean drop-oldest?"),
        ("model = 'gpt-5'\nbudget = {window = 9, reply = 9}", "reply (9) must be smaller than window (9)"),
        ("format = ", "own.toml"),
    ],
)
def test_a_config_with_a_mistake_is_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    file = _config(tmp_path, text)
    for words in (["--config", file], [_file(tmp_path, HISTORY), "--config", file]):
        assert main(["check", *words]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert said in printed.err


@pytest.mark.parametrize("address", ["mysql://x.db", "sqlite://x.db", "sqlite:", "chats", "redis://h:port"])
def test_the_address_of_a_store_is_checked_in_the_words_of_a_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    file = _config(tmp_path, f'store = "{address}"\nstrategy = "drop-oldest"\nbudget.window = 900')
    with pytest.raises(ConfigError) as caught:
        asyncio.run(Session.from_config("a", file))
    assert main(["check", "--config", file]) == 2
    assert capsys.readouterr() == ("", f"ctxkit: {caught.value}\n")


def test_a_store_is_not_opened_to_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for address in (f"sqlite:{tmp_path}/none/chats.db", f"{tmp_path}/chats.db", "memory:"):
        file = _config(tmp_path, f'store = "{address}"\nstrategy = "drop-oldest"\nbudget.window = 900')
        assert main(["check", "--config", file]) == 0
        assert capsys.readouterr() == (f"{file} is fine: drop-oldest\n", "")
    assert [each.name for each in tmp_path.iterdir()] == ["own.toml"]


def test_an_unknown_plugin_and_a_wrong_store_are_told_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _config(tmp_path, 'store = "mysql://x"\nplugins = ["ctxkit-nope"]\nbudget.window = 900')
    assert main(["check", "--config", file]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("ctxkit: plugins: no plugin 'ctxkit-nope' with hooks is installed")
    assert second.startswith("  also wrong: store: the address of a store is sqlite:PATH")


def test_check_of_both_tells_what_is_broken_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _config(tmp_path)
    assert main(["check", _file(tmp_path, HISTORY), "--config", file]) == 0
    assert capsys.readouterr().out == ""
    assert main(["check", _file(tmp_path, ORPHAN), "--config", file]) == 1
    assert ": C2: " in capsys.readouterr().out


def test_check_of_nothing_says_what_to_give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 2
    expected = "ctxkit: nothing to check: give conversations (IN), a config file (--config FILE), or both\n"
    assert capsys.readouterr() == ("", expected)
    assert main(["check", "--config", str(tmp_path / "none.toml")]) == 2
    assert "none.toml cannot be read: No such file" in capsys.readouterr().err


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ctxkit {distribution('ctxkit-core').version}\n"


@pytest.mark.parametrize("entry", [3, None, [], {}, {"role": 3}, {"role": "user", "content": {}}])
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_check_takes_any_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entry: object, format: str
) -> None:
    assert main(["check", _file(tmp_path, [entry]), "--format", format]) == 1
    assert capsys.readouterr().out


def test_explain_has_a_line_a_fate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path, {"id": "a", "messages": HISTORY})
    assert main(["explain", file, *OPTIONS]) == 0
    head, sizes, *rows = capsys.readouterr().out.splitlines()
    assert head == f"{file}:1 a"
    assert sizes.startswith("  tokens ")
    words = [row.split() for row in rows]
    assert [row[:3] for row in words] == [
        ["messages[0..1]", "dropped", "drop-oldest"],
        ["messages[2]", "pinned", "-"],
    ]
    assert words[0][3].startswith("ctx:")
    assert words[0][4:] == ["the", "oldest,", "until", "the", "target", "is", "met"]


def test_a_handle_of_a_report_leads_to_the_originals(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = _file(tmp_path, HISTORY[2:], HISTORY)
    assert main(["compress", file, *OPTIONS]) == 0
    _, record = map(json.loads, capfd.readouterr().out.splitlines())
    handle = record["report"]["edits"][0]["handle"]
    for name in (handle, handle.removeprefix("ctx:"), handle[:-3], handle[4:8]):
        assert main(["explain", file, *OPTIONS, "--handle", name]) == 0
        assert [json.loads(line) for line in capfd.readouterr().out.splitlines()] == HISTORY[:2]


def test_a_beginning_of_several_handles_names_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [[{"role": "user", "content": f"{LONG} {number}"}, *HISTORY[1:]] for number in range(40)]
    file = _file(tmp_path, *others)
    assert main(["compress", file, *OPTIONS, "-o", str(tmp_path / "out")]) == 0
    records = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    handles = [record["report"]["edits"][0]["handle"] for record in records]
    first = next(each[:5] for each in handles if sum(other[:5] == each[:5] for other in handles) > 1)
    capsys.readouterr()
    assert main(["explain", file, *OPTIONS, "--handle", first]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{first!r} may be any of {first}" in said.err


def test_an_unknown_handle_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", _file(tmp_path, HISTORY), *OPTIONS, "--handle", "no"]) == 2
    assert "no original is kept under the handle 'ctx:no'" in capsys.readouterr().err


def test_a_handle_that_is_looked_for_in_the_result_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    call = {"role": "assistant", "content": None, "tool_calls": [steps]}
    result = {"role": "tool", "tool_call_id": "c", "content": LONG * 3}
    history = [HISTORY[0], call, result, {"role": "assistant", "content": "Yes."}, HISTORY[2]]
    out = tmp_path / "out.jsonl"
    settings = {"kind": "clear-tool-results", "keep": 0}
    (tmp_path / "own.json").write_text(json.dumps({"budget": {"window": 150}, "strategy": settings}))
    options = ("--format", "openai-chat", "--config", str(tmp_path / "own.json"))
    assert main(["compress", _file(tmp_path, history), *options, "-o", str(out)]) == 0
    (handle,) = {edit["handle"] for edit in json.loads(out.read_text())["report"]["edits"]}
    for name in (handle, handle[:-2]):
        assert main(["explain", str(out), *options, "--handle", name]) == 2
        assert capsys.readouterr().err == (
            f"ctxkit: no original is kept under the handle {name!r} with these settings; IN names it, so it is what was "
            "made: give the file that was compressed, not its result\n"
        )


def test_explain_goes_on_after_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", _file(tmp_path, ORPHAN, HISTORY), *OPTIONS]) == 3
    said = capsys.readouterr()
    assert ":1: ProviderFormatError: " in said.err
    assert "messages[2]" in said.out


def test_strategies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [each.kind for each in installed()]
    assert main(["strategies", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found[0]) == ["kind", "origin", "version", "summary", "error"]
    assert "drop-oldest" in [each["kind"] for each in found]


def test_the_parameters_of_a_strategy_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies", "selective"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith(
        "selective  Pin the user's key messages and make room among all others. (ctxkit-core "
    )
    assert [line for line in lines if not line.startswith("      ")] == [
        "  markers  a list, each a text; nothing by default",
        "  pin_share  a number above 0 up to 1; by default 0.25",
        "  others  a strategy; by default drop-oldest",
        "  timeout_s  a number above 0; nothing by default",
        "  isolate  true or false; by default false",
    ]
    assert lines[3] == (
        "      share of the budget's limit that the messages pinned by this strategy may take together."
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("within", "  region  a text; has to be given"),
        ("clear-tool-results", "  exclude  a list, each a text; nothing by default"),
        (
            "keep-key-facts",
            "  max_tokens  a whole number from 1 or a number above 0 up to 1; nothing by default",
        ),
        ("summarize", "  model  a text or a table; nothing by default"),
        ("extractive-summary", '  language  "auto" or "en" or "zh"; by default "auto"'),
        ("hybrid", '  steps  a list, each a strategy; by default [{"kind": "keep-key-facts", '),
    ],
)
def test_types_and_defaults_are_told_in_words(
    capsys: pytest.CaptureFixture[str], kind: str, said: str
) -> None:
    assert main(["strategies", kind]) == 0
    assert any(line.startswith(said) for line in capsys.readouterr().out.splitlines())


class Chinese(CompressionStrategy):
    """Parameters of another language."""

    kind: Literal["chinese"] = "chinese"
    words: tuple[str, ...] = ("过敏", "allerg")
    mode: Literal["请", "no"] = "请"

    def plan(self, view: View, services: Services) -> Plan:
        return Plan()


def test_words_of_other_languages_are_told_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strategies, "strategy_class", lambda kind: Chinese)
    monkeypatch.setattr(strategies, "installed", lambda: [Installed("chinese", "a", "1", "What it does.")])
    assert main(["strategies", "chinese"]) == 0
    first, words, mode, *_ = capsys.readouterr().out.splitlines()
    assert first == "chinese  What it does. (a 1)"
    assert words == '  words  a list, each a text; by default ["过敏", "allerg"]'
    assert mode == '  mode  "请" or "no"; by default "请"'


@pytest.mark.parametrize("kind", [each.kind for each in installed() if each.origin == "ctxkit-core"])
def test_every_parameter_is_told(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert main(["strategies", kind]) == 0
    told = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:] if line[2] != " "]
    assert set(told) == strategy_class(kind).model_fields.keys() - {"kind"}
    assert main(["strategies", kind, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], list(found["parameters"])) == (kind, told)


def test_a_strategy_that_is_not_there_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies", "hybrd"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("ctxkit: no strategy named 'hybrd' is installed; did you mean hybrid? (")


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


def test_help_and_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "exit codes: 0 all fine" in capsys.readouterr().out
    assert main([]) == 2


def test_a_foreign_owner_of_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert foreign_owners() == []
    for name, file in (("ctxkit", "ctxkit/__init__.py"), ("other", "x/ctxkit/__init__.py")):
        info = tmp_path / f"{name}-2.2.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.2.5\n")
        (info / "RECORD").write_text(f"{file},,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert distribution("ctxkit").version == "2.2.5"
    assert main(["strategies"]) == 0
    assert "ctxkit: ctxkit installs a package `ctxkit` too" in capsys.readouterr().err


def test_a_pipeline(tmp_path: Path) -> None:
    text = json.dumps(HISTORY)
    command = [*COMMAND, "compress", "-", *OPTIONS, "-o", "-"]
    done = subprocess.run(command, input=text, env=_environment(), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["messages"] == HISTORY[2:]
    assert done.stderr == ""


def test_a_reader_that_leaves_is_no_traceback(tmp_path: Path) -> None:
    file = _file(tmp_path, *[HISTORY] * 300)
    command = [*COMMAND, "compress", file, *OPTIONS]
    with subprocess.Popen(
        command, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        said = running.stderr.read()
    assert (running.returncode, said) == (141, b"")


def test_a_real_terminal_gets_colours(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in _environment().items() if name != "NO_COLOR"}
    command = [*COMMAND, "compress", _file(tmp_path, HISTORY), *OPTIONS]
    assert subprocess.run(command, env=environment, stdout=theirs, check=False).returncode == 0
    os.close(theirs)
    said = os.read(ours, 100_000)
    os.close(ours)
    assert b"\x1b[1m" in said
    assert b"messages[0..1]" in said
