"""Which values of tool results and texts a later call may need: identifiers, names, dates, amounts, codes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import lru_cache
from typing import Any

__all__ = [
    "HAN",
    "HAN_CHARACTER",
    "Rank",
    "as_json",
    "gist",
    "has_literal",
    "looks_like_id",
    "rank",
    "telling",
    "tokens_of",
    "word_set",
    "words_of",
]


class Rank(IntEnum):
    """How likely a value is to be needed as it is."""

    NOTHING = 0
    """null, empty: says nothing."""
    DETAIL = 1
    """Flags, times of day, counters, prose."""
    FACT = 2
    """Short values: amounts, states, categories."""
    KEY = 3
    """Names, dates, addresses, and whatever calls were given before."""
    ID = 4
    """Identifiers and codes: what calls take over most often."""


LONGEST_KEY = 200
"""Characters of the longest string that is taken for an identifier."""

LONGEST_OPENING = 2_000
"""Characters at the beginning of a text that are looked through where none of it is telling."""

HAN = r"㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff"
"""Chinese characters, for use in the class of a regular expression."""

HAN_CHARACTER = re.compile(f"[{HAN}]")

SHORT = 40
"""Characters up to which a string is a value; what is longer is prose."""


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written with blanks between them."""
    return frozenset(text.split())


ID_WORDS = word_set(
    "id ids uuid guid key code number numbers no ref reference sku isbn sha hash 编号 订单 代码"
)
"""Words of field names whose values are identifiers, whatever the API."""

KEY_WORDS = word_set(
    "codes class category name names title label email mail phone mobile "
    "tel url uri link path file filename folder directory date dob day birth deadline city state country zip postcode "
    "street address account user username login customer order version commit branch error exception "
    "symbol ticker doi iban imei serial token host domain origin destination location from to ip port table column "
    "号码 名称 姓名 电话 地址 日期 时间 账号 邮箱 城市 网址 车牌"
)
"""Words of field names whose values calls take over as they are, whatever the API."""

