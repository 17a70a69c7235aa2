"""What was lost: counted by conversation, the commonest first."""

from __future__ import annotations

from ctxkit.evaluation.lost import MOST_LOST, Loss, Lost


def test_each_loss_is_counted_and_told_with_the_first_place() -> None:
    assert Lost.of([("b", 4), ("a", 4), ("b", 6), ("c", 6), ("b", 8)]).losses == (
        Loss("b", 3, 4),
        Loss("a", 1, 4),
        Loss("c", 1, 6),
    )
    assert not Lost.of([])


def test_the_same_text_in_two_conversations_is_two_losses() -> None:
    one, two = Lost.of([("a", 4)]).within("x:1"), Lost.of([("a", 2), ("a", 3)]).within("x:2")
    assert (one + two).losses == (two + one).losses == (Loss("a", 2, 2, "x:2"), Loss("a", 1, 4, "x:1"))


def test_the_commonest_of_all_are_among_the_commonest_of_each() -> None:
    many = [
        Lost.of([(f"{k}", at) for k in range(9) for at in range(n + k)]).within(f"x:{n}") for n in (1, 4, 2)
    ]
    told = sum(many, Lost()).losses
    assert [(each.text, each.count, each.where) for each in told] == [
        ("8", 12, "x:4"),
        ("7", 11, "x:4"),
        ("8", 10, "x:2"),
        ("6", 10, "x:4"),
        ("8", 9, "x:1"),
    ]
    assert len(told) == MOST_LOST
