"""Markdown and JSON say the same."""

from __future__ import annotations

import pytest

from ctxkit.evaluation.lost import Loss, Lost
from ctxkit.evaluation.metrics import METRICS
from ctxkit.evaluation.prices import Prices
from ctxkit.evaluation.reasons import Reasons
from ctxkit.evaluation.runs import Unscored
from ctxkit.evaluation.scores import Score
from ctxkit.evaluation.settings import Setting
from ctxkit.evaluation.tables import Evaluation, Failed, as_json, legend, markdown

SETTINGS = (
    Setting("hybrid", "hybrid", share=0.5),
    Setting("a|b.toml", "hybrid", share=0.5),
    Setting("hybrid", "hybrid", budget={"window": 8_000}),
)


def filled() -> Evaluation:
    evaluation = Evaluation(SETTINGS, [Prices(10, 1, 20), None, None])
    for number, file in enumerate(("one.jsonl", "two.jsonl", "one.jsonl"), 1):
        score = Score(
            conversations=1,
            requests=10 * number,
            sent=9,
            valid=8,
            needs=7,
            held=6,
            tokens=100,
            cached=50,
            everything=300,
            everything_cached=200,
            turns=3,
            seconds=0.1,
        )
        evaluation.add(file, number, None, [score, score + score, Unscored("ConfigError", "no")])
    return evaluation


def rows(text: str) -> dict[tuple[str, ...], list[str]]:
    """Cells of the tables by budget, file and strategy."""
    found: dict[tuple[str, ...], list[str]] = {}
    for block in text.split("\n\n"):
        if block.startswith("## Budget "):
            size = block.removeprefix("## Budget ")
        elif block.startswith("| file"):
            for line in block.splitlines()[2:]:
                file, strategy, *cells = _cells(line)
                found[size, file, strategy] = cells
        elif block.startswith("| strategy") and "requests" in block:
            for line in block.splitlines()[2:]:
                strategy, *cells = _cells(line)
                found[size, strategy] = cells
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\0", "|") for cell in line.replace("\\|", "\0").strip("|").split("|")]


def test_markdown_and_json_agree() -> None:
    evaluation = filled()
    table, results = rows(markdown(evaluation)), as_json(evaluation)["results"]
    assert len(results) == len(table) == 3 * 3
    for result in results:
        size = f"{100 * result['share']:g} %" if "share" in result else f"{result['window']:,}"
        file = () if result["file"] is None else (result["file"],)
        figures = [metric.shown(result["metrics"][metric.name]) for metric in METRICS]
        assert table[(size, *file, result["strategy"])] == [
            *(str(result["sums"][name]) for name in ("requests", "needs")),
            *figures,
        ]


def test_the_sums_of_files_add_up_to_those_of_all() -> None:
    results = as_json(filled())["results"]
    whole, one, two = (Score(**result["sums"]) for result in results[:3])
    assert [result["file"] for result in results[:3]] == [None, "one.jsonl", "two.jsonl"]
    assert one + two == whole
    assert (one.conversations, one.requests, two.requests) == (2, 10 + 30, 20)


def test_one_file_is_not_told_twice() -> None:
    evaluation = Evaluation(SETTINGS[:1], [None])
    evaluation.add("one.jsonl", 1, None, [Score(conversations=1, requests=1)])
    assert list(rows(markdown(evaluation))) == [("50 %", "hybrid")]


def test_time_is_in_markdown_alone() -> None:
    evaluation = filled()
    assert "| hybrid    | 50 %   |      33.3 |" in markdown(evaluation)  # 0.3 seconds for 9 turns
    assert "seconds" not in str(as_json(evaluation)["results"])


def test_failures_are_told_once_with_their_settings() -> None:
    evaluation = Evaluation(SETTINGS[:2], [None, None])
    broken, contrary = Unscored("InputError", "not\nJSON"), Unscored("ConfigError", "no")
    assert evaluation.add("a.jsonl", 3, "x", [broken, broken]) == [Failed("a.jsonl", 3, "x", broken)]
    assert evaluation.add("a.jsonl", 4, None, [Score(conversations=1), contrary]) == [
        Failed("a.jsonl", 4, None, contrary, ("a|b.toml at 50 %",))
    ]
    assert markdown(evaluation).endswith(
        "## Failures\n\n- a.jsonl:3: InputError: `not JSON`\n"
        "- a.jsonl:4 (a|b.toml at 50 %): ConfigError: `no`\n"
    )
    assert as_json(evaluation)["failures"] == [
        {
            "file": "a.jsonl",
            "line": 3,
            "id": "x",
            "settings": [],
            "error": {"type": "InputError", "message": "not\nJSON"},
        },
        {
            "file": "a.jsonl",
            "line": 4,
            "id": None,
            "settings": ["a|b.toml at 50 %"],
            "error": {"type": "ConfigError", "message": "no"},
        },
    ]


