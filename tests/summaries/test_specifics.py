"""What of a text has to survive verbatim."""

from __future__ import annotations

import pytest

from ctxkit.summaries.known import Known
from ctxkit.summaries.specifics import Kind, Specific, carried, identifies, specifics


def found(text: str) -> list[tuple[str, str]]:
    return [(each.kind.value, each.text) for each in specifics(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Order #W5362037, user james_kovacs_9247", [("identifier", "#W5362037"), ("identifier", "james_kovacs_9247")]),
        ("订单SN2023-188已发货", [("identifier", "SN2023-188")]),
        ("job 7f3c9a52-4e1b-4c8e-9d27-0b6a51f2e8d4 at b41d9f0c", [
            ("identifier", "7f3c9a52-4e1b-4c8e-9d27-0b6a51f2e8d4"),
            ("identifier", "b41d9f0c"),
        ]),
        ("see etc/pay/prod-eu.yaml and /var/log or ~/x.py", [
            ("path", "etc/pay/prod-eu.yaml"),
            ("path", "/var/log"),
            ("path", "~/x.py"),
        ]),
        (r"in C:\temp\x.txt, src/app/main.py:12", [("path", r"C:\temp\x.txt"), ("path", "src/app/main.py:12")]),
        ("$1,234.56 or 300元, 12 %, 1,234.56", [
            ("amount", "$1,234.56"),
            ("amount", "300元"),
            ("amount", "12 %"),
            ("amount", "1,234.56"),
        ]),
        ("for 3 nights, 5 GB, 20 mg twice a day", [
            ("amount", "3 nights"),
            ("amount", "5 GB"),
            ("amount", "20 mg"),
            ("amount", "twice a day"),
        ]),
        ("人均消费75元，三天两晚", [("amount", "75元"), ("amount", "三天"), ("amount", "两晚")]),
        ("on 2024-05-03T10:20:00Z, 3/4/2024", [("date", "2024-05-03T10:20:00Z"), ("date", "3/4/2024")]),
        ("2024年5月3日下午3点，下周三", [("date", "2024年5月3日"), ("time", "下午3点"), ("date", "下周三")]),
        ("May 5, 2024 at 3:30 pm, the 6th of June", [
            ("date", "May 5, 2024"),
            ("time", "3:30 pm"),
            ("date", "6th of June"),
        ]),
        ("Python 3.11, v1.2, ctxkit==0.1.0 and 2.3.4-rc1", [
            ("version", "Python 3.11"),
            ("version", "v1.2"),
            ("version", "ctxkit==0.1.0"),
            ("version", "2.3.4-rc1"),
        ]),
        ("ValueError, ENOENT, HTTP 404, 错误码 1045", [
            ("code", "ValueError"),
            ("code", "ENOENT"),
            ("code", "HTTP 404"),
            ("code", "错误码 1045"),
        ]),
        ("写信给a.b@x.com或见https://x.example/a?b=1。", [("email", "a.b@x.com"), ("url", "https://x.example/a?b=1")]),
        ("10.20.0.17:8443, localhost:8080, db.local:5432", [
            ("host", "10.20.0.17:8443"),
            ("host", "localhost:8080"),
            ("host", "db.local:5432"),
        ]),
        ("+1 (555) 123-4567，电话010-62781234，13812345678", [
            ("phone", "+1 (555) 123-4567"),
            ("phone", "010-62781234"),
            ("phone", "13812345678"),
        ]),
        ("$ pip install -U ctxkit\nthen `make check`", [("command", "pip install -U ctxkit"), ("command", "make check")]),
        ("git commit -m 'x'\nmake sure it works", [("command", "git commit -m 'x'"), ("constraint", "make sure it works")]),
        ("订单号１２３４５６７８，单号Ｗ５３６２０３７。", [("identifier", "１２３４５６７８"), ("identifier", "Ｗ５３６２０３７")]),
        ("注文番号はＡＢ－１２３４５です", [("identifier", "ＡＢ－１２３４５")]),
        ("共￥１，２３４，于１０：３０到", [("amount", "￥１，２３４"), ("time", "１０：３０")]),
        ("my booking reference is KLMNOP, PNR QWERTZ", [("identifier", "KLMNOP"), ("identifier", "QWERTZ")]),
        ("**Reservation ID:** HATHAT. Promo code (SUMMER)", [("identifier", "HATHAT"), ("identifier", "SUMMER")]),
        ("我的PNR是QWERTZ，预订号：KLMNOP", [("identifier", "QWERTZ"), ("identifier", "KLMNOP")]),
        ("ISBN 978-3-16-148410-0 or 112-1234567-1234567", [
            ("identifier", "978-3-16-148410-0"),
            ("identifier", "112-1234567-1234567"),
        ]),
        ("card ref 8812 3456 7790, account number: 123 456 789", [
            ("identifier", "8812 3456 7790"),
            ("identifier", "123 456 789"),
        ]),
        ("卡号：8812 3456 7790", [("identifier", "8812 3456 7790")]),
        ("DE89 3704 0044 0532 0130 00", [("identifier", "DE89"), ("identifier", "DE89 3704 0044 0532 0130 00")]),
        ("I am allergic to nuts. Nice day.", [("constraint", "I am allergic to nuts.")]),
        ("今天天气不错。绝不要用海鲜！", [("constraint", "绝不要用海鲜！")]),
    ],
)  # fmt: skip
def test_specifics_of_each_kind(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "and/or, 24/7, well-known, the 2nd and 3rd, a 3D iPhone",
        "I don't know what you mean.",
        "能不能帮我看看，要不要一起去？",
        "Could you make it?",
        "Do I have to be there, must I?",
        "e.g. this, i.e. that, etc.",
        "PLEASE HELP, MY BOOKING REFERENCE NUMBER PLEASE, see the TERMS",
        "Your order ID is XXXXXXX",
        "2019 2020 2021 were good, and 100 200 300 too; 1024 2048 4096",
        "chapters 1-2-3, pages 10-15-20 and 3-2-1",
        "ＯＫ，我们有３个人",
    ],
)
def test_ordinary_words_are_no_specifics(text: str) -> None:
    assert found(text) == []


