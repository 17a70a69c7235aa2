"""What pins messages leaves a second compaction nothing to pin, however little room there was."""

from __future__ import annotations

import pytest

from ctxkit import Budget, ContextManager

SAYS = {
    "selective": "You must call me Bob.",
    "keep-medical-constraints": "I am allergic to penicillin.",
    "keep-support-commitments": "I want a full refund of my order.",
}


@pytest.mark.parametrize("kind", SAYS)
def test_a_second_compaction_pins_no_more(kind: str) -> None:
    pinned = 0
    for fixed in range(2_300, 2_800, 25):
        for words in range(40, 300, 65):
            context = ContextManager("openai-chat", Budget(window=3_000), kind)
            context.add({"role": "system", "content": "word " * fixed})
            for more in (words + 20, words):
                context.add({"role": "user", "content": SAYS[kind] + " word" * more})
                context.add({"role": "assistant", "content": "ok " * 100})
            context.add({"role": "user", "content": "and now?"})
            context.compact()
            before = context.explain()
            assert not context.compact().compacted
            assert context.explain() == before
            pinned += any(each.fate == "pinned" for each in before)
    assert pinned > 10


def test_a_second_compaction_remembers_no_more() -> None:
    """The same for what is remembered."""
    remembered = 0
    for fixed in range(2_300, 2_800, 25):
        for words in range(5, 45, 10):
            context = ContextManager("openai-chat", Budget(window=3_000), "keep-story-bible")
            context.add({"role": "system", "content": "word " * fixed})
            for name in ("Mara", "Tom", "Ada"):
                said = f"{name} is a doctor with" + f" green {name} eyes" * words + "."
                context.add({"role": "user", "content": said})
                context.add({"role": "assistant", "content": "ok " * 100})
            context.add({"role": "user", "content": "and now?"})
            context.compact()
            before = context.facts
            assert not context.compact().compacted
            assert context.facts == before
            remembered += len(before)
    assert remembered > 10
