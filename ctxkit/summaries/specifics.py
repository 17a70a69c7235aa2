"""Specifics: what of a text a summary must keep verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from string import ascii_letters, digits

from ctxkit.literals import LONGEST_KEY
from ctxkit.summaries.cues import asks, binds
from ctxkit.summaries.prose import placed

__all__ = ["Kind", "Specific", "carried", "identifies", "narrow", "specifics"]


class Kind(StrEnum):
    """What a specific is."""

    URL = "url"
    EMAIL = "email"
    COMMAND = "command"
    PATH = "path"
    HOST = "host"
    """A host or address with its port."""
    DATE = "date"
    TIME = "time"
    PHONE = "phone"
    VERSION = "version"
    CODE = "code"
    """An error, its class or code."""
    AMOUNT = "amount"
    """A number with its currency or unit, or one that is written as an amount: 1,234.56."""
    IDENTIFIER = "identifier"
    """Order numbers, UUIDs, hashes, serial numbers, names in code."""
    CONSTRAINT = "constraint"
    """A sentence that forbids, requires or limits."""


@dataclass(frozen=True, slots=True)
class Specific:
    """Text that has to survive as it stands, and what it is."""

    kind: Kind
    text: str


_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,6}(?!\d)|\d{1,18}+(?!\d))(?:\.\d{1,12}+)?"
_CURRENCY = r"(?:US\$|HK\$|[$€£¥￥₹₩]|(?:USD|EUR|GBP|CNY|RMB|JPY|HKD|CHF|CAD|AUD|INR)\b)"
_UNIT = (
    r"(?:万元|亿元|美元|欧元|英镑|日元|港元|港币|块钱|元|块|万|亿|毛|个小时|小时|分钟|秒|天|个月|年|周|岁|晚|人|位|间|张|次|台|份|箱|件|公里|千米|米|厘米"
    r"|平方米|平米|公斤|千克|克|毫克|毫升|升|度|分|折|层|楼|[%％‰]|°[CF]?"
    r"|(?:percent|dollars?|euros?|pounds?|cents?|bucks|USD|EUR|GBP|CNY|RMB|JPY|HKD|CHF|CAD|AUD|INR|kg|mg|mcg|g|ml|l|km|cm|mm|m|mi|miles?|ft|feet"
    r"|inch(?:es)?|lbs?|oz|[KMGT]i?B|bytes|ms|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|nights?|people|persons?|guests?"
    r"|passengers?|adults?|children|bags?|tickets?|items?|units?|tokens?|times|stars?|points?|rooms?|bedrooms?|[GM]Hz|kWh|mph|km/h|k|million"
    r"|billion)(?![A-Za-z0-9_]))"
)
_COUNT = r"(?:once|twice|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety|hundred|half an?)"
_MONTH = r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?(?![\d:])"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?"
_AM = r"(?:\s?[AaPp](?:\.[Mm]\.|[Mm]\b))"
_TOOLS = (
    "git|pip3?|npm|npx|yarn|pnpm|docker|kubectl|helm|python3?|pytest|tox|ruff|mypy|uv|poetry|conda|curl|wget|make|cmake|cargo|go|apt|apt-get|brew|ssh"
    "|scp|rsync|cd|ls|rm|cp|mv|mkdir|cat|grep|sed|awk|find|tar|chmod|chown|export|source|psql|mysql|sqlite3|redis-cli|systemctl|sudo|terraform|aws"
    "|gcloud|az|node|java|mvn|gradle|gcc|bash|sh|echo|touch"
)

_PATTERN = re.compile(
    "|".join(
        f"(?P<{name}>{pattern})"
        for name, pattern in {
            "url": r"\b(?:https?|ftps?|sftp|ssh|wss?|git|s3|gs|file|postgres(?:ql)?|mysql|redis|mongodb(?:\+srv)?|amqp)://"
            r"[^\s\u3000<>\"'`{}|\\^，。；：！？、（）《》【】「」]++",
            "email": r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}+@[A-Za-z0-9-]{1,63}+(?:\.[A-Za-z0-9-]{1,63}+){1,8}+",
            "code_span": r"(?<!`)`[^`\n]{2,300}+`(?!`)",
            "command": rf"^[ \t]{{0,40}}+(?:[$%] )?+(?:{_TOOLS}) [^\n]{{1,300}}$",
            "date": rf"(?<![\d.])(?:\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?)?|\d{{4}}/\d{{1,2}}/\d{{1,2}}|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}"
            rf"|\d{{1,2}}\.\d{{1,2}}\.\d{{4}})(?![\d/-])|\d{{4}}年(?:\d{{1,2}}月(?:\d{{1,2}}[日号])?)?|\d{{1,2}}月(?:\d{{1,2}}[日号]?)"
            rf"|\b{_MONTH} {_DAY}(?:,? \d{{4}}\b)?|\b{_DAY} (?:of )?{_MONTH}(?![A-Za-z])(?:,? \d{{4}}\b)?|\b{_MONTH} \d{{4}}\b"
            r"|\b(?:(?:next|last|this) )?(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|[下上本这]?(?:周|星期|礼拜)[一二三四五六日天]",
            "time": rf"(?<![\d:.]){_CLOCK}(?![\d:]){_AM}?|(?<![\d:.])\d{{1,2}}{_AM}|(?:凌晨|早上|上午|中午|下午|晚上|傍晚)\d{{1,2}}[点时](?:\d{{1,2}}分?|半)?"
            r"|(?<![\d.])\d{1,2}点(?:\d{1,2}分?|半|钟)?",
            "phone": r"(?<![\w+])\+\d{1,3}[ -]?(?:\(\d{1,4}\)[ -]?)?\d{1,4}(?:[ -]?\d{2,4}){1,5}(?!\d)|(?<!\w)\(\d{3}\) ?\d{3}-\d{4}(?!\d)"
            r"|(?<![\w-])(?:\d{3}-\d{3}-\d{4}|0\d{2,3}-\d{7,8}|1[3-9]\d{9}|400-\d{3}-?\d{4})(?![\w-])",
            "named_version": r"\b(?:version|release|Python|Node(?:\.js)?|Java|Go|Rust|PHP|Ruby|Ubuntu|Debian|Django|PostgreSQL|Redis|Kubernetes) v?"
            r"\d{1,4}(?:\.\d{1,6}){1,3}+(?![\w.]*\w)|版本号?[ :：]?v?\d{1,4}(?:\.\d{1,6}){1,3}+",
            "named_code": r"\b(?:HTTP|error(?: code)?|status(?: code)?|exit code|code|errno)[ :=#]{1,3}-?\d{1,6}\b|错误[码代]?[ :：]{0,2}-?\d{1,6}",
            "amount": rf"(?<![\w.,-]){_CURRENCY}\s?{_NUMBER}(?:\s?(?:{_UNIT}))?|(?<![A-Za-z0-9_.,/#-]){_NUMBER}[ -]?(?:多|几)?{_UNIT}"
            r"|(?<![\w.,-])\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,12})?(?![\w,])|(?<![\w.,-])\d{1,12}\.\d\d(?![\w.])"
            rf"|\b{_COUNT} (?:a |an |per |times (?:a|an|per) )?(?:second|minute|hour|day|night|week|month|year|pack|pill|tablet|dose|dollar|euro|pound"
            r"|percent|mile|person|people|guest|adult|child|bag|ticket|room|bedroom|star)(?:s|ren)?\b"
            r"|[一二两三四五六七八九十百千零]{1,8}(?:万|亿)?(?:元|块钱?|美元|天|晚|个小时|小时|分钟|个月|公里|岁)",
            "token": r"(?<![A-Za-z0-9_#@~./\\:+%&=-])[A-Za-z0-9_#@~./\\:+%&=-]{2,}+",
        }.items()
    ),
    re.MULTILINE | re.ASCII,
)
_KINDS = {"named_version": Kind.VERSION, "named_code": Kind.CODE}

_LETTERS = re.compile(r"[A-Z]{5,10}")
_GROUPS = re.compile(
    r"(?<![\w.,:/+-])(?:[A-Z]{2}\d\d(?: [A-Z]{4})?(?: \d{4}){2,6}(?: \d{1,3})?|\d{4}(?: \d{4}){1,5}|\d{3}(?: \d{3}){2,5})"
    r"(?! ?\d|[\w.,/:-]*\w)",
    re.ASCII,
)
_TWO_GROUPS = re.compile(r"\d{3} \d{3}", re.ASCII)
LONGEST_NAME = 60
"""Characters before a value in which what it is called is looked for."""

_GAP = r"(?: (?:code|number|no|is|was)\b)*(?:是|为)?[ .:：#=\"'“「(（*]{0,4}\Z"
_CHINESE_NAMES = rf"(?:[编单订账卡票认]号|号码|代码|[认惠考取]码){_GAP}"
_NAMES_LETTERS = re.compile(
    r"\b(?:PNR|[Rr]ecord [Ll]ocator|(?:[Bb]ooking|[Rr]eservation|[Cc]onfirmation|[Tt]racking|[Oo]rder|[Tt]icket|[Cc]ase|[Cc]laim|[Ss]erial"
    r"|[Mm]ember(?:ship)?|[Cc]ustomer|[Aa]ccess|[Aa]ctivation|[Pp]romo|[Dd]iscount|[Cc]oupon|[Vv]oucher|[Gg]ift) (?:[Rr]ef|[Cc]ode|[Nn]umber|ID|[Nn]o)"
    rf"|[Rr]eference){_GAP}|{_CHINESE_NAMES}",
    re.ASCII,
)
"""What stands before an identifier of letters alone; in a text that shouts it names nothing."""
_NAMES_GROUPS = re.compile(
    rf"\b(?:ref|reference|number|n[or]|id|code|card|account|ISBN|IMEI){_GAP}|{_CHINESE_NAMES}",
    re.ASCII | re.IGNORECASE,
)
"""What stands before the digits of an identifier that is written in groups."""

_WIDE = re.compile("[０-９Ａ-Ｚａ-ｚ]")
_MARK_OF_A_NUMBER = re.compile("(?<=[０-９])[，．：／](?=[０-９])")
_WIDER = ord("Ａ") - ord("A")
_NARROW = {ord(each) + _WIDER: each for each in f"{ascii_letters}{digits}-_@#"}

_EXTENSION = re.compile(r"[\w@+-]+(?:\.[\w@+-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}(?::\d+)?")
_FILE = re.compile(
    r"[\w@+.-]+\.(?:py|pyi|js|jsx|ts|tsx|json|jsonl|ya?ml|toml|ini|cfg|conf|md|rst|txt|csv|tsv|xlsx?|docx?|pptx?|pdf|png|jpe?g|gif|svg|html?|css|scss"
    r"|java|kt|go|rs|rb|php|c|h|cc|cpp|hpp|cs|sh|bash|sql|db|sqlite|log|xml|zip|tar|gz|tgz|lock|env|ipynb|proto|tf)(?::\d+)?"
)
_HOST = re.compile(
    r"(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:/\d{1,2})?|(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+):\d{2,5})"
)
_DOMAIN = re.compile(
    r"(?:[A-Za-z0-9-]+\.)+(?:com|org|net|io|cn|dev|ai|app|gov|edu|co|uk|de|fr|jp|example|local|internal)(?:/[^\s]*)?"
)
_VERSION = re.compile(
    r"(?:[A-Za-z][\w.-]*(?:==|@))?v?\d{1,4}\.\d{1,6}\.\d{1,6}(?:[.+-]?[A-Za-z0-9]+){0,4}|v\d{1,4}(?:\.\d{1,6}){0,2}"
    r"|[A-Za-z][\w.-]*(?:==|@)v?\d[\w.]*"
)
_CODE = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning)|E[A-Z]{4,}|ERR[_-]\w+")
_GROUPED = re.compile(r"\d+(?:-\d+){2,}")
LEAST_GROUPED = 9
"""Digits of an identifier with hyphens between them: a date has eight."""

_ORDINARY = re.compile(
    r"\d+(?:st|nd|rd|th|s|x|k|K|m|h)|[A-Za-z]\d|\d[A-Za-z]|\d{1,3}-\d{1,3}|\d+(?:\.\d+)?[+%-]*"
)


def specifics(text: str) -> tuple[Specific, ...]:
    """The specifics of a text, each once and as it is written, in the order in which they stand. Linear time on any text."""
    found = sorted((*_marked(text), *_constraints(text)), key=lambda each: each[0])
    return tuple(dict.fromkeys(specific for _, specific in found))


def carried(sentence: str) -> tuple[Specific, ...]:
    """The specifics in a sentence that are no clause themselves."""
    return tuple(dict.fromkeys(specific for _, specific in _marked(sentence)))


def narrow(text: str) -> str:
    """A text with full-width letters and digits, and the marks in such numbers, in the usual width; as long as it was."""
    if text.isascii() or not _WIDE.search(text):
        return text
    return _MARK_OF_A_NUMBER.sub(lambda found: chr(ord(found[0]) - _WIDER), text).translate(_NARROW)


_IDENTIFY = frozenset(
    {
        Kind.IDENTIFIER,
        Kind.PHONE,
        Kind.PATH,
        Kind.HOST,
        Kind.COMMAND,
        Kind.CODE,
        Kind.VERSION,
    }
)
_ADDRESSES = frozenset({Kind.EMAIL, Kind.URL})


def identifies(specific: Specific) -> bool:
    """Whether a specific is asked for later though no sentence tells what it is: an address, or what has a digit and is no
    amount and no date. All else may be any name in code."""
    numbered = specific.kind in _IDENTIFY and any(map(str.isdigit, specific.text))
    return numbered or specific.kind in _ADDRESSES


LONG_CLAUSE = 100
"""Bytes of a sentence above which only its clauses that constrain are locked: 100 English, 33 Chinese letters."""

_COMMA = re.compile(r"[,;](?=\s)|[，；]")


def _constraints(text: str) -> Iterator[tuple[int, Specific]]:
    for start, _, sentence in placed(text):
        if binds(sentence) and not asks(sentence):
            clauses = (
                _clauses(sentence) if len(sentence.encode("utf-8", "replace")) > LONG_CLAUSE else [sentence]
            )
            yield from ((start, Specific(Kind.CONSTRAINT, each)) for each in clauses if binds(each))


def _clauses(sentence: str) -> list[str]:
    return [clause.strip() for clause in _COMMA.split(sentence)]


def _marked(text: str) -> Iterator[tuple[int, Specific]]:
    """What is a specific by its looks, and where it stands."""
    read = narrow(text)
    for start, specific in chain(_by_pattern(read), _in_groups(read)):
        end = start + len(specific.text)
        yield start, specific if read is text else Specific(specific.kind, text[start:end])


def _by_pattern(text: str) -> Iterator[tuple[int, Specific]]:
    for match in _PATTERN.finditer(text):
        name, found = match.lastgroup or "", match.group()
        specific = _read(name, found)
        if specific is None and found.isupper():
            specific = _of_letters(
                _trimmed(found), text[max(0, match.start() - LONGEST_NAME) : match.start()]
            )
        if specific is not None and specific.text:
            yield match.start() + found.index(specific.text), specific


def _of_letters(word: str, before: str) -> Specific | None:
    """A word of capitals that is called a code."""
    looks = _LETTERS.fullmatch(word) and len(set(word)) > 1
    return Specific(Kind.IDENTIFIER, word) if looks and _NAMES_LETTERS.search(before) else None


def _in_groups(text: str) -> Iterator[tuple[int, Specific]]:
    """Identifiers that are written with blanks between groups of digits."""
    for match in _GROUPS.finditer(text) if _TWO_GROUPS.search(text) else ():
        before = text[max(0, match.start() - LONGEST_NAME) : match.start()]
        if match.group()[0].isalpha() or _NAMES_GROUPS.search(before):
            yield match.start(), Specific(Kind.IDENTIFIER, match.group())


def _read(name: str, text: str) -> Specific | None:
    match name:
        case "token":
            return _token(text)
        case "code_span":
            return _code_span(text[1:-1].strip())
        case "command":
            return _command(text.strip())
        case "url":
            return Specific(Kind.URL, text.rstrip(".,;:!?)]*_~"))
        case "date":
            return Specific(Kind.DATE, text.rstrip("."))  # of a short month, or of the sentence
        case _:
            return Specific(_KINDS[name] if name in _KINDS else Kind(name), text.strip())


def _code_span(text: str) -> Specific | None:
    """What stands between backticks is meant verbatim."""
    if not text:
        return None
    if re.search(r"\s", text):
        return Specific(Kind.COMMAND, text)
    return _token(text) or Specific(Kind.IDENTIFIER, text)


def _command(text: str) -> Specific | None:
    """A line that begins with a tool's name is a command when it has a prompt, an option, a path or a file."""
    plain = text[2:] if text[:2] in ("$ ", "% ") else text
    looks = plain is not text or re.search(r"\s--?[A-Za-z]|[/\\=|]|\w\.\w{1,5}(?:\s|\Z)|==", plain)
    prose = plain.rstrip()[-1:] in ".?!。？！" or ", " in plain
    return Specific(Kind.COMMAND, plain) if looks and not prose else None


