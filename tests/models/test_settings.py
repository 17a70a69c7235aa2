"""Which model is asked, as config files say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from ctxkit.models.settings import AnyModel, ModelSettings
from ctxkit.registry import strategy_of
from ctxkit.strategies.summarize import Summarize

READ = TypeAdapter[ModelSettings](AnyModel)


def test_a_name_alone_is_a_model() -> None:
    assert READ.validate_python("gpt-5-mini") == ModelSettings(name="gpt-5-mini")


def test_a_table_is_a_model() -> None:
    table = {"name": "qwen3", "api": "responses", "base_url": "http://localhost:8080/v1", "retries": 0}
    assert READ.validate_python(table).model_dump(exclude_unset=True) == table


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"base_url": "localhost:8080"},
        {"base_url": "file:///etc/passwd"},
        {"api": "completions"},
        {"api_key": "sk-1"},
        {"timeout_s": 0},
        {"retries": -1},
        {"api_key_env": "sk-123456"},
        {"api_key_env": "Bearer sk 1"},
        {"api_key_env": "1_KEY"},
        {"api_key_env": ""},
        {"window": 10},
    ],
    ids=str,
)
def test_what_cannot_be_right(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        READ.validate_python({"name": "small", **wrong})


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "_KEY2", "local_key"])
def test_a_key_is_named_by_its_variable(name: str) -> None:
    assert READ.validate_python({"name": "small", "api_key_env": name}).api_key_env == name


@pytest.mark.parametrize("key", ["api_key_env", "api_key"])
def test_a_key_that_stands_in_a_config_is_in_no_error(key: str) -> None:
    model = {"name": "small", key: "sk-xz-4471"}
    wrong: list[Callable[[], object]] = [
        lambda: ModelSettings(**model),
        lambda: Summarize(model=model),
        lambda: strategy_of(
            {"kind": "fallback", "steps": [{"kind": "summarize", "model": model}, "drop-oldest"]}
        ),
    ]
    for make in wrong:
        with pytest.raises(ValueError, match=key) as caught:
            make()
        assert "4471" not in f"{caught.value} {caught.value!r}"
