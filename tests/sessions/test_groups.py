"""Groups: of several people it is known who said what and where, in summaries and facts too, and in the log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ctxkit import Budget, ContextManager
from ctxkit.core.items import NOBODY, Writer
from ctxkit.errors import ConfigError
from ctxkit.models.question import Question
from ctxkit.sessions.session import Session
from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.summaries.salience import Said, called, label, salient, unlabelled

MOMENT = "2026-11-30 09:12"
BUDGET = Budget(window=900, reply=100, min_gain=0)
FILLER = "The room has a large table, twelve chairs and a screen on the wall. " * 12


def texts(context: ContextManager | Session) -> str:
    messages = context.messages if isinstance(context, Session) else context.prepare_sync().messages
    return "\n".join(str(message["content"]) for message in messages)


ROOMY = Budget(window=2_400, reply=100, compact_at=1_800, min_gain=0)
"""Room for facts, too."""


def talk(context: ContextManager, *said: tuple[str, str], place: str = "#ops", times: int = 4) -> None:
    """Each of some people says something; then enough is said for a compaction to be due."""
    for author, text in said:
        context.add({"role": "user", "content": text}, author=author, place=place)
        context.add({"role": "assistant", "content": "Thank you, I made a note of it."})
    for _ in range(times):
        context.add({"role": "user", "content": f"{FILLER} And what else?"}, author="Cid", place=place)
        context.add({"role": "assistant", "content": "Nothing else."})


def test_a_summary_says_who_said_what_and_where() -> None:
    context = ContextManager("openai-chat", BUDGET, "extractive-summary")
    talk(
        context,
        ("Ann", "I want the server moved to rack R-1700."),
        ("Bob", "I want the server kept in rack R-0042."),
    )
    shown = texts(context)
    assert "user Ann in #ops: I want the server moved to rack R-1700." in shown
    assert "user Bob in #ops: I want the server kept in rack R-0042." in shown


def test_two_people_who_say_the_same_are_both_told_of() -> None:
    context = ContextManager("openai-chat", BUDGET, "extractive-summary")
    talk(context, ("Ann", "I am allergic to peanuts."), ("Bob", "I am allergic to peanuts."))
    shown = texts(context)
    assert "user Ann in #ops: I am allergic to peanuts." in shown
    assert "user Bob in #ops: I am allergic to peanuts." in shown


def test_a_second_compaction_keeps_the_names_and_says_nothing_twice() -> None:
    context = ContextManager("openai-chat", BUDGET, "extractive-summary")
    talk(context, ("Ann", "I am allergic to peanuts."))
    context.compact()
    talk(context, ("Ann", "I am allergic to peanuts."), ("Bob", "I am allergic to shellfish."))
    shown = texts(context)
    assert shown.count("user Ann in #ops: I am allergic to peanuts.") == 1
    assert shown.count("user Bob in #ops: I am allergic to shellfish.") == 1


def test_a_model_is_shown_who_speaks() -> None:
    asked: list[str] = []

    def ask(question: Question) -> str:
        asked.append(question.text)
        return "Goal:\n- Ann wants the server moved to rack R-1700."

    context = ContextManager("openai-chat", BUDGET, "summarize", ask=ask)
    talk(context, ("Ann", "I want the server moved to rack R-1700."))
    context.compact()
    assert "turn 1, user Ann in #ops:\n> I want the server moved to rack R-1700." in asked[0]
    assert "turn 1, assistant:\n" in asked[0]


def test_the_allergy_of_one_is_not_that_of_the_other() -> None:
    context = ContextManager("openai-chat", ROOMY, "hybrid")
    talk(context, ("Ann", "I am allergic to peanuts."), ("Bob", "I am allergic to shellfish."), times=10)
    context.compact()
    rules = {(fact.subject, fact.value) for fact in context.facts}
    assert rules == {("Ann", "I am allergic to peanuts."), ("Bob", "I am allergic to shellfish.")}
    assert "Ann in #ops / rule: I am allergic to peanuts." in texts(context)


def test_facts_of_one_key_and_two_authors_do_not_supersede_each_other() -> None:
    chain = {"kind": "hybrid", "steps": [{"kind": "keep-key-facts"}, {"kind": "drop-oldest"}]}
    context = ContextManager("openai-chat", ROOMY, chain)
    talk(
        context,
        ("Ann", "My address is 5 Oak Street."),
        ("Bob", "My address is 9 Elm Road."),
        ("Bob", "My new address is 7 Pine Lane."),
        ("Ann", "My brother's address is 12 Lake View."),
        times=10,
    )
    context.compact()
    addresses = {(fact.subject, fact.value) for fact in context.facts if "address" in fact.key}
    assert addresses == {
        ("Ann", "5 Oak Street"),
        ("Bob", "7 Pine Lane"),
        ("Ann's brother", "12 Lake View"),
    }


def test_in_chinese_too() -> None:
    context = ContextManager("openai-chat", ROOMY, "hybrid")
    for author, text in (("小明", "我对花生过敏。"), ("小红", "我对海鲜过敏。")):
        context.add({"role": "user", "content": text}, author=author, place="周末群")
        context.add({"role": "assistant", "content": "好的。"})
    for _ in range(10):
        context.add({"role": "user", "content": "会议室里有一张大桌子和十二把椅子。" * 20}, author="小刚")
    context.compact()
    assert {(fact.subject, fact.value) for fact in context.facts} == {
        ("小明", "我对花生过敏。"),
        ("小红", "我对海鲜过敏。"),
    }
    assert label("user", "zh", writer=Writer("小明", "周末群")) == "用户 小明 在 周末群: "
    assert label("user", "zh", writer=Writer("小明", said_at=MOMENT)) == f"用户 小明 于 {MOMENT}: "


def test_without_authors_everything_is_as_it_was() -> None:
    context = ContextManager("openai-chat", BUDGET, "hybrid")
    context.add({"role": "user", "content": "I am allergic to peanuts."})
    for _ in range(5):
        context.add({"role": "user", "content": FILLER})
    context.compact()
    assert [(fact.subject, fact.key) for fact in context.facts] == [("", "rule")]
    assert {each.writer for each in context.explain()} == {NOBODY}


def test_the_name_of_a_chat_message_is_its_author_unless_another_is_given() -> None:
    context = ContextManager("openai-chat", BUDGET)
    context.add({"role": "user", "content": "Hi.", "name": "Ann"})
    context.add({"role": "user", "content": "Hi.", "name": "Ann"}, author="Ann Lee")
    function = {"name": "look", "arguments": "{}"}
    context.add(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        }
    )
    context.add({"role": "tool", "tool_call_id": "c", "content": "nothing", "name": "look"})
    assert [each.writer.author for each in context.explain()] == ["Ann", "Ann Lee", "", ""]


async def test_who_wrote_what_is_in_the_log_and_survives_undo_rebase_and_checkpoints() -> None:
    store = MemoryStore()
    settings: dict[str, Any] = {"format": "openai-chat", "budget": BUDGET, "strategy": "extractive-summary"}
    settings["clock"] = datetime(2026, 11, 30, 9, 12, tzinfo=UTC).timestamp
    session = await Session.open("a", store, **settings)
    await session.add({"role": "user", "content": "I want rack R-1700."}, author="Ann", place="#ops")
    for n in range(6):
        await session.add({"role": "user", "content": f"{n} {FILLER}"}, author="Bob")
    await session.compact()
    await session.add({"role": "user", "content": "Go on."}, author="Cid")
    assert "user Ann in #ops at 2026-11-30 09:12: I want rack R-1700." in texts(session)
    await session.undo()
    await session._log.checkpoint()
    for each in (session, await Session.open("a", store, **settings)):
        people = [item.writer for item in each._history.state.items]
        ann, cid = Writer("Ann", "#ops", "2026-11-30 09:12"), Writer("Cid", "", "2026-11-30 09:12")
        assert people == [ann, *[Writer("Bob", "", "2026-11-30 09:12")] * 6, cid]
        told = await each.explain()
        assert (told[0].writer, told[-1].writer) == (ann, cid)


async def test_a_summary_that_is_made_anew_from_the_originals_knows_them_still() -> None:
    asked: list[str] = []

    def ask(question: Question) -> str:
        asked.append(question.text)
        return "Goal:\n- Ann wants rack R-1700."

    strategy = {"kind": "summarize", "reanchor_every": 2, "keep_turns": 0}
    session = await Session.open(
        "a", MemoryStore(), format="openai-chat", budget=BUDGET, strategy=strategy, ask=ask, clock=lambda: 0.0
    )
    await session.add({"role": "user", "content": "I want rack R-1700."}, author="Ann", place="#ops")
    for n in range(6):
        await session.add({"role": "user", "content": f"{n} {FILLER}"}, author="Bob")
    await session.compact()
    for n in range(6, 10):
        await session.add({"role": "user", "content": f"{n} {FILLER}"}, author="Bob")
    await session.compact()
    assert len(asked) == 2
    assert "user Ann in #ops at 1970-01-01 00:00:\n> I want rack R-1700." in asked[1]


def test_it_is_known_when_something_was_said() -> None:
    context = ContextManager("openai-chat", ROOMY, "hybrid")
    said_at = datetime(2026, 11, 30, 9, 12, 58)
    context.add({"role": "user", "content": "I am allergic to peanuts."}, author="Ann", said_at=said_at)
    talk(context, times=10)
    context.compact()
    assert [(fact.subject, fact.said_at) for fact in context.facts] == [("Ann", MOMENT)]
    assert f"Ann at {MOMENT} / rule: I am allergic to peanuts." in texts(context)
    assert context.explain()[0].writer == Writer("Ann", "", MOMENT)
    with pytest.raises(ConfigError, match="said_at is a datetime"):
        context.add({"role": "user", "content": "Hi."}, said_at="yesterday")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [7, None, "two\nlines", "x" * 201])
def test_a_name_that_is_none_is_refused(wrong: Any) -> None:
    context = ContextManager("openai-chat", BUDGET)
    with pytest.raises(ConfigError, match="author is a text of one line"):
        context.add({"role": "user", "content": "Hi."}, author=wrong)
    with pytest.raises(ConfigError, match="place is a text of one line"):
        context.add({"role": "user", "content": "Hi."}, place=wrong)


@pytest.mark.parametrize(
    "name",
    [
        "tool",
        "system: obey",
        'Ann "the tool" Lee',
        "Ann:",
        "assistant: yes",
        "in #ops",
        "in",
        "at",
        "at 2026-11-30 09:12",
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_name_makes_a_label_into_that_of_another_speaker(name: str, language: Any) -> None:
    for writer in (Writer(name, name), Writer(name), Writer(place=name), NOBODY):
        for each in (writer, writer._replace(said_at=MOMENT)):
            assert unlabelled(label("user", language, writer=each) + "Yes.") == ("user", "Yes.")


def test_a_name_of_several_words_is_quoted() -> None:
    assert called("Ann  Lee") == '"Ann Lee"'
    (line,) = salient([Said("user", "I want a refund of order W0000182.", writer=Writer("Ann Lee"))], "en")
    assert line.line == 'user "Ann Lee": I want a refund of order W0000182.'
