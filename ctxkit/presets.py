"""What is known of a model: its limits and prices, from the one data file `presets.json`."""

from __future__ import annotations

import difflib
import importlib.resources
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt
from types import MappingProxyType

from ctxkit.errors import ConfigError
from ctxkit.tokens.names import bare_name

__all__ = ["Preset", "find_preset", "headroom", "preset", "presets", "unknown"]

_NOT_THIS_MODEL = re.compile(r"[^-@:_]|-[1-9][0-9]?(?![0-9])")
"""How what follows a name begins if it makes it another model: "gpt-5" and "gpt-5.1", "claude-opus-5" and "-5-5"."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One model.

    Attributes:
        model: its name in the data file, without vendor and date.
        window: tokens of input and output together.
        max_input: tokens that a request may have; equal to `window` where the two share it.
        max_output: tokens that an answer may have, reasoning included.
        input: dollars for a million tokens of input that come from no cache.
        cache_read: the same for tokens read from the prompt cache; `input` where the vendor has none.
        cache_write: the same for tokens written to it; `input` where writing costs nothing extra.
        output: dollars for a million tokens of output.
        tokenizer: an encoding of tiktoken, else a family of `EstimateCounter`.
        binds_thinking: its thinking blocks are tied to everything before them (wire rule A18).
        source: where the figures are from.
    """

    model: str
    window: int
    max_input: int
    max_output: int
    input: float
    cache_read: float
    cache_write: float
    output: float
    tokenizer: str
    binds_thinking: bool
    source: str


def preset(model: str) -> Preset:
    """The preset of a model; dated names and names with a vendor in front are fine.

    Raises:
        ConfigError: nothing is known of it; the message has the names that come nearest.
    """
    found = find_preset(model)
    if found is None:
        name = bare_name(model)
        near = difflib.get_close_matches(name, presets(), n=5, cutoff=0.5)
        hint = f"the nearest known names are: {', '.join(near)}" if near else "no known name is like it"
        raise ConfigError(
            f"no preset for the model {name!r}; {hint}; give the window and the reply in tokens instead"
        )
    return found


def find_preset(model: str) -> Preset | None:
    """The preset with the longest name that `model` begins with, None if there is none."""
    name = bare_name(model).removeprefix("ft:")
    known = presets()
    fits = (known[end] for end in sorted(known, key=len, reverse=True) if name.startswith(end))
    return next((each for each in fits if not _NOT_THIS_MODEL.match(name, len(each.model))), None)


def unknown(model: str) -> str:
    """What is said of a model that has no preset: the name that it is a slip of, if it is like one."""
    near = difflib.get_close_matches(bare_name(model), presets(), n=1, cutoff=0.75)
    return f"no preset for the model {model!r:.80}{f' (did you mean {near[0]}?)' if near else ''}"


@cache
def presets() -> Mapping[str, Preset]:
    """All presets by name, read from the data file at the first call."""
    text = importlib.resources.files("ctxkit").joinpath("presets.json").read_text(encoding="utf-8")
    return MappingProxyType(
        {name: Preset(model=name, **values) for name, values in json.loads(text)["models"].items()}
    )


def headroom(new_tokens: float, kept_tokens: float, cache_read: float, cache_write: float) -> float:
    """Tokens to leave free at a compaction so that the cost of a turn is least: sqrt(2·g·l·(w/r − 1)).

    `new_tokens` (g) are added each turn, `kept_tokens` (l) stay after a compaction; `cache_read` (r) and
    `cache_write` (w) are prices of one token in any one unit. Headroom h lasts for h/g turns. Until the next
    compaction the context is h/2 longer on average, which costs r·h/2 a turn to read; each compaction writes the
    kept tokens anew instead of reading them, (w − r)·l once in h/g turns. The sum r·h/2 + (w − r)·l·g/h is least
    at that h. 0 where reading costs as much as writing: then nothing is gained by waiting. The caller caps it by
    the window.

    Raises:
        ConfigError: a negative number of tokens, or a price that is not above 0.
    """
    if not (new_tokens >= 0 and kept_tokens >= 0):
        raise ConfigError(f"tokens cannot be negative: {new_tokens!r} new, {kept_tokens!r} kept")
    if not (cache_read > 0 and cache_write > 0):
        raise ConfigError(f"prices must be above 0: {cache_read!r} to read, {cache_write!r} to write")
    return sqrt(2 * new_tokens * kept_tokens * max(0.0, cache_write / cache_read - 1))
