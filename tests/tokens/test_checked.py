"""Counters that others wrote, held to what a counter must do: whatever they return, limits are no guess."""

from __future__ import annotations

import pickle
from asyncio import CancelledError
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ctxkit import ConfigError, ContextManager, UnknownPluginError
from ctxkit.core.state import Meter
from ctxkit.providers import provider
from ctxkit.tokens import EstimateCounter, TiktokenCounter
from ctxkit.tokens.checked import checked


class Halves:
    """Half the letters, as a class that can be pickled."""

    name, exact = "halves", False

    def count(self, text: str) -> int:
        return len(text) // 2


class Wordless(Exception):
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise ValueError("no words")


class Leaving(Exception):
    """An error that leaves when it is asked what it is."""

    def __str__(self) -> str:
        raise SystemExit("out")


class Shut:
    """A counter that leaves when it is asked for its name."""

    exact = True
    count = len

    @property
    def name(self) -> str:
        raise SystemExit("out")


class Sly:
    """Cannot be shown or compared."""

    def __repr__(self) -> str:
        raise ValueError("no repr")

    def __ge__(self, other: object) -> bool:
        raise ValueError("no order")


def counter(count: Callable[[str], Any]) -> Any:
    return SimpleNamespace(name="odd", exact=True, count=count)


def raises(error: BaseException) -> Callable[[str], Any]:
    def count(text: str) -> int:
        raise error

    return count


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (lambda text: None, "returned None"),
        (lambda text: "7", "returned '7'"),
        (lambda text: len(text) / 4, "returned 500.0"),
        (lambda text: float("nan"), "returned nan"),
        (lambda text: -5, "returned -5"),
        (lambda text: -(10**5000), "returned a long int"),
        (lambda text: True, "returned True"),
        (lambda text: Sly(), "returned a Sly"),
        (lambda: 5, "raised TypeError"),
        (raises(ZeroDivisionError("division by zero")), "raised ZeroDivisionError: division by zero"),
        (raises(SystemExit(3)), "raised SystemExit: 3"),
        (raises(Wordless()), "raised Wordless"),
        (raises(Leaving()), "raised Leaving, without words"),
        (raises(GeneratorExit()), "raised GeneratorExit, without words"),
        (raises(CancelledError()), "raised CancelledError, without words"),
    ],
)
def test_what_is_no_count_is_told(count: Callable[[str], Any], said: str) -> None:
    context = ContextManager("openai-chat", {"window": 200}, counter=counter(count))
    with pytest.raises(ConfigError) as caught:
        context.add({"role": "user", "content": "x " * 1000})
    assert caught.value.path == "counter"
    assert f"'odd' {said}" in str(caught.value)
    assert "for a text of 2,000 characters" in str(caught.value)
    assert "a whole number of tokens, 0 or more" in str(caught.value)


def test_a_message_that_could_not_be_counted_was_not_added() -> None:
    answers = iter([None])
    context = ContextManager(
        "openai-chat", {"window": 200}, counter=counter(lambda text: next(answers, len(text)))
    )
    with pytest.raises(ConfigError):
        context.add({"role": "user", "content": "lost"})
    context.add({"role": "user", "content": "kept"})
    assert [each["content"] for each in context.prepare_sync().messages] == ["kept"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (5, "int has no count, name, exact"),
        (0, "int has no count, name, exact"),
        ("", "str has no name, exact"),
        ("gpt-5", "str has no name, exact"),
        (len, "builtin_function_or_method has no count, name, exact"),
        (SimpleNamespace(name="n", exact=True, count=5), "SimpleNamespace has no count"),
        (SimpleNamespace(name=5, exact=True, count=len), "its name is a text, not 5"),
        (SimpleNamespace(name="n", exact="yes", count=len), "its exact is True or False, not 'yes'"),
        (SimpleNamespace(name=Sly(), exact=True, count=len), "its name is a text, not a Sly"),
        (Shut(), "Shut has no name"),
    ],
)
def test_what_is_no_counter_is_told_at_once(given: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=r"^counter: a counter has count") as caught:
        ContextManager("openai-chat", {"window": 200}, counter=given)
    assert said in str(caught.value)
    assert not isinstance(caught.value, UnknownPluginError)


def test_a_counter_without_fault_counts_as_before() -> None:
    context = ContextManager("openai-chat", {"window": 200}, counter=Halves())
    context.add({"role": "user", "content": "x " * 50})
    report = context.prepare_sync().report
    assert (report.counter, report.exact) == ("halves", False)
    assert 50 <= report.tokens_after < 60


@pytest.mark.parametrize("own", [TiktokenCounter(), EstimateCounter("claude")], ids=["exact", "estimate"])
def test_our_own_counters_are_not_watched(own: TiktokenCounter | EstimateCounter) -> None:
    assert checked(own, "counter") is own


def test_a_watched_counter_goes_to_another_process() -> None:
    meter = Meter(provider("openai-chat"), checked(Halves(), "counter").count)
    assert pickle.loads(pickle.dumps(meter)).count("12345678") == 4


def test_another_conversation_has_the_same_counter_watched_once() -> None:
    context = ContextManager("openai-chat", {"window": 200}, counter=counter(lambda text: -1))
    again = context._preparation.again()
    assert type(again.counter._counter) is SimpleNamespace  # type: ignore[attr-defined]
