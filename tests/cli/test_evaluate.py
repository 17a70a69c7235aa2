"""`ctxkit eval`, run in this process."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxkit.cli import main
from ctxkit.cli.outputs import Progress
from tests.evaluation.shop import REFUND, TENS

CHAT = ("--format", "openai-chat")
BROKEN = [{"role": 3}]
THINKING = {
    "format": "anthropic",
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "I must leave by 6. Find W1234567."},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "find", "input": {"id": "W1234567"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "found"}]},
        {"role": "assistant", "content": "It is there."},
    ],
}


def _file(tmp_path: Path, *records: Any, name: str = "in.jsonl") -> str:
    lines = (each if isinstance(each, str) else json.dumps(each) for each in records)
    (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return str(tmp_path / name)


def _evaluated(tmp_path: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the JSON that was written."""
    target = tmp_path / "out.json"
    target.unlink(missing_ok=True)
    code = main(["eval", *words, "-o", str(target)])
    return code, json.loads(target.read_text()) if target.exists() else {}


def _sums(found: dict[str, Any], *names: str) -> list[list[Any]]:
    return [[result["sums"][name] for name in names] for result in found["results"]]


def test_a_table_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, target = _file(tmp_path, REFUND, TENS), tmp_path / "out.md"
    assert main(["eval", file, *CHAT, "--share", "1,0.5", "--prices", "10/1/20", "-o", str(target)]) == 0
    printed, told = capsys.readouterr().out, target.read_text()
    assert printed.startswith("## Budget 100 %\n\n| strategy | requests | ")
    assert "\n## Budget 50 %\n" in printed
    # everything is sent: all shares are whole, none of the needs is older than the budget
    cells = [cell.strip() for cell in printed.splitlines()[4].strip("|").split("|")]
    assert cells[:4] == ["hybrid", "7", "0", "3"]  # left out are moments of the smaller budget alone
    assert cells[4:9] == ["100.00%"] * 5
    assert cells[9] == "-"
    assert told.startswith("# Evaluation\n\n" + printed[:200])
    assert "- **recall**: of the literals" in told


def test_the_json_has_sums_and_figures(tmp_path: Path) -> None:
    code, found = _evaluated(tmp_path, _file(tmp_path, REFUND, TENS), *CHAT, "--share", "1")
    assert code == 0
    assert list(found) == ["metrics", "results", "failures"]
    (whole, file) = found["results"]
    assert (whole["strategy"], whole["share"], whole["file"], file["file"]) == (
        "hybrid",
        1.0,
        None,
        "in.jsonl",
    )
    # 27 + 61 + 74 + 101 tokens of REFUND, 10 + 30 + 50 of TENS
    assert whole["sums"] == file["sums"]
    assert (whole["sums"]["tokens"], whole["sums"]["requests"]) == (353, 7)
    assert whole["metrics"]["cache"] == (27 + 61 + 74 + 10 + 30) / 353
    assert "seconds" not in whole["sums"]


def test_the_number_of_processes_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = _file(tmp_path, *[REFUND, "oops", TENS] * 5)
    second = _file(tmp_path, {"messages": BROKEN}, REFUND, name="second.jsonl")
    words = ["eval", first, second, *CHAT, "--share", "0.5,0.8", "--strategies", "hybrid,drop-oldest"]
    files, said = [], []
    for jobs in ("1", "2"):
        target = tmp_path / f"{jobs}.json"
        assert main([*words, "--jobs", jobs, "-o", str(target)]) == 3
        files.append(target.read_bytes())
        printed = capsys.readouterr()
        said.append((printed.out.partition("## Time")[0], printed.err))
    assert files[0] == files[1]
    assert said[0] == said[1]


def test_a_broken_line_is_told_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _file(tmp_path, TENS, "oops", {"id": "b\x1b[2J", "messages": BROKEN}, {"messages": 3}, TENS)
    code, found = _evaluated(tmp_path, file, *CHAT)
    assert code == 3
    said = capsys.readouterr()
    assert [line.split(": ")[2] for line in said.err.splitlines()] == [
        "InputError",
        "ProviderFormatError",
        "ProviderFormatError",
    ]
    assert said.err.splitlines()[1].startswith(f"ctxkit: {file}:3 b\\x1b[2J: ")
    assert _sums(found, "conversations") == [[2], [2]]
    told = [(each["line"], each["id"], each["error"]["type"]) for each in found["failures"]]
    assert told == [
        (2, None, "InputError"),
        (3, "b\x1b[2J", "ProviderFormatError"),
        (4, None, "ProviderFormatError"),
    ]
    assert "- in.jsonl:2: InputError: `not JSON: Expecting value: line 1 column 1 (char 0)`\n" in said.out


