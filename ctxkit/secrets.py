"""Secrets in texts: keys, tokens, passwords, private keys and card numbers, which are kept nowhere."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator

__all__ = ["MASK", "masked", "secrets_in"]

MASK = "[...]"
"""What stands for what must not be kept."""

SHORTEST = 4
"""Characters of the shortest value beside a word such as "password" that is taken for one."""

LEAST_ENTROPY = 3.0
"""Bits a character, from which a value of `LONG` characters beside "key" or "token" looks drawn at random: words of
a language have about 2 to 3 at that length, hex digits about 3.5 and base64 more."""

LONG = 16
"""Characters of the shortest key that is told by its entropy."""

LONGEST_SECRET = 4_096
"""Characters of a private key without an end that are taken as belonging to it."""

_PREFIXED = (
    r"sk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{16,256}"
    r"|(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,256}"
    r"|gh[pousr]_[A-Za-z0-9]{20,256}|github_pat_[A-Za-z0-9_]{20,256}|glpat-[A-Za-z0-9_-]{16,256}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,256}|xapp-[A-Za-z0-9-]{10,256}"
    r"|A(?:KIA|SIA|ROA|IDA)[A-Z0-9]{12,40}|AIza[A-Za-z0-9_-]{30,60}|ya29\.[A-Za-z0-9_-]{20,256}"
    r"|LTAI[A-Za-z0-9]{12,40}|AKID[A-Za-z0-9]{12,60}"
    r"|hf_[A-Za-z0-9]{20,100}|npm_[A-Za-z0-9]{20,100}|pypi-[A-Za-z0-9_-]{20,256}|dop_v1_[a-f0-9]{20,100}"
    r"|SG\.[A-Za-z0-9_-]{10,100}\.[A-Za-z0-9_-]{10,100}|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{20,100}"
    r"|eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{4,2000}"
)
"""Keys by the prefixes that their issuers give them, so that they can be found; and JSON web tokens."""

_PASSWORD_WORDS = (
    r"pass(?:word|phrase|wd|code)|passwd|pwd|(?<![A-Za-z])pin(?: code)?|cvv2?|cvc2?|security code|secret answer"
    r"|one[- ]time (?:code|password)|otp|密码|口令|密碼|验证码|校验码|安全码|支付密码|暗号"
)
"""Words whose value is secret whatever it looks like."""

_KEY_WORDS = (
    r"(?:api|access|secret|private|auth|signing|encryption|client|service|account|license|session|refresh|bearer|app)?[ _-]?"
    r"(?:keys?|tokens?|secrets?|credentials?)|authorization|密钥|秘钥|令牌|私钥|凭证|凭据"
)
"""Words whose value is secret when it looks drawn at random."""

_SIGN = r"[\"'*`]{0,3}\s{0,3}(?::|=>|=|：|＝)\s{0,3}[\"'*`]{0,3}"
_VERB = (
    r"(?:\s{0,3}(?:is|was|are|to|set to|be|是|为|叫|改成|改为|设为|设成)|['’]s(?=\s))\s{0,3}[\"'“「`:：]{0,2}"
)
_VALUE = r"[^\s\"'“”「」`,，。；;！）)\]}>]"

_PATTERNS = tuple(
    (hints.split("|"), re.compile(pattern, flags))
    for hints, pattern, flags in (
        (
            "private key",
            r"(?P<block>-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)",
            re.ASCII,
        ),
        (
            "sk-|sk_|rk_|pk_|whsec_|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|xox|xapp-|akia|asia|aroa|aida|aiza|ya29."
            "|ltai|akid|hf_|npm_|pypi-|dop_v1_|sg.|shpat_|shpca_|shppa_|shpss_|eyj",
            rf"(?<![A-Za-z0-9_-])(?P<prefixed>{_PREFIXED})",
            re.ASCII,
        ),
        (
            "pass|pwd|pin|cv|security code|secret answer|one-time|one time|otp|密码|口令|密碼|验证码|校验码|安全码|暗号",
            rf"(?:{_PASSWORD_WORDS})(?:{_SIGN}|{_VERB})(?P<password>{_VALUE}{{{SHORTEST},200}}+)",
            re.IGNORECASE | re.ASCII,
        ),
        (
            "pass|pwd|pin|cv|security code|one-time|one time|otp|密码|口令|密碼|验证码|校验码|安全码|暗号",
            rf"(?:{_PASSWORD_WORDS})\s{{1,3}}[\"'“「`]{{0,2}}(?P<bare>{_VALUE}{{{SHORTEST},200}}+)",
            re.IGNORECASE | re.ASCII,
        ),
        (
            "curl|sshpass|mysql|mariadb",
            r"(?:(?<!\S)(?:-u|--user|--proxy-user)[ =]{0,3}[\"']?[^\s:\"'=]{1,100}:|sshpass\s{1,3}-p\s{0,3}[\"']?"
            r"|(?:mysql|mariadb)[a-z]{0,9}\b[^\n|;]{0,120}?\s-p[\"']?)(?P<given>[^\s\"'>]{1,200}+)",
            re.IGNORECASE | re.ASCII,
        ),
        (
            "key|token|secret|credential|authorization|密钥|秘钥|令牌|私钥|凭证|凭据",
            rf"(?:{_KEY_WORDS})(?:{_SIGN}|{_VERB}|\s)(?P<key>{_VALUE}{{{LONG},400}}+)",
            re.IGNORECASE | re.ASCII,
        ),
        (
            "bearer|basic",
            r"\b(?:bearer|basic)\s{1,3}(?P<bearer>[A-Za-z0-9._~+/=-]{12,2000}+)",
            re.IGNORECASE | re.ASCII,
        ),
        ("://", r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{1,100}:(?P<login>[^\s/@\"']{1,200}+)@", re.IGNORECASE),
        (
            "",
            r"(?<![\w.,-])(?P<card>[2-6]\d{3}(?:(?P<gap>[ -]?)\d{4}(?P=gap)\d{4}(?P=gap)\d{1,7}|[ -]?\d{6}[ -]?\d{5}))(?![\w-]|[.,]\d)",
            re.ASCII,
        ),
    )
)
"""What each sort of secret looks like, behind the letters, one of which stands in every text that has one: most texts
have none, and letters are looked for much faster than a pattern."""

_DIGITS = re.compile(r"\d{4,8}")
_OF_DIGITS = re.compile(
    r"pin|otp|passcode|cv[vc]2?|one[- ]time (?:code|password)|[\u4e00-\u9fff]{2,4}", re.IGNORECASE
)
"""Words right behind which digits alone are secret."""

_NO_PASSWORD = re.compile(
    r"\d+[-a-z]*|(?:sha|md|aes|base|utf|oauth|version|v|ver|level|step|part|page|line|no\.?)-?\d.*",
    re.IGNORECASE,
)
"""What has letters and digits and is none: "12-character", "SHA256"."""

_SAYS_NOTHING = re.compile(
    r"[*x•.…_#-]+|<[^>]*|\$?\{.*|\[.*|\(.*|%\w*%?|(?-i:\$[A-Z_]+)|none|null|true|false|undefined|redacted|hidden",
    re.IGNORECASE,
)


def secrets_in(text: str) -> tuple[str, ...]:
    """The secrets of a text, each once, as they stand: keys by the prefixes of their issuers, values that look drawn
    at random beside "key" or "token", what follows "password:" or 密码是, bearer tokens, logins in addresses and in
    commands, private keys, and card numbers with a right check digit. Linear time on any text."""
    return tuple(dict.fromkeys(_found(text)))


def masked(text: str, values: Collection[str]) -> str:
    """A text without some values, the longest first: `MASK` stands for each."""
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def _found(text: str) -> Iterator[str]:
    lower = text.lower()
    for hints, pattern in _PATTERNS:
        if any(hint in lower for hint in hints):
            end = 0
            for match in pattern.finditer(text):
                name = next(iter(match.groupdict()))
                if match.start() < end:
                    continue
                value = _whole(text, match) if name == "block" else match.group(name).rstrip(".")
                end = match.start() + len(value)
                if _is_secret(name, value, text[match.start() : match.start(name)]):
                    yield value


def _whole(text: str, match: re.Match[str]) -> str:
    """A private key, from its first line, which was found, to its last."""
    closing = match.group().replace("BEGIN", "END", 1)
    at = text.find(closing, match.end(), match.end() + LONGEST_SECRET)
    return text[match.start() : at + len(closing) if at >= 0 else match.end() + LONGEST_SECRET]


def _is_secret(name: str, value: str, before: str) -> bool:
    """Whether a value is one; `before` is the word that it stands beside, and what is between them."""
    if (len(value) < SHORTEST and name != "login") or _SAYS_NOTHING.fullmatch(value):
        return False
    match name:
        case "key":
            return _looks_random(value)
        case "card":
            return _checks(value)
        case "bare":
            return _is_code(value, before)
        case "given":
            return not (value.isdigit() and len(value) <= SHORTEST)
        case "password":
            return before.rstrip(" \"'*`")[-1:] in ":=>：＝" or _is_no_word(value)
        case _:
            return True


def _is_code(value: str, before: str) -> bool:
    """Whether what only stands behind "password" is one: letters with digits, or digits beside "pin" or 验证码."""
    if _DIGITS.fullmatch(value):
        return _OF_DIGITS.fullmatch(before.strip(" \"'“「`\t\n")) is not None
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return mixed and _NO_PASSWORD.fullmatch(value) is None


def _is_no_word(value: str) -> bool:
    """Whether what follows "the password is" is more than a word: "required", "wrong", "in the safe"."""
    return not (value.isalpha() and (value.islower() or value.istitle() or not value.isascii()))


def _looks_random(value: str) -> bool:
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return mixed and "/" not in value.strip("/")[:1] and _entropy(value) >= LEAST_ENTROPY


def _entropy(value: str) -> float:
    """Shannon entropy of the characters of a value, in bits each."""
    counts = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts)


def _checks(number: str) -> bool:
    """Whether the check digit of a card number is right (ISO/IEC 7812, the Luhn algorithm)."""
    digits = [int(each) for each in number if each.isdigit()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) < 2:
        return False
    doubled = [sum(divmod(2 * each, 10)) for each in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
