"""What drop-oldest drops, by the public API."""

from __future__ import annotations

from typing import Any

from ctxkit import Budget, ContextManager, PartKind

CHAT = "We spoke of this and that and came to no end. " * 6


def turns(talk: Any, number: int, size: str = CHAT) -> Any:
    for n in range(number):
        talk.user(f"Question {n}: {size}").assistant(f"Answer {n}: {size}")
    return talk


def test_oldest_turns_go_whole_until_the_target_is_met(talk: Any) -> None:
    turns(talk, 20).user("Go on.")
    request = talk.manager(Budget(window=2_000), "drop-oldest").prepare_sync()
    kept = len(request.messages)
    assert kept % 2 == 1
    assert request.messages == talk.entries[-kept:]
    assert 2_000 * 0.4 < request.report.tokens_after <= request.report.target
    assert talk.refused(request.messages) == []


def test_steps_of_the_current_turn_go_one_by_one(talk: Any) -> None:
    talk.user("Do it all.")
    for n in range(30):
        talk.step(f"Result {n}: {CHAT}")
    request = talk.manager(Budget(window=1_500), "drop-oldest").prepare_sync()
    texts = talk.texts(request.messages, PartKind.TEXT)
    results = talk.results(request.messages)
    assert texts[0] == "Do it all."
    assert "earlier entries left out here: ctx:" in texts[1]
    assert results == talk.results(talk.entries)[-len(results) :]
    assert request.report.tokens_after <= request.report.target
    assert talk.refused(request.messages) == []


def test_dropping_again_changes_nothing(talk: Any) -> None:
    talk.user("Do it all.")
    for n in range(30):
        talk.step(f"Result {n}: {CHAT}")
    context = talk.manager(Budget(window=1_500), "drop-oldest")
    context.prepare_sync()
    assert context.compact().edits == ()


def test_pinned_messages_are_stepped_over(talk: Any) -> None:
    turns(talk, 20).user("Go on.")
    context = talk.manager(Budget(window=2_000), "drop-oldest")
    context.pin(0, 5)
    request = context.prepare_sync()
    texts = talk.texts(request.messages, PartKind.TEXT)
    assert texts[0].startswith("Question 0:")
    assert any(text.startswith("Answer 2:") for text in texts)
    assert sum("left out here" in text for text in texts) == 2
    assert talk.refused(request.messages) == []


def test_what_is_smaller_than_its_stand_in_stays(talk: Any) -> None:
    """Forty pinned messages with tiny answers: putting a stand-in for each answer would grow the request."""
    for n in range(40):
        talk.user(f"Question {n}: {CHAT}").assistant("Yes.")
    turns(talk, 10).user("Go on.")
    context = talk.manager(Budget(window=4_000), "drop-oldest")
    context.pin(*range(0, 80, 2))
    request = context.prepare_sync()
    assert talk.texts(request.messages, PartKind.TEXT)[:80] == talk.texts(talk.entries, PartKind.TEXT)[:80]
    assert request.report.tokens_after <= 4_000
    assert request.report.failures == ()


def test_nothing_goes_when_nothing_may(chat: Any) -> None:
    chat.user("Go on.")
    report = chat.manager(Budget(window=10_000, aim_for=1), "drop-oldest").compact()
    assert report.edits == ()
    assert report.failures == ()


def test_a_greeting_before_the_first_user_message_goes_without_a_mark() -> None:
    context = ContextManager("openai-chat", Budget(window=300, min_gain=0), "drop-oldest")
    system = {"role": "system", "content": "Be brief."}
    last = {"role": "user", "content": "And now? " + "word " * 60}
    context.add([system, {"role": "assistant", "content": "Hello! " * 300}, last])
    assert context.prepare_sync().messages == [system, last]


def test_turns_above_the_limit_go_and_summaries_last(talk: Any) -> None:
    turns(talk, 7)
    context = talk.manager(Budget(window=50_000, context_limit=4), "extractive-summary")
    context.prepare_sync()
    context.use("drop-oldest")
    context.add(turns(type(talk)(talk.format), 1).entries)
    texts = talk.texts(context.prepare_sync().messages, PartKind.TEXT)
    assert "Summary, not an instruction" in texts[0]
    assert [text[:10] for text in texts[1::2]] == ["Question 5", "Question 6", "Question 0"]


def test_turns_that_cannot_go_cost_the_others_nothing(talk: Any) -> None:
    turns(talk, 6).user("Go on.")
    context = talk.manager(Budget(window=50_000, context_limit=2), "drop-oldest")
    context.pin(*range(0, 12, 2))
    assert context.prepare_sync().messages == talk.entries
    context.unpin(0)
    assert context.prepare_sync().messages == talk.entries[2:]


def test_for_a_region_only_turns_with_anything_in_it_go(talk: Any) -> None:
    turns(talk, 3).user("Look it up.").step(CHAT).assistant("Done.")
    turns(talk, 2).user("And that.").step(CHAT).assistant("Done.").user("Go on.")
    before = talk.entries
    budget = Budget(window=50_000, regions={"tool_results": 100}, min_gain=0)
    context = talk.manager(budget, "drop-oldest")
    assert context.compact().regions["tool_results"].after <= 100
    assert context.prepare_sync().messages == [*before[:6], *before[10:]]
