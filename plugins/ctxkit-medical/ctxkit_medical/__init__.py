"""Keep what a patient must never be asked to repeat: allergies, pregnancy, blood thinners, doses and their limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from ctxkit import CompressionStrategy, PartKind, Pin, Plan, Role, Services, Unit, View
from ctxkit_medical.terms import asked_about, follows_up, subjects_of

__all__ = ["KeepMedicalConstraints"]


class KeepMedicalConstraints(CompressionStrategy):
    """Pin every message in which a medical constraint or a dose is stated, and the answer to a question about one.

    Pinned messages are out of later strategies' reach, so put this first in a hybrid. Text of tools is never pinned.

    Attributes:
        speakers: whose messages count.
        pin_share: share of the budget's limit that its pins may take together. When more is stated, the newest
            statement on each subject comes first, then the ones before, mere doses last; the report says what was not
            pinned.
    """

    kind: Literal["keep-medical-constraints"] = "keep-medical-constraints"
    speakers: frozenset[Literal["user", "assistant"]] = frozenset({"user", "assistant"})
    pin_share: float = Field(default=0.25, gt=0, le=1)

    def plan(self, view: View, services: Services) -> Plan:
        stated = [
            (unit, subjects) for unit, subjects in _stated(view.units) if _speaker(unit) in self.speakers
        ]
        free = {unit.id for unit in view.within("").free()}
        room = view.room_for_pins(self.pin_share, self.kind)
        chosen: list[int] = []
        left: list[int] = []
        for unit in _most_telling_first(stated):
            if unit.id not in free:
                continue
            fits = unit.tokens <= room
            (chosen if fits else left).append(unit.id)
            room -= unit.tokens * fits
        plan = (
            Plan.of(Pin(tuple(sorted(chosen)), why="states a medical constraint or a dose"))
            if chosen
            else Plan()
        )
        why = f"no room to pin {len(left)} more messages with medical constraints or doses; raise pin_share or the budget"
        return plan + Plan.noted(self.kind, why) if left else plan


def _speaker(unit: Unit) -> str:
    """Who said a message; "" for tool steps and what ctxkit wrote."""
    if unit.said_by_user:
        return "user"
    if unit.synthetic or any(item.shape.calls for item in unit.items):
        return ""
    return "assistant" if all(item.shape.role in (Role.MODEL, Role.REASONING) for item in unit.items) else ""


def _stated(units: Sequence[Unit]) -> Iterator[tuple[Unit, list[str]]]:
    """Messages that state a constraint, with what it is about. An answer is about what the question was about, and
    so is a question that follows it up."""
    asked: list[str] = []
    topic: list[str] = []
    by = ""
    for unit in units:
        speaker = _speaker(unit)
        if unit.synthetic:
            asked, topic = [], []
        if not speaker:
            continue
        text = "\n".join(part.text for part in unit.parts if part.reads_as is PartKind.TEXT)
        carried = topic if follows_up(text) else []
        subjects = subjects_of(text) or (asked if speaker != by else []) or carried
        if subjects:
            yield unit, subjects
        asked, topic, by = asked_about(text) or carried, subjects, speaker


def _most_telling_first(stated: Sequence[tuple[Unit, list[str]]]) -> list[Unit]:
    """Newest first, but the newest of each subject before the second of any, and what has but doses last."""
    seen: Counter[str] = Counter()
    ranked = []
    for unit, subjects in reversed(stated):
        ranked.append((subjects == ["dose"], min(seen[subject] for subject in subjects), unit))
        seen.update(subjects)
    return [unit for *_, unit in sorted(ranked, key=lambda each: each[:2])]
