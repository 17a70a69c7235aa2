"""A model that fails again and again is left alone for a while, then asked once."""

from __future__ import annotations

import asyncio

import pytest

from ctxkit.errors import ModelCallError
from ctxkit.models.breaker import FAILURES, PAUSE_S, Admission, Breaker
from ctxkit.models.models import Models
from ctxkit.models.settings import ModelSettings
from tests.models.conftest import Clock, question, settings
from tests.servers.failing import fails, hangs, says, serving


def broken(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES):
        breaker.settle(failed=True, now=now)
    return breaker


def test_it_is_shut_after_the_last_of_some_failures_in_a_row() -> None:
    breaker = Breaker()
    for _ in range(FAILURES - 1):
        breaker.settle(failed=True, now=0.0)
        assert breaker.admit(0.0) is Admission.FREE
    breaker.settle(failed=True, now=5.0)
    assert breaker.admit(5.0) is Admission.SHUT
    assert breaker.admit(4.9 + PAUSE_S) is Admission.SHUT
    assert breaker.left_s(5.0) == PAUSE_S
    assert breaker.admit(5.0 + PAUSE_S) is Admission.ONCE


def test_an_answer_in_between_starts_the_count_anew() -> None:
    breaker = Breaker()
    for failed in (True, True, False, True, True):
        breaker.settle(failed=failed, now=0.0)
    assert breaker.admit(0.0) is Admission.FREE


def test_one_is_let_through_after_the_pause_and_nobody_else_meanwhile() -> None:
    breaker = broken()
    assert [breaker.admit(PAUSE_S) for _ in range(3)] == [Admission.ONCE, Admission.SHUT, Admission.SHUT]
    breaker.settle(failed=False, now=PAUSE_S)
    assert breaker.admit(PAUSE_S) is Admission.FREE
    assert breaker.failures == 0


def test_a_trial_that_fails_shuts_it_again() -> None:
    breaker = broken()
    breaker.admit(PAUSE_S)
    breaker.settle(failed=True, now=PAUSE_S + 1)
    assert breaker.admit(2 * PAUSE_S) is Admission.SHUT
    assert breaker.admit(2 * PAUSE_S + 1) is Admission.ONCE


def test_a_trial_of_which_nothing_came_leaves_room_for_the_next() -> None:
    """A question that was cancelled must not shut a model for good."""
    breaker = broken()
    assert breaker.admit(PAUSE_S) is Admission.ONCE
    breaker.release()
    assert breaker.admit(PAUSE_S) is Admission.ONCE
    assert breaker.failures == FAILURES


def test_a_wait_that_was_asked_for_shuts_it_for_as_long() -> None:
    breaker = Breaker()
    breaker.settle(failed=True, now=0.0, wait_s=7.0)
    assert breaker.admit(6.9) is Admission.SHUT
    assert breaker.admit(7.0) is Admission.ONCE
    breaker.settle(failed=True, now=8.0)
    assert breaker.admit(8.0) is Admission.FREE


async def ask(models: Models, model: ModelSettings, number: int) -> str:
    return (await models.ask(question(f"Question {number}?"), model)).text


async def test_a_broken_model_is_not_asked_every_turn(clock: Clock) -> None:
    models = clock.models()
    with serving(*[fails(500)] * 10, says("Back.")) as server:
        small = settings(server)
        for number in range(3):
            with pytest.raises(ModelCallError, match="after 3 tries"):
                await ask(models, small, number)
        assert len(server.requests) == 9
        clock.now += 20
        with pytest.raises(ModelCallError) as caught:
            await ask(models, small, 3)
        assert str(caught.value) == (
            "model 'small' is left alone for another 40 s: it failed 3 times in a row"
        )
        assert (caught.value.transient, caught.value.request) == (True, "")
        assert len(server.requests) == 9
        clock.now += 40
        with pytest.raises(ModelCallError, match=rf"HTTP 500 \(InternalServerError\) at {server.base_url}$"):
            await ask(models, small, 4)
        assert len(server.requests) == 10, "a trial is not tried again"
        clock.now += 60
        assert await ask(models, small, 5) == "Back."
        assert await ask(models, small, 6) == "Back."


async def test_others_are_asked_all_the_same(clock: Clock) -> None:
    models = clock.models(lambda question: "Mine.")
    with serving(fails(500)) as broken_server, serving(says("Yes.")) as other:
        for number in range(3):
            with pytest.raises(ModelCallError):
                await ask(models, settings(broken_server), number)
        assert await ask(models, settings(other), 0) == "Yes."
    assert (await models.ask(question())).text == "Mine."


async def test_whoever_goes_away_says_nothing_of_the_model(clock: Clock) -> None:
    models = clock.models()
    with serving(hangs()) as server:
        for number in range(4):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(ask(models, settings(server), number), 0.3)


async def test_while_one_question_is_on_trial_others_are_told(clock: Clock) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    async def slow(_: object) -> str:
        if clock.now < 1_060:
            raise TimeoutError
        asked.set()
        await answered.wait()
        return "Back."

    models = clock.models(slow)
    for number in range(3):
        with pytest.raises(ModelCallError):
            await models.ask(question(str(number)))
    clock.now += 60
    trial = asyncio.create_task(models.ask(question("Back?")))
    await asked.wait()
    with pytest.raises(ModelCallError, match="left alone until it is known whether it answers again"):
        await models.ask(question("Me too?"))
    answered.set()
    assert (await trial).text == "Back."