def _token(token: str) -> Specific | None:
    """What a run of characters without white space is, if it is a specific at all."""
    text = _trimmed(token)
    if not 2 <= len(text) <= LONGEST_KEY:
        return None
    kind = _kind_of(text)
    return None if kind is None else Specific(kind, text)


def _trimmed(token: str) -> str:
    text = token.rstrip(".:=&+-@%#~\\")
    return text.lstrip(":=&+%-") if not text.startswith("--") else text


def _kind_of(text: str) -> Kind | None:
    if text.isalpha():
        return Kind.CODE if _CODE.fullmatch(text) else None
    if _HOST.fullmatch(text):
        return Kind.HOST
    if _CODE.fullmatch(text):
        return Kind.CODE
    if _is_path(text):
        return Kind.PATH
    if _VERSION.fullmatch(text):
        return Kind.VERSION
    if _DOMAIN.fullmatch(text):
        return Kind.URL
    return Kind.IDENTIFIER if _is_identifier(text) else None


def _is_path(text: str) -> bool:
    if _FILE.fullmatch(text):
        return True
    pieces = [piece for piece in re.split(r"[/\\]", text) if piece]
    if not pieces or (len(pieces) == 1 and text == pieces[0]):
        return False
    rooted = text[0] in "/~" or text.startswith(("./", "../", ".\\")) or text[1:3] == ":\\"
    named = any(re.search(r"[A-Za-z]", piece) for piece in pieces)
    return named and (rooted or bool(_EXTENSION.fullmatch(pieces[-1])) or len(pieces) > 2)


def _is_identifier(text: str) -> bool:
    bare = text.lstrip("#@")
    numbers = sum(character.isdigit() for character in bare)
    if numbers == len(bare):
        return numbers >= 5 or (text[0] == "#" and numbers > 0)
    if _GROUPED.fullmatch(bare):
        return numbers >= LEAST_GROUPED
    if _ORDINARY.fullmatch(bare):
        return False
    if numbers:
        return len(bare) >= 4 and any(character.isalpha() for character in bare) and not _is_sum(bare)
    return "_" in bare.strip("_") and any(character.isalpha() for character in bare)


def _is_sum(text: str) -> bool:
    """`a=1`, `x:2`: an assignment, not a name."""
    return bool(re.fullmatch(r"[A-Za-z]{1,12}[:=]\d{1,4}", text))
