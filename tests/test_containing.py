"""What others' code raises, told from the caller's own going away, and told in words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ctxkit.containing import is_callers, said


class Words(str):
    """A text of a class of its own."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        raise SystemExit("formatted")


class Telling(Exception):
    """Says what it is given, or raises it."""

    def __str__(self) -> str:
        told = self.args[0]
        if isinstance(told, BaseException):
            raise told
        return told  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "told", [SystemExit("out"), ValueError("no"), GeneratorExit(), 5, "", None], ids=repr
)
def test_an_error_that_has_no_words_is_told_by_its_class(told: Any) -> None:
    assert said(Telling(told)) == "Telling, without words"


def test_an_error_is_told_by_its_class_and_its_words() -> None:
    assert said(Telling(Words("bad luck"))) == "Telling: bad luck"
    assert type(said(Telling(Words("bad luck")))) is str
    with pytest.raises(KeyboardInterrupt):  # the user pressed Ctrl-C while the words were made
        said(Telling(KeyboardInterrupt()))


def test_nobody_can_be_cancelled_where_no_loop_runs() -> None:
    assert not is_callers(asyncio.CancelledError())


async def test_a_task_that_is_being_cancelled_is_the_callers_own() -> None:
    assert not is_callers(asyncio.CancelledError())

    async def waits() -> bool:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError as error:
            return is_callers(error)
        return False

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()
    assert await task
