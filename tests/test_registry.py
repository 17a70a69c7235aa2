"""Plugins: found by name, listed with their origin, contained when they are broken; observers called in turn."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ctxkit import ConfigError, UnknownPluginError
from ctxkit.registry import installed, strategy_of

ROOT = Path(__file__).resolve().parents[1]


def test_built_ins_come_in_through_the_same_door_and_each_says_what_it_does() -> None:
    ours = {each.kind: each for each in installed() if each.origin == "ctxkit-core"}
    assert {"hybrid", "within", "first-that-fits", "drop-oldest", "sliding-window", "selective"} <= set(ours)
    assert {"clear-tool-results", "digest-tool-results", "trim-tool-results"} <= set(ours)
    assert {"drop-reasoning", "drop-media"} <= set(ours)
    for each in ours.values():
        assert each.error == ""
        assert each.summary.endswith(".")
        assert each.version


def test_an_unknown_name_gets_the_nearest_and_all_names() -> None:
    with pytest.raises(UnknownPluginError) as raised:
        strategy_of("drop-oldset")
    assert "did you mean drop-oldest" in str(raised.value)
    assert raised.value.name == "drop-oldset"
    assert "hybrid" in raised.value.installed
    assert isinstance(raised.value, LookupError)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("value", [None, 3, [], {}, {"kind": 3}, {"keep": 1}])
def test_what_is_no_strategy_is_said(value: object) -> None:
    with pytest.raises(ConfigError):
        strategy_of(value)  # type: ignore[arg-type]


def test_a_wrong_parameter_is_named_with_its_path() -> None:
    with pytest.raises(ConfigError) as raised:
        strategy_of({"kind": "hybrid", "steps": ["drop-oldest", {"kind": "sliding-window", "keep_turns": 0}]})
    assert raised.value.path == "strategy.steps.1.keep_turns"


PLUGINS = {
    "good": """
from typing import Literal
from ctxkit import CompressionStrategy, Plan, hook

class Good(CompressionStrategy):
    '''Does nothing, well.'''
    kind: Literal["good"] = "good"
    def plan(self, view, services):
        return Plan()
""",
    "broken": "import a_module_that_is_not_there",
    "leaving": "raise SystemExit('needs another package')",
    "odd": """
from typing import Any
from ctxkit import CompressionStrategy, Plan

class Odd(CompressionStrategy):
    __doc__ = 5
    kind: Any = object()
    def plan(self, view, services):
        return Plan()

class Undescribed(CompressionStrategy):
    __doc__ = 5
    kind: str = "undescribed"
    def plan(self, view, services):
        return Plan()
""",
    "observer": """
from ctxkit import hook
seen = []

@hook
def ctxkit_compacted(report):
    seen.append(report.tokens_after)
    if len(seen) > 1:
        raise RuntimeError("observer is tired")
""",
}

SCRIPT = """
import json, good, observer
from ctxkit import Budget, ConfigError, ContextManager
from ctxkit.registry import installed, strategy_of
errors = {each.kind: each.error for each in installed() if each.origin == "some-plugins"}
try:
    strategy_of("broken")
except ConfigError as error:
    raised = str(error)
failures = []
context = ContextManager("openai-chat", Budget(window=200), {"kind": "hybrid", "steps": ["good", "drop-oldest"]})
for turn in range(12):
    context.add({"role": "user", "content": f"{turn} " + "word " * 60})
    failures.extend(f.model_dump() for f in context.prepare_sync().report.failures)
print(json.dumps({"errors": errors, "raised": raised, "seen": len(observer.seen), "failures": failures}))
"""


def test_plugins_of_another_distribution(tmp_path: Path) -> None:
    for name, text in PLUGINS.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    info = tmp_path / "some_plugins-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: some-plugins\nVersion: 1.2\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        "[ctxkit.strategies]\ngood = good:Good\nbroken = broken:Broken\nleaving = leaving:Leaving\nodd = odd:Odd\n"
        "undescribed = odd:Undescribed\n[ctxkit]\nobserver = observer\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["errors"]["good"] == ""
    assert "a_module_that_is_not_there" in told["errors"]["broken"]
    assert "cannot be imported: SystemExit: needs another package" in told["errors"]["leaving"]
    assert "they are to be the same" in told["errors"]["odd"]
    assert told["errors"]["undescribed"] == ""
    assert "a_module_that_is_not_there" in told["raised"]
    assert told["seen"] > 1
    assert {failure["by"] for failure in told["failures"]} == {"observer observer"}
    assert "observer is tired" in told["failures"][0]["why"]
