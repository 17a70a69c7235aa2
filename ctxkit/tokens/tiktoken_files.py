"""tiktoken's encodings, made from the rank files that ship with ctxkit: no network, no cache folder."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.resources
import importlib.util
import threading
import zlib
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from ctxkit.errors import ConfigError

if TYPE_CHECKING:
    import tiktoken

__all__ = ["ENCODINGS", "encoding"]

ENCODINGS = ("cl100k_base", "o200k_base", "o200k_harmony")
"""Names of the encodings that can be had offline."""

_SHA256 = {
    "cl100k_base.tiktoken": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base.tiktoken": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
_made: dict[str, tiktoken.Encoding] = {}
_lock = threading.Lock()


def encoding(name: str) -> tiktoken.Encoding:
    """The encoding of that name, made once in a process (about 0.3 s) and from then on the same object.

    Raises:
        ConfigError: the name is none of `ENCODINGS`, or a rank file is missing, broken or not the one that
            tiktoken asks for.
    """
    if name not in ENCODINGS:
        raise ConfigError(f"no encoding named {name!r} ships with ctxkit; there are: {', '.join(ENCODINGS)}")
    with _lock:
        if name not in _made:
            _made[name] = _make(name)
        return _made[name]


def _make(name: str) -> tiktoken.Encoding:
    import tiktoken

    return tiktoken.Encoding(**_definitions().ENCODING_CONSTRUCTORS[name]())


@cache
def _definitions() -> ModuleType:
    """A private copy of tiktoken's module of encodings, in which ranks come from our files.

    tiktoken's own copy, which others may be using at the same time, stays as it is.
    """
    spec = importlib.util.find_spec("tiktoken_ext.openai_public")
    if spec is None or spec.loader is None:
        raise ConfigError("tiktoken has no module tiktoken_ext.openai_public; install tiktoken>=0.13")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.__dict__["load_tiktoken_bpe"] = _ranks
    return module


def _ranks(address: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Stands for `tiktoken.load.load_tiktoken_bpe`; `address` is where tiktoken would download the file."""
    file = address.rsplit("/", 1)[1]
    packed = importlib.resources.files("ctxkit.tokens").joinpath("data", f"{file}.gz")
    try:
        raw = gzip.decompress(packed.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"{file}.gz in ctxkit/tokens/data cannot be read; reinstall ctxkit-core") from error
    found = hashlib.sha256(raw).hexdigest()
    if not found == _SHA256[file] == (expected_hash or found):
        raise ConfigError(
            f"{file}.gz in ctxkit/tokens/data is not the file that tiktoken asks for (sha256 {found}); "
            "reinstall ctxkit-core, or a tiktoken that it was made for"
        )
    pairs = (line.split() for line in raw.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
