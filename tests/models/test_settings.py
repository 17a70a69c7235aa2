"""Which model is asked, as config files say it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from ctxkit.models.settings import AnyModel, ModelSettings

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
        {"window": 10},
    ],
    ids=str,
)
def test_what_cannot_be_right(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        READ.validate_python({"name": "small", **wrong})
