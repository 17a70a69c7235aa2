"""`selective`: key messages stay verbatim for good, the others make room."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Failure, Pin, Plan
from ctxkit.core.view import View
from ctxkit.hooks import Called
from ctxkit.registry import AnyStrategy
from ctxkit.strategies.drop_oldest import DropOldest
from ctxkit.strategy import CompressionStrategy, Services, advance

__all__ = ["Selective"]

_ENGLISH = (
    r"must(?:n[’']?t)?\b|never|always|prefer|allerg|deadline|due (?:by|date|on)|no later than|decided|decision|remember"
    r"|keep in mind|important|require|at (?:most|least)|no (?:more|less) than|under no circumstances|make sure"
    r"|do not|(?<!\bI )don['’]t"
)
_CHINESE = (
    "必须|务必|禁止|不要|不能|不许|不可|不得|请勿|切勿|过敏|记住|记得|牢记|决定|截止|最晚|期限|一定要|始终|总是|永远"
    "|从不|绝不|优先|偏好|更喜欢|至少|最多|不超过|重要|要求"
)


class Selective(CompressionStrategy):
    """Pin the user's key messages and make room among all others.

    A key message states a rule, a preference, a decision or a deadline; words in English and Chinese tell it, and
    plugins by the hook `ctxkit_is_key_message`. Only
    what a user said is pinned, never text of tools, and once pinned it stays until somebody unpins it. When there
    are more than may be pinned the newest come first, and the report says how many were not.

    Attributes:
        markers: more words that make a message a key message, whatever their case; beginnings of words, as in
            "budget" or "预算".
        pin_share: share of the budget's limit that the messages pinned by this strategy may take together.
        others: the strategy that makes room when the target is not met; it cannot touch what is pinned.
    """

    kind: Literal["selective"] = "selective"
    timeout_s: float | None = Field(default=None, gt=0)
    markers: tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], ...] = ()
    pin_share: float = Field(default=0.25, gt=0, le=1)
    others: AnyStrategy = Field(default_factory=DropOldest)

    async def plan(self, view: View, services: Services) -> Plan:
        pins = self._pins(view, services.hooks).signed(self.kind)
        after = view.after(pins)
        if not (after.over or after.surplus_turns):
            return pins
        plan, _ = await advance(self.others, after, services)
        return pins + plan

    def _pins(self, view: View, hooks: Called) -> Plan:
        """Pins for the key messages that have none yet, as far as there is room."""
        mine = {pin.unit for pin in view.state.pins if pin.by == self.kind}
        pinned = [unit for unit in view.units if unit.id in mine]
        free = view.within("").free()
        room = view.room_for_pins(self.pin_share, self.kind)
        chosen, left = _newest_that_fit(self._key_messages(free, pinned, hooks), room)
        plan = (
            Plan.of(Pin(tuple(sorted(unit.id for unit in chosen)), why="a key message")) if chosen else Plan()
        )
        return Plan(plan.stages, tuple(_told(left, self)))

    def _key_messages(self, free: Sequence[Unit], pinned: Sequence[Unit], hooks: Called) -> list[Unit]:
        """Key messages, newest first; of those that say the very same the newest one, none if that is pinned."""
        pattern = _pattern(self.markers)
        said = {unit.text for unit in pinned}
        found = []
        for unit in reversed(free):
            if not unit.said_by_user or unit.text in said:
                continue
            if pattern.search(unit.text) or hooks.is_key_message(unit.text, "user"):
                said.add(unit.text)
                found.append(unit)
        return found


def _newest_that_fit(units: Sequence[Unit], room: int) -> tuple[list[Unit], list[Unit]]:
    chosen, left = [], []
    for unit in units:
        if unit.tokens <= room:
            room -= unit.tokens
            chosen.append(unit)
        else:
            left.append(unit)
    return chosen, left


def _told(left: Sequence[Unit], strategy: Selective) -> list[Failure]:
    if not left:
        return []
    size = sum(unit.tokens for unit in left)
    why = f"key messages not pinned: {len(left)}, of {size} tokens; pins may take {strategy.pin_share:.0%} of the limit"
    return [Failure(strategy.kind, why, note=True)]


@lru_cache(maxsize=64)
def _pattern(markers: tuple[str, ...]) -> re.Pattern[str]:
    """What tells a key message. Words of the Latin script are looked for at the beginnings of words only."""
    words = [_ENGLISH, *(re.escape(marker) for marker in markers if re.match(r"\w", marker, re.ASCII))]
    rest = [_CHINESE, *(re.escape(marker) for marker in markers if not re.match(r"\w", marker, re.ASCII))]
    return re.compile(rf"(?<![0-9A-Za-z_])(?:{'|'.join(words)})|{'|'.join(rest)}", re.IGNORECASE)
