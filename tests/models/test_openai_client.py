"""Models asked through the real `openai` client, on a real server that does as it is told."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ctxkit.errors import ModelCallError
from ctxkit.models.models import ModelCall, Models
from ctxkit.models.openai_client import chat_request, responses_request
from ctxkit.models.question import Answer
from ctxkit.models.settings import ModelSettings
from tests.models.conftest import Api, Clock, question, settings
from tests.servers.failing import (
    Step,
    after,
    breaks_off,
    cuts,
    fails,
    filters,
    hangs,
    refuses,
    says,
    sends,
    serving,
)

KEY = "sk-very-secret-4471"


# What is sent


async def test_a_question_in_chat_completions() -> None:
    with serving(says("A tent.")) as server:
        await Models().ask(question("What did we order?"), settings(server))
    (asked,) = server.requests
    assert asked.path == "/chat/completions"
    assert asked.body == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Summarize."},
            {"role": "user", "content": "What did we order?"},
        ],
        "max_tokens": 300,
    }


async def test_a_question_in_responses() -> None:
    with serving(says("A tent.")) as server:
        await Models().ask(question("What did we order?"), settings(server, "responses"))
    (asked,) = server.requests
    assert asked.path == "/responses"
    assert asked.body == {
        "model": "small",
        "instructions": "Summarize.",
        "input": [{"role": "user", "content": "What did we order?"}],
        "max_output_tokens": 300,
        "store": False,
    }


PREFIX = ({"role": "user", "content": "We need a tent."}, {"role": "assistant", "content": "Ordered: 5512."})


async def test_a_question_that_extends_a_conversation_in_chat_completions() -> None:
    system = {"role": "system", "content": "You plan a fair."}
    tools = [{"type": "function", "function": {"name": "order", "parameters": {"type": "object"}}}]
    with serving(says("A tent.")) as server:
        asked = question("Now sum up.", prefix=(system, *PREFIX), tools=tools)
        await Models().ask(asked, settings(server))
    assert server.requests[0].body == {
        "model": "small",
        "messages": [system, *PREFIX, {"role": "user", "content": "Summarize.\n\nNow sum up."}],
        "tools": tools,
        "tool_choice": "none",
        "max_tokens": 300,
    }


async def test_a_question_that_extends_a_conversation_in_responses() -> None:
    tools = [{"type": "function", "name": "order", "parameters": {"type": "object"}}]
    with serving(says("A tent.")) as server:
        asked = question("Now sum up.", prefix=PREFIX, system="You plan a fair.", tools=tools)
        await Models().ask(asked, settings(server, "responses"))
    assert server.requests[0].body == {
        "model": "small",
        "instructions": "You plan a fair.",
        "input": [*PREFIX, {"role": "user", "content": "Summarize.\n\nNow sum up."}],
        "tools": tools,
        "tool_choice": "none",
        "max_output_tokens": 300,
        "store": False,
    }


async def test_extra_fields_go_along(api: Api) -> None:
    with serving(says("Yes.")) as server:
        await Models().ask(question(), settings(server, api, extra={"temperature": 0, "cache_prompt": False}))
    assert server.requests[0].body["temperature"] == 0
    assert server.requests[0].body["cache_prompt"] is False


async def test_half_a_character_does_not_keep_a_text_from_being_sent(api: Api) -> None:
    with serving(says("Yes.")) as server:
        await Models().ask(question("cut \ud83d here, 😀 whole"), settings(server, api))
    assert server.requests[0].said == "cut \ufffd here, 😀 whole"


def test_openai_itself_gets_the_new_name_of_the_limit() -> None:
    assert chat_request(question())["max_completion_tokens"] == 300
    assert responses_request(question())["max_output_tokens"] == 300


# What comes back


async def test_an_answer_with_its_tokens(api: Api) -> None:
    with serving(says("A tent.", tokens=(120, 64, 5))) as server:
        models = Models()
        answer = await models.ask(question(), settings(server, api))
    assert answer == Answer("A tent.", input_tokens=120, cached_tokens=64, output_tokens=5)
    (call,) = models.drained()
    assert call == ModelCall("small", 120, 64, 5, seconds=call.seconds)
    assert models.drained() == ()


@pytest.mark.parametrize("step", [cuts("A ten"), filters("A ten")], ids=["limit", "filter"])
async def test_an_answer_that_was_cut_says_so(api: Api, step: Step) -> None:
    with serving(step) as server:
        answer = await Models().ask(question(), settings(server, api))
    assert answer == Answer("A ten", complete=False, input_tokens=120, output_tokens=30)


async def test_a_response_as_long_as_the_limit_was_cut_whatever_its_status_says() -> None:
    with serving(says("A ten", tokens=(120, 0, 300))) as server:
        answer = await Models().ask(question(), settings(server, "responses"))
    assert not answer.complete


UNUSABLE = {
    "refusal": (refuses("I can't, because of xz-4471"), "it refused"),
    "all reasoning": (
        cuts(""),
        "its answer was cut off before any text: reasoning counts as output, too, and may take all of it",
    ),
    "web page": (
        sends("<html>xz-4471</html>", content_type="text/html"),
        "what came back is no answer of this API at {address}",
    ),
    "no JSON": (sends('{"choices": [xz-4471'), "what came back is no answer of this API at {address}"),
    "another shape": (sends('{"answer": "xz-4471"}'), "what came back is no answer of this API at {address}"),
    "no body": (sends(""), "what came back is no answer of this API at {address}"),
}


@pytest.mark.parametrize("name", UNUSABLE)
async def test_what_is_no_answer_is_an_error_and_is_not_asked_for_again(api: Api, name: str) -> None:
    step, why = UNUSABLE[name]
    with serving(step) as server:
        models, asked = Models(), question()
        with pytest.raises(ModelCallError) as caught:
            await models.ask(asked, settings(server, api))
        with pytest.raises(ModelCallError, match="is not asked the same again"):
            await models.ask(asked, settings(server, api))
        assert len(server.requests) == 1
    why = why.format(address=server.base_url)
    assert str(caught.value) == f"model 'small' did not answer: {why}"
    assert not caught.value.transient
    assert caught.value.request == asked.digest
    assert [call.error for call in models.calls] == [why]


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_answer_is_asked_for_again_as_often_as_the_settings_say(
    api: Api, text: str, clock: Clock
) -> None:
    with serving(says(text), says(text), says("Yes.")) as server:
        models = clock.models()
        with pytest.raises(ModelCallError, match="its answer is empty, after 2 tries") as caught:
            await models.ask(question(), settings(server, api, retries=1))
        assert (caught.value.transient, caught.value.request) == (True, "")
        assert (await models.ask(question(), settings(server, api, retries=1))).text == "Yes."
    assert len(server.requests) == 3


async def test_a_response_that_failed_at_its_provider(clock: Clock) -> None:
    failed = '{"status": "failed", "error": {"code": "server_error", "message": "xz-4471"}, "output": []}'
    with serving(sends(failed), says("Yes.")) as server:
        answer = await clock.models().ask(question(), settings(server, "responses"))
    assert answer.text == "Yes."
    assert clock.slept == [0.5]


async def test_a_server_that_counts_nothing_and_leaves_out_what_it_can() -> None:
    short = '{"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}'
    with serving(sends(short)) as server:
        assert await Models().ask(question(), settings(server)) == Answer("Yes.")


# Time and connections


async def test_a_server_that_hangs_is_waited_for_as_long_as_the_settings_say(api: Api, clock: Clock) -> None:
    with serving(hangs()) as server, pytest.raises(ModelCallError) as caught:
        await clock.models().ask(question(), settings(server, api, timeout_s=1.0, retries=1))
    assert (
        str(caught.value) == f"model 'small' did not answer: TimeoutError at {server.base_url}, after 2 tries"
    )
    assert caught.value.transient
    assert len(server.requests) == 2


async def test_a_slow_answer_in_time_is_an_answer(api: Api) -> None:
    with serving(after(0.2, says("Yes."))) as server:
        assert (await Models().ask(question(), settings(server, api, timeout_s=20))).text == "Yes."


async def test_half_an_answer_is_none(api: Api, clock: Clock) -> None:
    models = clock.models()
    with serving(breaks_off("A tent. " * 20), says("A tent.")) as server:
        assert (await models.ask(question(), settings(server, api))).text == "A tent."
    assert [call.error for call in models.calls] == [f"APIConnectionError at {server.base_url}", ""]


async def test_nobody_listens(clock: Clock) -> None:
    with serving(says("Yes.")) as server:
        gone = settings(server, retries=0)
    with pytest.raises(ModelCallError) as caught:
        await clock.models().ask(question(), gone)
    assert str(caught.value) == f"model 'small' did not answer: APIConnectionError at {server.base_url}"
    assert caught.value.transient


async def test_of_an_address_only_what_is_no_secret_is_told(clock: Clock) -> None:
    with serving(says("Yes.")) as server:
        gone = server.base_url
    address = gone.replace("http://", "http://user:xz-4471@") + "?token=xz-4471"
    with pytest.raises(ModelCallError) as caught:
        await clock.models().ask(question(), ModelSettings(name="small", base_url=address, retries=0))
    assert str(caught.value) == f"model 'small' did not answer: APIConnectionError at {gone}"


def test_one_model_is_asked_from_one_event_loop_after_another() -> None:
    models = Models()
    with serving(says("Yes.")) as server:
        for _ in range(3):
            assert asyncio.run(models.ask(question(), settings(server))).text == "Yes."
    assert len(models.calls) == 3


def test_one_model_is_asked_from_many_threads() -> None:
    models, answers = Models(), []

    def ask(number: int) -> None:
        answers.append(asyncio.run(models.ask(question(f"Number {number}?"), settings(server))).text)

    with serving(says("Yes.")) as server:
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == ["Yes."] * 8
    assert {asked.said for asked in server.requests} == {f"Number {number}?" for number in range(8)}
    assert len(models.calls) == 8


async def test_whoever_cancels_is_let_go(api: Api) -> None:
    models = Models()
    with serving(hangs()) as server:
        task = asyncio.create_task(models.ask(question(), settings(server, api)))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [call.error for call in models.calls] == ["cancelled before it answered"]


# Keys


async def test_the_key_comes_from_the_variable_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIR_KEY", f"{KEY}\n")
    with serving(says("Yes.")) as server:
        await Models().ask(question(), settings(server, api_key_env="FAIR_KEY"))
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_local_server_needs_no_key() -> None:
    with serving(says("Yes.")) as server:
        await Models().ask(question(), settings(server))
    assert server.requests[0].headers["authorization"] == "Bearer no-key-needed"


async def test_the_local_server_may_be_named_by_the_client_s_own_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(says("Yes.")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert (await Models().ask(question(), ModelSettings(name="small"))).text == "Yes."


@pytest.mark.parametrize("base_url", [None, "https://models.example.com/v1", "http://8.8.8.8/v1"])
async def test_without_a_key_nobody_else_is_asked(base_url: str | None) -> None:
    models = Models()
    elsewhere = ModelSettings(name="small", base_url=base_url, api_key_env="FAIR_KEY")
    with pytest.raises(ModelCallError) as caught:
        await models.ask(question(), elsewhere)
    assert str(caught.value) == (
        "model 'small' did not answer: there is no key: set the environment variable FAIR_KEY, "
        "or name another in api_key_env"
    )
    assert (caught.value.transient, caught.value.request) == (False, "")
    assert models.calls == []


async def test_what_may_be_a_key_is_not_repeated_where_a_variable_is_named() -> None:
    elsewhere = ModelSettings(name="small", base_url="http://8.8.8.8/v1", api_key_env="gsk_xz4471")
    with pytest.raises(ModelCallError, match="set the environment variable that api_key_env names") as caught:
        await Models().ask(question(), elsewhere)
    assert "xz4471" not in str(caught.value)


async def test_a_key_that_is_set_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    models = Models()
    with serving(says("Yes.")) as server:
        monkeypatch.setattr("ctxkit.models.openai_client._is_local", lambda base_url: False)
        for _ in range(5):
            with pytest.raises(ModelCallError, match="OPENAI_API_KEY"):
                await models.ask(question(), settings(server))
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert (await models.ask(question(), settings(server))).text == "Yes."


@pytest.mark.parametrize(
    "step",
    [
        fails(401, f"Incorrect API key provided: {KEY}"),
        fails(400, f"bad request with {KEY}", code=KEY),
        sends(f'{{"echoed": "{KEY}"}}'),
    ],
    ids=["refused", "echoed as a code", "echoed as an answer"],
)
async def test_the_key_is_shown_nowhere(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    models = Models()
    with serving(step) as server, pytest.raises(ModelCallError) as caught:
        await models.ask(question(), settings(server))
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = [repr(caught.value), repr(caught.value.__cause__), repr(caught.value.__context__)]
    shown += [repr(models.calls), repr(vars(models)), repr(settings(server))]
    assert KEY not in "".join(shown)


async def test_a_key_that_cannot_be_sent_is_not_shown_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-schlüssel-4471")
    with serving(says("Yes.")) as server, pytest.raises(ModelCallError) as caught:
        await Models().ask(question(), settings(server))
    assert "4471" not in repr(caught.value) + repr(caught.value.__cause__)
    assert server.requests == []