def test_each_conversation_may_name_its_format(tmp_path: Path) -> None:
    file = _file(tmp_path, THINKING, {"messages": REFUND}, {"format": "openai-chat", "messages": REFUND})
    code, found = _evaluated(tmp_path, file, "--share", "1")
    assert (code, _sums(found, "conversations", "needs")) == (0, [[3, 7], [3, 7]])


def test_a_conversation_without_a_format_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unclear = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
    file = _file(tmp_path, unclear, {"format": "chat", "messages": []}, THINKING)
    code, found = _evaluated(tmp_path, file)
    assert (code, len(found["failures"])) == (3, 2)
    said = capsys.readouterr().err
    assert "it names no wire format, and none can be told from it; add a `format` to the object" in said
    assert "no format 'chat'" in said


def test_a_format_that_can_be_told_need_not_be_named(tmp_path: Path) -> None:
    code, found = _evaluated(tmp_path, _file(tmp_path, REFUND), "--share", "1")
    assert (code, _sums(found, "conversations", "needs")) == _scores_of_named(tmp_path)


def _scores_of_named(tmp_path: Path) -> tuple[int, list[list[Any]]]:
    code, found = _evaluated(tmp_path, _file(tmp_path, REFUND), *CHAT, "--share", "1")
    return code, _sums(found, "conversations", "needs")


def test_tool_schemas_count_when_they_are_asked_for(tmp_path: Path) -> None:
    file = _file(tmp_path, {"messages": TENS, "tools": [{"name": "f"}]})
    _, bare = _evaluated(tmp_path, file, *CHAT, "--share", "1")
    _, tooled = _evaluated(tmp_path, file, *CHAT, "--share", "1", "--tools")
    # [{"name":"f"}] is 7 tokens, and goes along with three requests
    assert _sums(bare, "tokens")[0] == [90]
    assert _sums(tooled, "tokens")[0] == [90 + 3 * 7]


def test_a_sample_is_every_nth(tmp_path: Path) -> None:
    file = _file(tmp_path, TENS, REFUND, REFUND, TENS, REFUND)
    _, found = _evaluated(tmp_path, file, *CHAT, "--sample", "3")
    assert _sums(found, "conversations", "requests") == [[2, 6], [2, 6]]


def test_files_are_told_apart_and_added_up(tmp_path: Path) -> None:
    one = _file(tmp_path, TENS, name="one.jsonl")
    with gzip.open(tmp_path / "two.jsonl.gz", "wt") as packed:
        packed.write(json.dumps(REFUND))
    _, found = _evaluated(tmp_path, one, str(tmp_path / "two.jsonl.gz"), *CHAT, "--share", "1")
    assert [result["file"] for result in found["results"]] == [None, "one.jsonl", "two.jsonl.gz"]
    assert _sums(found, "tokens") == [[353], [90], [263]]


def test_files_of_one_name_keep_their_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    files = [_file(tmp_path / folder, TENS) for folder in ("", "a")]
    _, found = _evaluated(tmp_path, *files, *CHAT)
    assert [result["file"] for result in found["results"]] == [None, *files]


def test_stdin_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps(TENS).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    code, found = _evaluated(tmp_path, "-", *CHAT)
    assert (code, _sums(found, "requests")) == (0, [[3], [3]])


CONFIG = """
strategy = { kind = "sliding-window", keep_turns = 1 }
[budget]
window = 1_000
reply = 20
"""


