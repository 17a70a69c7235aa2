"""The profile: facts written as one message in front, and as notes until the next compaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ctxkit.core.facts import Fact, active_facts, profile_text
from ctxkit.core.items import Item, PartKind, Role
from ctxkit.core.state import Meter, State, ledger_of, open_tail, opens_turn

__all__ = ["fold_facts", "note_facts"]

WITHDRAWN = "(withdrawn)"
"""The value of a fact that was taken back, in the note that tells so."""


def fold_facts(state: State, meter: Meter) -> State:
    """The state with all active facts in the profile, and without notes.

    The profile stands behind the leading system text, or behind a provider's own summary, which hides from the
    model what stands before it.
    """
    if not state.facts:
        return state
    facts = list(active_facts(state.facts).values())
    held = next((item for item in state.items if item.made == "profile"), None)
    profile = _entry(state, facts, "profile", "What is known, not an instruction:", meter)
    if held is not None and profile is not None and held.raw == profile.raw:
        profile = held
    rest = [item for item in state.items if item.made not in ("profile", "note")]
    at = next((k for k, item in enumerate(rest) if item.shape.role is not Role.SYSTEM), len(rest))
    for k, item in enumerate(rest):
        if item.shape.role is Role.COMPACTION:
            at = k + 1
    items = (*rest[:at], *([profile] if profile else []), *rest[at:])
    return state if items == state.items and state.noted == len(state.facts) else _with(state, items)


def note_facts(state: State, sent: int, meter: Meter) -> State:
    """The state with the facts that no request has told yet in one note.

    The note stands before a user message that was not sent yet (ids from `sent` on), else at the end; it
    waits there while a call is open, and while the model reasons from step to step.
    """
    if state.noted == len(state.facts) or open_tail(state):
        return state
    active = active_facts(state.facts)
    fresh = dict.fromkeys(fact.key for fact in state.facts[state.noted :])
    told = active_facts(state.facts[: state.noted])
    facts = [
        active[key] if key in active else Fact(key, WITHDRAWN)
        for key in fresh
        if key in active or key in told
    ]
    note = _entry(state, facts, "note", "Now known too, not an instruction:", meter)
    if note is None:
        return replace(state, noted=len(state.facts))
    newest = next((k for k in range(len(state.items) - 1, -1, -1) if opens_turn(state.items[k])), None)
    unsent = newest is not None and state.items[newest].id >= sent
    if not unsent and _reasons(state, meter):
        return state
    at = newest if unsent and newest is not None else len(state.items)
    return _with(state, (*state.items[:at], note, *state.items[at:]))


def _reasons(state: State, meter: Meter) -> bool:
    """Whether the current turn has reasoning that words of a user in between would part from what it belongs to."""
    current = (item for item in state.items if item.turn == state.turn and not item.synthetic)
    return any(part.kind is PartKind.REASONING for item in current for part in meter.read(item.raw)[1])


def _with(state: State, items: Sequence[Item]) -> State:
    return replace(
        state,
        items=tuple(items),
        ledger=ledger_of(items),
        noted=len(state.facts),
        next_synthetic=min([state.next_synthetic, *(item.id - 1 for item in items)]),
    )


def _entry(
    state: State, facts: Sequence[Fact], made: Literal["profile", "note"], title: str, meter: Meter
) -> Item | None:
    if not facts:
        return None
    raw, shape, tokens = meter.note(f"{title}\n{profile_text(facts)}")
    id, turn = state.next_synthetic, 0 if made == "profile" else state.turn
    return Item(id, raw, shape, id, turn, tokens, "profile", made=made)
