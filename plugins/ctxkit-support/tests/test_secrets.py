"""What may be kept nowhere."""

from __future__ import annotations

import pytest
from ctxkit_support.secrets import secrets_in


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("My card number is 4111 1111 1111 1112, ok?", ["4111 1111 1111 1112"]),
        ("卡号：6222020200112230000", ["6222020200112230000"]),
        ("CVV: 123, exp 04/27", ["CVV: 123", "exp 04/27"]),
        ("the security code is 4321", ["security code is 4321"]),
        ("验证码是 482913。", ["验证码是 482913"]),
        ("安全码123", ["安全码123"]),
        ("refund to the card ending in 1234", []),
        ("order W2378156 of 12/25 costs 123", []),
    ],
)
def test_secrets(text: str, secrets: list[str]) -> None:
    assert secrets_in(text) == secrets
