"""What is taken for a secret, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.secrets import secrets_in

TOKEN = "a8F3kQ9zLm2Xw7Rt"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password: hunter2", "hunter2"),
        ("My password is Tr0ub4dor, keep it.", "Tr0ub4dor"),
        ('{"password": "correct horse", "user": "ann"}', "correct"),
        ("PASSWORD=s3cr3t!", "s3cr3t!"),
        ("The pin code is 4711.", "4711"),
        ("密码：春天来了", "春天来了"),
        ("我的密码是 abc12345，别告诉别人", "abc12345"),
        ("验证码：889201", "889201"),
        (f"api_key = {TOKEN}", TOKEN),
        (f'"client_secret": "{TOKEN}"', TOKEN),
        (f"密钥：{TOKEN}", TOKEN),
        (f"Authorization: Bearer {TOKEN}.x-y", f"{TOKEN}.x-y"),
        ("use sk-proj-abcdefghijklmnop1234 for it", "sk-proj-abcdefghijklmnop1234"),
        ("ghp_0123456789abcdefghij0123456789abcdef", "ghp_0123456789abcdefghij0123456789abcdef"),
        ("key AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
        ("postgres://ann:pa55@db:5432/shop", "pa55"),
        ("My password's S3cr3t99x and you must keep it.", "S3cr3t99x"),
        ("the API key’s " + TOKEN, TOKEN),
        ("You must use the password hunter2!x for the login.", "hunter2!x"),
        ('use the passphrase "Tr0ub4dor&3"', "Tr0ub4dor&3"),
        ("密码 123456", "123456"),
        ("验证码 889201，别告诉别人", "889201"),
        ("My PIN 4417 is new", "4417"),
        ("curl -u admin:Passw0rd https://x.io/api", "Passw0rd"),
        ("curl --user=ann:secret https://x.io", "secret"),
        ("curl https://x.io -uann:hunter2", "hunter2"),
        ("sshpass -p 'S3cr3t' ssh ann@db", "S3cr3t"),
        ("mysql -u root -pS3cr3t shop", "S3cr3t"),
        ("card 4111 1111 1111 1111, please", "4111 1111 1111 1111"),
        ("card 4111-1111-1111-1111", "4111-1111-1111-1111"),
        ("卡号5500005555555559", "5500005555555559"),
        ("378282246310005 is my card", "378282246310005"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\nbye",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_secrets_are_found_as_they_stand(text: str, secret: str) -> None:
    assert secret in secrets_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "The password is required.",
        "I forgot my password and cannot log in.",
        "Is the password wrong?",
        "My password's length is wrong",
        "password SHA256 hashed",
        "password 12-character minimum",
        "the pin 10 places further",
        "pin code 110001",
        "密码 重置",
        "curl -u $USER:$PASS https://x.io",
        "curl -u <user>:<password> https://x.io",
        "curl x.io; docker run -u 1000:1000 img",
        "docker run -u node:node img",
        "mysql -u root -p shop",
        "password: ******",
        "password: ${DB_PASSWORD}",
        "忘记密码了怎么办",
        "commit 9f8e7d6c5b4a9f8e7d6c5b4a9f8e7d6c5b4a9f8e",
        "Order #W5362037 costs 1,299.50 EUR.",
        "The key is under the mat.",
        "Key features of the new release",
        "token count 128000",
        "serial number SN2023-188",
        "4111 1111 1111 1112 is no card number",
        "tracking 1234567890123456",
        "call +1 415 555 2671",
        "https://example.org/path?page=2",
        "2026-03-14T10:00:00Z",
    ],
)
def test_other_texts_hold_none(text: str) -> None:
    assert secrets_in(text) == ()


def test_each_is_named_once() -> None:
    assert secrets_in("password: hunter2, again password: hunter2") == ("hunter2",)


@given(st.text(max_size=300))
def test_what_is_found_stands_in_the_text(text: str) -> None:
    assert all(secret and secret in text for secret in secrets_in(f"password: {text}"))


@pytest.mark.parametrize(
    "piece",
    [
        "password ",
        "password: ",
        "key ",
        "api_key=",
        "4111 ",
        "1" * 10,
        "a" * 10,
        "eyJ",
        "sk-",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "是密码",
        "bearer ",
        "password's ",
        "password a1b2 ",
        "curl -u ",
        "mysql -p ",
    ],
)
def test_long_texts_are_read(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert all(secret in text for secret in secrets_in(text))
