"""Words that state a medical constraint or a dose, by what it is about, in English and Chinese.

A constraint that is denied ("no known allergies", "not pregnant") is one as well: it is not to be asked again.
"""

from __future__ import annotations

import re

from ctxkit_medical.words import BLOOD_THINNERS, CANNOT, DRUGS, STRENGTH

__all__ = ["SUBJECTS", "asked_about", "follows_up", "subjects_of"]

_NUMBER = r"(?:\d|\b(?:one|two|three|four|six|eight|half)\b)"
_UNIT = r"(?<![a-z])(?:mg|mcg|µg|g|grams?|ml|iu|units?|tablets?|pills?|capsules?|doses?|drops?|puffs?|times an? day)\b"

_WORDS = {
    "allergy": (
        r"allerg|anaphyla|epi-?pen|intoleran|(?:bad|adverse|severe) reaction|reactions? to\b|sensitive to\b"
        r"|(?:hives|rash|swelling|swells?|swelled|break out) (?:from|with|after|when)\b",
        "过敏|不耐受|起(?:皮|红)?疹|皮试",
    ),
    "contraindication": (
        rf"contraindicat|pacemaker|(?:{CANNOT}) (?:tak(?:e|ing)|us(?:e|ing)|tolerate)\b(?! (?:it any|this any|th(?:e|is|at) pain|too|long))"
        rf"|(?:stop|stopped|hold|held|discontinued?|c[ao]me off|taken off|off) (?:[a-z]{{1,12}} ){{0,3}}(?:{DRUGS})\b"
        rf"|avoid(?:ing|ed)? (?:[a-z]{{1,12}} ){{0,3}}(?:{DRUGS}|alcohol)\b",
        "禁忌|禁用|忌用|慎用|忌口|停用|停药|停服|不(?:能|可以?|要|得|宜)再?(?:服用|使用|用|吃|服)|避免(?:使用|服用)|起搏器",
    ),
    "pregnancy": (
        r"pregnan|breast-?feed|lactating|trying to conceive|expecting a baby",
        "怀孕|妊娠|孕妇|孕期|孕周|备孕|哺乳|有孕",
    ),
    "anticoagulation": (
        rf"anti-?coagul|anti-?platelet|blood[- ]thinn(?:er|ing)|{BLOOD_THINNERS}|bleeding disorder|ha?emophilia",
        "抗凝|抗血小板|华法林|肝素|利伐沙班|达比加群|阿哌沙班|艾多沙班|氯吡格雷|替格瑞洛|阿司匹林|血友病|凝血",
    ),
    "dosage": (
        rf"(?:no more than|not? (?:to )?exceed|at most|max(?:imum)?|up to|limit(?:ed)? (?:of|to))[^.?!\n]{{0,24}}?"
        rf"{_NUMBER}[^.?!\n]{{0,16}}?{_UNIT}|(?:max(?:imum)?|highest) dos(?:e|age)|dos(?:e|age) limit|overdos",
        "最大(?:剂|用)量|剂量上限|过量|(?:最多|不(?:得|能|可以?|要)?超过|至多|限)[^。？！\n]{0,12}(?:片|粒|毫克|克|毫升|滴|次|支|单位|mg|ml|g)",
    ),
    "dose": (
        STRENGTH,
        r"(?:\d|[半一二两三四五六七八九十百])\s?(?:毫克|微克|毫升|单位|片|粒|支|mg|ml)",
    ),
}

SUBJECTS = {
    subject: re.compile(rf"\b(?:{english})|{chinese}", re.IGNORECASE)
    for subject, (english, chinese) in _WORDS.items()
}
"""What constraints are about, and the words that state one; doses, the last, are many and matter least."""

_QUESTION = re.compile(r"[^.?!。？！\n]*(?:[?？]|[吗呢嘛]\s*[。.!！]?)")
_PUNCTUATION = re.compile(r"[.?!。？！]")
_ASKING = re.compile(
    r"\b(?:any|are you|do you|does|have you|has|did you|is (?:he|she|it|there)|what|which|how about)\b"
    r"|有没有|是否|是不是|对什么|什么",
    re.IGNORECASE,
)
_FOLLOW_UP = re.compile(
    r"\b(?:are you sure|anything|any other (?:allerg|drug|med|food|reaction)|any (?:drugs?|foods?|med|pollen)|which"
    r"|what (?:happen|kind|sort|reaction)|like what|such as)|^\s*\S+\s*\?\s*$|还有|哪些|哪种|什么反应|确定",
    re.IGNORECASE,
)
_SHORT = 120
"""Characters of the longest text that may ask on, or ask without a question mark."""


def subjects_of(text: str) -> list[str]:
    """What the constraints stated in a text are about, [] where there are none."""
    return [subject for subject, words in SUBJECTS.items() if words.search(text)]


def asked_about(text: str) -> list[str]:
    """What the questions in a text are about. In a transcript without punctuation words tell a question."""
    if _PUNCTUATION.search(text):
        return subjects_of("\n".join(_QUESTION.findall(text)))
    return subjects_of(text) if len(text) <= _SHORT and _ASKING.search(text) else []


def follows_up(text: str) -> bool:
    """Whether a text asks on about what was said just before."""
    return len(text) <= _SHORT and bool(_QUESTION.search(text)) and bool(_FOLLOW_UP.search(text))
