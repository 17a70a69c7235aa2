"""What becomes of old file views in requests, in the four formats."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ctxkit_code import OutlineFileViews

from ctxkit import Budget, ContextManager

LONG = "".join(f"    value_{number} = compute(value, {number})\n" for number in range(40))


def source(name: str) -> str:
    return f"import os\n\n\ndef {name}(value: int) -> int:\n{LONG}    return value\n"


def read(number: int, path: str, text: str) -> list[dict[str, Any]]:
    function = {"name": "read_file", "arguments": json.dumps({"path": path})}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
    ]


def compacted(*reads: tuple[str, str], share: float = 0.3, **parameters: Any) -> ContextManager:
    messages = [{"role": "user", "content": "Mend it."}]
    for number, (path, text) in enumerate(reads):
        messages += read(number, path, text)
    whole = ContextManager("openai-chat", Budget(window=100_000), "drop-oldest")
    whole.add(messages)
    size = whole.prepare_sync().report.tokens_before
    budget = Budget(window=size, aim_for=int(size * share))
    context = ContextManager("openai-chat", budget, OutlineFileViews(**parameters), strict=True)
    context.add(messages)
    context.compact()
    return context


def results(context: ContextManager) -> list[str]:
    return [each["content"] for each in context.prepare_sync().messages if each["role"] == "tool"]


def test_an_old_view_keeps_its_imports_and_signatures_with_their_lines() -> None:
    context = compacted(*((f"{name}.py", source(name)) for name in ("one", "two", "three", "four")))
    first = results(context)[0].splitlines()
    assert first[0].startswith("[ctxkit ")
    assert "] outline of one.py, lines 1-45, … stands for lines left out; original: ctx:" in first[0]
    assert first[1:] == ["1:import os", "4:def one(value: int) -> int: … 5-45"]
    assert results(context)[2:] == [source("three"), source("four")]


def test_the_original_is_read_by_the_handle_that_the_outline_names() -> None:
    context = compacted(*((f"{name}.py", source(name)) for name in ("one", "two", "three", "four")))
    handle = results(context)[0].splitlines()[0].rpartition("original: ")[2]
    assert context.original(handle)[0]["content"] == source("one")


def test_a_view_that_a_newer_one_repeats_points_at_it() -> None:
    context = compacted(
        ("one.py", source("one")), ("two.py", source("two")), ("one.py", source("one")), share=0.7
    )
    first, second, third = results(context)
    assert "] one.py, lines 1-45: a newer result shows the same lines; original: ctx:" in first
    assert (second, third) == (source("two"), source("one"))


def test_a_view_of_a_file_that_was_changed_since_is_no_repetition() -> None:
    changed = source("one").replace("value_7 ", "other_7 ")
    context = compacted(("one.py", source("one")), ("two.py", source("two")), ("one.py", changed), keep=1)
    assert "outline of one.py" in results(context)[0]
    assert results(context)[2] == changed


def test_the_newest_step_stays_whatever_keep_says() -> None:
    context = compacted(("one.py", source("one")), ("two.py", source("two")), keep=0)
    first, second = results(context)
    assert "] outline of one.py, " in first
    assert second == source("two")


def test_excluded_tools_are_left_alone() -> None:
    reads = [(f"{name}.py", source(name)) for name in ("one", "two", "three", "four")]
    assert results(compacted(*reads, exclude=frozenset({"read_file"}))) == [text for _, text in reads]


def test_json_stays_json_and_only_the_file_changes() -> None:
    texts = [
        json.dumps({"ok": True, "path": f"{name}.py", "content": source(name)})
        for name in ("one", "two", "three")
    ]
    first = json.loads(results(compacted(*(("", text) for text in texts), keep=1))[0])
    assert (first["ok"], first["path"]) == (True, "one.py")
    assert first["content"].endswith("1:import os\n4:def one(value: int) -> int: … 5-45")


def test_what_a_tool_says_around_a_source_stays() -> None:
    text = f"<returncode>0</returncode>\n<output>\n{source('one')}</output>"
    first = results(compacted(("one.py", text), ("two.py", source("two")), ("x.py", source("x")), keep=1))[0]
    assert first.startswith("<returncode>0</returncode>\n<output>\n[ctxkit ")
    assert first.endswith("… 5-45\n</output>")


@pytest.mark.parametrize("text", ["total 4\n" * 300, "patch\n+def x():\n" * 200])
def test_text_that_is_no_source_stays(text: str) -> None:
    context = compacted(("notes.txt", text), *((f"{name}.py", source(name)) for name in "abc"))
    notes, outline, *_ = results(context)
    assert notes == text
    assert "] outline of a.py, " in outline


def test_responses_of_gemini_stay_objects() -> None:
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "Mend it."}]}]
    for name in ("one", "two", "three"):
        call = {"name": "read_file", "args": {"path": f"{name}.py"}}
        answer = {"name": "read_file", "response": {"output": source(name)}}
        contents += [
            {"role": "model", "parts": [{"functionCall": call}]},
            {"role": "user", "parts": [{"functionResponse": answer}]},
        ]
    context = ContextManager(
        "gemini", Budget(window=4_000, aim_for=500), OutlineFileViews(keep=1), strict=True
    )
    context.add(contents)
    context.compact()
    made = context.prepare_sync().messages[2]["parts"][0]["functionResponse"]["response"]
    assert made["output"].endswith("4:def one(value: int) -> int: … 5-45")


@pytest.mark.parametrize("ids", [[{}, {}], [{"id": "1"}, {"id": "2"}]], ids=["without ids", "with ids"])
def test_two_calls_are_not_mistaken_for_each_other(ids: list[dict[str, str]]) -> None:
    calls = [
        {"functionCall": {"name": "read_file", "args": {"path": path}, **id}}
        for path, id in zip(("one.py", "notes.txt"), ids, strict=True)
    ]
    answers = [
        {"functionResponse": {"name": "read_file", "response": {"output": text}, **id}}
        for text, id in zip((source("one"), "one\n" * 200), ids, strict=True)
    ]
    contents: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"text": "Mend it."}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": answers},
        {"role": "model", "parts": [{"text": "Done."}]},
        {"role": "user", "parts": [{"text": "Go on."}]},
    ]
    context = ContextManager(
        "gemini", Budget(window=4_000, aim_for=300), OutlineFileViews(keep=0), strict=True
    )
    context.add(contents)
    context.compact()
    first, second = context.prepare_sync().messages[2]["parts"]
    is_outlined = "] outline of one.py, " in first["functionResponse"]["response"]["output"]
    assert is_outlined is all(ids)
    assert second["functionResponse"]["response"]["output"] == "one\n" * 200
