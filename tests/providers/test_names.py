"""Formats are found by name; one by another name is told which is meant."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import UnknownPluginError
from ctxkit.providers import provider


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("openai", "openai-chat"),
        ("OpenAI-Chat", "openai-chat"),
        ("chat", "openai-chat"),
        ("responses", "openai-responses"),
        ("Claude", "anthropic"),
        ("antropic", "anthropic"),
        ("google", "gemini"),
    ],
)
def test_a_format_by_another_name_is_told_which_is_meant(name: str, meant: str) -> None:
    with pytest.raises(UnknownPluginError, match=f"; did you mean {meant}\\?$") as caught:
        provider(name)
    assert caught.value.name == name


@pytest.mark.parametrize("name", ["", "xml", 3, None])
def test_what_is_like_no_format_is_told_those_there_are(name: Any) -> None:
    with pytest.raises(UnknownPluginError, match=r"; there are: openai-chat, .*, gemini$"):
        provider(name)
