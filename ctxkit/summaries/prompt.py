"""Prompt: what a model is asked when it is to summarise, and the templates for it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template

from ctxkit.core.marks import fence
from ctxkit.summaries.language import Language
from ctxkit.summaries.sections import HEADINGS

__all__ = ["PLACEHOLDERS", "instructions", "placeholders", "request", "requests", "template_text"]

PLACEHOLDERS = ("language", "max_tokens", "max_words", "sections", "done", "focus")
"""What a template may hold: `$language`, `$max_tokens`, ...; `$$` is a dollar sign."""

LONGEST_PATH = 300
"""Characters up to which a template of one line may be the path of a file."""

WORDS_A_TOKEN: dict[Language, float] = {"en": 0.7, "zh": 0.9}
"""Words of English, characters of Chinese."""

_LANGUAGES: dict[Language, str] = {"en": "English", "zh": "中文"}
_EARLIER: dict[Language, str] = {
    "en": "The earlier notes, which are kept as they are:",
    "zh": "先前的笔记，会原样保留：",
}
_DATA: dict[Language, str] = {"en": "The part of the conversation:", "zh": "这部分对话："}
_REQUEST: dict[Language, str] = {
    "en": "Write the notes on this part now.",
    "zh": "现在请写这部分的笔记。",
}
_SHORTER: dict[Language, str] = {
    "en": "An earlier attempt was far too long. Keep only the entries that matter most.",
    "zh": "上一次写得太长了。只保留最重要的条目。",
}


def template_text(template: str | None) -> str:
    """The text of a template: of the file that it names, else the template itself; "" for None.

    Raises:
        ValueError: the file is not there, or a placeholder is unknown; which are known is in the message.
    """
    if template is None:
        return ""
    text = _read(template) if _is_path(template) else template
    if not Template(text).is_valid():
        raise ValueError("a $ in the template begins no placeholder; write $$ for a dollar sign")
    unknown = [name for name in placeholders(text) if name not in PLACEHOLDERS]
    if unknown:
        known = ", ".join(f"${name}" for name in PLACEHOLDERS)
        raise ValueError(f"the template has the unknown placeholder ${unknown[0]}; known are {known}")
    return text


def placeholders(text: str) -> list[str]:
    """The names of the placeholders in the text of a template."""
    return Template(text).get_identifiers()


def _is_path(template: str) -> bool:
    one_line = "\n" not in template and len(template) <= LONGEST_PATH
    return one_line and (template.endswith((".txt", ".md")) or Path(template).is_file())


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the template {path!r} cannot be read: {error}") from error


@cache
def _built_in(language: Language) -> str:
    return files("ctxkit.summaries").joinpath(f"summarize.{language}.txt").read_text(encoding="utf-8")


def instructions(language: Language, *, max_tokens: int, focus: str = "", template: str = "") -> str:
    """What the model is to do. Nothing of a conversation is in it.

    Args:
        language: in which it is to answer.
        max_tokens: that it is to stay below.
        focus: what is to be paid attention to, in the words of whoever configured it.
        template: instead of ctxkit's own for the language; see `PLACEHOLDERS`.
    """
    text = Template(template or _built_in(language)).substitute(
        language=_LANGUAGES[language],
        max_tokens=max_tokens,
        max_words=round(max_tokens * WORDS_A_TOKEN[language]),
        sections="\n".join(HEADINGS[language].values()),
        done=HEADINGS[language]["done"],
        focus=_focused(focus, language),
    )
    return text.strip()


def _focused(focus: str, language: Language) -> str:
    if not focus.strip():
        return ""
    return f"请特别注意：{focus}" if language == "zh" else f"Pay special attention to: {focus}"


def request(data: str, language: Language, *, earlier: str = "", shorter: bool = False) -> str:
    """What the model is asked about: the earlier summary and the conversation, each fenced, and what to do now.

    Args:
        data: the conversation as text.
        earlier: the summary that it is to go on from.
        shorter: an answer was too long before.
    """
    lines = [_EARLIER[language], fence("notes", earlier)] if earlier else []
    lines += [_DATA[language], fence("conversation", data)]
    lines += [_SHORTER[language]] if shorter else []
    return "\n".join([*lines, _REQUEST[language]])


def requests(language: Language) -> frozenset[str]:
    """The lines of `request` that are no data: a model that repeats them has said nothing."""
    return frozenset(each[language] for each in (_EARLIER, _DATA, _REQUEST, _SHORTER))
