"""What customers type in and nobody may keep: card numbers, their codes and their dates.

ctxkit itself knows card numbers with a right check digit and passwords. Here are those that stand beside a word for
them: with a typing error in them, and the short codes.
"""

from __future__ import annotations

import re

__all__ = ["secrets_in"]

_IS = r"(?:\s{0,2}(?:number|no\.?|code|date))?\s{0,2}(?:is|are|was|on it is|[:：=#]|是|为)?\s{0,2}"
_SECRETS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:\b(?:card|visa|master ?card|amex)\b|卡号|信用卡|银行卡){_IS}(\d(?:[ -]?\d){{11,18}})(?!\d)",
        rf"((?:\b(?:cvv2?|cvc2?|security code|card code|verification code)\b|安全码|验证码|校验码|后三位){_IS}\d{{3,8}})(?!\d)",
        rf"((?:\b(?:expir(?:y|es|ation)|exp\.?|valid (?:thru|until))\b|有效期){_IS}\d{{1,2}}\s?/\s?\d{{2,4}})(?!\d)",
    )
)

_DIGITS = re.compile(r"\d\d")
"""What every one of them has: looked for first, since most texts have none."""


def secrets_in(text: str) -> list[str]:
    """The secrets of a text as they stand; a short code with the word before it, since three digits alone are in
    everything."""
    if not _DIGITS.search(text):
        return []
    return [found.group(1) for pattern in _SECRETS for found in pattern.finditer(text)]
