"""What trim-tool-results does to huge results, by the public API."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest

from ctxkit import Budget, ContextManager, PartKind
from ctxkit.tokens import counter_for

count = counter_for(None).count
LOG = "\n".join(f"2031-02-03 01:{n // 60:02d}:{n % 60:02d} WARN row {n} skipped" for n in range(600))
GUESTS = "👩‍👩‍👧‍👦 sehr schön 🇳🇴 𠮷野家で食べた é " * 40


def trim(**parameters: Any) -> dict[str, Any]:
    return {"kind": "trim-tool-results", **parameters}


def note_in(text: str) -> str:
    """The line that stands for what was left out."""
    return next(line for line in text.split("\n") if line.startswith("[ctxkit "))


def test_text_keeps_head_and_tail_around_a_note(talk: Any) -> None:
    talk.user("Read the log.").step(LOG).assistant("Done.").user("And now?")
    context = talk.manager(Budget(window=2_000), trim(max_tokens=200))
    messages = context.prepare_sync().messages
    (text,) = talk.results(messages)
    note = note_in(text)
    head, tail = text.split(f"\n{note}\n")
    assert LOG.startswith(head)
    assert LOG.endswith(tail)
    assert min(len(head), len(tail)) > 150
    assert 150 < count(text) <= 200
    assert f"{count(LOG) - count(head) - count(tail)} tokens left out here" in note
    assert talk.refused(messages) == []


def test_note_names_the_handle_of_the_original(talk: Any) -> None:
    talk.user("Read the log.").step(LOG).assistant("Done.").user("And now?")
    context = talk.manager(Budget(window=2_000), trim(max_tokens=200))
    (text,) = talk.results(context.prepare_sync().messages)
    handle = note_in(text).rpartition("original: ")[2]
    assert talk.results(context.original(handle)) == [LOG]


def test_newest_result_that_is_larger_than_the_window_fits(talk: Any) -> None:
    talk.user("Read the log.").step(LOG * 5)
    request = talk.manager(Budget(window=1_000, reply=200), trim()).prepare_sync()
    assert request.report.tokens_after <= 800
    assert talk.results(request.messages)[0].startswith(LOG[:100])


def test_parallel_results_of_the_newest_step_share_the_room() -> None:
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}} for n in range(6)
    ]
    context = ContextManager("openai-chat", Budget(window=1_500), trim(), strict=True)
    context.add({"role": "user", "content": "Read them all."})
    context.add({"role": "assistant", "content": None, "tool_calls": calls})
    context.add(
        [{"role": "tool", "tool_call_id": f"c{n}", "content": "ok" if n == 2 else LOG} for n in range(6)]
    )
    request = context.prepare_sync()
    contents = [message["content"] for message in request.messages[2:]]
    assert request.report.tokens_after <= 1_500
    assert contents[2] == "ok"
    assert all(60 < count(text) < 200 for at, text in enumerate(contents) if at != 2)


def test_oldest_go_first_and_the_rest_stays_when_the_target_is_met(talk: Any) -> None:
    talk.user("Read three logs.").step(LOG).step(LOG).step(LOG).assistant("Done.").user("And now?")
    size = count(LOG)
    request = talk.manager(
        Budget(window=3 * size, aim_for=3 * size - 500), trim(max_tokens=300)
    ).prepare_sync()
    first, second, third = talk.results(request.messages)
    assert count(first) <= 300
    assert (second, third) == (LOG, LOG)


def test_compacting_twice_changes_nothing(talk: Any) -> None:
    talk.user("Read.").step(LOG).step(json.dumps({"rows": [{"id": n, "text": LOG[:900]} for n in range(20)]}))
    context = talk.manager(Budget(window=3_000), trim(max_tokens=20))
    once = context.prepare_sync().messages
    assert context.compact().edits == ()
    assert context.prepare_sync().messages == once


def test_smaller_cap_later_cuts_from_the_original(chat: Any) -> None:
    chat.user("Read.").step(LOG).assistant("Done.").user("And now?")
    context = chat.manager(Budget(window=2_000, aim_for=150, min_gain=0), trim(max_tokens=600))
    context.prepare_sync()
    context.use(trim(max_tokens=100))
    context.compact()
    text = context.prepare_sync().messages[2]["content"]
    head, tail = text.split(f"\n{note_in(text)}\n")
    assert count(text) <= 100
    assert LOG.startswith(head)
    assert LOG.endswith(tail)


def test_nothing_changes_under_the_trigger(talk: Any) -> None:
    talk.user("Read.").step(LOG).assistant("Done.").user("And now?")
    request = talk.manager(Budget(window=100_000), trim(max_tokens=5)).prepare_sync()
    assert request.messages == talk.entries


@pytest.mark.parametrize("cap", range(5, 61))
def test_cuts_lie_between_characters(cap: int) -> None:
    use = {"type": "tool_use", "id": "tu_g", "name": "read_guest_book", "input": {"page": 1}}
    result = {"type": "tool_result", "tool_use_id": "tu_g", "content": [{"type": "text", "text": GUESTS}]}
    messages = [
        {"role": "user", "content": "Read me the guest book."},
        {"role": "assistant", "content": [{"type": "text", "text": "One moment."}, use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "The guests liked it."},
        {"role": "user", "content": "Which languages are in it?"},
    ]
    context = ContextManager("anthropic", Budget(window=300), trim(max_tokens=cap), strict=True)
    context.add(messages, system="You look after a mountain hut.")
    sent = context.prepare_sync().messages
    text = sent[2]["content"][0]["content"]
    head, _, tail = text.partition(note_in(text))
    head, tail = head.removesuffix("\n"), tail.removeprefix("\n")
    assert [sent[at] for at in (0, 1, 3, 4)] == [messages[at] for at in (0, 1, 3, 4)]
    assert sent[2]["content"][0] == {**result, "content": text}
    assert "\ufffd" not in text
    assert text.encode()
    assert GUESTS.startswith(head)
    assert GUESTS.endswith(tail)
    assert not head.endswith("\u200d")
    assert not tail or unicodedata.category(tail[0])[0] != "M"
    assert sum("\U0001f1e6" <= c <= "\U0001f1ff" for c in head) % 2 == 0
    assert sum("\U0001f1e6" <= c <= "\U0001f1ff" for c in tail) % 2 == 0


def rows(number: int) -> list[dict[str, Any]]:
    return [
        {
            "order_id": f"ORD-{n:05d}",
            "total": n * 1.5,
            "due": "2031-05-01",
            "notes": f"Nothing to say of {n}. " * 6,
        }
        for n in range(number)
    ]


def test_json_stays_json_with_ends_and_key_fields(talk: Any) -> None:
    text = json.dumps({"orders": rows(60), "next": "/orders?page=2"})
    talk.user("List.").step(text).assistant("Done.").user("And now?")
    request = talk.manager(Budget(window=2_500), trim(max_tokens=900)).prepare_sync()
    (result,) = talk.results(request.messages)
    value = json.loads(result)
    assert count(result) <= 900
    assert value["next"] == "/orders?page=2"
    assert value["orders"][0] == rows(60)[0]
    assert value["orders"][-1] == rows(60)[-1]
    assert {"order_id": "ORD-00005", "total": 7.5, "due": "2031-05-01"} in value["orders"]
    assert any(isinstance(each, str) and "left out here; original: ctx:" in each for each in value["orders"])
    assert talk.refused(request.messages) == []


def test_long_string_in_json_is_cut_inside(talk: Any) -> None:
    talk.user("Run.").step(json.dumps({"exit_code": 1, "stdout": LOG, "id": "JOB-7"})).assistant(
        "Done."
    ).user("So?")
    request = talk.manager(Budget(window=2_000), trim(max_tokens=300)).prepare_sync()
    value = json.loads(talk.results(request.messages)[0])
    assert (value["exit_code"], value["id"]) == (1, "JOB-7")
    assert value["stdout"].startswith(LOG[:100])
    assert value["stdout"].endswith(LOG[-100:])
    assert "tokens left out here" in value["stdout"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000 + "]" * 20_000,
        json.dumps("x" * 90_000),
        "[NaN" + ",1" * 4_000 + "]",
        json.dumps({f"field_{n}": n for n in range(4_000)}),
        json.dumps([[[["deep " * 3_000]]]]),
        json.dumps({"text": "\ud83d lone " * 2_000}),
        "{" + "not json " * 3_000,
        "\u0301" * 9_000,
        "🇳🇴" * 9_000,
        "x" * 90_000,
    ],
    ids=lambda text: text[:12],
)
def test_odd_texts_are_cut_to_the_cap(talk: Any, text: str) -> None:
    talk.user("Run.").step(text).assistant("Done.").user("So?")
    request = talk.manager(Budget(window=2_000), trim(max_tokens=200)).prepare_sync()
    result = talk.texts(request.messages, PartKind.RESULT)[0]
    assert count(result) <= 220
    assert "left out here; original: ctx:" in result
    assert talk.refused(request.messages) == []


def test_half_pairs_that_were_escaped_stay_escaped(chat: Any) -> None:
    chat.user("Run.").step(json.dumps({"text": "\ud83d lone " * 2_000})).assistant("Done.").user("So?")
    request = chat.manager(Budget(window=1_000), trim(max_tokens=200)).prepare_sync()
    assert request.messages[2]["content"].encode()


def test_image_in_a_trimmed_result_is_named() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    use = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": LOG}, image]}
    context = ContextManager("anthropic", Budget(window=4_000), trim(max_tokens=200), strict=True)
    context.add([{"role": "user", "content": "Look."}, {"role": "assistant", "content": [use]}])
    context.add({"role": "user", "content": [result]})
    assert ", image/png left out here" in context.prepare_sync().messages[2]["content"][0]["content"]


PAGE = '# Rye bread\n\n"Grandma\'s" way:\n' + '- knead, rest, fold \\ turn; say "not yet" and wait\n' * 120


def test_arguments_stay_whole_unless_asked_for(talk: Any) -> None:
    arguments = {"path": "recipes/rye-bread.md", "mode": "create", "content": PAGE}
    talk.user("Write.").step("written", arguments=arguments).step(LOG).assistant("Done.").user("Rename it.")
    request = talk.manager(Budget(window=6_000, aim_for=2_000), trim(max_tokens=300)).prepare_sync()
    assert json.loads(talk.texts(request.messages, PartKind.ARGUMENTS)[0]) == arguments


def test_long_strings_in_arguments_are_cut_and_the_rest_stays(talk: Any) -> None:
    arguments = {"path": "recipes/rye-bread.md", "mode": "create", "size": 1.5, "content": PAGE}
    talk.user("Write the page.").step("written, 6 kB", arguments=arguments).assistant("Done.").user(
        "Rename it."
    )
    request = talk.manager(Budget(window=600), trim(max_tokens=200, arguments=True)).prepare_sync()
    kept = json.loads(talk.texts(request.messages, PartKind.ARGUMENTS)[0])
    content = kept.pop("content")
    assert kept == {"path": "recipes/rye-bread.md", "mode": "create", "size": 1.5}
    assert content.startswith("# Rye bread")
    assert "tokens left out here; original: ctx:" in content
    assert request.report.tokens_after <= 600
    assert talk.refused(request.messages) == []
