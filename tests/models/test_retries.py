"""What is tried again and when, what is not, and what is remembered."""

from __future__ import annotations

import pickle
import threading

import pytest

from ctxkit.errors import ConfigError, ModelCallError
from ctxkit.models import models as module
from ctxkit.models.models import Models
from tests.models.conftest import Api, Clock, question, settings
from tests.servers.failing import Step, fails, resets, says, serving

PASSING = {
    "408": (fails(408), "HTTP 408 (APIStatusError)"),
    "409": (fails(409), "HTTP 409 (ConflictError)"),
    "429": (fails(429, code="rate_limit_exceeded"), "HTTP 429 (RateLimitError, rate_limit_exceeded)"),
    "500": (fails(500), "HTTP 500 (InternalServerError)"),
    "503": (fails(503), "HTTP 503 (InternalServerError)"),
    "reset": (resets(), "APIConnectionError"),
}


@pytest.mark.parametrize("name", PASSING)
async def test_what_may_pass_is_tried_again_after_growing_pauses(api: Api, clock: Clock, name: str) -> None:
    step, why = PASSING[name]
    models = clock.models()
    with serving(step, step, step, says("Yes.")) as server:
        answer = await models.ask(question(), settings(server, api, retries=3))
    assert answer.text == "Yes."
    assert clock.slept == [0.5, 1.0, 2.0]
    told = f"{why} at {server.base_url}"
    assert [call.error for call in models.calls] == [told, told, told, ""]
    assert len({str(asked.body) for asked in server.requests}) == 1


async def test_what_does_not_pass_is_an_error_in_the_end(clock: Clock) -> None:
    models, asked = clock.models(), question()
    with serving(fails(500, "xz-4471")) as server:
        with pytest.raises(ModelCallError) as caught:
            await models.ask(asked, settings(server))
        assert len(server.requests) == 3
    error = f"HTTP 500 (InternalServerError) at {server.base_url}, after 3 tries"
    assert str(caught.value) == f"model 'small' did not answer: {error}"
    assert (caught.value.transient, caught.value.request) == (True, "")
    assert "xz-4471" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "2.5"}, 2.5),
        ({"retry_after": "0"}, 0.5),
        ({"retry_after": "-3"}, 0.5),
        ({"retry_after": "soon"}, 0.5),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after_ms": "nan"}, 0.5),
    ],
    ids=str,
)
async def test_a_server_says_how_long_to_wait(clock: Clock, headers: dict[str, str], pause: float) -> None:
    with serving(fails(429, **headers), says("Yes.")) as server:
        await clock.models().ask(question(), settings(server))
    assert clock.slept == [pause]


async def test_a_date_to_wait_for_counts_from_the_server_s_own_clock(clock: Clock) -> None:
    def late(handler: object) -> None:
        handler.date_time_string = lambda timestamp=None: "Mon, 30 Nov 2026 10:00:00 GMT"  # type: ignore[attr-defined]
        fails(503, retry_after="Mon, 30 Nov 2026 10:00:09 GMT")(handler)  # type: ignore[arg-type]

    with serving(late, says("Yes.")) as server:
        await clock.models().ask(question(), settings(server))
    assert clock.slept == [9.0]


async def test_a_server_that_wants_a_long_rest_gets_it(clock: Clock) -> None:
    models = clock.models()
    with serving(fails(429, retry_after="40"), says("Yes.")) as server:
        with pytest.raises(ModelCallError, match="HTTP 429"):
            await models.ask(question(), settings(server))
        assert clock.slept == []
        clock.now += 39
        with pytest.raises(ModelCallError, match="is left alone for another 1 s: it failed once") as caught:
            await models.ask(question(), settings(server))
        assert caught.value.transient
        assert len(server.requests) == 1
        clock.now += 2
        assert (await models.ask(question(), settings(server))).text == "Yes."


LASTING = {
    "400": fails(400, code="context_length_exceeded"),
    "413": fails(413),
    "422": fails(422),
}


