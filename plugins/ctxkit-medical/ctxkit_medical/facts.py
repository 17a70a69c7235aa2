"""Medical facts that a text states, verbatim, by rules in English and Chinese.

A value is the sentence that states the fact, or of a dose the words from the drug to how often: it says by itself
what is so and what is not. Questions and suppositions ("are you allergic to", "if you are pregnant") state nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctxkit import Fact, Speaker
from ctxkit_medical.kinds import KINDS, Kind, Words
from ctxkit_medical.words import KIN

__all__ = ["facts_in"]

CONFIDENCE: dict[Speaker, float] = {"user": 0.9, "assistant": 0.9, "tool": 0.5}
"""Rules find words and no meaning: less than what a person confirms. Patient and doctor supersede each other."""
OTHERS = 0.7
"""Of others' word on what a patient must not be given: it supersedes nothing that the patient said."""

LONGEST = 200
"""Characters of the longest sentence that is a value as a whole; of a longer one its surroundings are."""
NEAR = 60
"""Characters before a statement that tell whether it is supposed or asked, and whom it is about."""
DENIED_NEAR = 32
"""Characters before a statement that tell whether it is denied; in speech without stops more would be about others."""
MOST = 50
"""Statements of one sentence; a longer one is no sentence."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_CLAUSE = re.compile(r"[,;:，；：]")
_LIST = re.compile(r" ?, ?(?:and |or )?| and | or |[、和及与或]")
_QUESTION = re.compile(r"[?？]\s*$|[吗呢]\s*[。.!！]?$")
_DENIED = re.compile(
    r"\b(?:no|not|never|without|den(?:y|ies|ied)|none)\b|n['’]t\b|[无没未不非]|否认", re.IGNORECASE
)
_OPEN = re.compile(
    r"\b(?:if|whether|in case|unless|wonder\w*|might|are you|do you|does s?he|have you|has s?he|did you|is there"
    r"|(?:how|what) about)\b|如果|要是|是否|万一|是不是|有没有",
    re.IGNORECASE,
)
_ANY = re.compile(r"\bany (?:\w+ ){0,2}$", re.IGNORECASE)
_WHAT = re.compile("什么|哪些")
_GENERAL = re.compile(
    r"(?:any|no|known|drug|food|some|seasonal|all|general|bad|my|your|his|her|these|those)\b.*|(?:any|every) ?thing.*"
    r"|drugs|medic\w+|meds|them|什么.*|任何.*|药物?|食物",
    re.IGNORECASE,
)
_KIN = re.compile(rf"(?:{KIN})(?:['’]s)?(?: (?!i\b)[\w'’]+){{0,2}}[^，我\s]{{0,4}} *$", re.IGNORECASE)


Wanted = list[tuple[Kind, Words]]

_ALL: Wanted = [(kind, words) for kind in KINDS for words in kind.patterns]


def facts_in(text: str, said_by: Speaker) -> list[Fact]:
    """The facts that a text states, in the order of its sentences; the newest of a name is the one in force."""
    wanted = _wanted(text, _ALL)
    if not wanted:
        return []
    return [fact for each in _SENTENCE.split(text) for fact in _stated(each.strip(), said_by, wanted)]


def _wanted(text: str, among: Wanted) -> Wanted:
    """The patterns that may stand in a text."""
    lower = text.lower()
    return [(kind, words) for kind, words in among if words.may_be_in(lower)]


def _stated(sentence: str, said_by: Speaker, wanted: Wanted) -> Iterator[Fact]:
    """The facts of one sentence; of two statements that overlap the one of the weightier kind."""
    taken: list[tuple[int, int]] = []
    if _QUESTION.search(sentence):
        return
    for kind, found in _found(sentence, wanted):
        start, end = found.span()
        before = _CLAUSE.split(sentence[max(0, start - NEAR) : start])[-1]
        negated = bool(_DENIED.search(before[-DENIED_NEAR:] + found.group()))
        if len(taken) == MOST:
            return
        if any(start < b and a < end for a, b in taken):
            continue
        taken.append((start, end))
        if _is_open(before, found.group(), negated):
            continue
        denied = negated if kind.denied is None else kind.denied
        value = found.group() if kind.brief and denied == bool(kind.denied) else _around(sentence, start, end)
        kin = _KIN.search(before)
        for key in _keys(kind, found):
            yield Fact(
                key,
                value.strip(" ,，：:"),
                OTHERS if kind.must_keep and said_by == "assistant" else CONFIDENCE[said_by],
                subject=next(filter(None, kin.groups()), "") if kin else "",
                said_by=said_by,
                must_keep=kind.must_keep
                and said_by == "user"
                and not kin
                and (denied or key != kind.general),
                priority=kind.priority,
                denied=denied,
            )


def _found(sentence: str, wanted: Wanted) -> Iterator[tuple[Kind, re.Match[str]]]:
    for kind, words in _wanted(sentence, wanted):
        for found in words.pattern.finditer(sentence):
            yield kind, found


def _is_open(before: str, words: str, negated: bool) -> bool:
    """Whether it is asked or supposed, and not stated."""
    any_at_all = not negated and (_ANY.search(before) or _WHAT.search(words))
    return bool(any_at_all or _OPEN.search(before + words))


def _keys(kind: Kind, found: re.Match[str]) -> list[str]:
    """One key for each thing of a list, the general one for nothing in particular."""
    things = found.group(1) if found.re.groups else None
    named = [each.strip() for each in _LIST.split(things or "") if each.strip()]
    if not named or _GENERAL.fullmatch(things or ""):
        return [kind.general or kind.key] if kind.general or not found.re.groups else []
    return [key.format(each.lower()) for each in named for key in (kind.key, kind.also) if key]


def _around(sentence: str, start: int, end: int) -> str:
    """A sentence, or of one without end what stands around a statement, from word to word."""
    if len(sentence) <= LONGEST:
        return sentence
    first = sentence.rfind(" ", 0, max(0, start - NEAR)) + 1 if start > NEAR else 0
    last = sentence.find(" ", min(len(sentence), end + NEAR))
    return sentence[max(first, start - 2 * NEAR) : last if 0 <= last <= end + 2 * NEAR else end + NEAR]
