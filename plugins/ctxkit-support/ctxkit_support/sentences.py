"""What a sentence of a support conversation does, in English and Chinese: promise, demand, name an order, an amount,
a way to reach somebody."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = [
    "AMOUNT",
    "contacts_in",
    "has_amount",
    "has_deadline",
    "is_demand",
    "is_promise",
    "is_question",
    "orders_in",
    "sentences",
    "topic_of",
]

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_COUNT = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|ten|few)"
_DEADLINE = (
    r"\b(?:by|before|until|no later than|not later than)\s(?:the end of |next |this )?"
    rf"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|tonight|noon|midnight|(?:the )?(?:day|week|month)\b"
    rf"|\d{{4}}-\d\d-\d\d|{_MONTH} \d{{1,2}}|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|\d{{1,2}}[/.]\d{{1,2}}"
    r"|\d{1,2}(?::\d\d)? ?[ap]\.?m)"
    rf"|\b(?:within|in|after|takes?|allow|up to)\s(?:about |the next |another |up to )?{_COUNT}(?:\s?(?:-|–|to)\s?{_COUNT})?\s?"
    r"(?:business |working )?(?:minute|hour|day|week)s?\b|\b\d{1,2}\s?(?:-|–|to)\s?\d{1,2} (?:business|working) days\b"
    r"|\b(?:today|tonight|tomorrow)\b"
)
_ZH_COUNT = r"[\d一二两三四五六七八九十]{1,3}"
_ZH_DEADLINE = (
    r"今天|今晚|明天|后天|(?:下|本|这)?(?:周|星期|礼拜)[一二三四五六日天末]|\d{1,2}月\d{1,2}[日号]|月底前"
    rf"|{_ZH_COUNT}(?:[-–~到至]{_ZH_COUNT})?个?(?:工作日|小时|天|分钟|周)"
)
_WILL = (
    r"\b(?:we|i)(?:['’]ll| will|(?: am| are|['’]m|['’]re) going to| promise| guarantee)\b"
    r"|\b(?:you|it|they|this|that|(?:the|your|a) [^.?!]{1,60}?)(?:['’]ll| will| should)\b|\bplease allow\b|\bis guaranteed\b"
)
_ZH_DOES = "退|赔|补偿|补发|发货|寄|送达|到账|处理|回复|回电|联系|解决|取消|换货|更换|上门"

_DAY = rf"\bon (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|{_MONTH} \d{{1,2}}|\d{{4}}-\d\d-\d\d|the \d{{1,2}}(?:st|nd|rd|th))\b"
_BY = re.compile(f"{_DEADLINE}|{_ZH_DEADLINE}", re.IGNORECASE)
_WHEN = re.compile(f"{_DEADLINE}|{_DAY}|{_ZH_DEADLINE}", re.IGNORECASE)
_ENGAGED = re.compile(f"{_WILL}|{_ZH_DOES}", re.IGNORECASE)
_ZH_DONE = re.compile(f".*已经?[^，,。；;]{{0,15}}?(?:{_ZH_DOES})")
_WANTED = re.compile(r"\b(?:want|need|expect|require)\b|要|希望|得", re.IGNORECASE)
_DEMAND = re.compile(
    r"\b(?:must|never|only if|only want|unless|no later than|no more than|at most|at least|under no circumstances"
    r"|make sure|insist|demand|i won['’]?t|i will not|not accept|full refund|original payment|escalate|complain\w*)\b"
    r"|\b(?:do not|don['’]t) (?!know|think|have|remember|see|understand|mind|recall|believe|worry|hesitate)"
    "|必须|务必|一定要|要求|不接受|不要|不能|不许|只要|只接受|只能|别给|千万|否则|投诉|原路退|全额退|最晚|最迟|不超过|至少|最多",
    re.IGNORECASE,
)
_CONTACTS = {
    "email": re.compile(r"([\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,24}){1,4})"),
    "phone": re.compile(
        r"(?:\b(?:phone|call me|reach me|whats ?app|my number is|mobile)\b[^\d+]{0,20}|(?:电话|手机)[^\d+]{0,6})(\+?\d[\d ()-]{6,16}\d)(?!\d)",
        re.IGNORECASE,
    ),
    "address": re.compile(
        r"(?:\bmy (?:new |shipping |home |billing )?address is|\bship (?:it|them|everything) to|地址(?:是|为|[:：])) ?"
        r"([^\n。！；]{5,120}?)(?=[.!?]?\s*$|(?<!\b\w\w)(?<!\b\w\w\w)[.!?] (?!\d)|[。！；\n])",
        re.IGNORECASE,
    ),
}
_ORDER = re.compile(
    r"(?i:\b(order|reservation|booking|confirmation|ticket|case|tracking|invoice)s?(?: (?:number|id|no\.?|code))?)"
    r"(?: is|:)?\s{0,2}(?:\(|\*\*)?#?((?=[A-Z-]{0,8}\d)[A-Z\d][A-Z\d-]{3,19}|[A-Z]{6})\b"
    r"|(订单|工单|单号|预订|快递)(?:编?号码?)?(?:是|为|[:：])?\s?#?([A-Z\d][A-Z\d-]{4,19})|#([A-Z]{0,3}\d{5,12})\b"
)
_ORDER_NAMES = {
    "订单": "order",
    "预订": "reservation",
    "工单": "ticket",
    "单号": "tracking",
    "快递": "tracking",
}

AMOUNT = re.compile(
    r"[$€£¥￥]\s?\d[\d,]*(?:\.\d\d?)?|\b\d[\d,]*(?:\.\d\d?)?\s?(?:usd|eur|gbp|rmb|cny|dollars?|euros?|pounds?)\b"
    r"|\b(?:refund|credit|charge|pay)\w*(?: you)? \d+\.\d\d\b|\d[\d,]*(?:\.\d\d?)?\s?(?:元|块|人民币)",
    re.IGNORECASE,
)
"""An amount of money."""

_TOPICS = {
    topic: re.compile(words, re.IGNORECASE)
    for topic, words in {
        "refund": r"\brefund|退款|退钱|到账|退还|退",
        "replacement": r"\b(?:replac|exchang)|换|补发",
        "compensation": r"\b(?:compensat|voucher|certificate|goodwill|discount)|赔|补偿|优惠券",
        "cancellation": r"\bcancel|取消",
        "delivery": r"\b(?:ship|deliver|arriv|dispatch)|发货|送达|寄|快递",
        "charge": r"\b(?:charg|fee\b|total\b|pay|cost)|扣款|收费|支付|费用|合计",
        "repair": r"\b(?:repair|fix|technician|resolv)|维修|上门|解决|处理",
        "answer": r"\b(?:call|e-?mail|contact|reply|respond|get back|update|answer)|回复|回电|联系",
    }.items()
}
"""What is promised, wanted or paid; of several the first counts."""

_SORTS = (
    *("order", "reservation", "booking", "confirmation", "ticket", "case", "tracking", "invoice"),
    *("#", "订单", "工单", "单号", "预订", "快递"),
)
"""What stands before every number of an order."""

_DIGIT = re.compile(r"\d")

_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|(?:\n|\\n)+")
_QUESTION = re.compile(r"[?？]\W*$|[吗呢]\s*[。.!！]?$")
LONGEST = 400
"""Characters of the longest piece that is read as one sentence."""


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text as they stand, without marks of lists; what is longer than LONGEST in pieces."""
    for each in _BREAK.split(text):
        for at in range(0, len(each), LONGEST):
            if piece := each[at : at + LONGEST].strip(" \t-•*"):
                yield piece