@pytest.mark.parametrize("name", LASTING)
async def test_a_question_that_failed_for_good_is_not_sent_again(api: Api, clock: Clock, name: str) -> None:
    models, asked = clock.models(), question()
    with serving(LASTING[name], says("Yes.")) as server:
        with pytest.raises(ModelCallError, match=f"HTTP {name}") as first:
            await models.ask(asked, settings(server, api))
        with pytest.raises(ModelCallError, match="is not asked the same again") as second:
            await models.ask(asked, settings(server, api))
        assert len(server.requests) == 1
        assert (await models.ask(question("Another?"), settings(server, api))).text == "Yes."
    assert clock.slept == []
    for caught in (first, second):
        assert (caught.value.transient, caught.value.request) == (False, asked.digest)


@pytest.mark.parametrize(
    "step",
    [fails(401), fails(403), fails(404), fails(429, code="insufficient_quota")],
    ids=["401", "403", "404", "quota"],
)
async def test_what_lies_in_the_settings_may_be_mended(clock: Clock, step: Step) -> None:
    models = clock.models()
    with serving(step, says("Yes.")) as server:
        with pytest.raises(ModelCallError) as caught:
            await models.ask(question(), settings(server))
        assert (caught.value.transient, caught.value.request) == (False, "")
        assert clock.slept == []
        assert (await models.ask(question(), settings(server))).text == "Yes."


async def test_another_model_may_be_asked_what_one_failed_on(clock: Clock) -> None:
    models = clock.models()
    with serving(fails(400), says("Yes.")) as server:
        with pytest.raises(ModelCallError):
            await models.ask(question(), settings(server))
        assert (await models.ask(question(), settings(server, window=9_000))).text == "Yes."


async def test_a_question_whose_answer_was_refused_is_not_sent_again(clock: Clock) -> None:
    models, asked = clock.models(), question()
    with serving(says("Nonsense."), says("Yes.")) as server:
        small = settings(server)
        assert (await models.ask(asked, small)).text == "Nonsense."
        models.refuse(asked, small, "its summary was refused: it is nonsense")
        with pytest.raises(ModelCallError) as caught:
            await models.ask(asked, small)
        assert len(server.requests) == 1
        told = "model 'small' is not asked the same again: its summary was refused: it is nonsense"
        assert str(caught.value) == told
        assert (caught.value.transient, caught.value.request) == (False, asked.digest)
        assert (await models.ask(question("Another?"), small)).text == "Yes."
        assert (await models.ask(asked, settings(server, window=9_000))).text == "Yes."
    assert not any(call.error for call in models.calls)


async def test_an_answer_that_a_preview_kept_is_judged_again() -> None:
    models, asked = Models(lambda question: "Nonsense."), question()
    with models.kept():
        await models.ask(asked)
    models.refuse(asked, None, "it is nonsense")
    assert (await models.ask(asked)).text == "Nonsense."
    with pytest.raises(ModelCallError, match="not asked the same again: it is nonsense"):
        await models.ask(asked)
    assert [call.reused for call in models.calls] == [False, True]


def test_threads_may_refuse_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 8)
    models, failed = Models(lambda question: "Yes."), list[BaseException]()

    def refuse(name: str) -> None:
        try:
            for at in range(400):
                models.refuse(question(f"{name} {at}"), None, "no")
        except BaseException as error:  # noqa: BLE001 - reported by the test
            failed.append(error)

    threads = [threading.Thread(target=refuse, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert models._function is not None
    assert len(models._function.failed) == 8


async def test_only_so_many_failures_are_remembered(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 2)
    models = clock.models()
    with serving(fails(400)) as server:
        for text in ("one", "two", "three", "one"):
            with pytest.raises(ModelCallError, match="HTTP 400"):
                await models.ask(question(text), settings(server))
            clock.now += 100
        with pytest.raises(ModelCallError, match="not asked the same again"):
            await models.ask(question("three"), settings(server))
    assert [asked.said for asked in server.requests] == ["one", "two", "three", "one"]


async def test_without_a_model_there_is_nobody_to_ask() -> None:
    with pytest.raises(ModelCallError, match="no model is named, and no `ask` was given"):
        await Models().ask(question())


def test_only_a_function_can_be_asked() -> None:
    with pytest.raises(ConfigError, match="ask is a function of a Question, not str"):
        Models("gpt-5")  # type: ignore[arg-type]


def test_another_process_gets_models_without_function_or_memory() -> None:
    models = Models(lambda question: "Yes.")
    models.calls.append(module.ModelCall("ask"))
    copy = pickle.loads(pickle.dumps(models))
    assert isinstance(copy, Models)
    assert copy.calls == []
