"""What is remembered of coding sessions, and what supersedes what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from ctxkit_code.facts import MOST_FACTS, facts_in
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import Budget, CompressionStrategy, ContextManager, Plan, Remember, Services, Speaker, View

RECORDED = {
    each["name"]: each["result"]
    for each in map(
        json.loads,
        (Path(__file__).parent / "data" / "results.jsonl").read_text(encoding="utf-8").splitlines(),
    )
}


def lines(text: str, said_by: Speaker = "tool") -> list[str]:
    return [fact.line for fact in facts_in(text, said_by)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "FAILED tests/x.py::test_y - AssertionError: 1 != 2",
            "tests/x.py::test_y / test: FAILED tests/x.py::test_y - AssertionError: 1 != 2",
        ),
        ("tests/x.py::test_y PASSED [ 50%]", "tests/x.py::test_y / test: tests/x.py::test_y PASSED [ 50%]"),
        ("--- FAIL: TestGet (0.02s)", "TestGet / test: --- FAIL: TestGet (0.02s)"),
        ("test lru::evicts ... FAILED", "lru::evicts / test: test lru::evicts ... FAILED"),
        ("  ✕ adds numbers (5 ms)", "adds numbers / test: ✕ adds numbers (5 ms)"),
        ("ERROR: test_a (app.tests.A)", "test_a (app.tests.A) / test: ERROR: test_a (app.tests.A)"),
        ("===== 1 failed, 2 passed in 0.04s =====", "last run / tests: 1 failed, 2 passed in 0.04s"),
        ("src/a.c:3:5: error: expected ';'", "src/a.c:3 / error: error: expected ';'"),
        ("src/a.ts(12,3): error TS2304: No x.", "src/a.ts:12 / error: error TS2304: No x."),
        ("./lru.go:9:2: undefined: Cache", "./lru.go:9 / error: undefined: Cache"),
        ("Successfully installed ab-1.2 extension-helpers-1.1.1", "extension-helpers / version: 1.1.1"),
        ("Python 3.9.18", "Python / version: 3.9.18"),
        ("go version go1.23.4 linux/amd64", "go / version: go1.23.4"),
        ("File created successfully at: /w/a.py", "file changed: /w/a.py"),
    ],
)
def test_what_tools_tell(text: str, expected: str) -> None:
    assert expected in lines(f"$ run\n{text}\nbye")


@pytest.mark.parametrize("text", ["✓ The fix is backward compatible", "no error here", "FAILED", "a.py::b"])
def test_what_looks_like_it_and_is_not(text: str) -> None:
    assert lines(text) == []


def test_the_error_of_a_traceback_has_its_last_frame() -> None:
    assert lines(RECORDED["openhands-traceback"]) == [
        "/testbed/astropy/io/ascii/core.py:936 / error: AttributeError: 'HTMLData' object has no attribute 'cols'",
        "cd /workspace && python3 reproduce.py / exit: exit code 1",
    ]


def test_recorded_tests() -> None:
    assert lines(RECORDED["mini-pytest"]) == [
        "pvlib/tests/test_temperature.py::test_sapm_series / test: FAILED pvlib/tests/test_temperature.py::test_sapm_series"
        " - ValueError: Invali...",
        "last run / tests: 1 failed, 2 warnings in 0.04s",
    ]


def test_recorded_errors_of_a_compiler() -> None:
    assert "src/main-new.ts:499 / error: error TS2304: Cannot find name 'join'." in lines(RECORDED["pi-tsc"])


def test_of_one_test_the_last_outcome_counts() -> None:
    text = "FAILED a.py::t - x\n...\na.py::t PASSED [100%]"
    assert lines(text) == ["a.py::t / test: a.py::t PASSED [100%]"]


def test_what_calls_were_given() -> None:
    edit = json.dumps({"command": "str_replace", "path": "/w/a.py", "old_str": "a", "new_str": "b"})
    assert lines(edit, "assistant") == ["file changed: /w/a.py"]
    run = json.dumps({"command": "cd /w && python -m pytest tests/a.py -x 2>&1 | tail"})
    assert lines(run, "assistant") == ["command: python -m pytest tests/a.py -x"]
    assert lines(json.dumps({"command": "view", "path": "/w/a.py"}), "assistant") == []


def test_signatures_that_people_write() -> None:
    assert lines("Please add `def load(path: str) -> Config` to it.", "user") == [
        "load / signature: def load(path: str) -> Config"
    ]


def test_what_a_tool_says_stays_a_tools() -> None:
    assert {fact.said_by for fact in facts_in(RECORDED["mini-pytest"], "tool")} == {"tool"}
    assert not any(fact.must_keep for fact in facts_in(RECORDED["mini-pytest"], "tool"))


def test_of_very_many_the_last_are_kept() -> None:
    found = facts_in("\n".join(f"FAILED a.py::t{number}" for number in range(900)), "tool")
    assert len(found) == MOST_FACTS
    assert found[-1].value == "FAILED a.py::t899"


@given(
    st.text(alphabet="FAILED: a.py::t-()[]{}\"',=\n1.0✓─error过", max_size=400),
    st.sampled_from(["user", "assistant", "tool"]),
)
def test_values_are_verbatim(text: str, said_by: Speaker) -> None:
    for fact in facts_in(text, said_by):
        assert fact.value
        assert fact.value in text
        assert fact.said_by == said_by


class RememberAll(CompressionStrategy):
    """Remembers whatever the installed plugins find in results of tools."""

    kind: Literal["remember-all"] = "remember-all"

    def plan(self, view: View, services: Services) -> Plan:
        texts = [result.text for result in view.results()]
        found = {fact.name: fact for text in texts for fact in services.hooks.facts_in(text, "tool")}
        return Plan.of(*map(Remember, found.values()))


def test_through_the_hook_a_test_that_passes_supersedes_that_it_failed() -> None:
    context = ContextManager("openai-chat", Budget(window=10_000), RememberAll(), strict=True)
    context.add({"role": "user", "content": "Mend it."})
    for number, text in enumerate(["FAILED a.py::t - AssertionError: 1", "a.py::t PASSED [100%]"]):
        function = {"name": "bash", "arguments": "{}"}
        calls: list[dict[str, Any]] = [{"id": f"c{number}", "type": "function", "function": function}]
        context.add({"role": "assistant", "content": None, "tool_calls": calls})
        context.add({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    context.compact()
    assert [(fact.subject, fact.value) for fact in context.facts] == [("a.py::t", "a.py::t PASSED [100%]")]