FACT_WORDS = word_set(
    "amount amounts price prices cost costs fee fees total balance status type kind method plan level "
    "size color currency rating score quantity limit 价格 金额 费用 评分 状态 类型 数量 门票 人均"
)
"""Words of field names whose values, however short, decide something."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_TOKEN = re.compile(r"[\w@#$€£¥%+./:\\~-]+")
_LITERAL = re.compile(
    r"\d{3}|\d[.,]\d|[$€£¥#]\d|\d\s?[%€元]|\w@\w|\w[_/\\]\w|[/~]\w|\b[A-Z]{3}|[A-Za-z]\d|\d[A-Za-z]|[《「『\"`“]\w"
    r"|\d\d?:\d\d|\d[月日号]|[Ee]rror|[Ee]xception|错误"
)
_SENTENCE = re.compile(r"[^\n.!?。！？；]+(?:[.!?](?=\S)[^\n.!?。！？；]*)*[.!?。！？；]*")


def rank(field: str, value: Any, asked: frozenset[str] = frozenset()) -> Rank:
    """How likely the scalar `value` of `field` is to be needed; `asked` are the fields that calls were given.

    Field names count by their words, so that `orderId`, `order_id` and `order id` are the same. Numbers and flags
    count as what they look like as text.
    """
    if value is None or value == "":
        return Rank.NOTHING
    named = named_rank(field)
    if asked and named < Rank.KEY and " ".join(words_of(field)) in asked:
        named = Rank.KEY
    return _by_look(value.strip() if isinstance(value, str) else json.dumps(value), named)


@lru_cache(maxsize=4096)
def named_rank(field: str) -> Rank:
    """What the name of a field promises of its values."""
    return _by_name(words_of(field))


@lru_cache(maxsize=4096)
def words_of(field: str) -> tuple[str, ...]:
    """The words of a field name, in lower case."""
    return tuple(word.lower() for word in _WORD.findall(field[:LONGEST_KEY]))


@lru_cache(maxsize=4096)
def _by_name(words: tuple[str, ...]) -> Rank:
    if not ID_WORDS.isdisjoint(words):
        return Rank.ID
    if not KEY_WORDS.isdisjoint(words):
        return Rank.KEY
    if not FACT_WORDS.isdisjoint(words):
        return Rank.FACT
    return max(
        (level for word, level in _CHINESE.items() if any(word in each for each in words)),
        default=Rank.DETAIL,
    )


_CHINESE = {
    word: level
    for words, level in ((FACT_WORDS, Rank.FACT), (KEY_WORDS, Rank.KEY), (ID_WORDS, Rank.ID))
    for word in words
    if not word.isascii()
}
"""Chinese words have no spaces between them: they count wherever they stand in a name."""


def _by_look(text: str, named: Rank) -> Rank:
    """What a value looks like beside its name: a number, an identifier, a date, a time, a short value or prose."""
    found = _LOOK.match(text)
    match found.lastgroup if found is not None else None:
        case None:
            return (
                Rank.DETAIL
                if len(text) > LONGEST_KEY
                else max(named, Rank.FACT if len(text) <= SHORT else Rank.DETAIL)
            )
        case "flag":
            return min(named, Rank.FACT)
        case "number":
            return max(min(named, Rank.KEY), Rank.FACT if abs(float(text)) >= 100 else Rank.DETAIL)
        case "date":
            return Rank.FACT if ":" in text else Rank.KEY
        case "time":
            return Rank.KEY if named >= Rank.KEY else Rank.DETAIL
        case _:
            return max(named, _token_rank(text))


_LOOK = re.compile(
    r"(?P<number>-?\d{1,5}(?:\.\d+)?(?:[eE][+-]?\d+)?\Z)|(?P<flag>(?:true|false)\Z)"
    r"|(?P<date>\d{4}-\d\d-\d\d|\d{4}/\d\d?/\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d{4}年|\d\d?月\d)"
    rf"|(?P<time>\d\d?:\d\d(?::\d\d)?(?:\.\d+)?(?:\+\d)?\Z)|(?P<token>[\w@#$€£¥%+./:\\~-]{{3,{LONGEST_KEY}}}\Z)"
)
_DIGIT = re.compile(r"\d")


def _token_rank(text: str) -> Rank:
    """What a string without white space looks like: letters and digits mixed are an identifier."""
    digits = len(_DIGIT.findall(text))
    if digits:
        mixed = digits >= 6 or digits < len(text)
        return (Rank.ID if digits >= 2 or text.isupper() else Rank.KEY) if mixed else Rank.FACT
    code = text.isupper() and text.isascii() and len(text) < 9
    return Rank.KEY if code or "@" in text or "/" in text else Rank.FACT


def looks_like_id(text: str) -> bool:
    """Whether a text without white space has letters and digits mixed, or many digits."""
    return len(text) >= 3 and bool(_TOKEN.fullmatch(text)) and _token_rank(text) is Rank.ID


def has_literal(text: str) -> bool:
    """Whether a sentence carries a literal: an identifier, a path, an amount, a date, a code, a quotation."""
    return bool(_LITERAL.search(text))


def tokens_of(text: str) -> Iterator[str]:
    """The words, numbers and identifiers of a text."""
    return (match.group().strip(".,:") for match in _TOKEN.finditer(text))


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


def gist(text: str) -> list[str]:
    """What a text says in short: its telling sentences; where none tells, the first that has a number, or else the first
    that there is, cut when it is long."""
    told = list(dict.fromkeys(telling(text)))
    if told:
        return told
    found = (match.group().strip() for match in _SENTENCE.finditer(text[:LONGEST_OPENING]))
    said = [" ".join(each.split()) for each in found if each]
    numbered = next((each for each in said if any(map(str.isdecimal, each))), "")
    return [each[:LONGEST_KEY].rstrip() for each in (numbered or next(iter(said), ""),) if each]


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


def as_json(text: str, parse_float: Callable[[str], float] = float) -> Any:
    """The object or list that a text is in JSON, None when it is none (or one nested too deeply to read)."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text, parse_float=parse_float)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
