"""A user's own words are found however they and the text are written."""

from __future__ import annotations

import unicodedata

import pytest

from ctxkit import Budget, ConfigError, ContextManager
from ctxkit.keyfacts.finding import bound_by
from ctxkit.keyfacts.words import Duty, duties, duty, has_duty

CHAT = "We spoke of this and that and came to no end. " * 4
DECOMPOSED = unicodedata.normalize("NFD", "café")
WRITTEN = [
    ("__init__", "Mind __init__ of the package."),
    ("__init__", "Mind **__init__** of the package."),
    ("_internal", "The _internal module is ours."),
    ("~/data", "Look at ~/data first."),
    ("*args", "It takes *args too."),
    ("`rm -rf`", "I ran `rm -rf` there."),
    ("rm -rf", "I ran `rm -rf` there."),
    ("ＳＬＡ", "The SLA is short."),
    ("SLA", "The ＳＬＡ is short."),
    ("budget  cap", "The budget cap is low."),
    ("budget\u00a0cap", "The budget cap is low."),
    ("budget cap", "The budget \u00a0cap is low."),
    ("budget cap", "The budget **cap** is low."),
    ("budget cap", "The budget\n> cap is low."),
    ("budget", "The _budget_ is low."),
    ("budget", "The <b>budget</b> is low."),
    ("<b>", "Write <b> there."),
    ("café", f"The {DECOMPOSED} is ours."),
    (DECOMPOSED, "The café is ours."),
    ("client's", "The client’s house is ours."),
    ("预算", "我们的预算很少。"),
    ("保密 协议", "我们签了保密 协议。"),
]


@pytest.mark.parametrize(("word", "text"), WRITTEN)
def test_a_word_of_ones_own_is_found_however_it_is_written(word: str, text: str) -> None:
    assert duty(text, (word,)) is Duty.VITAL
    assert has_duty(text, (word,))
    assert [found.fact.value for found in bound_by(text, (word,))] == [text]
    assert bound_by(text) == []


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("__init__", "Initially it was low."),
        ("__init__", "The package_init is ours."),
        ("_internal", "Internal notes are ours."),
        ("*args", "The arguments are ours."),
        ("~/data", "The data are ours."),
        ("<b>", "The **bold** one is ours."),
        ("SLA", "The tesla is ours."),
        ("café", "The cafe is ours."),
    ],
)
def test_no_other_word_is_taken_for_one(word: str, text: str) -> None:
    assert duty(text, (word,)) is Duty.NONE
    assert bound_by(text, (word,)) == []


def test_a_word_without_anything_to_read_is_refused() -> None:
    for word in ("\u200b", "\u2800", "\u00ad\u3164"):
        with pytest.raises(ConfigError, match="nothing to be read in one of the words"):
            ContextManager(
                "openai-chat", Budget(window=800), {"kind": "keep-key-facts", "must_keep": ["nuts", word]}
            )


def test_words_of_ones_own_are_told_where_they_stand() -> None:
    text = f"never  enter the {DECOMPOSED} of the ＳＬＡ"
    found = [text[start:end] for start, end in duties(text, ("café", "SLA"))]
    assert found == ["never", DECOMPOSED, "ＳＬＡ"]


def test_what_a_word_of_ones_own_names_outlasts_its_message() -> None:
    steps = [{"kind": "keep-key-facts", "must_keep": ["__init__", "ＳＬＡ"]}, "drop-oldest"]
    context = ContextManager(
        "openai-chat", Budget(window=1_200), {"kind": "hybrid", "steps": steps}, strict=True
    )
    rules = ("The file __init__ belongs to Ann.", "The SLA says ten hours.")
    for text in (*rules, *[CHAT] * 20):
        context.add([{"role": "user", "content": text}, {"role": "assistant", "content": CHAT}])
        shown = "\n".join(message["content"] for message in context.prepare_sync().messages)
    assert [fact.value for fact in context.facts if fact.must_keep] == list(rules)
    assert all(rule in shown for rule in rules)
