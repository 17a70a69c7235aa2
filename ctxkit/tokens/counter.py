"""Token counters: what they all have, the exact one for OpenAI's models, and which one suits a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from ctxkit.errors import ConfigError
from ctxkit.tokens.estimate import EstimateCounter
from ctxkit.tokens.names import bare_name, tokenizer_family
from ctxkit.tokens.tiktoken_files import ENCODINGS, encoding

__all__ = ["TiktokenCounter", "TokenCounter", "counter_for"]

_CACHED_CHARS = 1_000
_CACHED_TEXTS = 128
_PIECE = 32_768
"""Characters after which a long text is cut at the next safe place."""
_LONGEST = 4 * _PIECE
"""Characters after which it is cut anywhere. tiktoken fails at about 1,000,000 white-space characters."""
_SAFE_PLACE = re.compile(
    r"(?<=\S)(?=[ ][^\s])"  # a lone space starts the next word
    r"|(?<=\n)(?=[0-9A-Za-z\u4e00-\u9fff])"  # a newline never joins what follows, if that is no mark
    r"|(?<=[0-9])(?=[A-Za-z])"  # numbers hold nothing but digits
    r"|(?<=[A-Za-z\u3041-\u3096\u4e00-\u9fff])(?=[0-9,.;:!?(){}\[\]<>=|\u3001\u3002\uff0c\uff1a\uff1b])"
)
_O200K = re.compile(r"(?:ft:)?(?:o[1-9]|chatgpt-|codex-|computer-use-|gpt-(?:4o|4\.[15]|[5-9]))")


class TokenCounter(Protocol):
    """Anything that counts the tokens of a text.

    Attributes:
        name: what the report calls it.
        exact: whether it counts as the model itself does; False for an estimate.
    """

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    def count(self, text: str) -> int:
        """Tokens of `text`; never raises, and takes time in proportion to its length."""
        ...


@dataclass(frozen=True, slots=True)
class TiktokenCounter:
    """Counts with one of tiktoken's encodings, loaded offline at the first count.

    Text that looks like a special token counts as ordinary text; a lone surrogate as U+FFFD. The count is that
    of tiktoken for every text, except that a run of more than 98,304 characters without a place where a token
    must end (white space, one letter repeated) is cut, which may add or save a token at each cut.

    Raises:
        ConfigError: no encoding of that name ships with ctxkit.
    """

    encoding_name: str = "o200k_base"

    def __post_init__(self) -> None:
        if self.encoding_name not in ENCODINGS:
            raise ConfigError(f"no encoding {self.encoding_name!r}; there are: {', '.join(ENCODINGS)}")

    @property
    def name(self) -> str:
        """As in "tiktoken/o200k_base"."""
        return f"tiktoken/{self.encoding_name}"

    @property
    def exact(self) -> bool:
        """True."""
        return True

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        if len(text) <= _CACHED_CHARS:
            return _count_short(self.encoding_name, text)
        return sum(_count(self.encoding_name, piece) for piece in _pieces(text))


def counter_for(model: str | None) -> TokenCounter:
    """The counter for a model, found by its name alone; names with a vendor in front and a date behind are fine.

    OpenAI's models are counted exactly, and so are texts for no particular model (None: o200k_base). For all
    others, and for old OpenAI models whose ranks do not ship with ctxkit, it is an estimate that says so.
    """
    if model is None:
        return TiktokenCounter("o200k_base")
    name = bare_name(model)
    if _O200K.match(name):
        return TiktokenCounter("o200k_base")
    from tiktoken.model import encoding_name_for_model

    try:
        encoding_name = encoding_name_for_model(name)
    except KeyError:
        encoding_name = ""
    return (
        TiktokenCounter(encoding_name)
        if encoding_name in ENCODINGS
        else EstimateCounter(tokenizer_family(name))
    )


@lru_cache(maxsize=_CACHED_TEXTS)
def _count_short(encoding_name: str, text: str) -> int:
    return _count(encoding_name, text)


def _count(encoding_name: str, text: str) -> int:
    if not text.isascii():
        text = text[:1] + text[1:]  # a copy: the encoder leaves a UTF-8 twin in whatever string it reads
    return len(encoding(encoding_name).encode(text, disallowed_special=()))


def _pieces(text: str) -> Iterator[str]:
    """The text cut at safe places, where the counts of the pieces add up to the count of the whole."""
    start = 0
    while len(text) - start > _PIECE:
        safe = _SAFE_PLACE.search(text, start + _PIECE, start + _LONGEST)
        end = safe.start() if safe else start + _LONGEST
        yield text[start:end]
        start = end
    yield text[start:]
