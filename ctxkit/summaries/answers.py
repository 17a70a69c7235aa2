"""Answers: what a model wrote when it was asked for a summary, and whether it is one at all."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ctxkit.summaries.language import matches
from ctxkit.summaries.prose import content, normal
from ctxkit.summaries.salience import Said
from ctxkit.summaries.sections import Sections

__all__ = ["BLANK", "content_of", "faults", "without_tags", "words_said"]

_TAG = re.compile(
    r"</?(?:[a-z_-]{1,40} [0-9]{6,80}|ctx:[0-9]{6,80}|(?:summary|conversation|system|user|assistant|tool|notes|instructions?)\b[^<>\n]{0,80})>",
    re.IGNORECASE,
)
_MARK = re.compile(r"\[ctxkit\b[^\]\n]{0,40}\] ?", re.IGNORECASE)
_HEAD = re.compile(
    r"^(?:turn \d+, (?:user|assistant|tool|system)\b[^\n]*:|第 \d+ 轮，(?:用户|助手|工具|系统)[^\n]*：)$",
    re.MULTILINE,
)
_BRACKETS = str.maketrans("", "", "<>[]")
_QUOTED = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)

_REFUSAL = re.compile(
    r"\W*(?:i(?: a|['’]?)m (?:very |so |really )?sorry\b|sorry, |(?:i|we) apologi[sz]e|unable to\b|as an ai\b"
    r"|i(?: a|['’]?)m (?:not able|unable) to\b"
    r"|i (?:can(?:no|['’]?)t|can not|could(?: not|n['’]t)|won['’]?t|will not|must decline)\b.{0,40}?"
    r"\b(?:help|assist|summari[sz]e|provide|comply|complete|process|access|continue|fulfil|generate|create|do that|to)\b"
    r"|(?:非常|很|十分)?(?:抱歉|遗憾)|对不起|作为(?:一个|一名|一款)?(?:ai|人工智能|语言模型|大模型)"
    r"|(?:我|暂时|目前)?(?:无法|不能|没办法)(?:为您|为你|对此|对该|继续)?(?:总结|概括|提供|完成|协助|生成|处理|回答|满足))",
    re.IGNORECASE | re.DOTALL,
)
_ERROR = re.compile(
    r"\W*(?:traceback \(most recent|\"?error\"? ?[:：(]|error \d{3}\b|<!doctype|<html|http(?:/[\d.]+)? ?[45]\d\d\b"
    r"|(?:internal server|api|server|gateway|connection|request|timeout|authentication) error\b"
    r"|rate limit|(?:too many requests|bad gateway|service unavailable|gateway time-?out)\b"
    r"|(?:the )?(?:service|server|model|request)\b.{0,30}\b(?:unavailable|overloaded|timed out)"
    r"|错误(?:码|代码)?[:：]|(?:请求|服务|服务器|系统|网络|接口|调用)(?:失败|超时|错误|异常|不可用|繁忙|内部错误))",
    re.IGNORECASE,
)

BLANK = "it is blank"
"""The one reason that the same question may not meet again."""

LEAST_WORDS = 6
"""Words of four letters and pairs of Chinese characters from which on an answer has to share one with its sources."""

HEAD_LINES = 2
"""Lines of an answer without sections in which a refusal or an error stands: a heading may come first."""

NESTED = 4
"""Times that tags and marks are taken out of a text."""

ECHOED_SHARE = 0.5
"""Of an answer: with more of it out of its instructions it repeats these."""

TELLING = 2
"""Words of four letters and pairs of Chinese characters of a line that cannot stand in the instructions by chance."""

LANGUAGE_SAMPLE = 20_000
"""Characters of the newest words that tell the language of a conversation."""


def content_of(answer: str, ignore: Collection[str] = ()) -> str:
    """The summary in an answer: without a model's thoughts, a code block around it, tags, marks and signs of quoting.

    Nothing that is left looks like a mark or a fence of ctxkit, and all of it can be encoded.

    Args:
        answer: as the model wrote it.
        ignore: lines that are no content: of the request, which some models repeat.
    """
    text = _QUOTED.sub("", _HEAD.sub("", without_tags(_unwrapped(_without_thoughts(_encodable(answer))))))
    return "\n".join(line for line in text.splitlines() if line.strip() not in ignore).strip()


def without_tags(text: str) -> str:
    """A text without what looks like a fence or a mark, whoever wrote it; linear time on any text.

    What is left when one is taken out may be another. Who nests them deeper than `NESTED` wants nothing but that: no
    bracket of such a text stays.
    """
    for _ in range(NESTED):
        text, before = _MARK.sub("", _TAG.sub("", text)), text
        if text == before:
            return text
    return text.translate(_BRACKETS)


def _encodable(text: str) -> str:
    """A text with U+FFFD in the place of each half of a character that stands alone: no provider can be sent one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _without_thoughts(answer: str) -> str:
    start = answer.lstrip()
    for name in ("think", "thinking"):
        if start.startswith(f"<{name}>"):
            return start.partition(f"</{name}>")[2]
    return answer


def _unwrapped(text: str) -> str:
    lines = text.strip().splitlines()
    whole = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if whole else text


def faults(
    text: str,
    sections: Sections,
    sources: Sequence[Said],
    words: str,
    *,
    complete: bool,
    instructions: str = "",
) -> list[str]:
    """Why an answer is no summary of its sources: one reason each, none when it is one.

    Args:
        text: see `content_of`.
        sections: what was read from it.
        sources: what was summarised.
        words: what people said, which tells the language.
        complete: whether the model came to an end by itself.
        instructions: what the model was told to do.
    """
    if not sections or not any(character.isalnum() for character in text):
        return [BLANK]
    found = []
    first = [line for _, line in sections.lines()][:HEAD_LINES]
    bare = sections == Sections(facts=sections.facts)
    if bare and any(map(_REFUSAL.match, first)):
        found.append("the model refused")
    elif bare and any(map(_ERROR.match, first)):
        found.append("it is the text of an error")
    if not complete:
        found.append("it was cut off before its end")
    if _echoes(sections, instructions):
        found.append("it repeats its instructions")
    if not matches(" ".join(line for _, line in sections.lines()), words):
        found.append("it is in another language than the conversation")
    elif _shares_nothing(text, sources):
        found.append("it has nothing in common with the conversation")
    return found


def _echoes(sections: Sections, instructions: str) -> bool:
    """Whether most of an answer stands in its instructions, word for word."""
    told, lines = normal(instructions), [normal(line) for _, line in sections.lines()]
    echoed = sum(len(line) for line in lines if line in told and len(content(line)) >= TELLING)
    return echoed > ECHOED_SHARE * sum(map(len, lines))


def words_said(sources: Sequence[Said]) -> str:
    """What users said, the newest first and no more than tells their language; without users, what others said."""
    for speakers in (("user",), ("assistant",), ("tool", "system")):
        said, left = [], LANGUAGE_SAMPLE
        for each in reversed(sources):
            if each.by in speakers and left > 0:
                said.append(each.text[:left])
                left -= len(each.text)
        if any(text.strip() for text in said):
            return "\n".join(said)
    return ""


def _shares_nothing(text: str, sources: Sequence[Said]) -> bool:
    words = content(text)
    if len(words) < LEAST_WORDS:
        return False
    return not any(words & content(source) for each in sources for source in (each.text, each.call))
