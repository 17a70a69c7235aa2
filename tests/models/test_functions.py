"""A user's own function as the model: plain or async, and whatever it raises."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from typing import Any, Literal

import pytest

from ctxkit import Budget, CompressionStrategy, ContextManager, Plan, Services, View
from ctxkit.core.edits import Replace
from ctxkit.errors import ModelCallError
from ctxkit.models.models import ModelCall, Models
from ctxkit.models.question import Answer, Question
from ctxkit.report import ModelCallReport
from tests.models.conftest import Clock, question


def plain(asked: Question) -> str:
    return f"Heard: {asked.text}"


async def later(asked: Question) -> Answer:
    return Answer(f"Heard: {asked.text}", complete=False, input_tokens=9, output_tokens=4)


class Asker:
    """An object that is called."""

    def __call__(self, asked: Question) -> str:
        return plain(asked)


class LateAsker:
    """An object that is called and awaited."""

    async def __call__(self, asked: Question) -> Answer:
        return await later(asked)


@pytest.mark.parametrize("ask", [plain, Asker(), functools.partial(plain), Asker().__call__])
async def test_a_plain_function_answers(ask: Any, clock: Clock) -> None:
    models = clock.models(ask)
    assert await models.ask(question("Why?")) == Answer("Heard: Why?")
    assert models.drained() == (ModelCall("ask"),)
    assert models.drained() == ()


@pytest.mark.parametrize("ask", [later, LateAsker(), functools.partial(later), lambda asked: later(asked)])
async def test_an_async_function_answers(ask: Any) -> None:
    expected = Answer("Heard: Why?", complete=False, input_tokens=9, output_tokens=4)
    assert await Models(ask).ask(question("Why?")) == expected


async def test_a_plain_function_blocks_nobody() -> None:
    freed = threading.Event()

    def waits(asked: Question) -> str:
        freed.wait()
        return "At last."

    asking = asyncio.create_task(Models(waits).ask(question()))
    await asyncio.sleep(0)
    freed.set()
    assert (await asking).text == "At last."


async def test_a_plain_function_sees_the_context_of_its_caller() -> None:
    user = contextvars.ContextVar[str]("user")
    user.set("Ada")
    assert (await Models(lambda asked: user.get()).ask(question())).text == "Ada"


PASSING = [TimeoutError, ConnectionResetError, ConnectionError, OSError, BlockingIOError]
LASTING = [ValueError, KeyError, RuntimeError, AssertionError, ModelCallError, ZeroDivisionError]


@pytest.mark.parametrize("kind", PASSING + LASTING)
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
async def test_what_it_raises_is_named_and_not_quoted(kind: type[Exception], is_async: bool) -> None:
    def fail(asked: Question) -> str:
        raise kind("upstream timed out xz-4471")

    async def fail_later(asked: Question) -> str:
        return fail(asked)

    models, asked = Models(fail_later if is_async else fail), question()
    with pytest.raises(ModelCallError) as caught:
        await models.ask(asked)
    assert str(caught.value) == f"the `ask` function did not answer: {kind.__name__}"
    assert caught.value.transient is (kind in PASSING)
    assert caught.value.request == ("" if kind in PASSING else asked.digest)
    assert isinstance(caught.value.__cause__, kind)
    assert [(call.model, call.error) for call in models.calls] == [("ask", kind.__name__)]


class Stopped(BaseException):
    """No Exception: what a framework raises to get past every handler."""


@pytest.mark.parametrize("raised", [SystemExit(3), GeneratorExit(), Stopped(), asyncio.CancelledError()])
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
async def test_what_would_end_the_program_ends_the_question_alone(
    raised: BaseException, is_async: bool
) -> None:
    def fail(asked: Question) -> str:
        raise raised

    async def fail_later(asked: Question) -> str:
        return fail(asked)

    with pytest.raises(ModelCallError, match=rf"did not answer: {type(raised).__name__}$") as caught:
        await Models(fail_later if is_async else fail).ask(question())
    assert caught.value.transient is isinstance(raised, asyncio.CancelledError)
    assert caught.value.__cause__ is raised


async def test_nobody_pressed_ctrl_c_in_a_functions_own_thread() -> None:
    def fail(asked: Question) -> str:
        raise KeyboardInterrupt

    with pytest.raises(ModelCallError, match=r"did not answer: RuntimeError$"):
        await Models(fail).ask(question())


async def test_an_asker_that_is_cancelled_stays_cancelled() -> None:
    async def wait(asked: Question) -> str:
        await asyncio.Event().wait()
        return "Never."

    asking = asyncio.create_task(Models(wait).ask(question()))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_answers_that_have_run_out() -> None:
    with pytest.raises(ModelCallError, match="RuntimeError"):
        await Models(lambda asked: next(iter(()))).ask(question())


async def test_it_is_asked_once_a_question_since_its_client_has_retries_of_its_own(clock: Clock) -> None:
    def fail(asked: Question) -> str:
        raise TimeoutError

    models = clock.models(fail)
    with pytest.raises(ModelCallError):
        await models.ask(question())
    assert len(models.calls) == 1
    assert clock.slept == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "it returned NoneType, not a text or an Answer"),
        (7, "it returned int, not a text or an Answer"),
        ({"text": "Yes."}, "it returned dict, not a text or an Answer"),
        (Answer(None), "it returned an Answer with NoneType, not a text"),  # type: ignore[arg-type]
    ],
)
async def test_what_is_no_answer(answer: Any, why: str) -> None:
    asked = question()
    with pytest.raises(ModelCallError) as caught:
        await Models(lambda _: answer).ask(asked)
    assert str(caught.value) == f"the `ask` function did not answer: {why}"
    assert (caught.value.transient, caught.value.request) == (False, asked.digest)


@pytest.mark.parametrize("answer", ["", " \n\t"])
async def test_an_empty_answer_may_be_a_better_one_the_next_time(answer: str) -> None:
    answers = iter([answer, "Yes."])
    models = Models(lambda _: next(answers))
    with pytest.raises(ModelCallError, match="its answer is empty") as caught:
        await models.ask(question())
    assert (caught.value.transient, caught.value.request) == (True, "")
    assert (await models.ask(question())).text == "Yes."


# In a compaction


class Sum(CompressionStrategy):
    """Puts what a model says in the place of the first two turns."""

    kind: Literal["sum"] = "sum"

    async def plan(self, view: View, services: Services) -> Plan:
        units = view.units[:4]
        answer = await services.models.ask(Question("Sum up.", units[0].text, 100))
        return Plan.of(Replace(tuple(unit.id for unit in units), answer.text, "summed up"))


def context(ask: Any, **fields: Any) -> ContextManager:
    made = ContextManager(
        "openai-chat", Budget(window=300, compact_at=120, aim_for=110), Sum(**fields), ask=ask
    )
    for number in range(3):
        made.add({"role": "user", "content": f"Point {number}. " + "We need benches and lamps. " * 8})
        made.add({"role": "assistant", "content": f"Noted {number}."})
    made.add({"role": "user", "content": "What did I say?"})
    return made


def test_a_compaction_reports_the_calls_that_it_made() -> None:
    made = context(lambda asked: Answer("Benches.", input_tokens=90, cached_tokens=40, output_tokens=2))
    (call,) = made.compact().model_calls
    expected = ModelCallReport(model="ask", input_tokens=90, cached_tokens=40, output_tokens=2)
    assert call == expected.model_copy(update={"seconds": call.seconds})


@pytest.mark.parametrize("kind", [TimeoutError, ValueError])
def test_a_function_that_raises_costs_nothing_and_its_words_go_nowhere(kind: type[Exception]) -> None:
    def fail(asked: Question) -> str:
        raise kind("upstream timed out xz-4471")

    made = context(fail)
    before = made.preview().model_dump_json()
    report = made.compact()
    assert not report.compacted
    assert [failure.why for failure in report.failures] == [
        f"the `ask` function did not answer: {kind.__name__}"
        if kind is TimeoutError
        else f"the `ask` function is not asked the same again: it did not answer before: {kind.__name__}"
    ]
    assert "xz-4471" not in report.model_dump_json() + before + str(made.explain())


async def test_prepare_sync_asks_an_async_function_inside_a_running_loop() -> None:
    async def benches(asked: Question) -> str:
        await asyncio.sleep(0)
        return "Benches."

    made = context(benches)
    request = made.prepare_sync()
    assert "Benches." in str(request.messages[0]["content"])
    assert [call.model for call in request.report.model_calls] == ["ask"]


def test_a_function_that_hangs_holds_nobody_up_for_longer_than_the_strategy_s_time() -> None:
    freed = threading.Event()

    def hangs(asked: Question) -> str:
        freed.wait()
        return "Too late."

    report = context(hangs, timeout_s=0.2).compact()
    assert [failure.why for failure in report.failures] == ["it took longer than 0.2 s"]
    assert [call.error for call in report.model_calls] == ["cancelled before it answered"]
    freed.set()
