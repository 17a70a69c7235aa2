"""Which model is asked, as a config file says it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

__all__ = ["AnyModel", "ModelSettings"]


class ModelSettings(BaseModel):
    """A model behind an OpenAI-compatible API.

    Attributes:
        name: the model's name, as its API knows it.
        api: "chat" for Chat Completions, "responses" for Responses.
        base_url: of the API; the client's default (OpenAI, or `OPENAI_BASE_URL`) without one.
        api_key_env: the environment variable that holds the key; the key itself is never part of a config.
        window: tokens of its context window; what does not fit is asked about in parts.
        timeout_s: seconds that one request may take.
        retries: how often what is transient is tried again, with growing pauses.
        extra: further fields of each request, as the API has them, such as `{"reasoning_effort": "low"}`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    name: str = Field(min_length=1)
    api: Literal["chat", "responses"] = "chat"
    base_url: str | None = Field(default=None, pattern="^https?://")
    api_key_env: str = "OPENAI_API_KEY"
    window: int = Field(default=128_000, ge=256)
    timeout_s: float = Field(default=60.0, gt=0)
    retries: int = Field(default=2, ge=0)
    extra: dict[str, Any] = Field(default_factory=dict)

    @field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, value: str) -> str:
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", value):  # it may be the key: no error repeats it
            raise ValueError(
                "has to be the name of an environment variable, such as OPENAI_API_KEY, never the key itself"
            )
        return value


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class _OrName:
    """Says in a JSON Schema that a name may stand for the table."""

    def __get_pydantic_json_schema__(self, core: Any, schema_of: Callable[[Any], Any]) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "minLength": 1}, schema_of(core)]}


AnyModel = Annotated[ModelSettings, BeforeValidator(_named), _OrName()]
"""The type of a field that names a model: a name alone, or a table."""
