"""What is taken from an author's words, and that it is still there after many compactions."""

from typing import Any

import pytest
from ctxkit_fiction.bible import ctxkit_extract_facts, story_facts

from ctxkit import Budget, ContextManager

SCENE = "The rain had not stopped for three days and the harbour smelled of rust. " * 8


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Write in first person, please.", ["style, person"]),
        ("Use past tense.", ["style, tense"]),
        ("Never kill the dog.", ["style, never, Never kill the dog."]),
        ("Each chapter should have 1,200 words.", ["style, length"]),
        ("Mira is a smuggler with one eye.", ["character, Mira, Mira is a smuggler with"]),
        ("The villain is Count Orlok.", ["character, Count Orlok, The villain is Count Orl"]),
        ("In this world magic costs a memory.", ["world, In this world magic cost"]),
        ("请用第一人称写。", ["style, person"]),
        ("不要出现现代词语。", ["style, never, 不要出现现代词语。"]),
        ("主角叫林白，二十七岁。", ["character, 林白, 主角叫林白，二十七岁。"]),
        ("在这个世界，魔法要用记忆来换。", ["world, 在这个世界，魔法要用记忆来换。"]),
        ("Write it in a wry voice.", ["style, tone"]),
        ("Please don't use adverbs.", ["style, never, Please don't use adverbs"]),
        ("Mira should never be named.", ["style, never, Mira should never be nam"]),
        ("Go on.", []),
        ("I don’t remember the email on the account.", []),
        ("I just want to be sure I don't miss any deadlines.", []),
        ("I don't want any gore.", ["style, never, I don't want any gore."]),
        ("Voice: wry, detached.", ["style, tone"]),
        ("I want to make sure it ships today.", []),
        ("Screens: rear and front screens, touch, voice control.", []),
        ("我不要现代词语。", ["style, never, 我不要现代词语。"]),
        ("要避免现代词语。", ["style, never, 要避免现代词语。"]),
        ("要不要加一段？", []),
        ("It is a good start.", []),
    ],
)
def test_what_is_taken(text: str, keys: list[str]) -> None:
    facts = list(story_facts(text))
    assert [fact.key for fact in facts] == keys
    assert all(fact.value in text for fact in facts)


def test_a_new_tense_supersedes_and_a_new_ban_does_not() -> None:
    facts = [
        *story_facts("Use past tense. Never kill the dog."),
        *story_facts("Use present tense. Avoid gore here."),
    ]
    assert len({fact.name for fact in facts}) == 3


def test_what_the_model_or_a_tool_says_is_no_direction() -> None:
    assert ctxkit_extract_facts("Never kill the dog.", "assistant") == []
    assert ctxkit_extract_facts("Never kill the dog.", "tool") == []


def test_the_bible_is_in_every_request_through_many_chapters() -> None:
    steps: list[Any] = [{"kind": "keep-story-bible"}, {"kind": "drop-oldest"}]
    context = ContextManager(
        "openai-chat", Budget(window=1_500), {"kind": "hybrid", "steps": steps}, strict=True
    )
    context.add(
        {
            "role": "user",
            "content": "Write in first person. Mira is a smuggler with one eye. Never kill the dog.",
        }
    )
    for chapter in range(60):
        context.add({"role": "assistant", "content": f"Chapter {chapter}. {SCENE}"})
        context.add({"role": "user", "content": f"Good. Now chapter {chapter + 1}. {SCENE}"})
        text = str(context.prepare_sync().messages)
        for said in ("Write in first person.", "Mira is a smuggler with one eye.", "Never kill the dog."):
            assert said in text
    assert context.prepare_sync().report.compactions > 5


def test_a_long_list_of_rules_keeps_the_newest_and_says_what_had_no_room() -> None:
    context = ContextManager("openai-chat", Budget(window=1_000), "keep-story-bible")
    context.add(
        {
            "role": "user",
            "content": " ".join(f"Never use word number {n} in any chapter of it." for n in range(90)),
        }
    )
    context.add([{"role": "assistant", "content": "Understood."}, {"role": "user", "content": "Begin."}])
    report = context.compact()
    assert "no room for" in report.failures[0].why
    values = [fact.value for fact in context.facts]
    assert "Never use word number 89 in any chapter of it." in values
    assert "Never use word number 0 in any chapter of it." not in values
