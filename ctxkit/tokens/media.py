"""Tokens of images, audio, video and files by the providers' published size rules, never by their base64 text.

No function here raises, whatever it is given: what cannot be read has the price of an unknown size.
"""

from __future__ import annotations

import base64
import re
from math import ceil
from typing import Any

from ctxkit.tokens.durations import base64_bytes, is_address, media_seconds
from ctxkit.tokens.estimate import estimate_tokens
from ctxkit.tokens.images import base64_head, image_size, is_data_url

__all__ = [
    "anthropic_image_tokens",
    "audio_tokens",
    "data_url_type",
    "file_tokens",
    "gemini_media_tokens",
    "is_data_url",
    "openai_image_tokens",
]

_OPENAI_UNKNOWN = (1_024, 1_024)
_ANTHROPIC_MOST = 1_600
_GEMINI_TILE = 258
_GEMINI_3_LEVELS = {"LOW": 280, "MEDIUM": 560, "HIGH": 1_120, "ULTRA_HIGH": 2_240}
_PAGE_TOKENS = 3_000
_PAGE_BYTES = 50_000
_UNKNOWN_PAGES = 3
_MOST_PAGES = 1_000
_PAGE_OBJECT = re.compile(rb"/Type\s{0,8}/Page(?![A-Za-z])")
_TEXT_TYPES = ("json", "xml", "javascript", "yaml", "toml", "csv", "sql")


def data_url_type(url: object) -> str:
    """The MIME type that a data URL tells, in lower case without parameters; "" for anything else."""
    return _bare(url[5:200].partition(",")[0]) if isinstance(url, str) and is_data_url(url) else ""


def openai_image_tokens(url: str, detail: str) -> int:
    """Tokens of an image in a Chat or Responses message; `url` is an address, a data URL or a file id.

    85, and unless `detail` is "low" 170 more for each 512-pixel tile, after the image was made to fit into 2,048
    by 2,048 and its shorter side was brought down to 768. An image of unknown size counts as 1,024 by 1,024: 765.

    Source: OpenAI, guide "Images and vision" (read in a mirror), the rule for gpt-4o. Models that count 32-pixel
    patches differ: published measurements for GPT-5.5 and 6 give 1,229 for 1,024 by 1,024 and up to 14,400 for
    a 12-megapixel photo (Hugging Face, JOHNISKING/image-token-cost). Feed back usage to correct that.
    """
    if detail == "low":
        return 85
    width, height = image_size(url) or _OPENAI_UNKNOWN
    shrink = min(1.0, 2_048 / max(width, height))
    shrink = min(shrink, 768 / min(width, height))
    tiles = max(1, ceil(width * shrink / 512)) * max(1, ceil(height * shrink / 512))
    return 85 + 170 * tiles


def anthropic_image_tokens(source: dict[str, Any]) -> int:
    """Tokens of the `source` of an Anthropic image block: base64, URL or file.

    Width times height over 750, after the longer side was brought down to 1,568 pixels, and 1,600 at most; that
    is also the price of an image of unknown size.

    Source: Anthropic, guide "Vision", the rule up to Claude 4.5 (1,568 pixels, about 1,600 tokens). Claude 5.5
    keeps more pixels: published measurements go up to 4,000 (Hugging Face, JOHNISKING/image-token-cost).
    """
    data = source.get("data") if isinstance(source, dict) else None
    size = image_size(data)
    if size is None:
        return _ANTHROPIC_MOST
    shrink = min(1.0, 1_568 / max(size))
    return max(1, min(_ANTHROPIC_MOST, ceil(size[0] * shrink * size[1] * shrink / 750)))


def gemini_media_tokens(part: dict[str, Any]) -> int:
    """Tokens of a Gemini part with `inlineData` or `fileData` (snake_case too), or of one of these two themselves.

    Images: 258 if both sides have at most 384 pixels, else 258 for each tile of 768 pixels; 258 if the size is
    unknown; a part's own `mediaResolution` has a fixed price. Video 263 a second, audio 32 a second, their
    length from `videoMetadata` offsets or as `media_seconds` guesses it. PDFs 258 a page. Text as text.

    Source: the rule for Gemini 2 as geminibyexample.com gives it (images, video, audio); a page as one tile by
    the same rule. Gemini 3 without a level of its own takes about 1,100 an image and 560 a page in published
    measurements (Hugging Face, JOHNISKING/image-token-cost, pdf-token-cost). The prices of the levels were not
    read in Google's guide "Media resolution"; only HIGH is borne out by those measurements.
    """
    if not isinstance(part, dict):
        return _GEMINI_TILE
    blob = _first(part, "inlineData", "inline_data", "fileData", "file_data", default=part)
    blob = blob if isinstance(blob, dict) else {}
    mime = str(_first(blob, "mimeType", "mime_type", default="")).lower()
    data = _first(blob, "data", "fileUri", "file_uri", default="")
    match mime.partition("/"):
        case ("video", _, _):
            return ceil(263 * (_clip_seconds(part) or media_seconds(data, "video")))
        case ("audio", _, kind):
            return ceil(32 * media_seconds(data, kind))
        case ("application", _, "pdf"):
            return _GEMINI_TILE * _pages(data)
        case (kind, _, _) if kind in ("text", "application"):
            return file_tokens(data, mime)
        case _:
            return _gemini_image_tokens(part, data)


