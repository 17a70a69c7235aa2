"""A sample of recorded conversations, and long ones spliced from them, through every built-in strategy."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.safety import conversations, judge
from ctxkit.providers import FORMATS
from ctxkit.registry import installed

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
KINDS = [each.kind for each in installed() if not each.error]
IN_LONG_SESSIONS = ["hybrid", "drop-oldest", "digest-tool-results", "extractive-summary", "selective"]
"""Those that make room in every turn of a session that grows and grows."""

pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="the recorded conversations are not here")


def broken(outcomes: object) -> list[str]:
    """Outcomes that say that a rule was broken, a budget silently exceeded, or that something crashed."""
    return [outcome for _, _, outcome in outcomes if outcome.split()[0].isupper()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*.jsonl.gz")), ids=lambda file: file.name.split(".")[0])
def test_recorded_conversations(file: Path) -> None:
    sample = islice(conversations([file]), 0, None, 40)
    found = [judge((each, KINDS, [1_000, 8_000], False)) for each in islice(sample, 5)]
    assert [line for outcomes in found for line in broken(outcomes)] == []
    assert any(outcomes for outcomes in found)


@pytest.mark.parametrize("format", FORMATS)
def test_a_long_session_turn_by_turn(format: str, tmp_path: Path) -> None:
    make = [
        sys.executable,
        CORPUS / "make_long.py",
        "-g",
        "airline",
        "-t",
        "20000",
        "--as",
        format,
        "-o",
        tmp_path,
    ]
    subprocess.run(list(map(str, make)), check=True, capture_output=True)
    for conversation in conversations(list(tmp_path.glob("*.gz"))):
        outcomes = judge((conversation, IN_LONG_SESSIONS, [4_000], True))
        assert broken(outcomes) == []
        compacted = {kind for (_, kind, outcome) in outcomes if outcome == "compacted"}
        assert compacted == set(IN_LONG_SESSIONS)
