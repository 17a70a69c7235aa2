"""Finding: the facts that one text states, by rule, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

from ctxkit.core.facts import Fact, Speaker, is_rule
from ctxkit.keyfacts.lines import fenced
from ctxkit.keyfacts.passages import LONGEST_WHOLE, is_stub, passages
from ctxkit.keyfacts.statements import Statement, statements_in
from ctxkit.keyfacts.words import Duty, denies, duties, duty, has_duty, lists_nothing, prefers
from ctxkit.literals import as_json, word_set, words_of
from ctxkit.summaries.cues import asks, binds, decides
from ctxkit.summaries.prose import LONGEST, is_prose, sentences
from ctxkit.summaries.specifics import Kind, Specific, carried, identifies

__all__ = ["MOST_RULES", "Found", "bound_by", "is_users", "stated_in"]


@dataclass(frozen=True, slots=True)
class Found:
    """A fact that was found, and whether a newer one of its key and subject supersedes it.

    Of those that nothing supersedes there may be many with one key; whoever keeps them tells them apart. A partial one
    must be kept and is not all that was said: it was too long, or breaks off.
    """

    fact: Fact
    single: bool = False
    partial: bool = False


VITAL, RULE, NAMED, BINDS, LIKES, SAID, TOLD, READ = 7, 6, 5, 4, 3, 2, 1, 0
"""Priorities: allergies and the user's own words; musts and prohibitions; what users name exactly; limits, deadlines
and decisions of theirs; preferences; what else they say that is specific; what the assistant says; what tools say."""

MOST_RULES = 64
"""Sentences of one message that may have to be kept."""

MOST_OVERLONG = 8
"""Pieces of texts without punctuation that are looked at for words of duty."""

MOST_FENCED = 8
"""Lines of fenced code in one message that are taken for what is vital."""

MOST_OUTSIDE = 8
"""Identifiers of one text that are taken though no sentence holds them."""

LONGEST_NOTE = 160
"""Characters of a sentence that is kept for a value in it; of a longer one the value alone is."""

_EXACT = frozenset(
    {
        Kind.IDENTIFIER,
        Kind.EMAIL,
        Kind.PHONE,
        Kind.URL,
        Kind.PATH,
        Kind.HOST,
        Kind.VERSION,
        Kind.CODE,
        Kind.COMMAND,
    }
)
"""Kinds that are the same wherever they stand; dates and amounts say nothing without their sentence."""


def is_users(fact: Fact) -> bool:
    """Whether a user said it, or a note that came back, whose facts are nobody's or a tool's, tells it as a user's rule."""
    return fact.said_by == "user" or (is_rule(fact) and fact.said_by != "tool")


def bound_by(text: str, own: tuple[str, ...] = ()) -> list[Found]:
    """What a user's text says that must be kept: whole sentences, with the lists that they introduce, verbatim.

    Args:
        own: more words that make a sentence one of them; beginnings of words.
    """
    if not has_duty(text, own):
        return []
    bound: dict[str, Found] = {}
    for found in chain(_bound(text, own), _overlong(text, own)):
        told = found.fact.value
        if found.partial and told not in bound:
            told = next((each for each in bound if told in each), told)
        if told not in bound and len(bound) == MOST_RULES:
            return [replace(each, partial=True) for each in bound.values()]
        before = bound.get(told, found)
        bound[told] = replace(before, partial=before.partial or found.partial)
    return list(bound.values())


def _bound(text: str, own: tuple[str, ...]) -> Iterator[Found]:
    """The sentences that bind, with what they lean on and with their lists; what stands in the list of one is not told by
    itself. "I am allergic to these" may be about more than the sentence before."""
    told: set[str] = set()
    for found in passages(text, lambda sentence: duty(sentence, own) is not Duty.NONE):
        sentence, whole = found.sentence, found.whole
        level = duty(sentence, own)
        if whole != sentence:
            level = max(level, duty(whole, own))
        partial = found.is_cut or is_stub(whole) or (found.may_lack and level is Duty.VITAL)
        partial = partial or (whole.endswith(sentence) and lists_nothing(sentence))
        yield _rule(whole, level, partial=partial, denied=denies(whole[whole.index(sentence) :]))
        told.update(line.strip() for line in whole.splitlines())
    yield from _fenced((line for line in fenced(text) if line not in told), own)


def _rule(sentence: str, level: Duty, *, partial: bool, denied: bool) -> Found:
    priority = VITAL if level is Duty.VITAL else RULE
    fact = Fact("rule", sentence, must_keep=True, priority=priority, denied=denied)
    return Found(fact, partial=partial)


def _fenced(lines: Iterable[str], own: tuple[str, ...]) -> Iterator[Found]:
    """What is vital in fenced code, where people paste what is none: lines of words, or of data; more may stand around
    each."""
    said = (line for line in dict.fromkeys(lines) if is_prose(line) or as_json(line) is not None)
    for line in islice((each for each in said if duty(each, own) is Duty.VITAL), MOST_FENCED):
        yield _rule(line, Duty.VITAL, partial=True, denied=denies(line))


