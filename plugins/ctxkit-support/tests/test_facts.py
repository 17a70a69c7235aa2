"""Which facts a text states, with exact keys and values."""

from __future__ import annotations

import pytest
from ctxkit_support.facts import facts_in

from ctxkit import Speaker


def told(text: str, said_by: Speaker) -> list[tuple[str, str, bool]]:
    """Key, value and whether it must stay, of each fact."""
    return [(fact.key, fact.value, fact.must_keep) for fact in facts_in(text, said_by)]


@pytest.mark.parametrize(
    ("text", "said_by", "facts"),
    [
        (
            "Sorry! We will refund 49.90 EUR for order W2378156 by Friday.",
            "assistant",
            [
                ("promised refund for order W2378156", True),
                ("amount of refund for order W2378156", False),
                ("order W2378156", False),
            ],
        ),
        ("I'll call you back within two hours.", "assistant", [("promised answer", True)]),
        ("I need the refund by Friday.", "user", [("wanted refund", True)]),
        ("Please don't cancel the grill.", "user", []),
        ("We will refund you by Friday.", "user", []),
        ("My address is 1 Main Street, Springfield", "user", [("address", False)]),
        (
            "订单W2378156最晚周五退款49.9元。",
            "assistant",
            [
                ("promised refund for order W2378156", True),
                ("amount of refund for order W2378156", False),
                ("order W2378156", False),
            ],
        ),
        ("我要求明天之前退款", "user", [("wanted refund", True)]),
        ("The total is $5.", "tool", [("amount of charge", False)]),
    ],
)
def test_states(text: str, said_by: Speaker, facts: list[tuple[str, bool]]) -> None:
    assert [(key, must_keep) for key, _, must_keep in told(text, said_by)] == facts


def test_values_are_sentences_as_they_stand() -> None:
    text = "Thanks. We will refund $49.90 by Friday. Anything else?"
    assert told(text, "assistant") == [
        ("promised refund", "We will refund $49.90 by Friday.", True),
        ("amount of refund", "We will refund $49.90 by Friday.", False),
    ]
    assert told("Mail a@example.com, please.", "user") == [("email", "a@example.com", False)]
    assert told("好的。最晚周五退款。还有别的吗？", "assistant") == [
        ("promised refund", "最晚周五退款。", True)
    ]


def test_the_agents_word_on_an_order_stands_over_the_customers_and_a_question_over_nothing() -> None:
    (agent,) = facts_in("Order W2378156 was cancelled.", "assistant")
    (customer,) = facts_in("Order W2378156 was lost.", "user")
    (asked,) = facts_in("Where is order W2378156?", "assistant")
    (tool,) = facts_in("Order W2378156 is open.", "tool")
    assert agent.name == customer.name == asked.name == tool.name
    assert agent.confidence > customer.confidence > asked.confidence > tool.confidence
    assert [agent.said_by, customer.said_by, tool.said_by] == ["assistant", "user", "tool"]
