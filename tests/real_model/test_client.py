"""The client against a real model: answers, counts and limits, in both APIs."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from ctxkit.models.models import ModelCall, Models
from ctxkit.models.question import Question

pytestmark = pytest.mark.model

APIS: tuple[Literal["chat", "responses"], ...] = ("chat", "responses")
CAPITAL = Question("Answer in one sentence.", "What is the capital of France?", 100)


@pytest.mark.parametrize("api", APIS)
async def test_a_real_answer_with_real_counts(small: Any, api: str) -> None:
    models = Models()
    answer = await models.ask(CAPITAL, small(api=api))
    assert "Paris" in answer.text
    assert answer.complete
    assert 10 < answer.input_tokens < 100
    assert 3 < answer.output_tokens < 100
    (call,) = models.calls
    assert call == ModelCall(
        "smollm2", answer.input_tokens, answer.cached_tokens, answer.output_tokens, call.seconds
    )


@pytest.mark.parametrize("api", APIS)
async def test_an_answer_that_ran_into_its_limit_is_told_from_one_that_ended(small: Any, api: str) -> None:
    asked = Question("You tell long stories.", "Tell a story of a village fair.", 16)
    answer = await Models().ask(asked, small(api=api))
    assert not answer.complete
    assert answer.output_tokens == 16


@pytest.mark.parametrize("api", APIS)
async def test_what_extends_a_conversation_is_read_from_the_cache(small: Any, api: str) -> None:
    answered: Any = "Miller is a nice name for a cat."
    if api == "responses":
        answered = [{"type": "output_text", "text": answered, "annotations": []}]
    said = (
        {"role": "user", "content": f"My cat is called Miller. {api} " + "She sleeps all day. " * 20},
        {"type": "message", "role": "assistant", "content": answered},
    )
    models = Models()
    for text in ("How is my cat?", "What is my cat called?"):
        asked = Question("Answer in one sentence.", text, 20, prefix=said, system="Be brief.")
        answer = await models.ask(asked, small(api=api))
        assert answer.input_tokens > 120
    assert answer.cached_tokens > 100
