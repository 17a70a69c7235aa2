"""The hooks as ctxkit calls them, through the installed package."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from ctxkit import Budget, CompressionStrategy, ContextManager, Plan, Remember, Services, StrategyError, View


class RememberAll(CompressionStrategy):
    """Remembers whatever the installed plugins find in what users say."""

    kind: Literal["remember-all"] = "remember-all"

    def plan(self, view: View, services: Services) -> Plan:
        said = (unit.text for unit in view.units if unit.said_by_user)
        found = {fact.name: fact for text in said for fact in services.hooks.facts_in(text, "user")}
        return Plan.of(*map(Remember, found.values()))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def after_compaction(*messages: dict[str, Any], strict: bool = False) -> ContextManager:
    context = ContextManager("openai-chat", Budget(window=10_000), RememberAll(), strict=strict)
    context.add(list(messages))
    context.compact()
    return context


def test_facts_are_found_through_the_hook() -> None:
    context = after_compaction(user("I am allergic to penicillin. 我在备孕。"), user("What now?"))
    facts = {fact.key: (fact.value, fact.must_keep) for fact in context.facts}
    assert facts["allergy to penicillin"] == ("I am allergic to penicillin.", True)
    assert facts["pregnancy"] == ("我在备孕。", True)
    assert "allergy to penicillin: I am allergic to penicillin." in str(context.prepare_sync().messages[0])


def test_advice_against_a_fact_is_in_the_report() -> None:
    context = after_compaction(user("I am allergic to penicillin."), user("My throat is sore."))
    context.add([{"role": "assistant", "content": "Take amoxicillin 500 mg."}, user("Thanks!")])
    failures = [each for each in context.prepare_sync().report.failures if "medical" in each.by]
    assert len(failures) == 1
    assert "advises: 'Take amoxicillin 500 mg.'" in failures[0].why


def test_advice_against_a_fact_is_raised_in_strict_mode() -> None:
    context = after_compaction(user("I am allergic to penicillin."), user("My throat is sore."), strict=True)
    context.add([{"role": "assistant", "content": "Take amoxicillin 500 mg."}, user("Thanks!")])
    with pytest.raises(StrategyError, match=r"advises: 'Take amoxicillin 500 mg\.'"):
        context.prepare_sync()


def test_a_fact_that_a_user_remembers_counts_too() -> None:
    context = ContextManager("openai-chat", Budget(window=10_000))
    context.remember("allergy to penicillin", "since childhood")
    context.add([user("Hi"), {"role": "assistant", "content": "Take penicillin."}, user("Thanks!")])
    assert [each.why for each in context.prepare_sync().report.failures] == [
        "'allergy to penicillin: since childhood' was stated, and yet this request advises: 'Take penicillin.'"
    ]


def test_without_medical_facts_nothing_is_said() -> None:
    context = ContextManager("openai-chat", Budget(window=10_000), strict=True)
    context.add([user("Hi"), {"role": "assistant", "content": "Take penicillin."}, user("Thanks!")])
    assert context.prepare_sync().report.failures == ()
