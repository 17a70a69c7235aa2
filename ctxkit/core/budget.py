"""Budgets: a window, the reply, and how the rest is shared among regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from string import digits
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ctxkit.errors import ConfigError

__all__ = ["REGIONS", "Budget", "Region", "wrong_region"]

REGIONS = ("system", "profile", "summary", "recent", "tool_results")
"""The built-in regions, in the order in which they stand in reports."""

SLIP = "did you mean the built-in region {}? A region of your own needs a name that is less like it"

AIM_SHARE, AIM_TOKENS, AIM_SHARE_BEYOND = 0.75, 2_000, 0.5
"""Of the first so many tokens that are left in `compact_at` beside what cannot shrink, and of those beyond: how far a
compaction goes down when nobody says."""

AIM_FLOOR = 200
"""Tokens that are left to what can shrink all the same, if there are so many. In less there is no room for the
identifiers of a conversation, and a prefix that short costs little when it breaks."""

MIN_GAIN_SHARE = 0.05
"""Of the limit: the smallest gain that is worth a broken prompt cache when nobody says."""


class Region(BaseModel):
    """A named share of the window.

    Attributes:
        max: its target: tokens (an integer) or a share of the window (0 < max <= 1, as a float).
        min: tokens of its newest items that no strategy touches, as long as the request fits with them.
        priority: `drop-oldest` takes what is in a region below 0 before anything else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    max: Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, le=1)]
    min: int = Field(default=0, ge=0)
    priority: int = 0

    @field_validator("min", "priority", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        """A number without a fraction is an integer, as in JSON, also when it is written as 8.0."""
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def cap(self, window: int) -> int:
        """`max` in tokens."""
        return self.max if isinstance(self.max, int) else int(self.max * window)


def _table(region: Any) -> Any:
    """A region as a table, when it is given as a plain number or another mapping than a dict."""
    match region:
        case bool():
            return region
        case int() | float():
            return {"max": region}
        case Mapping():
            return dict(region)
        case _:
            return region


def wrong_region(name: str) -> str:
    """What is wrong with the name of a region: it is blank, or a slip in that of a built-in one, and nothing would ever be
    in such a region. "" when nothing is."""
    if not name.strip():
        return "a region needs a name"
    return SLIP.format(meant) if (meant := _meant(name)) else ""


def _meant(name: str) -> str:
    """The built-in region that a name is a slip of, "" for one of them and for a name of its own (`recent2`)."""
    typed = name.casefold()
    numbered = typed not in REGIONS and typed.strip(digits) in REGIONS
    if name in REGIONS or numbered:
        return ""
    return next((region for region in REGIONS if _one_slip(typed, region)), "")


def _one_slip(typed: str, meant: str) -> bool:
    """Whether they are the same but for one letter too many, too few or wrong, or two neighbours that are swapped.

    A word that begins with another letter is another word: `decent` is not `recent`.
    """
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(typed, meant, strict=False)))
    there, due = typed[same:], meant[same:]
    swapped = there[:2] == due[:2][::-1] and there[2:] == due[2:]
    wrong = same > 0 and there[1:] == due[1:]
    return swapped or wrong or there[1:] == due or there == due[1:]


