"""Hooks: what every installed plugin may implement, all of them called in turn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from ctxkit.config_error import nearest
from ctxkit.containing import is_callers, said
from ctxkit.core.facts import Fact, Speaker, unfit_field
from ctxkit.errors import ConfigError, UnknownPluginError
from ctxkit.secrets import secrets_in
from ctxkit.showing import shown

if TYPE_CHECKING:
    from ctxkit.report import Report
    from ctxkit.tokens import TokenCounter

__all__ = ["GROUP", "Called", "Hooks", "chosen", "hook"]

GROUP = "ctxkit"
"""The entry point group of plugins with hooks."""

MOST_KNOWN = 256
"""Texts of which is remembered what was found in them."""

K = TypeVar("K")
V = TypeVar("V")

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
        """Whether a message must stay verbatim for good: True, False or None. `selective` asks for each that a user said."""

    @_specification
    def ctxkit_find_secrets(self, text: str) -> Sequence[str] | None:
        """The parts of a text that must never be kept in facts or summaries, beside those that ctxkit finds itself
        (keys, passwords, card numbers)."""

    @_specification
    def ctxkit_token_counter(self, model: str) -> TokenCounter | None:
        """A counter for a model; the first plugin that has one wins, over ctxkit's own. What is no counter is put in
        the report; one that does not count, when it is asked, is a ConfigError, for no limit could be held by it."""

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
            loaded.broken.append((point.name, said(error)))
    return loaded


def chosen(plugins: Collection[str] | None) -> frozenset[str] | None:
    """The names of plugins whose hooks are to be asked, None for all that are installed.

    Raises:
        ConfigError: it is no list of names.
        UnknownPluginError: no plugin with hooks of such a name is installed.
    """
    if plugins is None:
        return None
    if isinstance(plugins, str) or not isinstance(plugins, Collection):
        raise ConfigError(f"plugins is a list of names, not {plugins!r:.60}", path="plugins")
    loaded = _loaded()
    installed = sorted(
        {*(name for name, _ in loaded.manager.list_name_plugin()), *(name for name, _ in loaded.broken)}
    )
    for name in plugins:
        if name not in installed:
            there = nearest(str(name), installed) or f"; there are: {', '.join(installed) or 'none'}"
            message = f"no plugin {name!r:.60} with hooks is installed{there}"
            raise UnknownPluginError(message, name=str(name), installed=installed, path="plugins")
    return frozenset(plugins)


@dataclass
class Called:
    """The hooks as strategies call them.

    Attributes:
        plugins: the plugins that are asked; all that are installed for None. See `chosen`.
        failures: which plugins raised or returned what they may not, and why; each is put down once.
    """

    plugins: frozenset[str] | None = None
    failures: dict[str, str] = field(default_factory=dict)
    _facts: dict[tuple[str, Speaker], list[Fact]] = field(default_factory=dict, repr=False)
    _secrets: dict[str, list[str]] = field(default_factory=dict, repr=False)
    _told: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def drained(self) -> list[tuple[str, str]]:
        """The failures that were not told yet."""
        fresh = [each for each in self.failures.items() if each not in self._told]
        self._told.update(fresh)
        return fresh

    @property
    def checks_requests(self) -> bool:
        """Whether any plugin looks at requests."""
        return bool(self._asked("ctxkit_check_request"))

    def facts_in(self, text: str, said_by: Speaker) -> list[Fact]:
        """What all plugins find in a text, `by` whom, without what is not verbatim in it. A text that stays in a conversation is
        asked about at each of its compactions; plugins read it once."""
        return _known(self._facts, (text, said_by), lambda: list(self._found(text, said_by)))

    def _found(self, text: str, said_by: Speaker) -> Iterator[Fact]:
        for by, facts in self._each("ctxkit_extract_facts", text=text, said_by=said_by):
            at = 0
            for fact in facts:
                if flaw := _flaw_in(fact):
                    self.failures[by] = f"it returned {flaw}"
                    continue
                start = text.find(fact.value, at)  # most plugins find facts in the order in which they stand
                start = start if start >= 0 else text.find(fact.value)
                if start < 0:
                    self.failures[by] = (
                        f"it returned a Fact whose value is not in the text: {fact.value!r:.80}"
                    )
                    continue
                at = start
                yield replace(fact, by=by)

    def is_key_message(self, text: str, said_by: Speaker) -> bool:
        """Whether any plugin says so."""
        for by, answer in self._answers("ctxkit_is_key_message", text=text, said_by=said_by):
            if answer is True:
                return True
            if answer is not False:
                self.failures[by] = f"it returned {_shown(answer)}, not True, False or None"
        return False

    def secrets_in(self, text: str) -> list[str]:
        """The secrets of a text: those that `ctxkit.secrets` finds, and what any plugin takes for one. A text is read
        once, as for `facts_in`."""
        return _known(self._secrets, text, lambda: list(dict.fromkeys(self._secrets_of(text))))

    def _secrets_of(self, text: str) -> Iterator[str]:
        yield from secrets_in(text)
        yield from (each for _, each in self._texts("ctxkit_find_secrets", text=text) if each)

    def counter_for(self, model: str) -> TokenCounter | None:
        """The counter of the first plugin that has one for a model."""
        from ctxkit.tokens.checked import checked, flaw_in

        for by, counter in self._answers("ctxkit_token_counter", model=model):
            flaw = flaw_in(counter)
            if not flaw:
                return checked(counter, by)
            self.failures[by] = f"it returned {_shown(counter)}, which is no token counter: {flaw}"
        return None

    def complaints(self, text: str, facts: Sequence[Fact]) -> list[tuple[str, str]]:
        """What plugins find wrong with a request: who, and one sentence."""
        return list(self._texts("ctxkit_check_request", text=text, facts=facts))

    def _texts(self, name: str, **given: Any) -> Iterator[tuple[str, str]]:
        """Each text of what the implementations of a hook returned; what is none is put down."""
        for by, answers in self._each(name, **given):
            for each in answers:
                if issubclass(type(each), str):
                    yield (
                        by,
                        str.__str__(each),
                    )  # a plain text, whatever a class of a plugin's own would make of it
                else:
                    self.failures[by] = f"it returned {_shown(each)}, which is no text"

    def _each(self, name: str, **given: Any) -> Iterator[tuple[str, list[Any]]]:
        """What each implementation of a hook returned, as a list, but for None."""
        for by, answer in self._answers(name, **given):
            listed = self._guarded(by, partial(_listed, answer))
            if listed is not None:
                yield by, listed

    def _answers(self, name: str, **given: Any) -> Iterator[tuple[str, Any]]:
        """What each implementation of a hook returned, but for None."""
        self.failures.update(self._broken())
        for implementation in self._asked(name):
            by = f"{name} of {implementation.plugin_name}"
            wanted = [given[each] for each in implementation.argnames]
            answer = self._guarded(by, partial(implementation.function, *wanted))
            if answer is not None:
                yield by, answer

    def _asked(self, name: str) -> list[pluggy.HookImpl]:
        """The implementations of a hook, of the plugins that are asked."""
        found = getattr(_loaded().manager.hook, name).get_hookimpls()
        return [each for each in found if self.plugins is None or each.plugin_name in self.plugins]

    def _broken(self) -> list[tuple[str, str]]:
        """Which of them could not be loaded, and why."""
        broken = _loaded().broken
        return [
            (f"hooks of {name}", why) for name, why in broken if self.plugins is None or name in self.plugins
        ]

    def tell_observers(self, tell: Callable[[], Report]) -> list[tuple[str, str]]:
        """Tell every observer of a compaction; returns those that are broken or raised, and why.

        Without observers no report is written.
        """
        failures = self._broken()
        for implementation in self._asked("ctxkit_compacted"):
            try:
                implementation.function(*[tell() for name in implementation.argnames if name == "report"])
            except BaseException as error:
                if is_callers(error):
                    raise
                failures.append((f"observer {implementation.plugin_name}", said(error)))
        return failures

    def _guarded(self, by: str, call: Callable[[], Any]) -> Any:
        """What code of a plugin returns; None when it raises, which is put down."""
        try:
            return call()
        except BaseException as error:
            if is_callers(error):
                raise
            self.failures[by] = said(error)
            return None


def _known(memory: dict[K, V], key: K, find: Callable[[], V]) -> V:
    """What is remembered under a key, found when nothing is."""
    found = memory.get(key)
    if found is None:
        if len(memory) >= MOST_KNOWN:
            memory.clear()
        found = memory[key] = find()
    return found


def _listed(answer: Any) -> list[Any]:
    if isinstance(answer, str | bytes):
        raise TypeError(f"it returned {_shown(answer)}, not a list of texts")
    return list(answer) if isinstance(answer, Iterable) else [answer]


def _flaw_in(fact: object) -> str:
    """What is wrong with what a plugin returned as a fact, "" when nothing is."""
    if type(fact) is not Fact:
        return f"{_shown(fact)}, which is no Fact"
    wrong = unfit_field(fact) or ("" if fact.value.strip() else "value")
    return f"a Fact whose {wrong} cannot be {_shown(getattr(fact, wrong))}" if wrong else ""


def _shown(value: object) -> str:
    if type(value) is tuple:
        return f"a tuple of {', '.join(type(each).__name__ for each in value[:5]) or 'nothing'}"
    return shown(value, 80)
