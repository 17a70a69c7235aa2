"""CompressionStrategy, the class that every strategy is, and how one is asked for its plan."""

from __future__ import annotations

import asyncio
import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler

from ctxkit.containing import caught, is_callers, said, words_of
from ctxkit.core.edits import Failure, Plan, Replace
from ctxkit.core.facts import USER
from ctxkit.core.provider import Entry
from ctxkit.core.view import View
from ctxkit.errors import ModelCallError, PlanRejected, StrategyError
from ctxkit.hooks import Called
from ctxkit.jsons import copied
from ctxkit.models.models import Models
from ctxkit.secrets import masked

__all__ = ["CompressionStrategy", "Services", "TooSlow", "advance"]

TIMEOUT_S = 30.0
"""Seconds that a plan may take when its strategy does not say."""


@dataclass(frozen=True)
class Services:
    """What a strategy may ask of the world outside its view.

    Attributes:
        original: the entries that a handle stands for, as they were received.
        strict: a step that fails raises instead of being rolled back and reported.
        disabled: kinds that are not asked any more, with the reason; the engine fills it.
        models: the models that may be asked.
        hooks: what installed plugins know: facts in a text, key messages, secrets.
        model: the model that the requests are for, None where nobody said.
    """

    original: Callable[[str], list[Entry]]
    strict: bool = False
    disabled: dict[str, str] = field(default_factory=dict)
    models: Models = field(default_factory=Models)
    hooks: Called = field(default_factory=Called)
    model: str | None = None


def _make_strict(schema: Any) -> None:
    """Let single values be what they are, "2" no number and 1 not true; lists are read as any sequence or set still,
    and keys of tables as what they stand for: in files they are all texts.

    Args:
        schema: a core schema of pydantic, or a part of one. A field that says whether it is strict stays so.
    """
    if isinstance(schema, list | tuple):
        for each in schema:
            _make_strict(each)
    elif isinstance(schema, dict):
        if schema.get("type") in ("bool", "int", "float", "str"):
            schema.setdefault("strict", True)
        for key, each in schema.items():
            if key not in ("default", "metadata", "keys_schema"):
                _make_strict(each)


