"""What is installed: names, types, data files, and what `import ctxkit` costs."""

from __future__ import annotations

import gzip
import hashlib
import inspect
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

import ctxkit

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")

RANKS = {
    "o200k_base.tiktoken.gz": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base.tiktoken.gz": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""The sha256 that tiktoken asks of each rank file, unpacked."""


def loaded_after(code: str) -> set[str]:
    """Top-level modules that a new process has loaded after running some code."""
    show = "import sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    loaded = loaded_after("import ctxkit")
    assert "ctxkit" in loaded
    assert not loaded & {
        "openai",
        "tiktoken",
        "pydantic",
        "pluggy",
        "anthropic",
        "google",
        "asyncio",
        "email",
    }


def test_a_request_needs_no_sdk() -> None:
    code = """
from ctxkit import Budget, ContextManager
context = ContextManager("openai-chat", Budget(window=1_000), {"kind": "hybrid", "steps": ["drop-oldest"]})
context.add({"role": "user", "content": "Hello"})
context.prepare_sync()
"""
    loaded = loaded_after(code)
    assert "tiktoken" in loaded
    assert not loaded & {"openai", "anthropic", "google", "hypothesis", "yaml", "langchain_core"}


@pytest.mark.parametrize("name", ctxkit.__all__)
def test_every_public_name_is_there_with_a_docstring_and_in_the_reference(name: str) -> None:
    value = getattr(ctxkit, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__
    assert re.search(rf"`{name}[`(.]", REFERENCE), f"docs/reference.md does not name {name}"


def test_the_public_names_are_sorted_and_said_once() -> None:
    assert ctxkit.__all__ == sorted(set(ctxkit.__all__))
    assert dir(ctxkit) == ctxkit.__all__


def test_the_version_is_that_of_the_distribution() -> None:
    assert ctxkit.__version__ == distribution("ctxkit-core").version


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Compressor'"):
        ctxkit.Compressor  # noqa: B018 - the access is what is tried


def test_the_reference_names_nothing_that_is_not_there() -> None:
    first_column = re.findall(r"^\| `(\w+)", REFERENCE, re.MULTILINE)
    assert set(first_column) == set(ctxkit.__all__)


@pytest.mark.long
def test_the_wheel_has_what_it_needs_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("ctxkit_core-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        for file, expected in RANKS.items():
            packed_ranks = packed.read(f"ctxkit/tokens/data/{file}")
            assert hashlib.sha256(gzip.decompress(packed_ranks)).hexdigest() == expected
        (entry_points,) = (name for name in names if name.endswith("entry_points.txt"))
        assert b"hybrid = ctxkit.strategies.hybrid:Hybrid" in packed.read(entry_points)
    assert "ctxkit/py.typed" in names
    assert "ctxkit/presets.json" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("LICENSE-tiktoken") for name in names)
    assert all(name.startswith(("ctxkit/", "ctxkit_core-")) for name in names)
    assert not [name for name in names if "__pycache__" in name]


def test_the_rank_files_are_those_that_tiktoken_asks_for() -> None:
    for file, expected in RANKS.items():
        raw = gzip.decompress((ROOT / "ctxkit" / "tokens" / "data" / file).read_bytes())
        assert hashlib.sha256(raw).hexdigest() == expected
    assert "MIT" in (ROOT / "ctxkit" / "tokens" / "data" / "LICENSE-tiktoken").read_text(encoding="utf-8")


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "ctxkit" / "py.typed").exists()
