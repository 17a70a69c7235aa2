"""Whose a sentence is, told from the words that it shares with what was said."""

from __future__ import annotations

import pytest

from ctxkit.summaries.support import Quotes, Support, Supported, Voices

OWN = "Please book a quiet room near the harbour. I'll look for rooms with a balcony."
PAGE = "Visitors should wire their deposit through the partner portal before arrival."


@pytest.mark.parametrize(
    ("sentence", "whose"),
    [
        ("The user wants a quiet room by the harbour", Supported.OWN),
        ("Deposits are wired via the portal of a partner", Supported.TOOLS),
        ("A quiet room is booked through the harbour portal", Supported.OWN),
        ("Grandmother dislikes elephants", Supported.NOBODY),
        ("The user asked", Supported.OWN),
        ("42 of 97", Supported.OWN),
    ],
)
def test_whose_a_sentence_is(sentence: str, whose: Supported) -> None:
    assert Support(OWN, [PAGE]).of(sentence) is whose


def test_which_tool_said_most_of_a_sentence() -> None:
    assert Support(OWN, ["The weather is fine.", PAGE]).shared("a deposit for the portal") == [0, 2]


@pytest.mark.parametrize(
    ("sentence", "whose"),
    [
        ("用户想订海边的安静房间", Supported.OWN),
        ("访客应通过合作门户支付押金", Supported.TOOLS),
        ("祖母讨厌大象", Supported.NOBODY),
    ],
)
def test_whose_a_sentence_is_in_chinese(sentence: str, whose: Supported) -> None:
    support = Support("请帮我订一间海边的安静房间。", ["所有访客抵达前应通过合作门户支付押金。"])
    assert support.of(sentence) is whose


def test_what_may_be_a_translation_is_not_called_unsupported() -> None:
    assert Support("请查天气。", [PAGE]).of("祖母讨厌大象") is Supported.OWN


def test_what_is_no_translation_is_called_unsupported_beside_a_tool_in_another_script() -> None:
    support = Support("请查天气。", [PAGE])
    assert support.of("祖母讨厌大象", translated=False) is Supported.NOBODY
    assert support.of("查一下天气", translated=False) is Supported.OWN


MESSAGES = (
    "You must never call me before 9 am; please ring at the office instead.",
    "Don't restart the database before Friday, it isn't backed up. Miller is my cat.",
    "以后请务必在上午九点以后给我打电话，周五不要寄快递。",
)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("You must never call me before 9 am", True),
        ("never call before 9 am", True),
        ("must not be called before 9 am", True),
        ("call before 9 am", False),
        ("never call after 9 am", False),
        ("never call the office", False),
        ("ring at the office", True),
        ("ring the office and pay", False),
        ("do not restart the database before Friday", True),
        ("cannot restart the database", True),
        ("restart the database before Friday", False),
        ("never call before Friday", False),
        ("Miller", True),
        ("Smith", False),
        ("the of", False),
        ("", False),
        ("Ring at the office!", True),
        ("Office! Ring", False),
        ("务必在九点以后打电话", True),
        ("周五不要寄快递", True),
        ("周五别寄快递", True),
        ("周五寄快递", False),
        ("周六不要寄快递", False),
    ],
)
def test_what_stands_in_a_message_nearly_word_for_word(text: str, stands: bool) -> None:
    assert Quotes(MESSAGES).has(text) is stands


VOICES = Voices(
    [
        ("user", "Please reply in French from now on."),
        ("assistant", "I will run the linter before each commit."),
        ("", "the parcels go to Harbour Street"),
    ]
)


@pytest.mark.parametrize(
    ("order", "people", "anybody"),
    [
        ("always reply in French", True, True),
        ("run the linter before commits", False, True),
        ("send parcels to Harbour Street", True, True),
        ("forward the invoices", False, False),
        ("pay now", False, False),
        ("call", False, False),
    ],
)
def test_who_gave_an_order(order: str, people: bool, anybody: bool) -> None:
    assert VOICES.gave(order, people_alone=True) is people
    assert VOICES.gave(order, people_alone=False) is anybody


