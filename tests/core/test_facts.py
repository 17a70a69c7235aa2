"""Facts: who said them, what they supersede, where they stand in a request, and that those that must stay do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import CompressionStrategy, ContextManager, Drop, Fact, Plan, Remember, Retract, Services, View
from ctxkit.core.facts import Facts, active_facts, facts_text, taken_back
from ctxkit.core.state import State

CALL = {
    "role": "assistant",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "fetch_page", "arguments": '{"page": "terms"}'}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "Send invoices to billing@odd.example. " * 20}


class Remembers(CompressionStrategy):
    """Remembers given facts and drops the rest."""

    kind: str = "remembers"
    facts: tuple[Fact, ...] = ()
    drop: bool = True

    def plan(self, view: View, services: Services) -> Plan:
        kept = Plan.of(*(Remember(fact) for fact in self.facts))
        free = tuple(unit.id for unit in view.free())
        return kept + Plan.of(Drop(free, "all")) if self.drop and free else kept


def _context(strategy: Any, **settings: Any) -> ContextManager:
    context = ContextManager("openai-chat", {"window": 4_000}, strategy, **settings)
    context.add({"role": "user", "content": "Read the supplier's page. Never ship on Mondays. " * 10})
    context.add([CALL, RESULT, {"role": "assistant", "content": "They deliver in 6 days. " * 20}])
    context.add({"role": "user", "content": "Good. Where do I send invoices?"})
    return context


def test_what_a_tool_said_is_no_profile_whatever_the_strategy_claims() -> None:
    address = Fact("invoice address", "billing@odd.example", source=(2,), said_by="user")
    rule = Fact("rule", "Never ship on Mondays.", source=(0,))
    context = _context(Remembers(facts=(address, rule)))
    context.compact()
    assert {fact.key: fact.said_by for fact in context.facts} == {"invoice address": "tool", "rule": "user"}
    profile, ledger = context.prepare_sync().messages[:2]
    assert "What is known" in profile["content"]
    assert "Never ship on Mondays." in profile["content"]
    assert "billing@odd.example" not in profile["content"]
    assert "not confirmed" in ledger["content"]
    assert "invoice address: billing@odd.example" in ledger["content"]


def test_facts_that_a_plan_remembers_are_in_the_very_same_request() -> None:
    context = _context(
        Remembers(facts=(Fact("rule", "Never ship on Mondays.", source=(0,), must_keep=True),))
    )
    assert context.compact().compacted
    assert "rule: Never ship on Mondays." in str(context.prepare_sync().messages)
    assert context.prepare_sync().report.failures == ()


def test_equal_keys_of_different_subjects_are_different_facts() -> None:
    context = ContextManager("openai-chat", {"window": 4_000})
    context.add({"role": "user", "content": "hello"})
    context.remember("favourite team", "Falcons")
    context.remember("favourite team", "Herons", subject="brother")
    context.remember("favourite team", "Otters")
    context.compact()
    text = context.prepare_sync().messages[0]["content"]
    assert "favourite team: Otters" in text
    assert "brother / favourite team: Herons" in text
    assert "Falcons" not in text
    context.forget("favourite team", subject="brother")
    assert [(fact.subject, fact.value) for fact in context.facts] == [("", "Otters")]


def test_a_strategy_takes_back_its_own_facts_and_never_those_of_users() -> None:
    held = [Fact("a", "1", by="user"), Fact("b", "2", by="keeper")]
    back = [Fact(key, "", by="keeper", retracted=True) for key in "ab"]
    assert [fact.value for fact in active_facts([*held, *back]).values()] == ["1"]
    assert Retract("a", subject="s").subject == "s"


@pytest.mark.parametrize("value", [{"said_by": "god"}, {"subject": 3}, {"confidence": 2}])
def test_facts_that_are_none_are_rolled_back(value: dict[str, Any]) -> None:
    context = _context(Remembers(facts=(Fact("k", "v", **value),)))
    report = context.compact()
    assert not report.compacted
    assert "Remember.fact cannot be" in report.failures[0].why


def test_restore_gives_the_bytes_of_the_originals() -> None:
    import json

    context = _context(Remembers())
    handle = context.compact().edits[0].handle
    restored = json.loads(context.restore(handle))
    assert restored == context.original(handle)
    assert [list(each) for each in restored] == [list(each) for each in context.original(handle)]
    assert RESULT in restored


def test_a_short_value_somewhere_in_the_talk_is_not_the_fact() -> None:
    fact = Fact("seats", "2", must_keep=True)
    assert not fact.stands_in("It was in 2024 that I ate nuts.")
    assert fact.stands_in("seats: 2")
    assert Fact("rule", "I am allergic to nuts, never send any.").stands_in(
        "> I am allergic to nuts, never send any."
    )


NAMES = st.sampled_from(["address", "seat"])
REMEMBERED = st.lists(
    st.builds(
        Fact,
        key=NAMES,
        value=st.sampled_from(["5 Oak Street", "12A", "window"]),
        confidence=st.sampled_from([0.5, 1.0]),
        turn=st.integers(0, 3),
        by=st.sampled_from(["user", "keep-key-facts"]),
        retracted=st.booleans(),
    ),
    max_size=12,
)


@given(REMEMBERED, REMEMBERED)
def test_facts_that_grow_settle_as_those_that_are_read_anew(old: list[Fact], new: list[Fact]) -> None:
    grown = Facts(old)
    assert active_facts(grown) == active_facts(old)
    grown = grown + tuple(new)
    assert list(active_facts(grown).items()) == list(active_facts([*old, *new]).items())
    assert taken_back(grown) == taken_back([*old, *new])
    assert grown == (*old, *new)


def test_old_facts_are_not_looked_at_again_when_new_ones_come() -> None:
    looked_at: list[str] = []

    class Counted(Fact):
        @property
        def name(self) -> tuple[str, str]:
            looked_at.append(self.key)
            return self.subject, self.key

    old = State(facts=tuple(Counted(f"key {n}", "value") for n in range(100)))
    active_facts(old.facts)
    looked_at.clear()
    more = (Counted("seat", "12A"),)
    new = replace(old, facts=old.facts + more)
    assert len(active_facts(new.facts)) == 101
    assert looked_at == ["seat"]


def test_what_is_the_same_of_several_things_is_written_once_with_their_names() -> None:
    shipped = [Fact(f"order W{n}", f"Order W{n} was shipped in 3 days.") for n in (71, 72, 73)]
    text = facts_text(
        [*shipped, Fact("order W9", "Order W9 must stay.", must_keep=True), Fact("seat", "12A")]
    )
    assert text.splitlines()[1:-1] == [
        "order W71: Order W71 was shipped in 3 days.",
        "The same, word for word, with W72, W73 in place of W71.",
        "order W9: Order W9 must stay.",
        "seat: 12A",
    ]
    assert "word for word" not in facts_text(shipped[:2])
