"""Flaws: what is wrong with one entry, whatever stands around it; found before the entry comes in."""

from __future__ import annotations

from collections.abc import Sequence

from ctxkit.core.provider import Entry, Provider, Repair, Violation
from ctxkit.errors import ProviderFormatError

__all__ = ["check_flaws", "mended", "refuse"]


def check_flaws(entries: Sequence[Entry], provider: Provider, *, mended: bool) -> None:
    """Refuse entries of which no server would take a request; `mended` says that they were mended before.

    Raises:
        ProviderFormatError: for the first of them.
    """
    for flaw in _flaws(entries, provider):
        shape = provider.shape(entries[flaw.index], index=flaw.index)
        refuse(flaw, provider, mends=not mended and not shape.results)


def refuse(violation: Violation, provider: Provider, *, mends: bool = True) -> None:
    """Say what a provider would refuse; `mends` says that `repair=True` might do something about it.

    Raises:
        ProviderFormatError: always.
    """
    hint = "; repair=True mends what can be mended" if mends else ""
    raise ProviderFormatError(
        f"the provider would refuse this: {violation.message} (see {violation.rule} in docs/wire-rules.md{hint})",
        format=provider.name,
        path=violation.path,
        rule=violation.rule,
    )


def mended(entries: Sequence[Entry], provider: Provider) -> tuple[list[Entry], list[Repair]]:
    """Entries that go on a conversation, without the flaws that can be mended, and what was done; what answers a call
    stays as it is."""
    whole: list[Entry] = []
    done: list[Repair] = []
    for index, entry in enumerate(entries):
        if not _flaws([entry], provider) or provider.shape(entry, index=index).results:
            whole.append(entry)
            continue
        better, repairs = provider.repair([entry, _after(provider)])
        whole += better[:-1]
        done += (Repair(each.rule, index, each.message) for each in repairs)
    return whole, done


def _flaws(entries: Sequence[Entry], provider: Provider) -> list[Violation]:
    """The rules that entries break, each by itself."""
    found = provider.violations([*entries, _after(provider)])
    return [each for each in found if 0 <= each.index < len(entries) and each.rule in provider.intrinsic]


def _after(provider: Provider) -> Entry:
    """What comes behind entries in a conversation that goes on: some are allowed only as the last."""
    return provider.stand_in("...")
