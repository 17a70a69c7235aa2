"""The benchmark of sessions fails where what it measures is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.sessions import opening
from ctxkit.sessions import log
from ctxkit.sessions.checkpoints import restore_checkpoint

RECORDS = 550
"""More than a checkpoint waits for."""


async def test_a_checkpoint_that_is_the_log_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    await opening(RECORDS)
    assert capsys.readouterr().out.endswith("x; the states are equal\n")


async def test_a_checkpoint_that_is_not_the_log_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def less(*given: Any, **named: Any) -> Any:
        book = restore_checkpoint(*given, **named)
        assert book is not None
        book.names["never"] = 1
        return book

    monkeypatch.setattr(log, "restore_checkpoint", less)
    with pytest.raises(SystemExit) as raised:
        await opening(RECORDS)
    assert raised.value.code not in (0, None)
    assert "NOT EQUAL" in capsys.readouterr().out
