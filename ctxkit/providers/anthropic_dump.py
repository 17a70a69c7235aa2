"""Objects of the Anthropic SDK as the JSON that the API takes back."""

from __future__ import annotations

from typing import Any

from ctxkit.core.provider import Entry
from ctxkit.errors import ProviderFormatError
from ctxkit.providers.anthropic_shape import FORMAT
from ctxkit.providers.common import dump_model, kind_of, path_text
from ctxkit.providers.foreign import response_format

__all__ = ["dumped"]

_VERBATIM = frozenset({"compaction", "fallback"})
_RESPONSE_ONLY = frozenset({"parsed_output"})
_CITATION_RESPONSE_ONLY = frozenset({"file_id"})


def dumped(message: object) -> Entry:
    """A message as it is, with SDK blocks in its content made JSON; a response as `role` and `content` alone.

    Blocks lose what a response has and a request refuses: keys without a value, `parsed_output`, and the
    `file_id` of citations. `compaction` and `fallback` blocks are kept to the letter (A27, A29). Source: the
    `*Block` and `*BlockParam` types of anthropic 2.14. Raises ProviderFormatError for anything else.
    """
    given = message if isinstance(message, dict) else dump_model(message)
    match given:
        case dict() if given is message and response_format(given) != FORMAT:
            return _with_json_blocks(given)
        case {"role": "assistant", "content": list() as blocks}:
            return {"role": "assistant", "content": [_as_param(block) for block in blocks]}
    raise ProviderFormatError(
        f"{type(message).__name__} is no message; pass a dict (a MessageParam) or a Message", format=FORMAT
    )


def _with_json_blocks(message: Entry) -> Entry:
    content = message.get("content")
    if not isinstance(content, list | tuple) or all(isinstance(block, dict) for block in content):
        return message if not isinstance(content, tuple) else {**message, "content": list(content)}
    return {**message, "content": [_json_block(index, block) for index, block in enumerate(content)]}


def _json_block(index: int, block: object) -> Any:
    if isinstance(block, dict):
        return block
    if (found := dump_model(block)) is None or not kind_of(found):
        path = path_text("content", index)
        raise ProviderFormatError(
            f"{type(block).__name__} is no block; pass a dict", format=FORMAT, path=path
        )
    return _as_param(found)


def _as_param(block: Any) -> Any:
    if not isinstance(block, dict) or kind_of(block) in _VERBATIM:
        return block
    kept = {key: value for key, value in block.items() if value is not None and key not in _RESPONSE_ONLY}
    if isinstance(kept.get("citations"), list):
        kept["citations"] = [_as_citation(citation) for citation in kept["citations"]]
    return kept


def _as_citation(citation: Any) -> Any:
    if not isinstance(citation, dict):
        return citation
    return {key: value for key, value in citation.items() if key not in _CITATION_RESPONSE_ONLY}
