"""Targets: what of a request has yet to go, in the whole and in each region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ctxkit.core.budget import Budget
from ctxkit.core.items import Item

__all__ = ["Targets"]


@dataclass(frozen=True, slots=True)
class Targets:
    """Where a request goes down to, for who can take tokens of some items and of no others.

    A region has to give up what it has above its `max`, as far as that can be taken from it. What cannot be taken
    borrows from the whole: nothing goes elsewhere to make up for it.

    Attributes:
        budget: whose regions they are.
        whole: tokens of the whole request.
        held: tokens that stay whatever goes, of each region from which something can be taken.
        alone: the one region that counts, and not the whole; "" when all count.
    """

    budget: Budget
    whole: int
    held: Mapping[str, int]
    alone: str = ""

    @classmethod
    def of(
        cls, budget: Budget, whole: int, sizes: Mapping[str, int], items: Iterable[Item], scope: str = ""
    ) -> Targets:
        """The targets for who can take these items, when the regions have these sizes.

        Args:
            scope: the region that is worked on; without a target of its own it is that of the whole.
        """
        held: dict[str, int] = {}
        for item in items if budget.regions else ():
            if item.region in budget.regions:
                held[item.region] = held.get(item.region, sizes.get(item.region, 0)) - item.tokens
        return cls(budget, whole, held, scope if scope in budget.regions else "")

    def over(self, sizes: Mapping[str, int]) -> int:
        """Tokens that have yet to go, when the regions have these sizes: of the whole or of a region, whichever is
        further from its target; 0 when all are met."""
        return max(0, self._of_whole(sizes), *self._of_regions(sizes).values())

    def pressed(self, sizes: Mapping[str, int]) -> frozenset[str]:
        """The regions of which something has yet to go: all, while the whole is over its target."""
        return frozenset(sizes if self._of_whole(sizes) > 0 else self._of_regions(sizes))

    def _of_whole(self, sizes: Mapping[str, int]) -> int:
        return 0 if self.alone else sum(sizes.values()) - self.whole

    def _of_regions(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Tokens above the target of each region that is over it."""
        if not self.held:
            return {}
        caps = self.budget.caps(sizes)
        overs = {name: sizes.get(name, 0) - max(caps[name], held) for name, held in self.held.items()}
        return {name: over for name, over in overs.items() if over > 0 and self.alone in ("", name)}