def test_a_config_has_its_own_window_unless_another_is_given(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(CONFIG)
    file, config = _file(tmp_path, TENS), str(tmp_path / "own.toml")
    _, own = _evaluated(tmp_path, file, *CHAT, "--config", config)
    assert [(each["strategy"], each["window"]) for each in own["results"][:1]] == [(config, 1_000)]
    _, both = _evaluated(
        tmp_path,
        file,
        *CHAT,
        "--config",
        config,
        "--share",
        "0.75",
        "--window",
        "50",
        "--strategies",
        "hybrid",
    )
    sizes = [(each["strategy"], each.get("share"), each.get("window")) for each in both["results"][::2]]
    assert sizes == [("hybrid", 0.75, None), (config, 0.75, None), ("hybrid", None, 50), (config, None, 50)]
    # 45 tokens less 20 for the reply: before message 5 there are 50, and the last turn alone has 10
    share = both["results"][2]["sums"]
    assert (share["requests"], share["sent"], share["compactions"]) == (3, 3, 2)


def test_strategies_beside_a_config_have_half_of_each_conversation(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(CONFIG)
    words = ("--config", str(tmp_path / "own.toml"), "--strategies", "hybrid,drop-oldest")
    _, found = _evaluated(tmp_path, _file(tmp_path, TENS), *CHAT, *words)
    assert [(each.get("share"), each.get("window")) for each in found["results"][::2]] == [
        (0.5, None),
        (0.5, None),
        (None, 1_000),
    ]


def test_a_config_that_cannot_be_scaled_fails_where_it_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.toml").write_text(CONFIG)
    words = ("--config", str(tmp_path / "own.toml"), "--strategies", "hybrid", "--share", "0.25")
    code, found = _evaluated(tmp_path, _file(tmp_path, TENS, TENS * 2), *CHAT, *words)
    assert (code, _sums(found, "conversations")) == (3, [[2], [2], [1], [1]])
    said = capsys.readouterr().err
    assert f"in.jsonl:1 ({tmp_path / 'own.toml'} at 25 %): ConfigError: " in said
    assert "reply (20) must be smaller than window (15)" in said


def test_a_step_that_has_no_model_is_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.toml").write_text(
        'strategy.kind = "hybrid"\nstrategy.steps = ["summarize", "drop-oldest"]'
    )
    words = ("--config", str(tmp_path / "own.toml"), "--window", "140")
    _, found = _evaluated(tmp_path, _file(tmp_path, TENS * 6, TENS * 6), *words)
    why = "no model is named, and no `ask` was given to ContextManager"
    step = {"step": "summarize", "count": 22, "reasons": [{"why": why, "count": 22}]}
    assert [(each["sums"]["failures"], each["steps"]) for each in found["results"]] == [(22, [step])] * 2
    told = f"  - `summarize`: 22, all of them `{why.replace('`', chr(39))}`\n"
    assert f"own.toml, 140: 22\n{told}" in capsys.readouterr().out


def test_a_model_has_its_prices(tmp_path: Path) -> None:
    file = _file(tmp_path, TENS)
    _, without = _evaluated(tmp_path, file, *CHAT)
    _, unknown = _evaluated(tmp_path, file, *CHAT, "--model", "nobody-1")
    _, known = _evaluated(tmp_path, file, *CHAT, "--model", "gpt-5", "--share", "1")
    assert [each["results"][0]["metrics"]["price"] for each in (without, unknown, known)] == [None, None, 1.0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--strategies", "hybrit"), "no strategy named 'hybrit' is installed"),
        (("--strategies", "within"), "region"),
        (("--prices", "1/2"), "three numbers"),
        (("--config", "nowhere.toml"), "nowhere.toml"),
        (("-o", "out.txt"), "OUT ends in .md or .json"),
        (("--share", "1.5"), "no share above 0 and up to 1"),
        (("--share", "half"), "no share above 0 and up to 1"),
        (("--window", "0"), "no whole number above 0"),
        (("--jobs", "-1"), "no whole number above 0"),
        (("nowhere.jsonl",), "nowhere.jsonl: No such file"),
    ],
)
def test_what_cannot_be_asked_for_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert main(["eval", _file(tmp_path, TENS), *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


def test_nothing_in_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = _file(tmp_path, name="empty.jsonl")
    assert main(["eval", empty, *CHAT]) == 2
    assert capsys.readouterr().err == f"ctxkit: no conversation in {empty}\n"
    assert main(["eval", empty, _file(tmp_path, TENS), *CHAT]) == 3
    assert capsys.readouterr().err.startswith(f"ctxkit: {empty}:1: InputError: no conversation in ")


def test_progress_is_shown_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: io.TextIOWrapper
) -> None:
    monkeypatch.setattr(Progress, "WAIT_S", 0.0)
    monkeypatch.setattr(Progress, "EVERY_S", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["eval", _file(tmp_path, TENS, TENS), *CHAT]) == 0
    terminal.flush()
    assert isinstance(terminal.buffer, io.BytesIO)
    assert "\r2 conversations, " in terminal.buffer.getvalue().decode()