class Budget(BaseModel):
    """Tokens that one request may take, and when to compact.

    Attributes:
        window: the model's context window, input and reply together.
        reply: tokens kept free for the answer; `limit` is what is left.
        regions: targets by region name; a plain number is its `max`. Without regions only the whole counts. A name of
            your own may not look like a slip in one of `REGIONS`.
        compact_at: compaction starts when a request is above this (default: the limit).
        aim_for: and goes down to this (default: what cannot shrink and, of what is left of `compact_at`, 75 % of
            the first 2,000 tokens and half of the rest, or 200 tokens).
        context_limit: compaction starts too when more turns than this are in the request, and takes the others out.
        every: and when this many turns have come since the last one; it goes down to `aim_for` as any other.
        min_gain: tokens that a compaction must save, unless the request would not fit without it. By default 5 %
            of the limit when it was the tokens that started it, nothing when it was the turns or `compact()`.
        max_compactions, per_turns: while the request fits all the same, no more compactions than this start in so
            many turns.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    window: int = Field(ge=1, strict=True)
    reply: int = Field(default=0, ge=0, strict=True)
    regions: dict[str, Region] = Field(default_factory=dict)
    compact_at: int | None = Field(default=None, ge=1, strict=True)
    aim_for: int | None = Field(default=None, ge=1, strict=True)
    context_limit: int | None = Field(default=None, ge=1, strict=True)
    every: int | None = Field(default=None, ge=1, strict=True)
    min_gain: int | None = Field(default=None, ge=0, strict=True)
    max_compactions: int = Field(default=8, ge=1, le=64, strict=True)
    per_turns: int = Field(default=4, ge=1, strict=True)

    if not TYPE_CHECKING:  # a type checker sees the fields as parameters

        def __init__(self, **settings: Any) -> None:
            try:
                super().__init__(**settings)
            except ValidationError as error:
                from ctxkit.config_error import config_error

                raise config_error(error, model=Budget, value=settings) from None

    @field_validator("window", "reply", "compact_at", "aim_for", "min_gain", mode="before")
    @classmethod
    def _no_share(cls, value: Any) -> Any:
        if isinstance(value, float) and 0 < value < 1:
            raise ValueError(f"is given in tokens, not as a share ({value})")
        return value

    @field_validator("regions", mode="before")
    @classmethod
    def _plain_numbers(cls, value: Any) -> Any:
        return {name: _table(each) for name, each in value.items()} if isinstance(value, Mapping) else value

    @field_validator("regions")
    @classmethod
    def _no_slips(cls, regions: dict[str, Region]) -> dict[str, Region]:
        wrong = {name: said for name in regions if (said := wrong_region(name))}
        if wrong:
            from ctxkit.config_error import together

            raise together(ConfigError(said, path=name.strip() and name) for name, said in wrong.items())
        return regions

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.reply >= self.window:
            raise ValueError(f"reply ({self.reply}) must be smaller than window ({self.window})")
        if wrong := "; ".join(self._contradictions()):
            raise ValueError(wrong)
        return self

    def _contradictions(self) -> Iterator[str]:
        """What in it cannot be right beside what else is in it, `limit` taken for granted."""
        minimums = sum(region.min for region in self.regions.values())
        if minimums > self.limit:
            yield f"the minimums of the regions add up to {minimums}, more than {self.limit}"
        for name, region in self.regions.items():
            if region.min > region.cap(self.window):
                yield f"region {name!r}: min ({region.min}) is above max ({region.max})"
        start = min(self.start, self.limit)
        if self.start > start:
            yield f"compact_at ({self.start}) is above window less reply ({self.limit})"
        if self.aim_for is not None and self.aim_for > start:
            yield f"aim_for ({self.aim_for}) is above where compaction starts ({start})"

    @classmethod
    def for_model(
        cls, model: str, *, kept_tokens: int | None = None, new_tokens: int | None = None, **settings: Any
    ) -> Budget:
        """The budget of a known model: its window and its longest reply, unless `settings` say otherwise.

        Args:
            kept_tokens, new_tokens: with both, the two marks are derived from the model's prices: a compaction
                goes down to `kept_tokens` and starts at the headroom above it that costs least when `new_tokens`
                come each turn; see `ctxkit.presets.headroom`.

        Raises:
            ConfigError: the model is in no preset; the message lists the nearest names.
        """
        from ctxkit.presets import headroom, preset

        found = preset(model)
        reply = max(found.max_output, found.window - found.max_input)
        budget = cls(**{"window": found.window, "reply": reply, **settings})
        if kept_tokens is None or new_tokens is None:
            return budget
        free = headroom(new_tokens, kept_tokens, found.cache_read, found.cache_write)
        start = min(budget.limit, kept_tokens + int(free))
        return cls(**{**budget.model_dump(), "compact_at": start, "aim_for": min(start, kept_tokens)})

    @property
    def limit(self) -> int:
        """Tokens that a request may have: window less reply."""
        return self.window - self.reply

    @property
    def start(self) -> int:
        """Above this a compaction starts."""
        return self.compact_at if self.compact_at is not None else self.limit

    def target(self, held: int) -> int:
        """Down to this a compaction goes: `aim_for`, or what cannot shrink and a share of what is left beside it.

        Args:
            held: tokens of what cannot shrink.
        """
        if self.aim_for is not None:
            return self.aim_for
        room = max(0, self.start - held)
        kept = AIM_SHARE * min(room, AIM_TOKENS) + AIM_SHARE_BEYOND * max(0, room - AIM_TOKENS)
        return min(self.start, held + max(int(kept), min(room, AIM_FLOOR)))

    @property
    def least_gain(self) -> int:
        """`min_gain`, or its default for a compaction that the tokens started."""
        return self.min_gain if self.min_gain is not None else int(self.limit * MIN_GAIN_SHARE)

    def scaled(self, ratio: float) -> Budget:
        """The same budget for a counter whose one token is `ratio` real ones: all limits in its tokens."""
        if ratio == 1.0:
            return self
        limits: dict[str, Any] = {"window": self.reply + max(1, int(self.limit / ratio))}
        for name in ("compact_at", "aim_for", "min_gain"):
            value = getattr(self, name)
            if value is not None:
                limits[name] = max(1, int(value / ratio))
        limits["regions"] = {
            name: region.model_copy(
                update={"max": max(1, int(region.cap(self.window) / ratio)), "min": int(region.min / ratio)}
            )
            for name, region in self.regions.items()
        }
        return self.model_copy(update=limits)

    def caps(self, used: Mapping[str, int]) -> dict[str, int]:
        """The target of each configured region in tokens, what others leave unused lent to `recent`.

        Args:
            used: tokens in each region now.
        """
        caps = {name: region.cap(self.window) for name, region in self.regions.items()}
        if "recent" in caps:
            unused = sum(max(0, cap - used.get(name, 0)) for name, cap in caps.items() if name != "recent")
            caps["recent"] += unused
        return caps
