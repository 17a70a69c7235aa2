"""Which values of tool results and texts a later call may need: identifiers, names, dates, amounts, codes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache
from typing import Any

__all__ = ["Rank", "as_json", "rank", "telling", "words_of"]


class Rank(IntEnum):
    """How likely a value is to be needed as it is."""

    NOTHING = 0
    """null, empty: says nothing."""
    DETAIL = 1
    """Flags, times of day, counters, prose."""
    FACT = 2
    """Short values: amounts, states, categories."""
    KEY = 3
    """Identifiers, names, dates, addresses, codes, and whatever calls were given before."""


LONGEST_KEY = 200
"""Characters of the longest string that is taken for an identifier."""

SHORT = 40
"""Characters up to which a string is a value; what is longer is prose."""

KEY_WORDS = frozenset(
    "id ids uuid guid key code codes number numbers no ref reference name names title label email mail phone mobile "
    "tel url uri link path file filename folder directory date dob day birth deadline city state country zip postcode "
    "street address account user username login customer order sku version commit sha hash branch error exception "
    "symbol ticker isbn doi iban imei serial token host domain ip port table column "
    "编号 号码 名称 姓名 电话 地址 日期 时间 订单 账号 邮箱 城市 网址 代码 车牌 站".split()
)
"""Words of field names whose values calls take over as they are, whatever the API."""

FACT_WORDS = frozenset(
    "amount amounts price prices cost costs fee fees total balance status type kind class category method plan level "
    "size color currency rating score quantity limit 价格 金额 费用 评分 状态 类型 数量 门票 人均".split()
)
"""Words of field names whose values, however short, decide something."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{4}/\d\d?/\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d{4}年|\d\d?月\d")
_TIME = re.compile(r"\d\d?:\d\d(?::\d\d)?(?:\.\d+)?(?:\+\d)?\Z")
_TOKEN = re.compile(r"[\w@#$€£¥%+./:\\~-]+")
_LITERAL = re.compile(
    r"\d{3}|\d[.,]\d|[$€£¥#]\d|\d\s?[%€元]|\w@\w|\w[_/\\]\w|[/~]\w|\b[A-Z]{3}|[A-Za-z]\d|\d[A-Za-z]|[《「『\"`“]\w"
    r"|\d\d?:\d\d|\d[月日号]|[Ee]rror|[Ee]xception|错误"
)
_SENTENCE = re.compile(r"[^\n.!?。！？；]+(?:[.!?](?=\S)[^\n.!?。！？；]*)*[.!?。！？；]*")


def rank(field: str, value: Any, asked: frozenset[str] = frozenset()) -> Rank:
    """How likely the scalar `value` of `field` is to be needed; `asked` are the fields that calls were given.

    Field names count by their words, so that `orderId`, `order_id` and `order id` are the same.
    """
    if value is None or value == "":
        return Rank.NOTHING
    words = words_of(field)
    named = Rank.KEY if _joined(words) in asked or (words and words[-1] in asked) else _by_name(words)
    match value:
        case bool():
            return Rank.FACT if named is Rank.KEY and _joined(words) in asked else Rank.DETAIL
        case int() | float():
            return max(named, Rank.FACT if abs(value) >= 100 or isinstance(value, float) else Rank.DETAIL)
        case str():
            return max(_by_look(value), named if len(value) <= LONGEST_KEY else Rank.DETAIL)
        case _:
            return Rank.DETAIL


@lru_cache(maxsize=4096)
def words_of(field: str) -> tuple[str, ...]:
    """The words of a field name, in lower case."""
    return tuple(word.lower() for word in _WORD.findall(field[:LONGEST_KEY]))


def _joined(words: Iterable[str]) -> str:
    return " ".join(words)


def _by_name(words: tuple[str, ...]) -> Rank:
    if not KEY_WORDS.isdisjoint(words):
        return Rank.KEY
    if not FACT_WORDS.isdisjoint(words) or any(word in each for each in words for word in _CHINESE):
        return Rank.FACT
    return Rank.DETAIL


_CHINESE = tuple(word for word in sorted(KEY_WORDS | FACT_WORDS) if not word.isascii())


def _by_look(value: str) -> Rank:
    """What a string looks like: an identifier, a date, a short value or prose."""
    text = value.strip()
    if len(text) > LONGEST_KEY:
        return Rank.DETAIL
    if _TIME.match(text):
        return Rank.DETAIL
    if _DATE.match(text):
        return Rank.KEY
    if _TOKEN.fullmatch(text):
        digits = any(c.isdigit() for c in text)
        code = text.isupper() and text.isascii() and 2 < len(text) < 9
        if (digits and len(text) >= 3) or code or "_" in text or "@" in text or "/" in text:
            return Rank.KEY
        return Rank.FACT
    return Rank.FACT if len(text) <= SHORT else Rank.DETAIL


def telling(text: str) -> Iterator[str]:
    """The sentences and lines of a text that carry a literal: an identifier, a path, an amount, a date, a code,
    a quotation; or that are a `name: value` line. Linear time on any text."""
    for line in text.splitlines():
        line = line.strip()
        if not line or len(line) > 4 * LONGEST_KEY:
            yield from _literal_tokens(line)
        elif _is_pair(line):
            yield line
        else:
            for match in _SENTENCE.finditer(line):
                sentence = match.group().strip()
                if _LITERAL.search(sentence):
                    yield sentence


def _literal_tokens(line: str) -> Iterator[str]:
    """Of a line that is too long to be prose: the tokens that look like literals."""
    for match in _TOKEN.finditer(line):
        token = match.group()
        if len(token) <= LONGEST_KEY and _LITERAL.search(token):
            yield token


def _is_pair(line: str) -> bool:
    name, colon, value = line.partition(":")
    if not colon:
        name, colon, value = line.partition("：")
    return bool(colon and value.strip()) and len(name) <= SHORT and len(value) <= 2 * SHORT


def as_json(text: str) -> Any:
    """The object or list that a text is in JSON, None when it is none (or one nested too deeply to read)."""
    if not text.lstrip()[:1] in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
