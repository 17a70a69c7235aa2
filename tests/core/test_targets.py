"""What of a request has yet to go, for who can take some items and no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ctxkit import Budget, ContextManager, Plan, View
from ctxkit.core.targets import Targets
from ctxkit.strategy import CompressionStrategy, Services

WORD = "word " * 99


class Looking(CompressionStrategy):
    """Shows the view that it was given."""

    kind: str = "looking"

    def plan(self, view: View, services: Services) -> Plan:
        SEEN.append(view)
        return Plan()


SEEN: list[View] = []


def view_of(*texts: str, pinned: tuple[int, ...] = (), **budget: Any) -> View:
    """A view of messages of two people in turn, the last one of a user; "R:" puts one into the region `own`."""
    context = ContextManager("openai-chat", Budget(window=10_000, **budget), Looking(), plugins=())
    for number, text in enumerate(texts):
        message = {"role": "assistant" if number % 2 else "user", "content": text.removeprefix("R:")}
        context.add(message, region="own" if text.startswith("R:") else "")
    if pinned:
        context.pin(*pinned)
    context.compact()
    return SEEN[-1]


def targets_of(held: Mapping[str, int], *, scope: str = "", **regions: int) -> Targets:
    """Targets of regions of which so many tokens cannot be taken."""
    made = Targets.of(Budget(window=10_000, regions=regions), 1_000, {}, (), scope)
    return replace(made, held=held)


@pytest.mark.parametrize(
    ("held", "size", "over"),
    [(0, 300, 200), (0, 90, 0), (80, 300, 200), (250, 300, 50), (300, 300, 0), (400, 300, 0)],
)
def test_a_region_is_over_by_what_can_be_taken_above_its_target(held: int, size: int, over: int) -> None:
    targets = targets_of({"own": held}, own=100)
    assert targets.over({"own": size}) == over
    assert targets.pressed({"own": size, "recent": 1}) == ({"own"} if over else set())


def test_a_region_of_which_nothing_can_be_taken_is_never_over() -> None:
    targets = targets_of({}, own=100)
    assert (targets.over({"own": 900}), targets.pressed({"own": 900})) == (0, set())


def test_all_regions_are_pressed_while_the_whole_is_over() -> None:
    sizes = {"own": 50, "recent": 1_250}
    targets = targets_of({"own": 0}, own=100)
    assert (targets.over(sizes), targets.pressed(sizes)) == (300, {"own", "recent"})


def test_within_a_region_with_a_target_that_alone_counts() -> None:
    sizes = {"own": 150, "other": 400, "recent": 1_250}
    targets = targets_of({"own": 0, "other": 0}, scope="own", own=100, other=100)
    assert (targets.over(sizes), targets.pressed(sizes)) == (50, {"own"})
    assert targets_of({"own": 0, "other": 0}, scope="recent", own=100, other=100).over(sizes) == 800


def test_what_a_region_leaves_unused_is_lent_to_recent_before_anything_has_to_go() -> None:
    targets = targets_of({"own": 0, "recent": 0}, own=100, recent=100)
    assert [targets.over({"own": size, "recent": 170}) for size in (0, 30, 50, 100)] == [0, 0, 20, 70]


def test_pins_and_the_newest_message_borrow_from_the_whole() -> None:
    own = f"R:{WORD}"
    regions = {"own": 50}
    assert view_of(WORD, own, WORD, pinned=(1,), regions=regions).over == 0
    assert view_of(own, WORD, own, pinned=(0,), regions=regions).over == 0
    free = view_of(WORD, own, WORD, own, WORD, pinned=(1,), regions=regions)
    (size,) = {item.tokens for item in free.state.items if item.region == "own"}
    assert free.over == size == free.over_free, "all that is not pinned has to go"
    assert free.over_whole == 0


def test_a_newest_answer_can_be_shortened_and_not_left_out() -> None:
    view = view_of(WORD, f"R:{WORD}", regions={"own": 50})
    assert view.over == view.regions["own"] - 50
    assert view.over_free == 0


def test_surplus_turns_are_those_that_may_be_left_out() -> None:
    texts = [WORD] * 11
    assert view_of(*texts, context_limit=4).surplus_turns == 2
    assert view_of(*texts, context_limit=4, pinned=(0, 3, 5)).surplus_turns == 2
    assert view_of(*texts, context_limit=4, pinned=(0, 3, 5, 7)).surplus_turns == 1
    assert view_of(*texts, context_limit=4, pinned=(0, 3, 5, 7, 8)).surplus_turns == 0