def is_question(sentence: str) -> bool:
    """Whether it asks."""
    return bool(_QUESTION.search(sentence))


def has_deadline(sentence: str) -> bool:
    """Whether it says by when, or within what time."""
    return bool(_BY.search(sentence))


def is_promise(sentence: str) -> bool:
    """Whether somebody engages to do something by a time: "we will refund 49.90 by Friday"; 已于4月5日送达 is done."""
    return (
        bool(_WHEN.search(sentence))
        and not is_question(sentence)
        and bool(topic_of(sentence))
        and bool(_ENGAGED.search(_ZH_DONE.sub("", sentence)))
    )


def is_demand(sentence: str) -> bool:
    """Whether a customer sets a condition or a deadline: "only if ...", "I need it by Friday", 必须, 最晚."""
    wanted_by = bool(_WANTED.search(sentence)) and has_deadline(sentence)
    return not is_question(sentence) and (wanted_by or bool(_DEMAND.search(sentence)))


def contacts_in(text: str) -> list[tuple[str, str]]:
    """Ways to reach a customer: what sort, and the words that give it."""
    return [(sort, found.group(1)) for sort, words in _CONTACTS.items() for found in words.finditer(text)]


def orders_in(text: str) -> list[str]:
    """Orders, reservations, tickets and the like that are named: `order W2378156`, `reservation 4WQ150`."""
    named: dict[str, str] = {}
    lower = text.lower()
    if not any(sort in lower for sort in _SORTS):
        return []
    for found in _ORDER.finditer(text):
        sort, number, chinese, other, bare = found.groups()
        name = _ORDER_NAMES.get((sort or chinese or "order").lower(), (sort or "order").lower())
        named[number or other or bare] = name
    return [f"{name} {number}" for number, name in named.items()]


def has_amount(sentence: str) -> bool:
    """Whether it names an amount of money."""
    return bool(_DIGIT.search(sentence)) and bool(AMOUNT.search(sentence))


def topic_of(sentence: str) -> str:
    """What a sentence is about, the weightiest thing first: refund, compensation, ...; "" for none of these."""
    return next((topic for topic, words in _TOPICS.items() if words.search(sentence)), "")
