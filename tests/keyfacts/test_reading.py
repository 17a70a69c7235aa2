"""What is read of texts with secrets in them."""

from __future__ import annotations

import pytest

from ctxkit import Budget, ContextManager, Fact
from ctxkit.keyfacts.reading import _holds

CHAT = "We spoke of this and that and came to no end. " * 4


def context_after(*texts: str) -> tuple[ContextManager, str, list[str]]:
    """A context in which something was said long ago, its last request, and the kinds of all its edits."""
    chain = {"kind": "hybrid", "steps": ["keep-key-facts", "drop-oldest"]}
    context = ContextManager("openai-chat", Budget(window=1_200), chain, strict=True)
    kinds: list[str] = []
    for text in (*texts, *[CHAT] * 30):
        context.add([{"role": "user", "content": text}, {"role": "assistant", "content": CHAT}])
        request = context.prepare_sync()
        kinds += [edit.kind for edit in request.report.edits]
    return context, "\n".join(message["content"] for message in request.messages), kinds


@pytest.mark.parametrize(
    ("text", "rule", "secret"),
    [
        (
            "My password is golden-rule-77. Never call me before nine.",
            "Never call me before nine.",
            "golden-rule-77",
        ),
        ("Never call me before nine. My password is rule1234.", "Never call me before nine.", "rule1234"),
        ("I am allergic to nuts. The pin code is 4711.", "I am allergic to nuts.", "4711"),
        ("我的密码是 rule-user-77。绝不要给我打电话。", "绝不要给我打电话。", "rule-user-77"),
    ],
)
def test_a_rule_beside_a_secret_is_a_fact_and_its_message_goes(text: str, rule: str, secret: str) -> None:
    context, shown, kinds = context_after(text)
    assert [fact.value for fact in context.facts if fact.must_keep] == [rule]
    assert rule in shown
    assert secret not in shown
    assert "Pin" not in kinds


@pytest.mark.parametrize(
    "text",
    [
        "You must run curl -u admin:Passw0rd https://x.io/api for it.",
        "You must use the password hunter2!x for the login.",
        "My password's S3cr3t99x and you must keep it.",
        "验证码 883211，千万不要告诉别人。",
    ],
)
def test_a_rule_with_a_secret_in_it_is_no_fact_and_its_message_stays(text: str) -> None:
    context, shown, kinds = context_after(text)
    assert [fact for fact in context.facts if fact.must_keep] == []
    assert text in shown
    assert "Pin" in kinds


@pytest.mark.parametrize(
    ("fact", "holds"),
    [
        (Fact("rule", "never say golden-rule-77"), True),
        (Fact("word", "golden"), True),
        (Fact("rule", "never call"), False),
        (Fact("seat", "12A", subject="gold"), False),
        (Fact("golden-rule-77", "mine"), True),
        (Fact("my golden-rule-77 key", "mine"), True),
        (Fact("rule-77", "mine"), True),
        (Fact("door", "mine", subject="golden-rule-77"), True),
        (Fact("door", "mine", subject="rule-7"), True),
        (Fact("77", "mine"), False),
    ],
)
def test_names_that_stand_in_a_secret_by_chance_tell_none_of_it(fact: Fact, holds: bool) -> None:
    assert _holds(fact, "golden-rule-77") is holds
