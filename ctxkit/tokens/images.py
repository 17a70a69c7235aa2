"""Width and height of an image, read from the first bytes of its file."""

from __future__ import annotations

import base64

__all__ = ["base64_head", "image_size"]

_SHORT_HEAD = 4_096
"""Base64 characters that hold the size of a PNG, GIF or WEBP."""
_LONG_HEAD = 98_304
"""Base64 characters of a JPEG that are searched: 72 kB, one metadata segment of the largest size and more."""
_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NOT_BASE64 = bytes(set(range(256)) - set(_ALPHABET))
_STANDARD = bytes.maketrans(b"-_", b"+/")


def image_size(data: object) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, JPEG, GIF or WEBP given as base64 text or as a base64 data URL.

    None for anything else, bad base64 and images whose size is not in their first 72 kB included; never raises.
    """
    if not isinstance(data, str):
        return None
    head = base64_head(data, _SHORT_HEAD)
    if head[:2] == b"\xff\xd8":
        size = _jpeg_size(base64_head(data, _LONG_HEAD))
    else:
        size = _png_size(head) or _gif_size(head) or _webp_size(head)
    return size if size and min(size) > 0 else None


def is_data_url(text: str) -> bool:
    """Whether a text is a data URL, which holds its content itself."""
    return text[:5].lower() == "data:"


def base64_head(data: str, limit: int) -> bytes:
    """The bytes that the first `limit` characters of base64 text (or of a data URL's base64) stand for.

    Both alphabets are read, white space and stray characters are skipped, a broken tail is left out; b"" for a
    data URL that is not base64.
    """
    start = 0
    if is_data_url(data):
        comma = data.find(",", 0, 1_000)
        if comma < 0 or not data[:comma].lower().endswith(";base64"):
            return b""
        start = comma + 1
    text = data[start : start + limit].encode("ascii", "replace").translate(_STANDARD)
    clean = text.translate(None, _NOT_BASE64)
    whole, rest = divmod(len(clean), 4)
    tail = clean[whole * 4 :] + b"=" * (4 - rest) if rest > 1 else b""
    return base64.b64decode(clean[: whole * 4] + tail)


def _png_size(head: bytes) -> tuple[int, int] | None:
    if len(head) < 24 or head[:8] != b"\x89PNG\r\n\x1a\n" or head[12:16] != b"IHDR":
        return None
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def _gif_size(head: bytes) -> tuple[int, int] | None:
    if len(head) < 10 or head[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")


def _webp_size(head: bytes) -> tuple[int, int] | None:
    if len(head) < 30 or head[:4] != b"RIFF" or head[8:12] != b"WEBP":
        return None
    match head[12:16]:
        case b"VP8X":
            return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = head[26:28], head[28:30]
            return int.from_bytes(width, "little") & 0x3FFF, int.from_bytes(height, "little") & 0x3FFF
        case _:
            return None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    """Size in the first frame header; every other segment is stepped over by its own length."""
    at = 2
    while at + 9 <= len(head):
        if head[at] != 0xFF:
            return None
        marker = head[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _STANDALONE:
            at += 2
        elif marker in _FRAMES:
            height, width = head[at + 5 : at + 7], head[at + 7 : at + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        else:
            at += 2 + max(2, int.from_bytes(head[at + 2 : at + 4], "big"))
    return None
