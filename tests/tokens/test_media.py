"""Prices of images, audio, video and files."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxkit.tokens.images import image_size
from ctxkit.tokens.media import (
    anthropic_image_tokens,
    audio_tokens,
    data_url_type,
    file_tokens,
    gemini_media_tokens,
    is_data_url,
    openai_image_tokens,
)


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def png(width: int, height: int) -> str:
    return text(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x06\0\0\0")


def jpeg(width: int, height: int, metadata: int = 0) -> str:
    exif = b"\xff\xe1" + struct.pack(">H", metadata + 2) + b"\0" * metadata if metadata else b""
    return text(
        b"\xff\xd8" + exif + b"\xff\xff\xc2\0\x11\x08" + struct.pack(">HH", height, width) + b"\x03" * 9
    )


def webp(kind: bytes, body: bytes) -> str:
    return text(b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + body + b"\0" * 20)


@pytest.mark.parametrize(
    "data",
    [
        png(640, 480),
        jpeg(640, 480),
        jpeg(640, 480, metadata=65_000),
        text(b"GIF89a" + struct.pack("<HH", 640, 480)),
        webp(b"VP8X", b"\0" * 4 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
        webp(b"VP8L", b"\x2f" + (639 | 479 << 14).to_bytes(4, "little")),
        webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480)),
    ],
    ids=["png", "jpeg", "jpeg with metadata", "gif", "webp extended", "webp lossless", "webp lossy"],
)
def test_size_is_read_from_the_header(data: str) -> None:
    assert image_size(data) == (640, 480)
    assert image_size("data:image/x;base64," + data) == (640, 480)
    assert image_size("\n".join(data[at : at + 76] for at in range(0, len(data), 76))) == (640, 480)


@pytest.mark.parametrize(
    ("size", "detail", "tokens"),
    [
        ((1024, 1024), "high", 765),
        ((2048, 4096), "high", 1105),
        ((4096, 8192), "low", 85),
        ((512, 512), "auto", 255),
    ],
)
def test_openai_examples(size: tuple[int, int], detail: str, tokens: int) -> None:
    assert openai_image_tokens("data:image/png;base64," + png(*size), detail) == tokens


def test_length_of_unreadable_base64_does_not_set_the_price() -> None:
    prices = {
        openai_image_tokens("data:image/png;base64," + "QUJD" * times, "auto") for times in (1_000, 100_000)
    }
    assert prices == {765}
    assert {anthropic_image_tokens({"type": "base64", "data": "QUJD" * n}) for n in (1_000, 100_000)} == {
        1_600
    }
    parts = [{"inlineData": {"mimeType": "image/png", "data": "QUJD" * n}} for n in (1_000, 100_000)]
    assert {gemini_media_tokens(part) for part in parts} == {258}


@pytest.mark.parametrize(
    ("size", "tokens"), [((200, 200), 54), ((1000, 1000), 1334), ((8000, 8000), 1600), ((1, 1), 1)]
)
def test_anthropic_images(size: tuple[int, int], tokens: int) -> None:
    assert anthropic_image_tokens({"type": "base64", "media_type": "image/png", "data": png(*size)}) == tokens
    assert anthropic_image_tokens({"type": "url", "url": "https://example.org/a.png"}) == 1_600


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"inlineData": {"mimeType": "image/png", "data": png(384, 384)}}, 258),
        ({"inline_data": {"mime_type": "image/png", "data": png(960, 540)}}, 516),
        ({"fileData": {"mimeType": "image/png", "fileUri": "gs://b/a.png"}}, 258),
        (
            {
                "inlineData": {"mimeType": "image/png", "data": ""},
                "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"},
            },
            1120,
        ),
        (
            {
                "fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a"},
                "videoMetadata": {"startOffset": "5s", "endOffset": "15s"},
            },
            2630,
        ),
        ({"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a"}}, 60 * 263),
        ({"fileData": {"mimeType": "audio/mp3", "fileUri": "files/a"}}, 60 * 32),
        (
            {
                "inlineData": {
                    "mimeType": "application/pdf",
                    "data": text(b"<< /Type /Page >> <</Type/Page>> /Type /Pages"),
                }
            },
            516,
        ),
    ],
)
def test_gemini_parts(part: dict[str, Any], tokens: int) -> None:
    assert gemini_media_tokens(part) == tokens


def test_audio_by_its_length() -> None:
    head = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0" + struct.pack("<II", 8_000, 16_000) + b"\x02\0\x10\0"
    wav = head + b"\0" * (160_000 - len(head))
    assert 100 <= audio_tokens(text(wav), "wav") <= 101
    assert audio_tokens(text(b"\0" * 160_000), "mp3") in (100, 101)


def test_files() -> None:
    assert file_tokens(text(b"%PDF-1.4 /Type /Page "), "application/pdf") == 3_000
    assert file_tokens(text(b"\0" * 500_000), "application/pdf") == 33_000
    assert file_tokens("file-abc", "") == 9_000
    assert file_tokens("https://example.org/a.pdf", "application/pdf") == 9_000
    assert file_tokens(png(1024, 1024), "image/png") == 765


def test_text_files_count_as_text_whether_plain_or_base64() -> None:
    words = "one two three four five " * 20
    plain = file_tokens(words, "text/plain")
    assert 80 <= plain <= 140
    assert file_tokens(text(words.encode()), "text/plain; charset=utf-8") == plain
    assert file_tokens("data:text/plain;base64," + text(words.encode()), "") == plain


odd = st.one_of(
    st.none(),
    st.integers(),
    st.text(),
    st.binary(),
    st.lists(st.integers()),
    st.dictionaries(st.text(), st.text()),
)


@given(odd, odd)
@example("data:image/png;base64", "\ud83d")
@example("data:,\ud83d", "video/mp4")
@example("/9j/" + "/" * 50, "image/jpeg")
def test_odd_values_have_a_price(value: Any, other: Any) -> None:
    assert openai_image_tokens(value, other) > 0
    assert anthropic_image_tokens(value) > 0
    assert anthropic_image_tokens({"data": value, "type": other}) > 0
    assert gemini_media_tokens(value) >= 0
    assert (
        gemini_media_tokens({"inlineData": {"mimeType": other, "data": value}, "videoMetadata": value}) >= 0
    )
    assert file_tokens(value, other) >= 0
    assert audio_tokens(value, other) > 0


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("data:image/png;base64,AAAA", "image/png"),
        ("DATA:Image/PNG;base64,AAAA", "image/png"),
        ("data: text/plain ;charset=utf-8,Hi", "text/plain"),
        ("data:,Hi", ""),
        ("https://example.org/a.png", ""),
        ("image/png", ""),
        (b"data:image/png;base64,AAAA", ""),
        (None, ""),
    ],
)
def test_the_type_that_a_data_url_tells(url: Any, kind: str) -> None:
    assert data_url_type(url) == kind
    assert not isinstance(url, str) or is_data_url(url) == url.lower().startswith("data:")
    assert isinstance(url, bytes) or file_tokens(url, "") == file_tokens(url, kind)