def test_what_steps_could_not_do_is_told_with_the_commonest_reason() -> None:
    evaluation = Evaluation(SETTINGS[:2], [None, None])
    reasons = Reasons.of(
        [*[("sum", "no model")] * 3, *[("keep", "no room for 7")] * 4, ("keep", "a\tsecret")]
    )
    score = Score(conversations=1, failures=8, reasons=reasons)
    evaluation.add("a.jsonl", 1, None, [score, Score(conversations=1)])
    evaluation.add("b.jsonl", 1, None, [score, Score(conversations=1)])
    assert markdown(evaluation).endswith(
        "## What steps could not do\n\n"
        "- hybrid, 50 %: 16\n"
        "  - `keep`: 10, 8 of them `no room for 7`\n"
        "  - `sum`: 6, all of them `no model`\n"
    )
    (whole, file, *_) = as_json(evaluation)["results"]
    assert whole["steps"] == [
        {
            "step": "keep",
            "count": 10,
            "reasons": [{"why": "no room for 7", "count": 8}, {"why": "a\tsecret", "count": 2}],
        },
        {"step": "sum", "count": 6, "reasons": [{"why": "no model", "count": 6}]},
    ]
    assert [step["count"] for step in file["steps"]] == [5, 3]
    assert whole["sums"]["failures"] == 16
    assert "reasons" not in whole["sums"]


def test_what_was_left_out_has_a_column_where_there_was_any() -> None:
    """Or a table of a small window says that all is well, of the few moments at which anything could be sent."""
    evaluation = Evaluation(SETTINGS[:2], [None, None])
    score = Score(conversations=1, requests=14, sent=14, fitting=14)
    evaluation.add("a.jsonl", 1, None, [score, Score(conversations=1, requests=1_031)])
    assert "left out" not in markdown(evaluation)
    evaluation.add("b.jsonl", 1, None, [Score(conversations=1, excluded=17), Score(conversations=1)])
    told = markdown(evaluation)
    found = rows(told)
    assert found["50 %", "hybrid"][:3] == ["14", "17", "0"]
    assert found["50 %", "a|b.toml"][:3] == ["1,031", "0", "0"]
    assert found["50 %", "a.jsonl", "hybrid"][:3] == ["14", "0", "0"]
    assert [line.split("**")[1] for line in told.splitlines() if line.startswith("- **")][:3] == [
        "requests",
        "left out",
        "literals",
    ]


def test_what_was_lost_is_told_with_a_place_to_look_at() -> None:
    evaluation = Evaluation(SETTINGS[:2], [None, None])
    lost, unkept = Lost((Loss("W5362037", 3, 31),)), Lost((Loss("never `call` me", 1, 7),))
    one = Score(conversations=1, lost=lost, unkept=unkept)
    evaluation.add("a.jsonl", 2, "tau-9", [one, Score(conversations=1)])
    evaluation.add("b.jsonl", 1, None, [Score(conversations=1, lost=lost), Score(conversations=1)])
    assert markdown(evaluation).endswith(
        "## What was lost most often\n\n"
        "- hybrid, 50 %\n"
        "  - literal `W5362037`: 3 requests, first before messages[31] of `a.jsonl:2 tau-9`\n"
        "  - literal `W5362037`: 3 requests, first before messages[31] of `b.jsonl:1`\n"
        "  - constraint `never 'call' me`: 1 request before messages[7] of `a.jsonl:2 tau-9`\n"
    )
    (whole, file, *_) = as_json(evaluation)["results"]
    assert whole["lost"] == {
        "literals": [
            {"text": "W5362037", "count": 3, "first": 31, "where": "a.jsonl:2 tau-9"},
            {"text": "W5362037", "count": 3, "first": 31, "where": "b.jsonl:1"},
        ],
        "constraints": [{"text": "never `call` me", "count": 1, "first": 7, "where": "a.jsonl:2 tau-9"}],
    }
    assert len(file["lost"]["literals"]) == 1
    assert "lost" not in whole["sums"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 120, "x" * 120),
        ("x" * 121, "x" * 119 + "…"),
        ("a\n  `b`\u202e c", "a 'b' c"),
        ("", ""),
    ],
)
def test_what_others_wrote_is_one_short_line(text: str, shown: str) -> None:
    evaluation = Evaluation(SETTINGS[:1], [None])
    evaluation.add("a.jsonl", 3, None, [Unscored("InputError", text)])
    assert markdown(evaluation).endswith(
        f"- a.jsonl:3: InputError: `{shown}`\n" if shown else ": InputError\n"
    )
    assert as_json(evaluation)["failures"][0]["error"]["message"] == text


def test_the_legend_has_a_line_a_column() -> None:
    titles = ["requests", "literals", *(metric.title for metric in METRICS)]
    assert [line.split("**")[1] for line in legend().splitlines()] == titles
