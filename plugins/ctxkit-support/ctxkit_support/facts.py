"""Facts of a support conversation, each with the sentence that states it as its value, verbatim."""

from __future__ import annotations

from collections.abc import Iterator

from ctxkit import Fact, Speaker
from ctxkit_support.sentences import (
    contacts_in,
    has_amount,
    has_deadline,
    is_demand,
    is_promise,
    is_question,
    orders_in,
    sentences,
    topic_of,
)

__all__ = ["facts_in"]

CONFIDENCE: dict[Speaker, float] = {"user": 0.8, "assistant": 0.9, "tool": 0.5}
"""The agent's word on an order, an amount or a promise stands over the customer's; on what the customer wants and how
to reach him only his own counts."""
ASKED = 0.6
"""Of an order that is only asked about: it supersedes nothing that was said of it."""


def facts_in(text: str, said_by: Speaker) -> list[Fact]:
    """Promises with deadlines, demands with deadlines, orders, amounts, ways to reach a customer.

    The newest of a key is in force: what was said last of an order, of a refund, of a refund that was promised.
    """
    facts = [fact for each in sentences(text) for fact in _stated(each, said_by)]
    reached = contacts_in(text) if said_by == "user" else []
    return facts + [Fact(sort, words, CONFIDENCE["user"], priority=5) for sort, words in reached]


def _stated(sentence: str, said_by: Speaker) -> Iterator[Fact]:
    orders = orders_in(sentence)
    promises = said_by == "assistant" and is_promise(sentence)
    demands = said_by == "user" and has_deadline(sentence) and is_demand(sentence)
    if not (orders or promises or demands or has_amount(sentence)):
        return
    trust, asks, topic = CONFIDENCE[said_by], is_question(sentence), topic_of(sentence)
    about = f"{topic} for {', '.join(orders)}" if orders else topic
    if promises:
        yield Fact(f"promised {about}", sentence, trust, said_by=said_by, must_keep=True, priority=6)
    if demands:
        key = f"wanted {about}" if about else "wanted"
        yield Fact(key, sentence, trust, said_by=said_by, must_keep=True, priority=7)
    if topic in ("refund", "compensation", "charge") and has_amount(sentence) and not asks:
        yield Fact(f"amount of {about}", sentence, trust, said_by=said_by, priority=5)
    for order in orders:
        yield Fact(order, sentence, ASKED if asks else trust, said_by=said_by, priority=4)
