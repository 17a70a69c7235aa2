"""The kinds of medical facts: what they are called, what weighs most, and the words that state them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ctxkit_medical.words import (
    AMOUNT,
    BLOOD_THINNERS,
    CANNOT,
    CONDITIONS,
    DRUGS,
    NAMED_DRUGS,
    NUMBER_WORDS,
    OFTEN,
    PIECES,
    UNITS,
    ZH_AMOUNT,
    ZH_BLOOD_THINNERS,
    ZH_CONDITIONS,
    ZH_DRUGS,
    ZH_OFTEN,
)

__all__ = ["FORBIDDING", "KINDS", "Kind"]


@dataclass(frozen=True)
class Words:
    """A pattern, and what is looked for first: letters are found much faster than a pattern, and most texts have none.

    Attributes:
        pattern: what states a fact.
        hints: small letters, one of which stands in every text that has the pattern; or a simpler pattern that does.
    """

    pattern: re.Pattern[str]
    hints: tuple[str, ...] | re.Pattern[str]

    def may_be_in(self, lower: str) -> bool:
        """Whether the pattern may stand in a text, which is given in small letters."""
        if isinstance(self.hints, tuple):
            return any(hint in lower for hint in self.hints)
        return self.hints.search(lower) is not None


@dataclass(frozen=True)
class Kind:
    """One sort of medical fact.

    Attributes:
        key: of the fact; `{}` is what the first group of a pattern found.
        general: the key when that is nothing in particular ("allergic to anything").
        priority: of the fact; higher is evicted later. `keep-key-facts` gives its own 0 to 7.
        patterns: what states it, each behind the letters without which it is nowhere.
        must_keep: it must be in every request when the patient said it, of no relative and of something in particular (not "my
            allergies are back"), and nobody else's word supersedes it.
        brief: the value is what the pattern found, not the sentence.
        denied: whether it always says that something is not so ("stop the aspirin"), never does ("do not exceed"),
            or None: the words around it tell.
        also: a second key that it is about.
    """

    key: str
    general: str
    priority: int
    patterns: tuple[Words, ...]
    must_keep: bool = False
    brief: bool = False
    denied: bool | None = None
    also: str = ""


FORBIDDING = ("allergy to ", "not to take ")
"""What the keys begin with that forbid what they name."""

_STOP = (
    r"(?:and|or|but|since|because|so|which|that|when|as|for|though|too|from|in|at|on|if|i|he|she|it|they|we|you|my|is"
    r"|are|was|were|to|um|uh|well|right|also|please|yes|no|not|would|should|can|could|do|have|has"
    r"|had|having|how|of|the|a)\b"
)
_THING = rf"(?!{_STOP})[a-z][\w-]*(?: (?!{_STOP})[a-z][\w-]*){{0,2}}"
_THINGS = rf"(?:(?:the|any|both|all|a) )?({_THING}(?:(?: ?, ?(?:and |or )?| and | or ){_THING}){{0,7}})"
"""`penicillin`, `eggs and peanuts`: up to eight things of up to three words each."""

_NO_DRUG = (
    rf"(?:{NUMBER_WORDS}|takes?|taking|took|taken|give|gave|given|have|with|doses?|dosage|daily|about|around|maybe|just"
    r"|like|than|then|this|that|these|those|your|their|them|from|into|onto|were|once|twice|(?:in|de)creased?|continue"
    r"|start(?:ed)?|order|prescrib(?:ed?|ing)|us(?:ed|ing)|need|only|over|under|until|every|exceed|most|least|some"
    r"|another|more|less|many|morning|night|week|times?|hours|days|also|currently|which|what|sodium)\b"
)
"""Words beside an amount that name no drug."""
_DRUG = rf"(?!{_NO_DRUG})[a-z][a-z-]{{3,24}}"
_BETWEEN = r"(?:(?:at|to|about|around|uh|um|from|up|dose|of)[ ,]{1,3}){0,3}"
_DRUG_LIST = rf"((?:{DRUGS}|alcohol)(?: (?:or|and) (?:{DRUGS}|alcohol))*)"
_WORDS = r"(?:(?!(?:too|much|more|it)\b)[a-z-]{1,20} ){0,4}?"
_ZH_TAKE = r"(?:吃|服用?|注射|打|使用|用|开)(?:了|着|的是|过)?"


_AMOUNTS = re.compile(rf"[\d, -](?:{UNITS}|{PIECES})\b", re.IGNORECASE)
"""An amount is a number and one of these."""
_ZH = re.compile("[\u4e00-\u9fff]")
_ILL = (
    "diabetes|hypertension|pressure|asthma|epilepsy|seizures|glaucoma|ulcer|heart|artery|fibrillation|fib|stroke|copd"
    "|hepatitis|disease|failure|cirrhosis|pacemaker|hiv|mophilia"
)


def _words(hints: str | re.Pattern[str], pattern: str) -> Words:
    """`hints` with bars between them."""
    first = tuple(hints.split("|")) if isinstance(hints, str) else hints
    return Words(re.compile(pattern, re.IGNORECASE), first)


def _stopped(named: str, chinese: str) -> tuple[Words, ...]:
    return (
        _words(
            "stop|hold|held|discontinue|off ",
            rf"\b(?:stop|stopped|hold|held|discontinued?|c[ao]me off|taken off|off) {_WORDS}({named})\b",
        ),
        _words("停|不再", rf"(?:停用|停服|停了|停|不再(?:服用|吃))({chinese})"),
    )


KINDS = (
    Kind(
        "allergy to {}",
        "allergies",
        9,
        (
            _words(
                "allerg|intoleran", rf"\b(?:allerg(?:ic|y|ies)(?: reaction)?|intoleran(?:t|ce)) to {_THINGS}"
            ),
            _words("reaction", rf"\breactions? (?:to|with) (?:the )?({NAMED_DRUGS}|contrast|latex)\b"),
            _words("allergy|intoleran", rf"\b({_THING}) (?:allergy|intoleran(?:t|ce))\b"),
            _words(
                "hives|rash|swell|break out",
                rf"\b(?:hives|rash|swells?|swelling|break out)\b[^.?!\n]{{0,20}}?\b(?:from|eat|take|took) {_THINGS}",
            ),
            _words("allerg", r"\ballergies\b|\ballergic\b(?! rhinitis)"),
            _words(
                "过敏", r"对([^对，,。；\s]{1,20}?)(?:类?药物?)?(?:严重|有点|也|都|会|没有|并|不|很)*过敏"
            ),
            _words("过敏", rf"({ZH_DRUGS}|花生|海鲜|鸡蛋|牛奶|花粉|碘|造影剂|酒精|乳胶|芒果)过敏"),
            _words("过敏", "过敏史|药物过敏|不过敏|没有过敏"),
        ),
        must_keep=True,
    ),
    Kind(
        "not to take {}",
        "",
        8,
        (
            _words(
                "tak|us|tolerate|have",
                rf"\b(?:{CANNOT}) (?:tak(?:e|ing)|us(?:e|ing)|tolerate|have) {_WORDS}{_DRUG_LIST}\b",
            ),
            _words("avoid", rf"\bavoid(?:ing|ed)? {_WORDS}{_DRUG_LIST}\b"),
            _words("contraindicated", r"\b([a-z-]{4,24}) (?:is|are|was) contraindicated\b"),
            _words(
                "禁用|忌用|慎用|避免|不",
                rf"(?:禁用|忌用|慎用|避免(?:使用|服用)|不(?:能|可以?|要|得|宜)再?(?:服用|使用|用|吃|服))({ZH_DRUGS})",
            ),
        ),
        must_keep=True,
        denied=False,
    ),
    Kind(
        "pregnancy",
        "",
        8,
        (
            _words(
                "pregnant|a baby|to conceive|怀孕|妊娠|备孕|怀上|未孕",
                r"(?:['’]m|\b(?:am|is|not|currently|weeks?|months?|get|become)) (?:[a-z]{1,10} )?pregnant\b"
                r"|\bexpecting a baby\b|\btrying to conceive\b|怀孕|妊娠|备孕|怀上|未孕",
            ),
        ),
        must_keep=True,
    ),
    Kind(
        "breastfeeding",
        "",
        8,
        (_words("breast|lactating|哺乳", r"\bbreast-?feed(?:s|ing)?\b|\blactating\b|哺乳"),),
        must_keep=True,
    ),
    Kind(
        "dose limit of {}",
        "dose limit",
        6,
        (
            _words(
                "no more than|exceed|at most|max|up to",
                rf"\b(?:no more than|not (?:to )?exceed|at most|max(?:imum)?|up to) {AMOUNT}(?: of ({_DRUG}))?",
            ),
            _words(
                "最多|超过|至多",
                rf"({ZH_DRUGS})?[^。？！\n]{{0,8}}(?:最多|不(?:得|能|可以?|要)?超过|至多)[^。？！，\n]{{0,8}}{ZH_AMOUNT}",
            ),
        ),
        denied=False,
    ),
    Kind("blood thinner {}", "", 6, _stopped(BLOOD_THINNERS, ZH_BLOOD_THINNERS), denied=True, also="drug {}"),
    Kind(
        "blood thinner {}",
        "blood thinners",
        6,
        (
            _words(
                BLOOD_THINNERS,
                rf"\b(?:takes?|taking|on|uses?) (?:the |my |her |his )?({BLOOD_THINNERS})\b(?![ ,]{{1,3}}{AMOUNT})",
            ),
            _words("blood|anticoagulant|抗凝", r"\bblood[- ]thinn(?:er|ing)s?\b|\banticoagulants?\b|抗凝药?"),
            _words(ZH_BLOOD_THINNERS, rf"{_ZH_TAKE}({ZH_BLOOD_THINNERS})(?!{ZH_AMOUNT})"),
        ),
    ),
    Kind("drug {}", "", 5, _stopped(NAMED_DRUGS, ZH_DRUGS), brief=True, denied=True),
    Kind(
        "drug {}",
        "",
        5,
        (
            _words(_AMOUNTS, rf"\b({_DRUG})[ ,]{{1,3}}{_BETWEEN}{AMOUNT}(?: to {AMOUNT})?{OFTEN}"),
            _words(_AMOUNTS, rf"{AMOUNT} of ({_DRUG})\b{OFTEN}"),
            _words(
                _ZH,
                rf"(?:{_ZH_TAKE}|^|[，,：:])({ZH_DRUGS}|(?:(?![吃服用打开])[\u4e00-\u9fff]){{2,8}}?)(?:片|胶囊)?[，, ]?"
                rf"(?:每次|一次|每[天日]|一天)?{ZH_AMOUNT}{ZH_OFTEN}",
            ),
        ),
        brief=True,
    ),
    Kind(
        "condition {}",
        "",
        4,
        (
            _words(
                _ILL,
                r"\b(?:have|has|had|having|history of|diagnosed with|suffer(?:s|ed|ing)? from|denies|no|with|got) "
                rf"(?:a |an |any |some |chronic )?({CONDITIONS})\b",
            ),
            _words(
                ZH_CONDITIONS, rf"(?:有|患|得了|得过|确诊|诊断为|没有|无|否认)(?:了|过|有)?({ZH_CONDITIONS})"
            ),
        ),
    ),
)
"""All kinds, what weighs most first: of statements that overlap the first counts."""
