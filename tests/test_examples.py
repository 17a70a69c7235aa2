"""Every example runs as it stands, without a key, and prints what it says that it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
MARK = "# prints:"


def expected(path: Path) -> list[str]:
    """The lines after the mark, without their `# `."""
    _, mark, rest = path.read_text(encoding="utf-8").rpartition(f"\n{MARK}\n")
    assert mark, f"{path.name} does not say what it prints"
    return [line.removeprefix("#").removeprefix(" ") for line in rest.rstrip("\n").split("\n")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in KEYS}
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment | {"PYTHONIOENCODING": "utf-8"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")]
    if os.environ.get("CTXKIT_WRITE"):
        write(path, printed)
    assert printed == expected(path), "if that is right, run `make shown`"


def write(path: Path, printed: list[str]) -> None:
    """Put what an example prints at its end."""
    head = path.read_text(encoding="utf-8").rpartition(f"\n{MARK}\n")[0]
    lines = "".join(f"# {line}".rstrip() + "\n" for line in printed)
    path.write_text(f"{head}\n{MARK}\n{lines}", encoding="utf-8")


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 9
