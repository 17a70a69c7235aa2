"""What plugins answer that hooks may not: each is named, once, and everything else goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pluggy
import pytest

from ctxkit import ConfigError, ContextManager, Fact, StrategyError, hook
from ctxkit.core import facts
from ctxkit.hooks import Called

PEANUTS = "I am allergic to peanuts, so never send any."
FACTS = "ctxkit_extract_facts of clerk"
SPECIFICATIONS = {
    "ctxkit_extract_facts": lambda answer: lambda text, said_by: answer(text),
    "ctxkit_is_key_message": lambda answer: lambda text, said_by: answer,
    "ctxkit_find_secrets": lambda answer: lambda text: answer,
    "ctxkit_token_counter": lambda answer: lambda model: answer,
    "ctxkit_check_request": lambda answer: lambda text, facts: answer,
}


class Sly:
    """Cannot be shown, put in words, hashed or compared."""

    def __repr__(self) -> str:
        raise ValueError("no repr")

    def __str__(self) -> str:
        raise ValueError("no str")

    def __eq__(self, other: object) -> bool:
        raise ValueError("no eq")

    __hash__ = None  # type: ignore[assignment]


class SlyText(str):
    """A text that raises when it is used."""

    def strip(self, *characters: Any) -> str:
        raise ValueError("no strip")

    def __hash__(self) -> int:
        raise ValueError("no hash")


class SlyFact(Fact):
    """A fact whose line raises."""

    @property
    def line(self) -> str:
        raise ValueError("no line")


class Wordless(Exception):
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise ValueError("no words")


class Letters:
    """A counter."""

    name, exact = "letters", False

    def count(self, text: str) -> int:
        return len(text)


Install = Callable[..., None]


@pytest.fixture
def install(alone: pluggy.PluginManager) -> Install:
    """Installs plugins: for each name a hook and its answer, of facts a function of the text."""

    def installed(**plugins: dict[str, Any]) -> None:
        for name, answers in plugins.items():
            functions = {each: hook(SPECIFICATIONS[each](answer)) for each, answer in answers.items()}
            alone.register(SimpleNamespace(**functions), name=name)

    return installed


def good(text: str) -> Fact:
    return Fact("first words", text[:12])


BAD_FACTS: dict[str, Callable[[str], Any]] = {
    "a key that is a number": lambda text: replace(good(text), key=5),  # type: ignore[arg-type]
    "no key": lambda text: replace(good(text), key=None, must_keep=True),  # type: ignore[arg-type]
    "a key without words": lambda text: replace(good(text), key=" "),
    "a sly key": lambda text: replace(good(text), key=SlyText("key")),
    "a key that cannot be shown": lambda text: replace(good(text), key=Sly()),  # type: ignore[arg-type]
    "a value without words": lambda text: replace(good(text), value="", must_keep=True),
    "a sly value": lambda text: replace(good(text), value=SlyText(text[:12])),
    "a confidence that is none": lambda text: replace(good(text), confidence=float("nan")),
    "a confidence over 1": lambda text: replace(good(text), confidence=1.5),
    "a confidence in words": lambda text: replace(good(text), confidence="high"),  # type: ignore[arg-type]
    "a turn in words": lambda text: replace(good(text), turn="first"),  # type: ignore[arg-type]
    "by nobody": lambda text: replace(good(text), by=None),  # type: ignore[arg-type]
    "a source that is no tuple": lambda text: replace(good(text), source=[1]),  # type: ignore[arg-type]
    "a source in words": lambda text: replace(good(text), source=("x",)),  # type: ignore[arg-type]
    "retracted in words": lambda text: replace(good(text), retracted="no"),  # type: ignore[arg-type]
    "a subject that is a number": lambda text: replace(good(text), subject=7),  # type: ignore[arg-type]
    "said by root": lambda text: replace(good(text), said_by="root"),  # type: ignore[arg-type]
    "said by something sly": lambda text: replace(good(text), said_by=Sly()),  # type: ignore[arg-type]
    "must_keep in words": lambda text: replace(good(text), must_keep="yes"),  # type: ignore[arg-type]
    "a priority in words": lambda text: replace(good(text), priority="x"),  # type: ignore[arg-type]
    "a priority beyond 64 bits": lambda text: replace(good(text), priority=2**63),
    "a turn beyond 64 bits": lambda text: replace(good(text), turn=-(2**63) - 1),
    "a source beyond 64 bits": lambda text: replace(good(text), source=(1, 10**5000)),
    "no priority": lambda text: replace(good(text), priority=None),  # type: ignore[arg-type]
    "denied in words": lambda text: replace(good(text), denied="?"),  # type: ignore[arg-type]
    "a place that is a number": lambda text: replace(good(text), place=3),  # type: ignore[arg-type]
    "a time that is a number": lambda text: replace(good(text), said_at=4),  # type: ignore[arg-type]
    "a subclass": lambda text: SlyFact("key", text[:12]),
    "the class itself": lambda text: Fact,
    "what cannot be shown": lambda text: Sly(),
}


def test_every_field_of_a_fact_is_checked() -> None:
    assert set(facts._FITS) == {each.name for each in fields(Fact)}


@pytest.mark.parametrize("bad", BAD_FACTS.values(), ids=BAD_FACTS)
def test_a_bad_fact_goes_and_the_others_stay(install: Install, bad: Callable[[str], Any]) -> None:
    install(
        clerk={"ctxkit_extract_facts": lambda text: [bad(text), good(text)]},
        other={"ctxkit_extract_facts": lambda text: [Fact("last words", text[-9:])]},
    )
    called = Called()
    found = called.facts_in("one two three four", "user")
    assert [(fact.key, fact.value, fact.by) for fact in found] == [
        ("first words", "one two thre", FACTS),
        ("last words", "hree four", "ctxkit_extract_facts of other"),
    ]
    assert list(called.failures) == [FACTS]
    assert called.failures[FACTS].startswith("it returned ")


@pytest.mark.parametrize("bad", BAD_FACTS.values(), ids=BAD_FACTS)
def test_a_bad_fact_is_not_put_on_keep_key_facts(install: Install, bad: Callable[[str], Any]) -> None:
    install(clerk={"ctxkit_extract_facts": lambda text: [bad(text)]})
    failures = list(_talk(text_of := []))
    assert PEANUTS in "\n".join(text_of)
    assert [by for by, _ in failures] == [FACTS]


def _talk(sent: list[str]) -> Iterator[tuple[str, str]]:
    """The failures of a conversation in which something has to be kept; `sent` becomes the last request."""
    strategy = {"kind": "hybrid", "steps": ["keep-key-facts", "drop-oldest"]}
    context = ContextManager("openai-chat", {"window": 700}, strategy)
    context.add({"role": "user", "content": PEANUTS})
    for number in range(8):
        context.add({"role": "assistant", "content": "The sky is grey over the harbour. " * 8})
        context.add({"role": "user", "content": f"And on day {number}? " + "Tell me more. " * 20})
        request = context.prepare_sync()
        yield from ((each.by, each.why) for each in request.report.failures)
    sent[:] = [message["content"] for message in request.messages]


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_a_whole_number_of_64_bits_fits(number: int) -> None:
    assert facts.unfit_field(Fact("key", "value", turn=number, source=(number,), priority=number)) == ""


def test_what_is_wrong_with_a_fact_is_said(install: Install) -> None:
    install(clerk={"ctxkit_extract_facts": lambda text: [replace(good(text), priority="high")]})  # type: ignore[arg-type]
    called = Called()
    called.facts_in("one two three", "user")
    assert called.drained() == [(FACTS, "it returned a Fact whose priority cannot be 'high'")]
    called.facts_in("another text", "user")
    assert called.drained() == []


def test_a_fact_that_the_text_does_not_state_is_named(install: Install) -> None:
    install(clerk={"ctxkit_extract_facts": lambda text: [Fact("lie", "not in there")]})
    called = Called()
    assert called.facts_in("one two three", "user") == []
    assert "'not in there'" in called.failures[FACTS]


@pytest.mark.parametrize(
    "answer",
    [[Sly()], [["four"]], [4], [None], 4, -(10**5000), Sly(), "four"],
    ids=["sly", "list", "number", "none", "no list", "long", "sly itself", "a text itself"],
)
def test_a_secret_that_is_no_text_is_named(install: Install, answer: Any) -> None:
    install(clerk={"ctxkit_find_secrets": answer}, other={"ctxkit_find_secrets": ["three", ""]})
    called = Called()
    assert called.secrets_in("one two three four, password: hunter2") == ["hunter2", "three"]
    assert list(called.failures) == ["ctxkit_find_secrets of clerk"]


def test_a_text_of_a_class_of_its_own_is_a_text(install: Install) -> None:
    install(
        clerk={
            "ctxkit_find_secrets": [SlyText("four"), "four"],
            "ctxkit_check_request": [SlyText("bad word")],
        }
    )
    called = Called()
    assert called.secrets_in("one two three four") == ["four"]
    assert called.complaints("text", ()) == [("ctxkit_check_request of clerk", "bad word")]
    assert {type(each) for each in called.secrets_in("one two three four")} == {str}
    assert called.failures == {}


@pytest.mark.parametrize(
    "answer", [1, 0, "yes", "", [True], [], Sly()], ids=["1", "0", "yes", "empty", "list", "no list", "sly"]
)
def test_only_true_false_and_none_say_whether_a_message_is_key(install: Install, answer: Any) -> None:
    install(clerk={"ctxkit_is_key_message": answer})
    called = Called()
    assert not called.is_key_message("refund me", "user")
    assert list(called.failures) == ["ctxkit_is_key_message of clerk"]
    assert "True, False or None" in called.failures["ctxkit_is_key_message of clerk"]


@pytest.mark.parametrize(("answer", "key"), [(True, True), (False, False), (None, False)])
def test_whether_a_message_is_key_is_no_failure(install: Install, answer: bool | None, key: bool) -> None:
    install(clerk={"ctxkit_is_key_message": answer}, other={"ctxkit_is_key_message": False})
    called = Called()
    assert called.is_key_message("refund me", "user") is key
    assert called.failures == {}


def _asked(*, strict: bool = False) -> list[tuple[str, str]]:
    context = ContextManager("openai-chat", {"window": 300}, strict=strict)
    context.add({"role": "user", "content": "Where is my order?"})
    context.remember("order", "W1")
    return [(each.by, each.why) for each in context.prepare_sync().report.failures]


@pytest.mark.parametrize(
    "answer",
    [[Sly()], [None], [5], 5, Sly()],
    ids=["sly", "none", "number", "5", "one"],
)
def test_a_complaint_that_is_no_text_is_named(install: Install, answer: Any) -> None:
    install(clerk={"ctxkit_check_request": answer}, other={"ctxkit_check_request": ["bad word"]})
    failures = dict(_asked())
    assert failures["ctxkit_check_request of other"] == "bad word"
    assert failures["ctxkit_check_request of clerk"].startswith("it returned ")
    with pytest.raises(StrategyError, match="bad word"):
        _asked(strict=True)


def test_an_error_that_cannot_be_told_is_named(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(text: str, facts: Sequence[Fact]) -> Sequence[str]:
        raise Wordless

    monkeypatch.setitem(SPECIFICATIONS, "ctxkit_check_request", lambda _: raises)
    install(clerk={"ctxkit_check_request": None})
    ((by, why),) = _asked()
    assert by == "ctxkit_check_request of clerk"
    assert "Wordless" in why


def test_an_observer_whose_error_cannot_be_told_is_named(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(report: Any) -> None:
        raise Wordless

    monkeypatch.setitem(SPECIFICATIONS, "ctxkit_compacted", lambda _: raises)
    install(clerk={"ctxkit_compacted": None})
    context = ContextManager("openai-chat", {"window": 300}, "drop-oldest")
    context.add([{"role": "user", "content": "word " * 90}, {"role": "assistant", "content": "word " * 400}])
    context.add({"role": "user", "content": "And now?"})
    (failure,) = context.compact().failures
    assert failure.by == "observer clerk"
    assert "Wordless" in failure.why


class Nameless(Letters):
    """A counter whose name raises."""

    @property
    def name(self) -> str:  # type: ignore[override]
        raise ValueError("no name")


@pytest.mark.parametrize(
    "answer",
    [5, [], "letters", Nameless(), SimpleNamespace(name=5, exact=True, count=len), Sly()],
    ids=["number", "empty", "text", "nameless", "name is no text", "sly"],
)
def test_what_is_no_counter_is_named_and_the_next_one_counts(install: Install, answer: Any) -> None:
    install(clerk={"ctxkit_token_counter": answer}, other={"ctxkit_token_counter": Letters()})
    context = ContextManager("openai-chat", {"window": 300}, model="house-1")
    context.add({"role": "user", "content": "1234567890"})
    report = context.prepare_sync().report
    assert report.counter == "letters"
    assert [each.by for each in report.failures] == ["ctxkit_token_counter of clerk"]


def test_a_counter_of_a_plugin_that_does_not_count_is_named(install: Install) -> None:
    install(clerk={"ctxkit_token_counter": SimpleNamespace(name="none", exact=True, count=lambda text: None)})
    context = ContextManager("openai-chat", {"window": 300}, model="house-1")
    with pytest.raises(ConfigError, match=r"^ctxkit_token_counter of clerk: .* returned None .* 10 char"):
        context.add({"role": "user", "content": "1234567890"})
