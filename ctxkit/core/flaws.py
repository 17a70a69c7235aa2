"""Flaws: what is wrong with one entry, whatever stands around it; found before the entry comes in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxkit.core.provider import Entry, Provider, Repair, Violation
from ctxkit.errors import ProviderFormatError

__all__ = ["check_flaws", "mended", "refuse"]


def check_flaws(entries: Iterable[Entry], provider: Provider) -> None:
    """Refuse entries of which no server would take a request.

    Raises:
        ProviderFormatError: for the first of them.
    """
    for index, entry in enumerate(entries):
        for flaw in _flaws(entry, provider):
            path = flaw.path.replace("[0]", f"[{index}]", 1)
            refuse(Violation(flaw.rule, index, path, flaw.message), provider)


def refuse(violation: Violation, provider: Provider) -> None:
    """Say what a provider would refuse.

    Raises:
        ProviderFormatError: always.
    """
    raise ProviderFormatError(
        f"the provider would refuse this: {violation.message} (see {violation.rule} in docs/wire-rules.md; "
        "repair=True mends what can be mended)",
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
        if not _flaws(entry, provider) or provider.shape(entry, index=index).results:
            whole.append(entry)
            continue
        better, repairs = provider.repair(_going_on(entry, provider))
        whole += better[:-1]
        done += (Repair(each.rule, index, each.message) for each in repairs)
    return whole, done


def _flaws(entry: Entry, provider: Provider) -> list[Violation]:
    """The rules that an entry breaks by itself."""
    found = provider.violations(_going_on(entry, provider))
    return [each for each in found if each.index == 0 and each.rule in provider.intrinsic]


def _going_on(entry: Entry, provider: Provider) -> list[Entry]:
    """An entry in a conversation that goes on behind it: some are allowed only as the last."""
    return [entry, provider.stand_in("...")]
