"""Hooks: what every installed plugin may implement, all of them called in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import pluggy

from ctxkit.core.facts import Fact, Speaker
from ctxkit.models.containing import is_callers
from ctxkit.secrets import secrets_in

if TYPE_CHECKING:
    from ctxkit.report import Report
    from ctxkit.tokens import TokenCounter

__all__ = ["GROUP", "Called", "Hooks", "hook", "tell_observers"]

GROUP = "ctxkit"
"""The entry point group of plugins with hooks."""

MOST_KNOWN = 256
"""Texts whose facts are remembered."""

_specification = pluggy.HookspecMarker(GROUP)

hook = pluggy.HookimplMarker(GROUP)
"""Marks a function of a plugin module as an implementation of a hook."""


class Hooks:
    """The hooks. A plugin names its module in the entry point group `ctxkit`, and implements those that it wants.

    Whatever an implementation raises is put in the report and goes no further.
    """

    @_specification
    def ctxkit_compacted(self, report: Report) -> None:
        """A compaction was committed."""

    @_specification
    def ctxkit_extract_facts(self, text: str, said_by: Speaker) -> Sequence[Fact] | None:
        """Facts that a text states, each `value` verbatim from it. `keep-key-facts` asks before the text goes.

        What is found in text of tools stays marked as said by a tool, whatever the implementation says.
        """

    @_specification
    def ctxkit_is_key_message(self, text: str, said_by: Speaker) -> bool | None:
        """Whether a message must stay verbatim for good. `selective` asks for each that a user said."""

    @_specification
    def ctxkit_find_secrets(self, text: str) -> Sequence[str] | None:
        """The parts of a text that must never be kept in facts or summaries, beside those that ctxkit finds itself
        (keys, passwords, card numbers)."""

    @_specification
    def ctxkit_token_counter(self, model: str) -> TokenCounter | None:
        """A counter for a model; the first plugin that has one wins, over ctxkit's own."""

    @_specification
    def ctxkit_check_request(self, text: str, facts: Sequence[Fact]) -> Sequence[str] | None:
        """What is wrong with a request that is about to go out, one sentence each: `text` is all that the model would
        read (in Chat its system messages too), `facts` are those in force; without any, nobody is asked. Each sentence becomes a
        failure in the report; in strict mode it is raised."""


@dataclass
class _Loaded:
    """The plugins that could be loaded, and why the others could not."""

    manager: pluggy.PluginManager
    broken: list[tuple[str, str]] = field(default_factory=list)


@cache
def _loaded() -> _Loaded:
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(Hooks)
    loaded = _Loaded(manager)
    for point in entry_points(group=GROUP):
        try:
            plugin = point.load()
            manager.register(plugin, name=point.name)
            manager.check_pending()
        except BaseException as error:
            if is_callers(error):
                raise
            if manager.has_plugin(point.name):
                manager.unregister(name=point.name)
            loaded.broken.append((f"hooks of {point.name}", f"{type(error).__name__}: {error}"))
    return loaded


@dataclass
class Called:
    """The hooks as strategies call them.

    Attributes:
        failures: which plugins raised or returned what they may not, and why; each is put down once.
    """

    failures: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, Speaker], list[Fact]] = field(default_factory=dict, repr=False)
    _told: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def drained(self) -> list[tuple[str, str]]:
        """The failures that were not told yet."""
        fresh = [each for each in self.failures.items() if each not in self._told]
        self._told.update(fresh)
        return fresh

    @property
    def checks_requests(self) -> bool:
        """Whether any plugin looks at requests."""
        return bool(_loaded().manager.hook.ctxkit_check_request.get_hookimpls())

    def facts_in(self, text: str, said_by: Speaker) -> list[Fact]:
        """What all plugins find in a text, `by` whom, without what is not verbatim in it. A text that stays in a conversation is
        asked about at each of its compactions; plugins read it once."""
        if (text, said_by) not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[text, said_by] = list(self._found(text, said_by))
        return self._known[text, said_by]

    def _found(self, text: str, said_by: Speaker) -> Iterator[Fact]:
        for by, facts in self._each("ctxkit_extract_facts", text=text, said_by=said_by):
            at = 0
            for fact in facts:
                if isinstance(fact, Fact) and isinstance(fact.value, str):
                    start = text.find(
                        fact.value, at
                    )  # most plugins find facts in the order in which they stand
                    start = start if start >= 0 else text.find(fact.value)
                    if start >= 0:
                        at = start
                        yield replace(fact, by=by)
                        continue
                self.failures[by] = f"it returned {fact!r:.80}, which is no Fact with a value from the text"

    def is_key_message(self, text: str, said_by: Speaker) -> bool:
        """Whether any plugin says so."""
        return any(
            answer == [True] for _, answer in self._each("ctxkit_is_key_message", text=text, said_by=said_by)
        )

    def secrets_in(self, text: str) -> list[str]:
        """The secrets of a text: those that `ctxkit.secrets` finds, and what any plugin takes for one."""
        found = [each for _, secrets in self._each("ctxkit_find_secrets", text=text) for each in secrets]
        return [each for each in dict.fromkeys([*secrets_in(text), *found]) if isinstance(each, str) and each]

    def counter_for(self, model: str) -> TokenCounter | None:
        """The counter of the first plugin that has one for a model."""
        for by, found in self._each("ctxkit_token_counter", model=model):
            counter: TokenCounter = found[0]
            if all(hasattr(counter, name) for name in ("count", "name", "exact")):
                return counter
            self.failures[by] = f"it returned {counter!r:.80}, which is no token counter"
        return None

    def complaints(self, text: str, facts: Sequence[Fact]) -> list[tuple[str, str]]:
        """What plugins find wrong with a request: who, and one sentence."""
        answers = self._each("ctxkit_check_request", text=text, facts=facts)
        return [(by, str(each)) for by, complaints in answers for each in complaints]

    def _each(self, name: str, **given: Any) -> Iterator[tuple[str, Any]]:
        """What each implementation of a hook returned, but for None."""
        for by, why in _loaded().broken:
            self.failures[by] = why
        for implementation in getattr(_loaded().manager.hook, name).get_hookimpls():
            by = f"{name} of {implementation.plugin_name}"
            try:
                answer = implementation.function(*[given[each] for each in implementation.argnames])
                if isinstance(answer, str | bytes):
                    raise TypeError(f"it returned {answer!r:.80}, not a list of texts")
                if answer is not None:
                    yield by, list(answer) if isinstance(answer, Iterable) else [answer]
            except BaseException as error:
                if is_callers(error):
                    raise
                self.failures[by] = f"{type(error).__name__}: {error}"


def tell_observers(tell: Callable[[], Report]) -> list[tuple[str, str]]:
    """Tell every observer of a compaction; returns those that are broken or raised, and why.

    Without observers no report is written.
    """
    loaded = _loaded()
    failures = list(loaded.broken)
    for implementation in loaded.manager.hook.ctxkit_compacted.get_hookimpls():
        try:
            implementation.function(*[tell() for name in implementation.argnames if name == "report"])
        except BaseException as error:
            if is_callers(error):
                raise
            failures.append((f"observer {implementation.plugin_name}", f"{type(error).__name__}: {error}"))
    return failures
