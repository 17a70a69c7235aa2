"""The rank files: what happens when one is broken."""

from __future__ import annotations

import gzip
import importlib.resources
from pathlib import Path

import pytest

from ctxkit.errors import ConfigError
from ctxkit.tokens import tiktoken_files

ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"


def packed() -> bytes:
    return importlib.resources.files("ctxkit.tokens").joinpath("data", "cl100k_base.tiktoken.gz").read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip",
        packed()[:5_000],
        gzip.compress(b"YQ== 0\n"),
        gzip.compress(gzip.decompress(packed()) + b"\n"),
    ],
    ids=["empty", "not gzip", "cut off", "another file", "one byte more"],
)
def test_a_broken_file_is_a_config_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cl100k_base.tiktoken.gz").write_bytes(content)
    monkeypatch.setattr(tiktoken_files.importlib.resources, "files", lambda _: tmp_path)
    with pytest.raises(ConfigError, match="reinstall"):
        tiktoken_files._ranks(ADDRESS)


def test_a_missing_file_is_a_config_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiktoken_files.importlib.resources, "files", lambda _: tmp_path)
    with pytest.raises(ConfigError, match="cl100k_base"):
        tiktoken_files._ranks(ADDRESS)


def test_another_hash_than_the_one_tiktoken_asks_for_is_refused() -> None:
    with pytest.raises(ConfigError, match="not the file that tiktoken asks for"):
        tiktoken_files._ranks(ADDRESS, "0" * 64)


def test_unknown_name() -> None:
    with pytest.raises(ConfigError, match="gpt2"):
        tiktoken_files.encoding("gpt2")