def _overlong(text: str, own: tuple[str, ...]) -> Iterator[Found]:
    """What stands around the words of duty in lines without a boundary, which are no sentences."""
    for line in text.splitlines():
        if len(line) <= LONGEST_WHOLE or len(max(re.split(r"[.!?。！？；,;，]", line), key=len)) <= LONGEST:
            continue
        end = 0
        for begins, ends in islice(duties(line, own), MOST_OVERLONG):
            if begins >= end:
                end = min(len(line), ends + LONGEST // 2)
                piece = _at_blanks(line, max(0, begins - LONGEST // 2), end)
                yield _rule(piece, duty(piece, own), partial=True, denied=denies(piece))


def _at_blanks(line: str, start: int, end: int) -> str:
    """A piece of a line without the words that its ends cut."""
    piece = line[start:end]
    if start and " " in piece[:40]:
        piece = piece[piece.index(" ") :]
    if end < len(line) and " " in piece[-40:]:
        piece = piece[: piece.rindex(" ")]
    return piece.strip()


def stated_in(
    text: str, said_by: Speaker, own: tuple[str, ...] = (), *, specific: bool = True
) -> list[Found]:
    """What a user or the assistant states in a text, but for what `bound_by` finds in it, in order.

    Args:
        said_by: "user" or "assistant".
        own: as in `bound_by`.
        specific: take identifiers, amounts, dates and the like too, and not only what binds.
    """
    find = _of_user if said_by == "user" else _of_assistant
    if said_by == "assistant" and not specific:
        return []
    found: list[Found] = []
    bound = said_by == "user" and has_duty(text, own)
    for sentence in sentences(text):
        if not (bound and duty(sentence, own)):
            found += find(sentence, specific=specific)
    if said_by == "user" and specific:
        found += islice(_outside_sentences(text), MOST_OUTSIDE)
    return found


def _outside_sentences(text: str) -> Iterator[Found]:
    """Identifiers that a user gave in no sentence: in code, in a row of a table, in a line without an end."""
    told = {each.text for sentence in sentences(text) for each in carried(sentence)}
    for line in text.splitlines():
        for each in carried(line):
            if identifies(each) and each.text not in told:
                told.add(each.text)
                yield Found(Fact(name_of(each, line) or each.kind.value, each.text, priority=NAMED))


def _of_user(sentence: str, *, specific: bool) -> Iterator[Found]:
    stated = [_stated(each) for each in statements_in(sentence)] if specific else []
    note = _binding(sentence)
    if note is not None and not stated:
        yield note
        return
    yield from stated
    if specific:
        yield from _specific(sentence, stated, "user", exact=NAMED, note=SAID)


def _of_assistant(sentence: str, *, specific: bool) -> Iterator[Found]:
    if asks(sentence):
        return
    if decides(sentence):
        yield _noted("decision", sentence, "assistant", SAID)
    else:
        yield from _specific(sentence, (), "assistant", exact=TOLD, note=READ)


def _stated(statement: Statement) -> Found:
    fact = Fact(
        statement.key,
        statement.value,
        subject=statement.subject,
        priority=NAMED,
        denied=denies(statement.value),
    )
    return Found(fact, single=statement.single)


def _binding(sentence: str) -> Found | None:
    """The sentence of a user as a limit, a decision or a preference; a heading is none."""
    if asks(sentence) or sentence.endswith((":", "：")):
        return None
    if binds(sentence):
        return _noted("constraint", sentence, "user", BINDS)
    if decides(sentence):
        return _noted("decision", sentence, "user", BINDS)
    return _noted("preference", sentence, "user", LIKES) if prefers(sentence) else None


def _noted(key: str, sentence: str, said_by: Speaker, priority: int) -> Found:
    return Found(Fact(key, sentence, said_by=said_by, priority=priority, denied=denies(sentence)))


def _specific(
    sentence: str, stated: Iterable[Found], said_by: Speaker, *, exact: int, note: int
) -> Iterator[Found]:
    """Exact values beside their names; for values without a name, and for amounts and dates, their sentence."""
    told = " ".join(each.fact.value for each in stated)
    left = [each for each in carried(sentence) if each.text not in told]
    nameless: list[Kind] = []
    for each in left:
        name = name_of(each, sentence)
        if each.kind in _EXACT and (name or len(sentence) > LONGEST_NOTE):
            yield Found(Fact(name or each.kind.value, each.text, said_by=said_by, priority=exact))
        else:
            nameless.append(each.kind)
    if nameless and len(sentence) <= LONGEST_NOTE:
        kind = next((each for each in nameless if each in _EXACT), nameless[0])
        yield _noted(kind.value, sentence, said_by, exact if kind in _EXACT else note)


_NOUNS = word_set(
    "order serial number id code key reference ref case ticket invoice booking reservation confirmation tracking flight train room "
    "account customer member membership employee model part product item build run commit branch version file path folder email mail "
    "phone mobile url link host port name user username sku passport license licence plate contract policy claim project issue request "
    "error device address server database table repository repo package"
)
"""Words of which the name before a value is made."""

_LINK = word_set("is are was no nr called named")
_BEFORE = re.compile(r"([A-Za-z][A-Za-z ]{0,60}?)[ .:#=\"'(]{0,4}\Z")
_BEFORE_CHINESE = re.compile(
    r"((?:订单|序列|快递|运单|航班|车次|房间|会员|员工|客户|工单|合同|发票|产品|设备|手机|电话|身份证|护照|账户|提交|分支|车牌|账|型|编|单|工){0,2}"
    r"(?:号码|编号|号|账号|邮箱|电话|地址|代码|型号|版本|航班|订单|路径|文件|分支|快递|单号))[ :：是为叫#“「]{0,3}\Z"
)


def name_of(specific: Specific, sentence: str) -> str:
    """What a sentence calls a value: the nouns right before it, "" where there are none."""
    before = sentence[: max(0, sentence.find(specific.text))][-80:]
    chinese = _BEFORE_CHINESE.search(before)
    if chinese:
        return chinese.group(1)
    found = _BEFORE.search(before)
    name: list[str] = []
    for word in reversed(words_of(found.group(1)) if found else ()):
        if word in _NOUNS:
            name.insert(0, word)
        elif name or word not in _LINK:
            break
    return " ".join(name)
