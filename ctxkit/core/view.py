"""View: what a strategy sees, and `after`, the one way from a plan to the next view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ctxkit.core.budget import Budget
from ctxkit.core.conversation import Turn, Unit, units_of
from ctxkit.core.edits import Edit, Failure, Plan, Strip, only_marks
from ctxkit.core.facts import Fact, active_facts
from ctxkit.core.items import SHOWN, Item, Part, PartKind, Role
from ctxkit.core.kernel import STRIPPED, Applied, Setting, apply
from ctxkit.core.profile import fold_facts
from ctxkit.core.provider import Entry, Violation
from ctxkit.core.state import State, fixed_units, newest_unit, pending_tokens, wire
from ctxkit.core.targets import Targets
from ctxkit.errors import PlanRejected

__all__ = ["Past", "ToolResult", "View"]


@dataclass(frozen=True, slots=True)
class Past:
    """An earlier compaction, or an attempt at one that changed nothing.

    Attributes:
        number: of the compaction; an attempt has the number that it would have had.
        tokens_before, tokens_after: its size before and after.
        failures: what was rolled back in it.
        turn: the turn that was going on.
    """

    number: int
    tokens_before: int
    tokens_after: int
    failures: tuple[Failure, ...] = ()
    turn: int = 0


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One tool result: the item and the index of the part that hold it, and the name of its tool."""

    item: Item
    part: int
    name: str
    text: str
    value: Any


