"""Watched: a strategy that plans as another does, and keeps what that one was shown and what it planned."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import Any

from pydantic import PrivateAttr, SerializeAsAny

from ctxkit.core.edits import Plan
from ctxkit.core.view import View
from ctxkit.errors import ModelCallError, PlanRejected
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["Look", "Watched"]


@dataclass(frozen=True)
class Look:
    """One time that a strategy was asked for a plan.

    Attributes:
        view: what it was shown.
        made: what `plan` returned, None when it raised.
        raised: what it raised, "" when it did not.
        changed: ids of the items that it changed in place.
    """

    view: View
    made: object
    raised: str
    changed: tuple[int, ...]

    @property
    def plan(self) -> Plan:
        """The plan, an empty one when there is none."""
        return self.made if isinstance(self.made, Plan) else Plan()

    @property
    def messages(self) -> int:
        """How many messages of the conversation had been added."""
        return max((item.id for item in self.view.state.items), default=-1) + 1

    def rejected(self, by: str) -> tuple[str, ...]:
        """Why the plan, signed by a strategy, cannot be applied, each reason once; none when it can."""
        try:
            self.view.after(self.plan.signed(by))
        except PlanRejected as error:
            return tuple(dict.fromkeys(error.reasons))
        except Exception as error:  # noqa: BLE001 - whatever stands in a plugin's plan instead of edits
            return (f"{type(error).__name__}: {error}",)
        return ()


class Watched(CompressionStrategy):
    """Plans as `strategy` does; `looks` has every plan that it was asked for."""

    kind: str
    strategy: SerializeAsAny[CompressionStrategy]
    _looks: list[Look] = PrivateAttr(default_factory=list)

    @classmethod
    def of(cls, strategy: CompressionStrategy) -> Watched:
        """A strategy, watched from now on."""
        return cls(kind=strategy.kind, timeout_s=strategy.timeout_s, strategy=strategy)

    @property
    def looks(self) -> list[Look]:
        """What was seen, oldest first."""
        return self._looks

    async def plan(self, view: View, services: Services) -> Plan:
        before = _written(view)
        made: Any = None
        raised = ""
        try:
            made = self.strategy.plan(view, services)
            made = await made if inspect.isawaitable(made) else made
        except ModelCallError:  # no model is there to be asked, which is no fault of a strategy
            made = Plan()
            raise
        except BaseException as error:
            raised = f"{type(error).__name__}: {error}"
            raise
        finally:
            after = _written(view)
            changed = tuple(id for id, entry in before.items() if after.get(id) != entry)
            self._looks.append(Look(view, made, raised, changed))
        return made  # type: ignore[no-any-return]  # what is no plan is refused by whoever asked


def _written(view: View) -> dict[int, str]:
    return {item.id: json.dumps(item.raw, sort_keys=True, default=repr) for item in view.state.items}
