"""How a strategy that breaks a promise is mended, by the law that found it."""

from __future__ import annotations

import re

__all__ = ["hint_for"]

_HINTS = {
    "accepted_by_its_provider": (
        "Edit through units and parts alone: Drop and Replace name units, Shorten a part that view.parts() lists."
    ),
    "order_is_kept": "Drop, Replace and Shorten never move anything; do not write what an earlier entry said.",
    "pins_stay": "Take the units to leave out from view.free() and the items to shorten from view.changeable().",
    "fits_or_says_so": "Size texts with view.count(); view.over says how many tokens have yet to go.",
    "leaves_alone": (
        "Return Plan() when view.over is 0, and free as much as view.over asks for at once, not a little each time."
    ),
    "nothing_is_lost": 'Give each edit its reason: Drop(units, "why").',
    "prefix_is_kept": "Keep nothing between two calls of plan(); what it decides on stands in the view.",
    "same_in_same_out": (
        "Use no random numbers, clock, id(), or order of a set in plan(); sort, and break ties by unit.id."
    ),
    "input_is_untouched": "Copy what you want to change: copy.deepcopy(item.raw). What you return is edits alone.",
    "never_raises": "Handle each case in plan(): no user message, an empty text, a part without text. Return a Plan.",
    "plans_without_raising": (
        "Return Plan.of(...), or Plan() for nothing to change; look at the conversation below for what plan() meets."
    ),
    "plans_the_same_twice": (
        "Use no random numbers, clock, id(), or order of a set in plan(); keep nothing between calls; break ties by unit.id."
    ),
    "leaves_the_view_alone": "Return edits instead of changing item.raw; Shorten writes a part anew.",
    "is_not_rolled_back": "view.after(plan) tries a plan out, and raises PlanRejected with the reason.",
}
"""A sentence or two for each law and check of conduct, by its name."""

_CHANGED_AGAIN = {
    "Remember": (
        "Remember all that you would in one plan, and nothing again: what was remembered is in one of view.remembered."
    ),
    "Pin": (
        "Pin all that you would in one plan, from view.free(), where nothing is that is pinned already: one pin a call, or "
        "one by chance, leaves more for the next."
    ),
}
"""The same for a second compaction that changed more, by the edit that it made."""

_SIGNATURE = (
    "Write it as def plan(self, view: View, services: Services) -> Plan: it is called with these two."
)
"""The same for a `plan` that cannot be called."""

_ROLLED_BACK = {
    "is pinned": "Take units from view.free() and items from view.changeable(): what is pinned is in neither.",
    "is the newest": "Take units from view.free(): the newest is not in it.",
    "would grow": "Compare view.count() of the old text and the new one, and leave alone what would not get shorter.",
    "is not smaller": "Write a summary only when view.count() of it is less than the units take.",
    "could never be reduced": (
        "What it pins or remembers has no limit, so somebody who talks of nothing else fills the window: pin the newest "
        "first, and no more tokens than view.room_for_pins(0.25, self.kind)."
    ),
    "there is no": "Use the ids as the view has them: unit.id, item.id, and the index of a part in view.parts(item).",
    "cannot be": 'Edits want ids in a tuple: Drop((unit.id,), "why"), not the units themselves.',
    "two values": (
        "A later fact with the same key and subject takes the earlier one's place: give each a key of its own, as in "
        "'2. deadline', or join the values."
    ),
    "changed twice": "Give the second change to a unit its own stage: Plan.of(first) + Plan.of(second).",
}


def hint_for(name: str, happened: str) -> str:
    """How to mend what a law or check found."""
    if re.search(r"TypeError: [\w.<>]*plan\(\) (takes|missing|got)\b", happened):
        return _SIGNATURE
    if name == "is_not_rolled_back":
        return next((hint for part, hint in _ROLLED_BACK.items() if part in happened), _HINTS[name])
    if name == "leaves_alone":
        return next(
            (hint for edit, hint in _CHANGED_AGAIN.items() if f": {edit} of" in happened), _HINTS[name]
        )
    return _HINTS[name]