@dataclass(frozen=True, repr=False)
class View:
    """A conversation with its sizes and its limits.

    Attributes:
        state: the conversation; `units` and `turns` are the ways to read it.
        budget: what was asked for.
        setting: how it is counted and read.
        past: earlier compactions and what failed in them, oldest first.
        scope: the region that `within` narrowed the view to, "" for all.
        applied, named: the edits that led here from the view that the engine started with, and the originals
            behind the handles that the stand-ins written on the way name.
    """

    state: State
    budget: Budget
    setting: Setting
    past: Sequence[Past] = ()
    scope: str = ""
    applied: tuple[Applied, ...] = ()
    named: Mapping[str, tuple[range, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<View of {len(self.state.items)} items, {self.tokens} tokens, {self.over} over>"

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """All units in wire order."""
        return units_of(self.state.items, self.parts)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that are there, oldest first; turn 0 stands before the first user message."""
        groups: dict[int, list[Unit]] = {}
        for unit in self.units:
            groups.setdefault(unit.turn, []).append(unit)
        return tuple(Turn(number, tuple(groups[number])) for number in sorted(groups))

    @property
    def current_turn(self) -> int:
        """Number of the turn that is going on."""
        return self.state.turn

    @cached_property
    def fixed(self) -> frozenset[int]:
        """Ids of the units that no edit may touch (`Strip` excepted)."""
        return fixed_units(self.state)

    def free(self) -> tuple[Unit, ...]:
        """Units that may be left out, oldest first; under `within`, those with an item in its region."""
        return tuple(unit for unit in self._free_but_for_min if not self._keeps(unit))

    def kept_for_min(self) -> tuple[Unit, ...]:
        """Units that would be free, but for an item that a region's `min` keeps, oldest first."""
        return tuple(unit for unit in self._free_but_for_min if self._keeps(unit))

    @cached_property
    def _free_but_for_min(self) -> tuple[Unit, ...]:
        newest = newest_unit(self.state)
        return tuple(
            unit
            for unit in self.units
            if unit.id not in self.fixed
            and unit.id != newest
            and unit.id not in self.leaders
            and not unit.is_stand_in
            and (not self.scope or any(item.region == self.scope for item in unit.items))
        )

    @cached_property
    def _set_aside(self) -> frozenset[int]:
        """The newest items of each region that has a `min`, up to that many tokens."""
        left = {name: region.min for name, region in self.budget.regions.items() if region.min}
        items = set()
        for item in reversed(self.state.items if left else ()):
            if 0 < item.tokens <= left.get(item.region, 0):
                left[item.region] -= item.tokens
                items.add(item.id)
            elif item.region in left:
                left[item.region] = 0
        return frozenset(items)

    def _keeps(self, unit: Unit) -> bool:
        """Whether a region's `min` keeps an item of a unit."""
        return bool(self._set_aside) and any(item.id in self._set_aside for item in unit.items)

    def changeable(self) -> tuple[Item, ...]:
        """Items that may be shortened, oldest first; under `within`, those of its region."""
        return tuple(
            item
            for item in self.state.items
            if item.unit not in self.fixed
            and item.id not in self._set_aside
            and not item.synthetic
            and (not self.scope or item.region == self.scope)
        )

    @cached_property
    def shrinkable(self) -> int:
        """Tokens of all that is free or changeable."""
        return sum(item.tokens for item in self.reducible)

    @cached_property
    def reducible(self) -> Sequence[Item]:
        """The items that may be left out or shortened."""
        items = {item.id: item for unit in self.free() for item in unit.items}
        return tuple((items | {item.id: item for item in self.changeable()}).values())

    @cached_property
    def tool_loop(self) -> tuple[Unit, ...]:
        """The steps with calls of the current turn, behind the last words of a user; what marks a gap is none."""
        steps: list[Unit] = []
        for unit in reversed(self.units):
            says = unit.items[0].shape.role is Role.USER and not unit.items[0].marks_gap
            if unit.turn != self.current_turn or says:
                break
            if any(item.shape.calls for item in unit.items):
                steps.append(unit)
        return tuple(reversed(steps))

    def parts(self, item: Item) -> tuple[Part, ...]:
        """The parts of an item; `Shorten` counts in them."""
        return self.setting.meter.read(item.raw)[1]

    def results(self) -> tuple[ToolResult, ...]:
        """The tool results that may be shortened, oldest first."""
        names = {
            (unit.id, call.id): call.name
            for unit in self.units
            for item in unit.items
            for call in item.shape.calls
        }
        return tuple(
            ToolResult(item, index, part.name or names.get((item.unit, part.call), ""), part.text, part.value)
            for item in self.changeable()
            if item.shape.results
            for index, part in enumerate(self.parts(item))
            if part.kind is PartKind.RESULT
        )

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self.setting.meter.count(text)

    @property
    def remembered(self) -> tuple[Fact, ...]:
        """Every fact that was ever remembered, oldest first: what was superseded or taken back since, too. A strategy
        that remembers nothing of what is in it never does so twice, nor again what a user took back."""
        return self.state.facts

    def handle(self, item: Item) -> str:
        """The handle under which the original of an item can be read once it was changed."""
        return self.setting.handle([item])

    def original(self, item: Item) -> Entry:
        """The entry as it arrived. Do not change it."""
        return item.raw if item.synthetic else self.setting.original(item.id)

    def originals(self, item: Item) -> tuple[Entry, ...]:
        """The entries as they arrived that an item holds: late results may have been merged into it. Do not change
        them."""
        late = () if item.synthetic else (id for span in item.stands_for for id in span)
        return (self.original(item), *map(self.setting.original, late))

    @cached_property
    def regions(self) -> Mapping[str, int]:
        """Tokens by region, facts that are not written yet included, unless the request is larger without: what was taken
        back is told until they are written. System text beside the list is in "system", the tool schemas are "tools"."""
        sizes = dict(max((self.state, self._written), key=lambda state: sum(state.ledger.values())).ledger)
        sizes["system"] = sizes.get("system", 0) + self.state.system_tokens
        if self.state.open:
            pending = pending_tokens(self.state, self.setting.meter)
            sizes["tool_results"] = sizes.get("tool_results", 0) + pending
        sizes["tools"] = sizes.get("tools", 0) + self.state.tools_tokens
        return sizes

    @cached_property
    def _written(self) -> State:
        """The state with the facts in it that are not written yet."""
        unwritten = self.state.noted < len(self.state.facts)
        return fold_facts(self.state, self.setting.meter) if unwritten else self.state

    @cached_property
    def tokens(self) -> int:
        """The size of the whole request."""
        return sum(self.regions.values())

    @cached_property
    def surplus_turns(self) -> int:
        """Turns above the budget's `context_limit`, as far as they may be left out."""
        limit = self.budget.context_limit
        surplus = 0 if limit is None else len({item.turn for item in self.state.items if item.turn}) - limit
        return min(surplus, len(self.free_turns)) if surplus > 0 else 0

    @cached_property
    def free_turns(self) -> frozenset[int]:
        """The numbers of the turns all of which may be left out."""
        free = {unit.id for unit in self.free()}
        turns = {item.turn for item in self.state.items if item.turn}
        return frozenset(
            turns - {item.turn for item in self.state.items if item.made != "gap" and item.unit not in free}
        )

    @cached_property
    def target(self) -> int:
        """Where a compaction goes down to, in tokens of the whole request."""
        return self.budget.target(self._held)

    @cached_property
    def _held(self) -> int:
        stays = {*self.fixed, *self.leaders, newest_unit(self.state)}
        held = sum(item.tokens for item in self.state.items if item.unit in stays)
        return held + self.state.system_tokens + self.state.tools_tokens

    def room_for_pins(self, share: float, by: str) -> int:
        """Tokens of what a strategy may still pin or remember: `share` of the limit, and no more than what a compaction
        goes down to has room for beside what cannot shrink; less what its pins and its facts (their lines) hold already.

        They take as much of it as they hold: a second compaction finds no more room than the first left.

        Args:
            share: 0 to 1.
            by: the kind of the strategy.
        """
        own = {pin.unit for pin in self.state.pins if pin.by == by}
        held = sum(item.tokens for item in self.state.items if item.unit in own)
        held += sum(
            self.count(each.line) for each in active_facts(self.state.facts).values() if each.by == by
        )
        free = sum(unit.tokens for unit in self.within("").free())
        beside = self.budget.target(self._held - held) - (self.tokens - free)
        return max(0, min(int(self.budget.limit * share) - held, beside))

    @property
    def over(self) -> int:
        """Tokens that have yet to go: of the whole and of each region, whichever is further from its target;
        under `within`, of its region alone, if that has a target. 0 when all targets are met.

        In a region only what is free or changeable there counts: the rest borrows from the whole. See `Targets`.
        """
        return self.over_with(self.regions)

    def over_with(self, regions: Mapping[str, int]) -> int:
        """`over`, if the regions had these sizes."""
        return self._targets.over(regions)

    def pressed_with(self, regions: Mapping[str, int]) -> frozenset[str]:
        """The regions of which something has yet to go, if they had these sizes: all, while the whole is over its
        target."""
        return self._targets.pressed(regions)

    @property
    def over_whole(self) -> int:
        """Tokens of the whole request that have yet to go, whatever its regions hold."""
        return max(0, self.tokens - self.target)

    @property
    def over_free(self) -> int:
        """`over`, for who leaves units out and shortens none."""
        return self.targets(item for unit in self.free() for item in unit.items).over(self.regions)

    @cached_property
    def _targets(self) -> Targets:
        return self.targets(self.reducible if self.budget.regions else ())

    def targets(self, items: Iterable[Item]) -> Targets:
        """What has to go, for who can take these items and no others."""
        return Targets.of(self.budget, self.target, self.regions, items, self.scope)

    def after(self, plan: Plan) -> View:
        """The view after a plan.

        Stages that were tried on this view before, one by one, are not applied again.

        Raises:
            PlanRejected: the plan would break a promise; this view is unchanged.
        """
        view = self
        for at, stage in enumerate(plan.stages):
            known = view._tried.get(id(stage))
            if known is None or known[0] is not stage:
                return view._applied(plan.stages[at:])
            view = known[1]
        return view

    @cached_property
    def _tried(self) -> dict[int, tuple[tuple[Edit, ...], View]]:
        """Plans of one stage that were accepted, by the identity of the stage."""
        return {}

    def _applied(self, stages: tuple[tuple[Edit, ...], ...]) -> View:
        plan = Plan(stages)
        state, applied, named = apply(self.state, plan, self.setting)
        new = replace(self, state=state, applied=(*self.applied, *applied), named={**self.named, **named})
        reasons = [*self._touched(new), *self._grown(new, plan), *self.newly_refused(new)]
        if any(
            _begins_worse(loop, then) for loop, then in zip(self._tool_loops, new._tool_loops, strict=True)
        ):
            reasons.append("the tool loop began with thinking, and would begin without (A16)")
        if reasons:
            raise PlanRejected(reasons)
        if len(stages) == 1:
            self._tried[id(stages[0])] = (stages[0], new)
        return new

    @cached_property
    def _tool_loops(self) -> tuple[tuple[Unit, ...], ...]:
        """The tool loop, and what of it stands behind the last words beside results, which may begin a turn, too; where
        the format minds what they begin with (wire rule A16), else none."""
        loop = self.tool_loop if self.setting.meter.provider.thinks_first else ()
        spoken = (at for at, unit in enumerate(loop, 1) if any(item.shape.words for item in unit.items))
        return loop, loop[max(spoken, default=0) :]

    @cached_property
    def _thinking_loops(self) -> tuple[tuple[Unit, ...], ...]:
        """Those of the tool loops that began with thinking, and have to go on doing so."""
        return tuple(loop for loop in self._tool_loops if loop and loop[0].thinks)

    @property
    def thinks_first(self) -> bool:
        """Whether the tool loop begins with reasoning and has to go on doing so (wire rule A16)."""
        return bool(self._thinking_loops)

    @cached_property
    def leaders(self) -> frozenset[int]:
        """The steps without which a tool loop could not begin with thinking any more, where it has to: of each the last
        one that thinks of those up to the first that stays anyway."""
        newest, led = newest_unit(self.state), set[int]()
        for loop in self._thinking_loops:
            stay = (
                at
                for at, step in enumerate(loop)
                if step.id in self.fixed or step.id == newest or self._keeps(step)
            )
            up_to = loop[: next(stay, len(loop)) + 1]
            led.add(next(step.id for step in reversed(up_to) if step.thinks))
        return frozenset(led)

    def cut(self, units: Sequence[Unit], least: int) -> int:
        """How many of these units, in wire order, may go: so many at least, or else the most below; see `ends`."""
        ends = self.ends(units)
        return next((end for end in ends if end >= max(least, 1)), ends[-1] if ends else 0)

    def ends(self, units: Sequence[Unit]) -> list[int]:
        """How many of these units, in wire order, may go from the first on, all such numbers above 0: what stays of a
        tool loop that began with thinking has to begin with thinking (wire rule A16)."""
        ends = set(range(1, len(units) + 1))
        places = {unit.id: at for at, unit in enumerate(units)} if self.thinks_first else {}
        for loop in self._thinking_loops:
            gone = 0
            for step in loop:
                stays = places.get(step.id, len(units))
                if not step.thinks:
                    ends.difference_update(range(gone, stays + 1))
                gone = stays + 1
                if step.id not in places:
                    break
        return sorted(ends)

    def within(self, scope: str) -> View:
        """The same view narrowed to one region, "" for all."""
        return replace(self, scope=scope)

    def _touched(self, new: View) -> Iterable[str]:
        """Fixed items that are not there any more as they were (P4)."""
        there = {item.id: item for item in new.state.items}
        for item in self.state.items:
            if item.unit not in self.fixed:
                continue
            now = there.get(item.id)
            if (now is None or now.raw is not item.raw) and not _stripped(item, now, new.applied):
                yield f"pinned item {item.id} was changed"

    def _grown(self, new: View, plan: Plan) -> Iterable[str]:
        if not only_marks(plan.edits):
            if new.tokens > self.tokens:
                yield f"the request would grow from {self.tokens} to {new.tokens} tokens"
        elif new._marked > max(self._marked, self.budget.limit):
            yield f"with these pins and facts {new._marked} tokens could never be reduced"

    @cached_property
    def _marked(self) -> int:
        """Tokens that no strategy can reduce any more, facts that are not written yet included."""
        fixed = fixed_units(self._written)
        items = sum(item.tokens for item in self._written.items if item.unit in fixed)
        return items + self.state.system_tokens + self.state.tools_tokens

    def newly_refused(self, new: View) -> list[str]:
        """What a provider would refuse of the new request and not of this one (P1)."""
        return [
            f"the provider would refuse it: {violation}"
            for key, violation in new.violations.items()
            if key not in self.violations  # worked out only when there is something to compare with
        ]

    def unseen(self) -> list[Fact]:
        """Facts in force that must be kept, and that stand nowhere in the items."""
        facts = [fact for fact in active_facts(self.state.facts).values() if fact.must_keep]
        if not facts:
            return []
        facts_first = sorted(self.state.items, key=lambda item: item.made not in ("profile", "note"))
        for item in facts_first:
            texts = [part.text for part in self.parts(item) if part.reads_as in SHOWN]
            facts = [each for each in facts if not any(map(each.stands_in, texts))]
            if not facts:
                break
        return facts

    @cached_property
    def violations(self) -> Mapping[tuple[str, int | None], Violation]:
        """The wire rules that the request breaks, by rule and id of the item."""
        provider = self.setting.meter.provider
        entries, ids = wire(self.state, provider)
        found = provider.violations(entries, system=self.state.system)
        return {(each.rule, ids[each.index] if each.index >= 0 else None): each for each in found}


def _begins_worse(loop: Sequence[Unit], then: Sequence[Unit]) -> bool:
    """Whether a tool loop began with thinking, and goes on without."""
    return bool(loop and then) and loop[0].thinks and not then[0].thinks


def _stripped(item: Item, now: Item | None, applied: Sequence[Applied]) -> bool:
    if now is not None:
        return now.edited == STRIPPED
    return any(isinstance(each.edit, Strip) and any(item.id in span for span in each.ids) for each in applied)