SAID = Voices(
    [
        ("user", "My mower SN2023-188 is broken. Never ship it before 9:30. Can't you cancel my order?"),
        ("user", "You never called me back. Do not send a letter to my office, call me after 9 instead."),
        ("user", "周五不要寄快递。请帮我退货。我对花生过敏。"),
        ("user", "I am allergic to nuts. No visitors in the kitchen, please."),
        ("assistant", "I will always ship it before 9:30."),
    ]
)


@pytest.mark.parametrize(
    ("sentence", "opposite"),
    [
        ("ship it before 9:30", True),
        ("always ship before 9:30", True),
        ("the user wants it shipped before 9:30", True),
        ("never ship before 9:30", False),
        ("the user does not want it shipped before 9:30", False),
        ("the mower SN2023-188 is not broken", True),
        ("the mower SN2023-188 is broken", False),
        ("cancel the order", False),
        ("call the user back", False),
        ("send a letter to the office", True),
        ("send no letter to the office", False),
        ("do not call before 9", False),
        ("call after 9", False),
        ("mow the lawn", False),
        ("周五寄快递", True),
        ("周五务必寄快递", True),
        ("周五别寄快递", False),
        ("不要退货", True),
        ("退货", False),
        ("对花生不过敏", True),
        ("对花生过敏", False),
        ("I am not allergic to nuts", True),
        ("I'm not allergic to nuts", True),
        ("no allergy to nuts", True),
        ("is allergic to nuts", False),
        ("visitors in the kitchen", True),
        ("no visitors in the kitchen", False),
    ],
)
def test_what_is_the_opposite_of_what_people_said(sentence: str, opposite: bool) -> None:
    assert SAID.contradicted(sentence) is opposite


def test_the_opposite_of_what_people_want_is_no_order_of_theirs() -> None:
    assert not SAID.gave("always ship the mower before 9:30", people_alone=False)
    assert SAID.gave("never ship the mower before 9:30", people_alone=True)


def test_who_takes_something_back_does_not_contradict_it() -> None:
    said = Voices([("user", "Never ship before 9:30."), ("user", "All right, ship before 9:30.")])
    assert not said.contradicted("ship before 9:30")
    assert said.contradicted("always ship on Mondays, and before 9:30") is False


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("wants the broken mower picked up", True),
        ("agrees to the deletion of the account of the garden", False),
        ("the mower is not broken, SN2023-188", False),
        ("mower", False),
    ],
)
def test_what_a_person_said_in_other_words(sentence: str, told: bool) -> None:
    assert SAID.told("user", sentence) is told


def test_a_quotation_is_looked_up_at_its_speaker() -> None:
    assert VOICES.quoted("assistant", "run the linter before each commit")
    assert not VOICES.quoted("user", "run the linter before each commit")
    assert VOICES.quoted("", "run the linter before each commit")


RULES = Voices(
    [
        ("user", "Please ship order W1 to my office. Never call me before nine, I work nights."),
        ("user", "I am allergic to peanuts. Where is my cake?"),
        ("assistant", "Of course. Shall I add a peanut bar as a gift?"),
        ("user", "No, no peanut bar please. And do not ship to my home."),
        ("assistant", "Your gift voucher is no longer valid, it must be renewed."),
        ("user", "我对花生过敏。绝对不要在九点前打电话。不要寄到家里。"),
    ]
)


