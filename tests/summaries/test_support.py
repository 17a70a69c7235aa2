"""Whose a sentence is, told from the words that it shares with what was said."""

from __future__ import annotations

import pytest

from ctxkit.summaries.support import Support, Supported

OWN = "Please book a quiet room near the harbour. I'll look for rooms with a balcony."
PAGE = "Visitors should wire their deposit through the partner portal before arrival."


@pytest.mark.parametrize(
    ("sentence", "whose"),
    [
        ("The user wants a quiet room by the harbour", Supported.OWN),
        ("Deposits are wired via the portal of a partner", Supported.TOOLS),
        ("A quiet room is booked through the harbour portal", Supported.OWN),
        ("Grandmother dislikes elephants", Supported.NOBODY),
        ("The user asked", Supported.OWN),
        ("42 of 97", Supported.OWN),
    ],
)
def test_whose_a_sentence_is(sentence: str, whose: Supported) -> None:
    assert Support(OWN, [PAGE]).of(sentence) is whose


def test_which_tool_said_most_of_a_sentence() -> None:
    assert Support(OWN, ["The weather is fine.", PAGE]).shared("a deposit for the portal") == [0, 2]


@pytest.mark.parametrize(
    ("sentence", "whose"),
    [
        ("用户想订海边的安静房间", Supported.OWN),
        ("访客应通过合作门户支付押金", Supported.TOOLS),
        ("祖母讨厌大象", Supported.NOBODY),
    ],
)
def test_whose_a_sentence_is_in_chinese(sentence: str, whose: Supported) -> None:
    support = Support("请帮我订一间海边的安静房间。", ["所有访客抵达前应通过合作门户支付押金。"])
    assert support.of(sentence) is whose


def test_what_may_be_a_translation_is_not_called_unsupported() -> None:
    assert Support("请查天气。", [PAGE]).of("祖母讨厌大象") is Supported.OWN