def test_each_specific_is_given_once_in_the_order_in_which_it_stands() -> None:
    assert found("SN-20 then AB-30 then SN-20") == [("identifier", "SN-20"), ("identifier", "AB-30")]


def test_of_a_long_sentence_the_clauses_that_constrain_are_given() -> None:
    text = "We looked at the hotels around the old town and the station, and it must have a lift, and breakfast would be nice too."
    assert found(text) == [("constraint", "and it must have a lift")]


SOURCES = ("订单SN2023-188共1234.50元。", "Mail to a.b@x.com, host 10.0.0.1:8080, see /etc/hosts")


def foreign(summary: str, sources: tuple[str, ...]) -> tuple[str, ...]:
    return Known(sources).foreign_in(summary)


def test_a_changed_digit_is_foreign() -> None:
    assert foreign("SN2023-189 on 10.0.0.1:8081", SOURCES) == ("SN2023-189", "10.0.0.1:8081")


def test_a_piece_of_a_longer_identifier_is_foreign() -> None:
    assert foreign("SN2023-18", SOURCES) == ("SN2023-18",)


def test_what_stands_in_a_source_is_not_foreign() -> None:
    assert foreign("SN2023-188 (a.b@x.com) at 10.0.0.1:8080, /etc/hosts", SOURCES) == ()


def test_what_stands_in_a_source_in_another_width_is_not_foreign() -> None:
    assert foreign("W5362037", ("订单Ｗ５３６２０３７",)) == ()
    assert foreign("Ｗ５３６２０３７", ("order W5362037",)) == ()
    assert foreign("W536203 and Ｗ５３６２０３", ("订单Ｗ５３６２０３７",)) == ("W536203", "Ｗ５３６２０３")


def test_sums_count_by_their_number() -> None:
    assert foreign("1,234.50元", SOURCES) == ()
    assert foreign("1,243.50元", SOURCES) == ("1,243.50元",)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("user_name = load_row(first_key)", []),
        ("serial SN2023-188, part A-11", ["SN2023-188", "A-11"]),
        ("mail anna@garden.example", ["anna@garden.example"]),
        ("at 10:30 on 2026-05-03 for 12.50 EUR", []),
        ("/srv/data and /srv/data2", ["/srv/data2"]),
        ("订单Ｗ５３６２０３７", ["Ｗ５３６２０３７"]),
        ("ref 8812 3456 7790", ["8812 3456 7790"]),
    ],
)
def test_what_identifies_something_without_a_sentence(text: str, found: list[str]) -> None:
    assert [each.text for each in carried(text) if identifies(each)] == found


@pytest.mark.parametrize(
    "piece",
    ["a", "1", "1,", "１", "１，", "123 ", "1234 ", "1-", "code ", "A", "AB12 ", "/a", "`a", "a@", "a.", " ", "\n", "git ", "1.1.", "+1 ", "(1", "一", "do not ", "```\n", "12:3", "é", "\ud800"],
)  # fmt: skip
def test_a_hostile_megabyte_is_read(piece: str) -> None:
    assert len(specifics(piece * (500_000 // len(piece)))) <= 2


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("It has to be here by the 14th of June.", "14th of June"),
        ("By 3 Oct. at the latest", "3 Oct"),
        ("Paid on Sept. 3, 2025.", "Sept. 3, 2025"),
    ],
)
def test_a_date_ends_before_the_full_stop(text: str, date: str) -> None:
    assert [each for each in specifics(text) if each.kind is Kind.DATE] == [Specific(Kind.DATE, date)]
