"""What is wrong with a request, as far as medical facts go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ctxkit import Fact
from ctxkit_medical.kinds import FORBIDDING, KINDS
from ctxkit_medical.words import FAMILIES, NOT

__all__ = ["complaints"]

_OURS = tuple(kind.key.partition("{")[0] for kind in KINDS) + tuple(
    kind.general for kind in KINDS if kind.general
)

_ADVICE = re.compile(
    r"(?:\b(?:you (?:can|could|should|may|might|must|need to|have to)|please|let['’]?s|go ahead and|you to|just)"
    r" (?:also )?(?:take|try|use|continue|start)|\b(?:recommend|prescribe|suggest|order|start(?:ing)? you on"
    r"|put(?:ting)? you on|give you|treat you with|continue you on)|^\s*(?:take|try|use)|"
    r"(?:服用|吃|使用|改用|开|建议用?|可以用?|试试))"
    r"(?:[ ,:]+(?!(?:no|not|instead|than|without|avoid|stop)\b)[\w%.'-]+){0,6}[ ,:]*[^\s，。；不]{0,8}$",
    re.IGNORECASE,
)
_CAUTION = re.compile(
    rf"\b(?:do not|do ?{NOT}|never|can ?{NOT}|cannot|avoid\w*|stop\w*|instead of|rather than|not|no|if|except)\b"
    "|不|勿|禁|避免|停|如果|能否|是否",
    re.IGNORECASE,
)
_BREAK = re.compile(r"[.!?]\s|[。！？；\n]")
RECENT = 20_000
"""Characters at the end of a request that are searched for advice: what is older was told when it was new."""

_BEFORE, _AFTER = 100, 40
"""Characters around the name of a drug that tell whether it is advised."""


def complaints(text: str, facts: Sequence[Fact]) -> list[str]:
    """One sentence for each medical fact that must stay and is not in the text word for word, and for each drug that
    the end of the text advises although the patient must not be given it; what is said last of a drug counts.
    Without medical facts the text is not read."""
    medical = [fact for fact in facts if fact.key.startswith(_OURS)]
    missing = [
        f"the medical fact {fact.line!r:.160} is not in this request"
        for fact in medical
        if fact.must_keep and fact.value not in text and fact.line not in text
    ]
    return missing + [each for fact in medical for each in _contradicted(text[-RECENT:], fact)]


def _contradicted(text: str, fact: Fact) -> Iterator[str]:
    """What tools told is data and contradicts nobody; an allergy that is denied forbids nothing."""
    forbids = next((fact.key.removeprefix(each) for each in FORBIDDING if fact.key.startswith(each)), "")
    if not forbids or fact.denied or fact.subject or fact.said_by == "tool":
        return
    advised = ""
    for named in _names(forbids).finditer(text):
        before, sentence, asked = _sentence(text, named)
        if _CAUTION.search(before):
            advised = ""
        elif _ADVICE.search(before) and not asked:
            advised = sentence
    if advised:
        yield f"{fact.line!r:.160} was stated, and yet this request advises: {advised!r:.160}"


@lru_cache(maxsize=256)
def _names(drug: str) -> re.Pattern[str]:
    """A drug by its name and by those of its family."""
    family = next(
        (each for each in FAMILIES if re.fullmatch(each, drug.removesuffix(" drugs"), re.IGNORECASE)), ""
    )
    return re.compile(
        rf"(?<![a-z])(?:{re.escape(drug)}{'|' + family if family else ''})(?![a-z])", re.IGNORECASE
    )


def _sentence(text: str, named: re.Match[str]) -> tuple[str, str, bool]:
    """What stands before a name in its sentence, the sentence up to a little after it, and whether that is asked."""
    start, end = named.span()
    before = _BREAK.split(text[max(0, start - _BEFORE) : start])[-1]
    after = text[end : end + _AFTER]
    stop = _BREAK.search(after + "\n")
    rest = after[: stop.end()] if stop else after
    return before, (before + named.group() + rest).strip(), rest.rstrip().endswith(("?", "？", "吗"))
