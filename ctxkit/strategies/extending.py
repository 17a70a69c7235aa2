"""Extending: a question that goes on from the conversation's last request, so that the provider's cache pays for it."""

from __future__ import annotations

from dataclasses import dataclass

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import only_marks
from ctxkit.core.items import SHOWN, Item, Role
from ctxkit.core.state import State
from ctxkit.core.view import View
from ctxkit.models.question import Question
from ctxkit.models.settings import ModelSettings
from ctxkit.presets import find_preset
from ctxkit.summaries.covering import Covering
from ctxkit.summaries.prose import one_line
from ctxkit.tokens.names import bare_name

__all__ = ["Place", "is_cheaper", "is_own", "place_of"]

LEAST_CACHED = 1_024
"""Tokens of the shortest beginning that is cached. Source: OpenAI's guide on prompt caching."""

FIRST_WORDS = 80
"""Characters by which a message is named."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where what a summary is to cover stands in the request.

    Attributes:
        first: how its first message begins.
        after: how the first message behind it begins.
        left: how many messages come behind it.
        earlier: how the earlier summary begins, "" without one.
    """

    first: str
    after: str
    left: int
    earlier: str


def is_own(model: ModelSettings, view: View, own: str | None) -> bool:
    """Whether a model is the conversation's own (`own` is its name), asked in the format of the conversation."""
    same = own is not None and bare_name(own) == bare_name(model.name)
    return same and view.setting.meter.provider.name == f"openai-{model.api}"


def place_of(covering: Covering) -> Place | None:
    """Where a covering stands in the request; None when the request does not hold all of it as it arrived, in one
    piece, or could not be gone on from."""
    view, state = covering.view, covering.view.state
    ids = {item.id for unit in covering.fresh for item in unit.items}
    at = [index for index, item in enumerate(state.items) if item.id in ids]
    behind = state.items[at[-1] + 1 :] if at else ()
    if not behind or at[-1] - at[0] != len(at) - 1 or len(covering.earlier) > 1 or not _goes_on(view):
        return None
    if any(item.raw != view.original(item) for unit in covering.fresh for item in unit.items):
        return None
    first, after = _first_words(view, covering.fresh[0].items[0]), _first_words(view, behind[0])
    earlier = "".join(_first_words(view, item) for unit in covering.earlier for item in unit.items)
    return Place(first, after, len(behind), earlier) if first and after else None


def is_cheaper(question: Question, view: View, model: ModelSettings, *, plain: int, extra: int) -> bool:
    """Whether a question costs less when it extends the last request, and fits into the model's window then.

    cache_read × what the last request held + input × (what came since + extra) < input × plain

    Args:
        question: for its room for an answer.
        plain: tokens of the question that shows its data itself.
        extra: tokens that the question adds to the request.
    """
    known, cached, tokens = find_preset(model.name), _cached(view), view.tokens + extra
    if known is None or cached < LEAST_CACHED:
        return False
    fits = tokens <= known.max_input and tokens + question.max_tokens <= min(model.window, known.window)
    return fits and known.cache_read * cached + known.input * (tokens - cached) < known.input * plain


def _goes_on(view: View) -> bool:
    """Whether a request with this view begins as the last one did, and may end in one more message."""
    calls = any(item.shape.calls for item in view.state.items)
    edited = not only_marks([each.edit for each in view.applied])
    return not (view.state.open or (calls and not view.state.tools) or edited or _rewritten(view.state))


def _rewritten(state: State) -> bool:
    """Whether the newest that ctxkit wrote stands in front or is gone: what follows is in no cache then."""
    newest = state.next_synthetic + 1
    return newest < 0 and not any(item.id == newest and not item.in_front for item in state.items)


def _cached(view: View) -> int:
    """Tokens of the last request: of all that stands before the model's newest answer."""
    answers = [unit for unit in view.units if _is_answer(unit)]
    if not answers:
        return 0
    before = (item.tokens for item in view.state.items[: view.state.items.index(answers[-1].items[0])])
    return view.state.system_tokens + view.state.tools_tokens + sum(before)


def _is_answer(unit: Unit) -> bool:
    return unit.items[0].shape.role in (Role.MODEL, Role.REASONING)


def _first_words(view: View, item: Item) -> str:
    """How what a reader sees of a message begins."""
    text = next((part.text for part in view.parts(item) if part.reads_as in SHOWN and part.text.strip()), "")
    return one_line(text[: 2 * FIRST_WORDS])[:FIRST_WORDS]