class CompressionStrategy(BaseModel, ABC):
    """A way to make a conversation smaller: parameters as fields, and `plan`.

    A subclass gives `kind` a default, the name of its entry point in `ctxkit.strategies`. It is a value: frozen,
    read from config files as it is written in code.

    Attributes:
        kind: the name by which it is picked.
        timeout_s: seconds that `plan` may take, None for as long as it likes. An async plan is cancelled then; a
            sync one is let finish, and the strategy is not asked again.
        isolate: run `plan` in a process of its own, which is killed after `timeout_s`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    timeout_s: float | None = Field(default=TIMEOUT_S, gt=0)
    isolate: bool = False

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        schema = handler(source)
        _make_strict(handler.resolve_ref_schema(schema))
        return schema

    @abstractmethod
    def plan(self, view: View, services: Services) -> Plan | Awaitable[Plan]:
        """What to change, as data. Plain or `async`; it changes nothing itself.

        Args:
            view: the conversation, its sizes and limits; `view.over` says how many tokens have yet to go.
            services: what there is beside the view.
        """


async def advance(strategy: CompressionStrategy, view: View, services: Services) -> tuple[Plan, View]:
    """A strategy's plan and the view after it; when that fails, a plan that only says so, and the same view.

    Raises:
        StrategyError: the step failed and `services.strict` is set.
    """
    kind = strategy.kind
    if kind in services.disabled:
        return Plan.failed(kind, services.disabled[kind]), view
    try:
        plan = _without_secrets(await _planned(strategy, view, services), services.hooks).signed(kind)
        return plan, view.after(plan)
    except BaseException as error:  # the boundary to plugins, which may raise anything
        if _is_ours(error, services):
            raise
        failed, (why, request) = error, _told(error, strategy)
    if services.strict:
        raise StrategyError(f"strategy {kind!r}: {why}", kind=kind) from failed
    return Plan.failed(kind, why, request=request), view


def _without_secrets(plan: Plan, hooks: Called) -> Plan:
    """The plan without keys, passwords and card numbers in the summaries that it writes."""
    texts = {edit.text for edit in plan.edits if isinstance(edit, Replace)}
    secrets = {text: hooks.secrets_in(text) for text in texts}
    if not any(secrets.values()):
        return plan
    stages = tuple(
        tuple(
            replace(edit, text=masked(edit.text, secrets[edit.text])) if isinstance(edit, Replace) else edit
            for edit in stage
        )
        for stage in plan.stages
    )
    return Plan(stages, plan.failures)


def _told(error: BaseException, strategy: CompressionStrategy) -> tuple[str, str]:
    """Why a step failed, and the digest of the request to a model that must not be sent again for it, if there is one."""
    if isinstance(error, PlanRejected):
        return f"its plan was rolled back: {words_of(error)}", ""
    if isinstance(error, TooSlow) and strategy.timeout_s is not None:
        return f"it took longer than {strategy.timeout_s:g} s", ""
    if type(error) is ModelCallError:
        return words_of(error), "" if error.transient else error.request
    return f"it raised {said(error)}", ""


class TooSlow(Exception):
    """A plan was not there in time."""


def _is_ours(error: BaseException, services: Services) -> bool:
    """Whether an error is no plugin's: a failure that `strict` raises on, or the caller's own going away."""
    return is_callers(error) or (isinstance(error, StrategyError) and services.strict)


async def _planned(strategy: CompressionStrategy, view: View, services: Services) -> Plan:
    """The plan, asked for within the time that the strategy has."""
    if strategy.isolate:
        from ctxkit.isolation import plan_in_process

        return _checked(await plan_in_process(strategy, view, services))
    shown = view if type(strategy).__module__.startswith(_OURS) else _copied(view)
    started = time.monotonic()
    made = strategy.plan(shown, services if shown is view else replace(services, disabled={}))
    if inspect.isawaitable(made):
        return _checked(await _in_time(made, strategy.timeout_s))
    if strategy.timeout_s is not None and time.monotonic() - started > strategy.timeout_s:
        services.disabled[strategy.kind] = (
            f"it is not asked any more: it took longer than {strategy.timeout_s:g} s"
        )
    return _checked(made)


async def _in_time(plan: Awaitable[Plan], timeout_s: float | None) -> Plan:
    task = asyncio.ensure_future(caught(plan))
    try:
        done, _ = await asyncio.wait((task,), timeout=timeout_s)
    finally:
        if not task.done():
            task.cancel()
    if not done:
        raise TooSlow
    made, error = task.result()
    if error is not None:
        raise error
    return made  # type: ignore[return-value]  # what is no plan is refused by `_checked`


_OURS = "ctxkit.strategies."


def _copied(view: View) -> View:
    """The view with entries of its own: whoever changes them in place changes nothing else."""
    items = tuple(replace(item, raw=copied(item.raw)) for item in view.state.items)
    original, arrived = view.setting.original, view.setting.arrived
    setting = replace(
        view.setting,
        original=lambda id: copied(original(id)),
        arrived=lambda ids: [replace(item, raw=copied(item.raw)) for item in arrived(ids)],
    )
    state = replace(view.state, items=items, system=copied(view.state.system), ledger=dict(view.state.ledger))
    return replace(view, state=state, setting=setting)


def _checked(made: Any) -> Plan:
    if not isinstance(made, Plan):
        raise TypeError(f"plan() returned {type(made).__name__}, not a Plan")
    if not all(isinstance(stage, tuple) for stage in made.stages):
        raise TypeError("plan() returned a Plan whose stages are no tuples of edits; use Plan.of")
    if not all(map(_is_failure, made.failures)):
        raise TypeError("plan() returned a Plan whose failures are no Failure of texts; use Plan.failed")
    if any(getattr(edit, "by", "") == USER for edit in made.edits):
        raise PlanRejected([f"only users sign edits with by={USER!r}"])
    return made


def _is_failure(made: Any) -> bool:
    texts = (made.by, made.why, made.request) if type(made) is Failure else (None,)
    return all(type(text) is str for text in texts) and type(made.note) is bool