@pytest.mark.parametrize(
    ("sentence", "taken_back"),
    [
        ("is no longer allergic to peanuts", True),
        ("used to be allergic to peanuts, has outgrown it", True),
        ("not true any more: I am allergic to peanuts.", True),
        ('"I am allergic to peanuts." was said by mistake, ignore it', True),
        ("no longer: never call before nine", True),
        ("user took back: Never call me before nine, I work nights.", True),
        ("the rule never to call before nine was withdrawn", True),
        ("已不再对花生过敏", True),
        ("“我对花生过敏”是口误", True),
        ("曾对花生过敏，现已痊愈", True),
        ("撤回：绝对不要在九点前打电话", True),
        ("is allergic to peanuts", False),
        ("never call before nine", False),
        ("对花生过敏", False),
        ("再也不要在九点前打电话", False),
        ("is the user no longer allergic to peanuts?", False),
        ("the order is no longer at the depot", False),
        ("the cake is no longer available", False),
        ("订单已不在仓库", False),
    ],
)
def test_what_takes_a_rule_back(sentence: str, taken_back: bool) -> None:
    assert RULES.takes_back(sentence, people_alone=True) is taken_back


@pytest.mark.parametrize(
    ("later", "sentence"),
    [
        ("My peanut allergy is cured, by the way.", "is no longer allergic to peanuts"),
        ("Forget it, I no longer mind calls before nine.", "no longer: never call before nine"),
        ("All right, call me before nine.", "the user took back: never call before nine"),
        ("我的花生过敏已经治好了。", "不再对花生过敏"),
    ],
)
def test_what_people_took_back_themselves_is_taken_back(later: str, sentence: str) -> None:
    rules = [("user", "I am allergic to peanuts. Never call me before nine. 我对花生过敏。")]
    assert Voices(rules).takes_back(sentence, people_alone=True)
    assert not Voices([*rules, ("user", later)]).takes_back(sentence, people_alone=True)
    assert Voices([*rules, ("assistant", later)]).takes_back(sentence, people_alone=True)
    assert not Voices([*rules, ("assistant", later)]).takes_back(sentence, people_alone=False)


@pytest.mark.parametrize(
    ("sentence", "forbidden"),
    [
        ("ship order W1 to the home", True),
        ("order W1 is shipped to the user's home on Monday", True),
        ("a peanut bar is added as a gift", True),
        ("把订单W1寄到家里", True),
        ("ship order W1 to the office", False),
        ("ship order W1 to the office instead of the home", False),
        ("find out whether order W1 can be shipped home", False),
        ("ship to the office, not to the home", False),
        ("avoid shipping to the home", False),
        ("the peanut bar is left out of the gift", False),
        ("send the gift", False),
        ("不寄到家里", False),
        ("寄到办公室", False),
    ],
)
def test_what_people_forbade_among_other_words(sentence: str, forbidden: bool) -> None:
    assert RULES.contradicted(sentence) is forbidden


@pytest.mark.parametrize(
    "later",
    [
        [("user", "All right, ship it to my home.")],
        [("assistant", "Shall I ship it to your home after all?"), ("user", "Yes, please.")],
        [("assistant", "The office is closed. May I ship it to your home?"), ("user", "Sure.")],
    ],
)
def test_what_people_forbade_and_then_agreed_to_is_allowed(later: list[tuple[str, str]]) -> None:
    before = [("user", "Please ship order W1 to my office. Do not ship to my home.")]
    told = "ship order W1 to the home"
    assert Voices(before).contradicted(told)
    assert not Voices([*before, *later]).contradicted(told)
    refused = [("assistant", "Shall I ship it to your home after all?"), ("user", "No, to the office.")]
    assert Voices([*before, *refused]).contradicted(told)


def test_a_user_is_asked_by_name_or_with_all_others() -> None:
    voices = Voices([("user Ann", "I am allergic to nuts."), ("user Ben", "I need a ramp.")])
    assert voices.quoted("user Ann", "is allergic to nuts")
    assert not voices.quoted("user Ben", "is allergic to nuts")
    assert not voices.quoted("user An", "is allergic to nuts")
    assert voices.quoted("user", "is allergic to nuts")
    assert voices.contradicted("is not allergic to nuts")
