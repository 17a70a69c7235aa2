"""The language of a text, by its prose."""

from __future__ import annotations

import pytest

from ctxkit.summaries.language import language_of, matches

ENGLISH = "Please cancel the second reservation and keep the first one as it is."
CHINESE = "请取消第二个预订，第一个保持不变。"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ENGLISH, "en"),
        (CHINESE, "zh"),
        ("", "en"),
        ("请帮我 review 一下这个 pull request，谢谢", "zh"),
        ("We met at 北京 and had dinner there with the whole team", "en"),
        ("订单 order_id=SN2023-188 status=shipped tracking_number=1Z999 carrier=ups 已发货", "zh"),
        ("报错如下：\n```\nraise the error again and again until the call is answered\n```\n请修复", "zh"),
        ("Run this:\n```\n打印所有的订单编号并且保存到文件里面去\n```\nand tell me what it says", "en"),
        ('{"status": "pending", "items": "none", "note": "left"} 已经处理', "zh"),
        ("请看 `git log show the last commit please now` 的输出", "zh"),
        ("```\nnever closed, so it opens no block of code at all", "en"),
    ],
)
def test_language_is_that_of_most_prose(text: str, language: str) -> None:
    assert language_of(text) == language


def test_a_summary_in_the_other_language_does_not_match() -> None:
    assert not matches(ENGLISH, CHINESE)
    assert not matches(CHINESE, ENGLISH)
    assert matches(ENGLISH, ENGLISH)
    assert matches(CHINESE, CHINESE)


def test_a_summary_of_identifiers_alone_matches_any_language() -> None:
    assert matches("SN2023-188, /etc/hosts, 300", CHINESE)


def test_a_source_in_both_languages_matches_either() -> None:
    both = f"{ENGLISH} {CHINESE} {CHINESE}"
    assert matches(ENGLISH, both)
    assert matches(CHINESE, both)


@pytest.mark.parametrize("text", ["`" * 1_000_000, "```\n" * 250_000, "a-" * 500_000, "汉" * 1_000_000])
def test_any_text_has_a_language(text: str) -> None:
    assert language_of(text) in ("en", "zh")
