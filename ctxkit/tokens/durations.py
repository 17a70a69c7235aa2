"""Seconds of a recording, from its header where that tells, else from its size."""

from __future__ import annotations

from ctxkit.tokens.images import base64_head, is_data_url

__all__ = ["base64_bytes", "is_address", "media_seconds"]

_UNKNOWN_SECONDS = 60.0
"""Length assumed of a recording of which only an address is known."""
_BYTES_PER_SECOND = {
    "wav": 48_000,
    "pcm16": 48_000,
    "l16": 48_000,
    "flac": 24_000,
    "opus": 4_000,
    "ogg": 8_000,
}
_AUDIO_BYTES_PER_SECOND = 16_000
"""128 kbit/s, the usual rate of MP3 and AAC."""
_VIDEO_BYTES_PER_SECOND = 125_000
"""1 Mbit/s, the usual rate of a compressed 480p clip."""
_ADDRESSES = ("http://", "https://", "gs://", "s3://", "file://", "file-", "file_", "files/")


def media_seconds(data: object, format: str) -> float:
    """Seconds of the audio or video in base64 text or a data URL; `format` is a name or the end of a MIME type.

    A WAV tells its byte rate; for other formats a usual rate is assumed (16-bit PCM at 24 kHz, 128 kbit/s for
    compressed audio, 1 Mbit/s for "video"). At least 1; 60 when there is only an address or nothing at all.
    """
    if not isinstance(data, str) or not data or is_address(data):
        return _UNKNOWN_SECONDS
    rate = _BYTES_PER_SECOND.get(format, _AUDIO_BYTES_PER_SECOND)
    if format == "video":
        rate = _VIDEO_BYTES_PER_SECOND
    return max(1.0, base64_bytes(data) / (_wav_rate(data) or rate))


def base64_bytes(data: str) -> int:
    """About how many bytes base64 text (or a data URL) stands for, from its length alone."""
    start = data.find(",", 0, 1_000) + 1 if is_data_url(data) else 0
    return (len(data) - start) * 3 // 4


def is_address(data: str) -> bool:
    """Whether it is a URL or the id of an uploaded file rather than content."""
    return len(data) < 8_192 and data.lower().startswith(_ADDRESSES)


def _wav_rate(data: str) -> int:
    head = base64_head(data, 64)
    if len(head) < 32 or head[:4] != b"RIFF" or head[8:16] != b"WAVEfmt ":
        return 0
    return int.from_bytes(head[28:32], "little")
