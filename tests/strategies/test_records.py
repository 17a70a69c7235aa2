"""Records: in a digest no value of one is read as another's, whatever of them is left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import Budget, ContextManager
from ctxkit.strategies import steps as module
from ctxkit.strategies.steps import Step, read_again, step_of

Record = dict[str, str]
STATES = ("delivered", "cancelled", "pending", "lost")


@st.composite
def orders(draw: st.DrawFn, at_most: int = 5) -> list[Record]:
    """Orders with an id and a total of their own, and a state that others may have, too."""
    numbers = draw(st.lists(st.integers(100_000, 999_999), min_size=2, max_size=at_most, unique=True))
    return [
        {"id": f"W{number}", "status": draw(st.sampled_from(STATES)), "total": f"{number % 997 + 1}.{at}5"}
        for at, number in enumerate(numbers)
    ]


def rest(order: Record) -> Record:
    return {key: order[key] for key in order if key != "id"}


def turned(order: Record) -> Record:
    return rest(order) | {"id": order["id"]}


def paragraphs(rows: list[Record]) -> str:
    return "\n\n".join("\n".join(f"{key}: {value}" for key, value in row.items()) for row in rows)


SHAPES: dict[str, Callable[[list[Record]], Any]] = {
    "a list": lambda rows: {"orders": rows, "count": len(rows)},
    "a list alone": lambda rows: rows,
    "ids last": lambda rows: [turned(row) for row in rows],
    "a member each": lambda rows: {row["id"]: rest(row) for row in rows},
    "a member each, with the id in it": lambda rows: {row["id"]: row for row in rows},
    "a member each, nested": lambda rows: {row["id"]: {"detail": rest(row)} for row in rows},
    "a member each beside others": lambda rows: {
        "count": 7,
        **{row["id"]: {"status": row["status"], "bill": {"total": row["total"]}} for row in rows},
    },
    "a member each under a name": lambda rows: dict(zip("ABCDE", rows, strict=False)),
    "the id outside": lambda rows: [{"order": {"id": row["id"], "detail": rest(row)}} for row in rows],
    "the id inside": lambda rows: [{**rest(row), "ref": {"id": row["id"]}} for row in rows],
    "all in one": lambda rows: (
        {f"order_{name}": row for name, row in zip("abcde", rows, strict=False)} | {"n": 5}
    ),
    "lists in a list": lambda rows: {"rows": [list(row.values()) for row in rows]},
    "JSON in strings": lambda rows: [json.dumps(row) for row in rows],
    "parts of a message": lambda rows: {
        "content": [{"type": "text", "text": json.dumps(row)} for row in rows]
    },
    "paragraphs": paragraphs,
    "paragraphs with ids last": lambda rows: paragraphs([turned(row) for row in rows]),
    "lines": lambda rows: paragraphs(rows).replace("\n\n", "\n"),
    "a numbered list": lambda rows: "\n".join(
        f"{number}. Order {row['id']}\n   - Status: {row['status']}\n   - Total: {row['total']}"
        for number, row in enumerate(rows, 1)
    ),
    "headings": lambda rows: "\n\n".join(
        f"**Order {row['id']}**\n\n- Status: {row['status']}\n- Total: {row['total']}" for row in rows
    ),
    "texts in a list": lambda rows: [f"{'All that there is. ' * 12}\n{paragraphs([row])}" for row in rows],
    "a text in JSON": lambda rows: {
        "output": f"{'All that there is. ' * 12}\n\n{paragraphs(rows)}",
        "code": 0,
    },
}


def pieces(text: str) -> Iterator[set[str]]:
    """The words of each record in what a digest says of a call. What stands in braces is of what stands before them."""
    for part in re.split(r" \|{2,} |\n\n", text.partition(" -> ")[2] or text.partition("\n")[2]):
        for piece in re.split(r"(?:^|; )(\w+\{[^}]*\})", part):
            yield set(re.findall(r"[\w.]+\w", piece))


def mixed(text: str, rows: list[Record]) -> list[set[str]]:
    """What is told as if it was of one record, and is of none."""
    found = []
    for words in pieces(text):
        told = {value for row in rows for value in row.values() if value in words}
        fields = {key for row in rows for key in row if row[key] in told}
        if len(fields) > 1 and not any(told <= set(row.values()) for row in rows):
            found.append(told)
    return found


def afresh(text: str) -> Step:
    """The step of a digest of one step, read by somebody who did not write it."""
    module._WRITTEN.clear()
    [step] = read_again(text)
    return step


def called(name: str, arguments: Any, told: Any) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    content = told if isinstance(told, str) else json.dumps(told)
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": name, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": name, "content": content},
    ]


def some(draw: st.DrawFn, step: Step) -> Step:
    numbers = draw(st.sets(st.integers(0, len(step.facts) - 1), min_size=1))
    return step.only(tuple(sorted(numbers)))


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
def test_whatever_is_left_out_no_value_is_read_as_another_records(shape: str, data: st.DataObject) -> None:
    """Nor after a second fold, which goes by the text of the first."""
    rows = data.draw(orders())
    told = SHAPES[shape](rows)
    step = step_of("find", told if isinstance(told, str) else json.dumps(told))
    for _ in range(3):
        step = some(data.draw, step)
        assert mixed(step.line(), rows) == []
        assert afresh(step.line()) == step
        step = afresh(step.line())


@given(data=st.data())
def test_what_is_in_a_record_is_not_read_as_in_another(data: st.DataObject) -> None:
    """Orders, each with items: more bars stand between two orders than within one."""
    rows = data.draw(orders(9))
    count = data.draw(st.integers(1, 3))
    whole = [
        {**row, "items": [{"item": f"I{at}{n}", "price": f"{at}{n}.99"} for n in range(3)]}
        for at, row in enumerate(rows[:count])
    ]
    step = step_of("find", json.dumps({"orders": whole}))
    for _ in range(2):
        step = some(data.draw, step)
        for part in re.split(r" \|{3} ", step.line().partition(" -> ")[2]):
            numbers = {at for at, row in enumerate(rows) if row["id"] in part or row["total"] in part}
            numbers |= {int(at) for at in re.findall(r"I(\d)\d", part) + re.findall(r"(\d)\d\.99", part)}
            assert len(numbers) <= 1
            for item in re.split(r" \|\| ", part):
                assert len(set(re.findall(r"I(\d\d)", item) + re.findall(r"(\d\d)\.99", item))) <= 1
        step = afresh(step.line())


def test_an_object_that_shares_a_name_with_another_is_told_with_all_that_is_in_it() -> None:
    told = {"sender": {"id": "A1", "name": "Mei"}, "receiver": {"id": "B2", "blocked": True}, "size": 120}
    step = step_of("find", json.dumps(told))
    assert step.line() == "find -> sender{id=A1; name=Mei}; receiver{id=B2; blocked=true}; size=120"
    assert step.only((0, 1, 3)).line() == "find -> sender{id=A1; name=Mei}; receiver{blocked=true}"


def test_a_name_is_said_once_for_records_of_which_nothing_else_is_told() -> None:
    rows = [{"id": f"W{number}00", "total": f"{number}.95"} for number in (1, 2, 3, 4)]
    step = step_of("find", json.dumps({"orders": rows}))
    assert step.only((0, 2, 4, 5, 7)).line() == "find -> id=W100 || W200 || W300; total=3.95 || total=4.95"


def test_what_is_not_in_a_record_stands_before_the_records() -> None:
    told = {"orders": [{"id": "W100"}, {"id": "W200"}], "customer": {"name": "Mei"}}
    assert step_of("find", json.dumps(told)).line() == "find -> name=Mei || id=W100 || W200"


def test_two_results_of_one_call_are_two_records() -> None:
    """As where a provider's own tool answers in pieces."""
    assert (
        module._called("find", "{}", '{"id": "W100"}', '{"total": 3.95}').line()
        == "find -> id=W100 || total=3.95"
    )
    assert module._called("find", "{}", "id: W100", "total: 3.95").line() == "find\n id: W100\n\n total: 3.95"


