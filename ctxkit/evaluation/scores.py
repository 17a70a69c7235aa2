"""Scores: sums over measured requests, which add up."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from ctxkit.evaluation.lost import Lost
from ctxkit.evaluation.reasons import Reasons
from ctxkit.evaluation.replay import Measured, Replay

__all__ = ["Score", "score_of"]


@dataclass(frozen=True, slots=True)
class Score:
    """Sums over replays; `a + b` is the score of both.

    Attributes:
        conversations: replays.
        excluded, waiting: moments left out; see `Replay`.
        requests: requests that were asked for; `sent` of them were made.
        valid: of those sent, those that break no wire rule that the conversation does not break itself.
        fitting: of those sent, those that are within their limit.
        grounded: of those sent, those that hold all that the answer needs.
        usable: of those sent, those that are all three.
        needs: literals that answers need, over all requests asked for; `held` of them were shown.
        far: of the needs, those last said more than one limit back; `far_held` of them were shown.
        constraints: sentences that bind a request, over all asked for; `kept` of them were shown word for word.
        tokens, cached, repeated, everything, everything_cached, answers: of the requests sent; see `Measured`.
        turns: turns in which a request was asked for.
        compactions: requests for which one was made.
        failures: how often steps of strategies were rolled back or could not do all, over all asked for; why they
            could not is in `reasons`.
        lost, unkept: of the needs and of the constraints, the commonest that were not shown.
        seconds: what the requests took.
    """

    conversations: int = 0
    excluded: int = 0
    waiting: int = 0
    requests: int = 0
    sent: int = 0
    valid: int = 0
    fitting: int = 0
    grounded: int = 0
    usable: int = 0
    needs: int = 0
    held: int = 0
    far: int = 0
    far_held: int = 0
    constraints: int = 0
    kept: int = 0
    tokens: int = 0
    cached: int = 0
    repeated: int = 0
    everything: int = 0
    everything_cached: int = 0
    answers: int = 0
    turns: int = 0
    compactions: int = 0
    failures: int = 0
    reasons: Reasons = field(default_factory=Reasons)
    lost: Lost = field(default_factory=Lost)
    unkept: Lost = field(default_factory=Lost)
    seconds: float = 0.0

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


def score_of(replay: Replay) -> Score:
    """The sums of one replay."""
    requests = replay.requests
    start = Score(
        conversations=1,
        excluded=replay.excluded,
        waiting=replay.waiting,
        turns=len({request.turn for request in requests}),
        lost=Lost.of((need.literal, each.at) for each in requests for need in each.needs if not need.held),
        unkept=Lost.of(
            (said, each.at) for each in requests for said in each.constraints if said not in each.kept
        ),
    )
    return sum(map(_of_request, requests), start)


def _of_request(request: Measured) -> Score:
    far = [need for need in request.needs if need.age > request.limit]
    asked = Score(
        requests=1,
        needs=len(request.needs),
        far=len(far),
        constraints=len(request.constraints),
        failures=len(request.failures),
        reasons=Reasons.of(request.failures),
        seconds=request.seconds,
    )
    if request.refusal:
        return asked
    valid, fitting = not request.violations, request.tokens <= request.limit
    grounded = all(need.held for need in request.needs)
    return asked + Score(
        sent=1,
        valid=valid,
        fitting=fitting,
        grounded=grounded,
        usable=valid and fitting and grounded,
        held=sum(need.held for need in request.needs),
        far_held=sum(need.held for need in far),
        kept=len(request.kept),
        tokens=request.tokens,
        cached=request.cached,
        repeated=request.repeated,
        everything=request.everything,
        everything_cached=request.everything_cached,
        answers=request.answer,
        compactions=request.compacted,
    )
