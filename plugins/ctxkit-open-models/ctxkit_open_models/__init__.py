"""Token counts for open models with their own vocabularies, offline, instead of ctxkit's estimate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from ctxkit import hook

__all__ = ["VocabularyCounter", "ctxkit_token_counter"]

_VOCABULARIES = {
    "deepseek_v3": r"deepseek-?(?:v3|r1|chat|reasoner)",
    "qwen3": r"qwen-?3(?![.\d])|qwq",
    "qwen2": r"qwen-?2(?:\.5)?(?![.\d])",
    "llama3": r"(?:meta-)?llama-?3",
    "glm4": r"glm-?4",
    "kimi_k2": r"kimi-?k2",
    "gemma3": r"gemma-?3(?!n)",
    "mistral_v3": r"mistral-(?:nemo|small|medium|large)|pixtral|ministral",
}
"""splintr's name of a vocabulary, and what names of models that use it look like behind their vendor."""

_VENDOR = re.compile(r"^.*[/:](?=[a-z])")
_CACHED_TEXTS, _CACHED_CHARS = 128, 1_000


@hook
def ctxkit_token_counter(model: str) -> VocabularyCounter | None:
    """The counter for an open model; None for all others."""
    name = _VENDOR.sub("", model.strip().lower()[:200])
    for vocabulary, pattern in _VOCABULARIES.items():
        if re.match(pattern, name):
            return VocabularyCounter(vocabulary)
    return None


@dataclass(frozen=True, slots=True)
class VocabularyCounter:
    """Counts with the vocabulary of a model family, as splintr has it.

    Text that looks like a special token counts as ordinary text; a lone surrogate as U+FFFD. It calls itself an
    estimate: nobody has compared splintr's ids of these families with the vendors' own tokenizers here, and the
    chat template of a served model adds tokens that no counter of texts sees.
    """

    vocabulary: str

    @property
    def name(self) -> str:
        """As in "splintr/qwen3"."""
        return f"splintr/{self.vocabulary}"

    @property
    def exact(self) -> bool:
        """False; see above."""
        return False

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        return (
            _count_short(self.vocabulary, text)
            if len(text) <= _CACHED_CHARS
            else _count(self.vocabulary, text)
        )


@lru_cache(maxsize=_CACHED_TEXTS)
def _count_short(vocabulary: str, text: str) -> int:
    return _count(vocabulary, text)


def _count(vocabulary: str, text: str) -> int:
    readable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return len(_tokenizer(vocabulary).encode_ordinary(readable))


@cache
def _tokenizer(vocabulary: str) -> Any:
    """Loaded at the first count: 0.1 to 0.3 s."""
    from splintr import Tokenizer

    return Tokenizer.from_pretrained(vocabulary)
