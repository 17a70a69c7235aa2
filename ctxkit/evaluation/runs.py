"""Runs: many conversations, each in every setting, in one process or several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ctxkit.errors import CtxkitError
from ctxkit.evaluation.needs import Mentions
from ctxkit.evaluation.recording import Recording, Transcript
from ctxkit.evaluation.replay import replay
from ctxkit.evaluation.scores import Score, score_of
from ctxkit.evaluation.settings import Setting

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Unscored", "run", "scored"]

T = TypeVar("T")
R = TypeVar("R")

IN_FLIGHT = 8
"""Conversations for each process that are handed out ahead; more would only fill the memory."""


@dataclass(frozen=True, slots=True)
class Unscored:
    """Why a conversation has no score: the error's type and what it says."""

    type: str
    message: str

    @classmethod
    def of(cls, error: CtxkitError) -> Unscored:
        """The error in a form that can be sent between processes."""
        return cls(type(error).__name__, str(error))


def run(
    transcripts: Iterable[Transcript | Unscored], settings: Sequence[Setting], *, jobs: int = 1
) -> Iterator[list[Score | Unscored]]:
    """What each conversation came to in each setting, in the order of the conversations.

    Args:
        transcripts: taken in as they are needed; a failure in place of one comes out as the failure of each
            setting, so that whoever reads them can pass on what could not be read.
        jobs: processes; the scores are the same for any number, but for their `seconds`.
    """
    work = partial(scored, settings=settings)
    if jobs == 1:
        return map(work, transcripts)
    return _in_processes(work, transcripts, jobs)


def scored(transcript: Transcript | Unscored, settings: Sequence[Setting]) -> list[Score | Unscored]:
    """What one conversation came to in each setting."""
    if isinstance(transcript, Unscored):
        return [transcript] * len(settings)
    read: dict[str | None, tuple[Recording, Mentions] | Unscored] = {}
    outcomes: list[Score | Unscored] = []
    for setting in settings:
        if setting.model not in read:
            read[setting.model] = _read(transcript, setting.model)
        found = read[setting.model]
        outcomes.append(found if isinstance(found, Unscored) else _scored(*found, setting))
    return outcomes


def _read(transcript: Transcript, model: str | None) -> tuple[Recording, Mentions] | Unscored:
    try:
        recording = Recording(transcript, model=model)
    except CtxkitError as error:
        return Unscored.of(error)
    return recording, Mentions(recording)


def _scored(recording: Recording, mentions: Mentions, setting: Setting) -> Score | Unscored:
    try:
        return score_of(replay(recording, setting, mentions=mentions))
    except CtxkitError as error:
        return Unscored.of(error)


def _in_processes(work: Callable[[T], R], tasks: Iterable[T], jobs: int) -> Iterator[R]:
    """The results in the order of the tasks, of which only so many are taken in as are being worked on."""
    from concurrent.futures import ProcessPoolExecutor

    waiting: deque[Future[R]] = deque()
    pool = ProcessPoolExecutor(jobs)
    try:
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) >= jobs * IN_FLIGHT:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
