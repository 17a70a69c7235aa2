"""What a sentence does."""

from __future__ import annotations

import pytest
from ctxkit_support.sentences import (
    contacts_in,
    is_demand,
    is_promise,
    orders_in,
    sentences,
    topic_of,
)


@pytest.mark.parametrize(
    "sentence",
    [
        "We will refund 49.90 by Friday.",
        "I'll call you back within two hours.",
        "The refund will be processed to your card within 5 to 7 business days.",
        "Please allow 5–7 business days for the refund.",
        "We're going to ship the replacement tomorrow.",
        "Your parcel should arrive on Monday.",
        "You'll get your money back, that is a refund, no later than 2026-03-01.",
        "最晚周五退款。",
        "我们会在3个工作日内把49.9元退到您的支付宝。",
        "24小时内给您回复。",
        "12月3日之前补发一件新的。",
        "已为您申请退款，3天内到账。",
    ],
)
def test_promises(sentence: str) -> None:
    assert is_promise(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "I'll look that up for you.",
        "We will refund you.",
        "Will you refund me by Friday?",
        "I'd be happy to help you today.",
        "The office opens on Monday.",
        "几天能退款吗？",
        "我帮您查一下。",
        "订单已于2025年4月5日送达。",
        "退款已经在3天内处理。",
    ],
)
def test_no_promises(sentence: str) -> None:
    assert not is_promise(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "I need it by Friday.",
        "Please don't cancel the grill.",
        "I only want to change the date if the upgrade is included.",
        "Refund to the original payment method, no voucher.",
        "It must arrive before May 20.",
        "Under no circumstances call me at night.",
        "必须全额退款！",
        "我不接受优惠券。",
        "最晚明天要收到货。",
    ],
)
def test_demands(sentence: str) -> None:
    assert is_demand(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "I don't know my order number.",
        "I need help with my order.",
        "Can I get a full refund?",
        "Thanks, that's all.",
        "可以不要发票吗？",
        "谢谢，好的。",
    ],
)
def test_no_demands(sentence: str) -> None:
    assert not is_demand(sentence)


@pytest.mark.parametrize(
    ("text", "orders"),
    [
        ("Where is order #W2378156?", ["order W2378156"]),
        ("My order number is W2378156.", ["order W2378156"]),
        ("Cancel #W4836353 and #W7342738", ["order W4836353", "order W7342738"]),
        ("Reservation ID: **IFOYYZ**", ["reservation IFOYYZ"]),
        ("confirmation code EHGLP3", ["confirmation EHGLP3"]),
        ("订单号：2024112588，快递单号是SF1234567890", ["order 2024112588", "tracking SF1234567890"]),
        ("Put it in order, please; ticket sales are closed.", []),
        ("I ordered 3 lamps", []),
    ],
)
def test_orders(text: str, orders: list[str]) -> None:
    assert orders_in(text) == orders


@pytest.mark.parametrize(
    ("text", "contacts"),
    [
        ("Write to amelia.silva7872@example.com.", [("email", "amelia.silva7872@example.com")]),
        ("Call me at +49 30 1234567.", [("phone", "+49 30 1234567")]),
        ("我的手机号是13812345678，谢谢", [("phone", "13812345678")]),
        (
            "My address is 144 Lakeview Drive, Apt. 9, 10228 New York.",
            [("address", "144 Lakeview Drive, Apt. 9, 10228 New York")],
        ),
        ("我的收货地址是北京市海淀区中关村大街1号。", [("address", "北京市海淀区中关村大街1号")]),
        ("The order number is 2024112588.", []),
    ],
)
def test_contacts(text: str, contacts: list[tuple[str, str]]) -> None:
    assert contacts_in(text) == contacts


def test_the_weightiest_topic_counts() -> None:
    assert topic_of("We cancel the order and refund you.") == "refund"
    assert topic_of("明天发货") == "delivery"
    assert topic_of("Good morning.") == ""


def test_sentences_stand_in_the_text_as_they_are() -> None:
    text = "- First. Second!\n* 第三句。第四句\n" + "x" * 1_000
    found = list(sentences(text))
    assert found == ["First.", "Second!", "第三句。", "第四句", "x" * 400, "x" * 400, "x" * 200]


@pytest.mark.parametrize(
    "text", ["want " * 20_000, "a " * 50_000, "refund will by " * 10_000, "退" * 50_000, "9" * 50_000]
)
def test_long_texts_are_read(text: str) -> None:
    read = [(is_promise(each), is_demand(each), orders_in(each)) for each in sentences(text)]
    assert len(read) >= len(text) // 400
    assert isinstance(contacts_in(text), list)