def file_tokens(data_or_url: str, mime: str) -> int:
    """Tokens of a file given as base64, data URL, plain text (of a text type), address or file id.

    PDFs: 3,000 a page, text and picture together; pages are counted by their page objects, else one for each
    50 kB, and 3 for a file of which only the address is known. Text types by the estimate for text; images as
    OpenAI's, audio as `audio_tokens`; other documents as PDFs by their bytes.

    Source: vendors send the text and an image of each page; published measurements on Claude give 2,100 to 2,500
    a page (Hugging Face, JOHNISKING/pdf-token-cost), of which 3,000 is the careful side. The bytes of a page and
    the 3 pages are our own assumptions.
    """
    mime = _mime(data_or_url, mime)
    match mime.partition("/"):
        case ("image", _, _):
            return openai_image_tokens(data_or_url, "auto")
        case ("audio", _, kind):
            return audio_tokens(data_or_url, kind)
        case (kind, _, name) if kind == "text" or name.endswith(_TEXT_TYPES):
            return _text_file_tokens(data_or_url)
        case _:
            return _PAGE_TOKENS * _pages(data_or_url)


def audio_tokens(data: str, format: str) -> int:
    """Tokens of audio that a user sends to an OpenAI model: 10 a second, length as `media_seconds` finds it.

    Source: community.openai.com, topic 971012, on the Realtime API: 10 tokens a second of user audio.
    """
    return ceil(10 * media_seconds(data, str(format).lower()))


def _gemini_image_tokens(part: dict[str, Any], data: object) -> int:
    level = _first(part, "mediaResolution", "media_resolution", default="")
    level = str(level.get("level", "") if isinstance(level, dict) else level).upper()
    fixed = _GEMINI_3_LEVELS.get(level.removeprefix("MEDIA_RESOLUTION_"))
    size = image_size(data)
    if fixed or size is None:
        return fixed or _GEMINI_TILE
    if max(size) <= 384:
        return _GEMINI_TILE
    return _GEMINI_TILE * ceil(size[0] / 768) * ceil(size[1] / 768)


def _clip_seconds(part: dict[str, Any]) -> float:
    """Seconds between the offsets ("40s") of a part's video metadata, 0 if there is no end."""
    meta = _first(part, "videoMetadata", "video_metadata", default={})
    if not isinstance(meta, dict):
        return 0.0
    ends = [
        re.fullmatch(r"(\d{1,6}(?:\.\d{1,9})?)s", str(_first(meta, *names, default="0s")))
        for names in (("startOffset", "start_offset"), ("endOffset", "end_offset"))
    ]
    start, end = (float(found[1]) if found else 0.0 for found in ends)
    return max(0.0, end - start)


def _first(values: dict[str, Any], *names: str, default: object) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), default)


def _mime(data: object, mime: object) -> str:
    """The MIME type in lower case without parameters; a data URL knows its own."""
    return _bare(mime) if isinstance(mime, str) and mime else data_url_type(data)


def _bare(mime: str) -> str:
    return mime.partition(";")[0].strip().lower()


def _pages(data: object) -> int:
    if not isinstance(data, str) or not data or is_address(data):
        return _UNKNOWN_PAGES
    found = len(_PAGE_OBJECT.findall(base64_head(data, len(data))))
    return min(_MOST_PAGES, found or ceil(base64_bytes(data) / _PAGE_BYTES))


def _text_file_tokens(data: object) -> int:
    if not isinstance(data, str):
        return 0
    if is_address(data):
        return _PAGE_TOKENS
    if is_data_url(data):
        return estimate_tokens(base64_head(data, len(data)).decode("utf-8", "replace"))
    try:
        return estimate_tokens(base64.b64decode(data, validate=True).decode("utf-8"))
    except ValueError:
        return estimate_tokens(data)
