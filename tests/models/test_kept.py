"""Answers that a preview has paid for serve the compaction that follows."""

from __future__ import annotations

import asyncio

import pytest

from ctxkit import Budget, ContextManager
from ctxkit.errors import ModelCallError
from ctxkit.models.models import KEPT, Models
from ctxkit.models.question import Question
from ctxkit.triggers import ASKED
from tests.models.conftest import question


class Counting:
    """Answers with the number of the question."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, asked: Question) -> str:
        self.asked.append(asked.text)
        return f"Answer {len(self.asked)}"


async def test_an_answer_is_kept_once_for_the_same_question() -> None:
    counting = Counting()
    models = Models(counting)
    with models.kept():
        assert (await models.ask(question("Why?"))).text == "Answer 1"
        assert (await models.ask(question("Why?"))).text == "Answer 1"
    assert (await models.ask(question("How?"))).text == "Answer 2"
    assert (await models.ask(question("Why?"))).text == "Answer 1"
    assert (await models.ask(question("Why?"))).text == "Answer 3"
    assert [call.reused for call in models.drained()] == [False, True, False, True, False]
    assert counting.asked == ["Why?", "How?", "Why?"]


async def test_without_a_preview_nothing_is_kept() -> None:
    models = Models(Counting())
    assert [(await models.ask(question("Why?"))).text for _ in range(2)] == ["Answer 1", "Answer 2"]
    assert [call.reused for call in models.drained()] == [False, False]


async def test_what_failed_is_not_kept() -> None:
    def fail(asked: Question) -> str:
        raise TimeoutError

    models = Models(fail)
    with models.kept(), pytest.raises(ModelCallError):
        await models.ask(question("Why?"))
    with pytest.raises(ModelCallError):
        await models.ask(question("Why?"))
    assert len(models.drained()) == 2


async def test_a_preview_keeps_nothing_of_what_others_ask_meanwhile() -> None:
    models, others_turn, back = Models(Counting()), asyncio.Event(), asyncio.Event()

    async def preview() -> None:
        with models.kept():
            others_turn.set()
            await back.wait()

    running = asyncio.create_task(preview())
    await others_turn.wait()
    await models.ask(question("Why?"))
    back.set()
    await running
    assert (await models.ask(question("Why?"))).text == "Answer 2"


async def test_no_more_are_kept_than_a_preview_may_ask() -> None:
    models = Models(Counting())
    with models.kept():
        for at in range(KEPT + 1):
            await models.ask(question(f"Question {at}"))
    assert (await models.ask(question("Question 0"))).text == f"Answer {KEPT + 2}"
    assert (await models.ask(question("Question 1"))).text == "Answer 2"


def test_a_compaction_takes_the_summary_that_its_preview_has_paid_for() -> None:
    asked: list[Question] = []

    def scribe(each: Question) -> str:
        asked.append(each)
        return f"Facts:\n- notes number {len(asked)} on the garden"

    context = ContextManager("openai-chat", Budget(window=900), "summarize", ask=scribe)
    talk = "The garden needs water and the paint is nearly dry by now. " * 6
    context.add([{"role": ("user", "assistant")[at % 2], "content": f"{at}: {talk}"} for at in range(15)])
    preparation = context._preparation
    with preparation.models.kept():
        outcome = asyncio.run(preparation.planned(preparation.view(preparation.history.state), ASKED))
    previewed = preparation.models.drained()
    report = context.compact()
    assert len(asked) == len(previewed) == 1
    assert [call.reused for call in report.model_calls] == [True]
    assert "notes number 1 on the garden" in str(context.prepare_sync().messages)
    assert report.tokens_after == outcome.after.tokens
    assert "  asked before: ask, at no further cost" in str(report).splitlines()