FILLER = "On day {} it will be sunny with some wind from the west at night, and a few clouds over the hills. "


def folded(context: ContextManager) -> str:
    """What the next request says of the call of `find`, where that is folded."""
    texts = (str(message["content"]) for message in context.prepare_sync().messages)
    digest = next((text for text in texts if "Summary, not an instruction" in text), "")
    found = re.search(r"^find\b.*(?:\n(?: .*|)(?=\n|\Z))*", digest, re.MULTILINE)
    return found.group() if found else ""


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
def test_no_value_is_read_as_another_records_in_a_request(shape: str, data: st.DataObject) -> None:
    """Later calls, and what is said, name some of the records: what newer steps say goes from older ones."""
    rows = data.draw(orders())
    asked = data.draw(st.lists(st.sampled_from(rows), max_size=2))
    strategy = data.draw(st.sampled_from(("hybrid", "digest-tool-results")))
    window = data.draw(st.sampled_from((350, 450, 500, 600, 700, 900, 1_400)))
    context = ContextManager("openai-chat", Budget(window=window), strategy, plugins=())
    context.add([{"role": "user", "content": "Look."}, *called("find", {"who": "Mei"}, SHAPES[shape](rows))])
    said = data.draw(
        st.sampled_from(("Here they are.", "I see {id}.", "One was {status} and costs {total}."))
    )
    context.add({"role": "assistant", "content": said.format(**rows[-1])})
    for row in asked:
        context.add(
            [{"role": "user", "content": "And?"}, *called("get", {"id": row["id"]}, {"carrier": "DHL"})]
        )
    for day in range(10):
        context.add({"role": "user", "content": f"Will it rain on day {day}?"})
        assert mixed(folded(context), rows) == []
        context.add({"role": "assistant", "content": FILLER.format(day)})
