"""Keep what a customer demanded and what an agent promised: conditions, deadlines, orders, ways to reach somebody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ctxkit import CompressionStrategy, PartKind, Pin, Plan, Role, Services, Unit, View
from ctxkit_support.sentences import contacts_in, is_demand, is_promise, orders_in, sentences

__all__ = ["KIND", "KeepSupportCommitments"]

KIND = "keep-support-commitments"
"""The name of the strategy."""


class KeepSupportCommitments(CompressionStrategy):
    """Pin every message in which a customer sets a condition or an agent promises something by a time.

    So are, when there is room left, messages of the customer with an e-mail address, a phone number, an address or
    the number of an order. Pinned messages are out of later strategies' reach, so put this first in a hybrid. Text
    of tools is never pinned.

    Attributes:
        pin_share: share of the budget's limit that its pins may take together. When there are more, promises and
            demands come first and of these the newest; the report says how many had no room.
    """

    kind: Literal["keep-support-commitments"] = "keep-support-commitments"
    pin_share: float = Field(default=0.25, gt=0, le=1)

    def plan(self, view: View, services: Services) -> Plan:
        free = view.within("").free()
        room = view.room_for_pins(self.pin_share, self.kind)
        chosen: list[int] = []
        left = 0
        for unit in _most_telling_first(free):
            if unit.tokens <= room:
                room -= unit.tokens
                chosen.append(unit.id)
            else:
                left += 1
        plan = Plan.of(Pin(tuple(sorted(chosen)), why="a demand or a promise")) if chosen else Plan()
        why = (
            f"no room to pin {left} more messages with demands, promises, contacts or orders; raise pin_share"
        )
        return plan + Plan.noted(self.kind, why) if left else plan


def _most_telling_first(units: Sequence[Unit]) -> list[Unit]:
    """Messages worth a pin: promises and demands before contacts and orders, and the newest first."""
    ranked = [(weight, unit) for unit in reversed(units) if (weight := _weight(unit))]
    return [unit for _, unit in sorted(ranked, key=lambda pair: -pair[0])]


def _weight(unit: Unit) -> int:
    """2 for a promise of the agent or a demand of the customer, 1 for his contacts and orders, 0 for all else."""
    text = "\n".join(part.text for part in unit.parts if part.reads_as is PartKind.TEXT)
    if unit.said_by_user:
        if any(map(is_demand, sentences(text))):
            return 2
        return 1 if contacts_in(text) or orders_in(text) else 0
    return 2 if _said_by_agent(unit) and any(map(is_promise, sentences(text))) else 0


def _said_by_agent(unit: Unit) -> bool:
    """Whether it is a message of the model, no tool step and nothing that ctxkit wrote."""
    plain = not unit.synthetic and not any(item.shape.calls for item in unit.items)
    return plain and all(item.shape.role in (Role.MODEL, Role.REASONING) for item in unit.items)
