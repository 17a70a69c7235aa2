"""Item types of a Responses input: how each is grouped, what pairs it, and how its answer is written.

Source: the `ResponseInputItemParam` union of openai 3.57.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ctxkit.core.items import Call, Result, Role, Shape
from ctxkit.core.provider import Entry
from ctxkit.errors import ProviderFormatError
from ctxkit.providers.common import path_text, string_of, text_of
from ctxkit.providers.foreign import refuse_foreign

__all__ = [
    "BLANK_SCREENSHOT",
    "CALL_TYPES",
    "FORMAT",
    "ID_PREFIXES",
    "OUTPUT_TYPES",
    "PLACEHOLDER_ID",
    "CallType",
    "is_native",
    "made_answer",
    "native_output",
    "program_of",
    "shape_of",
    "type_of",
    "without_id",
]

FORMAT = "openai-responses"

BLANK_SCREENSHOT: dict[str, Any] = {
    "type": "computer_screenshot",
    "image_url": (
        "data:image/png;base64,"
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="
    ),
}
"""One white pixel: what stands for a screenshot that is no longer shown."""


@dataclass(frozen=True, slots=True)
class CallType:
    """A call that the client answers.

    Attributes:
        output: type of the item that answers it.
        key: where the call has its id.
        output_key: where the answer has that id.
        arguments: where its arguments are, "" if they must stay as they are.
        name: the tool's name where the item has none.
    """

    output: str
    key: str = "call_id"
    output_key: str = "call_id"
    arguments: str = ""
    name: str = ""


CALL_TYPES = {
    "function_call": CallType("function_call_output", arguments="arguments"),
    "custom_tool_call": CallType("custom_tool_call_output", arguments="input"),
    "computer_call": CallType("computer_call_output", name="computer"),
    "local_shell_call": CallType(
        "local_shell_call_output", output_key="id", arguments="action", name="local_shell"
    ),
    "shell_call": CallType("shell_call_output", arguments="action", name="shell"),
    "apply_patch_call": CallType("apply_patch_call_output", arguments="operation", name="apply_patch"),
    "tool_search_call": CallType("tool_search_output", arguments="arguments", name="tool_search"),
    "mcp_approval_request": CallType("mcp_approval_response", key="id", output_key="approval_request_id"),
}
OUTPUT_TYPES = {call.output: kind for kind, call in CALL_TYPES.items()}
"""The type of the call that each type of output answers."""

PLACEHOLDER_ID = "__fake_id__"
"""What the Agents SDK writes for the id of an item that a provider without ids made; it is never sent."""

ID_PREFIXES = {
    "message": "msg_",
    "reasoning": "rs_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
    "computer_call": "cu_",
    "local_shell_call": "lsh_",
    "shell_call": "sh_",
    "apply_patch_call": "apc_",
    "tool_search_call": "tsc_",
    "web_search_call": "ws_",
    "file_search_call": "fs_",
    "code_interpreter_call": "ci_",
    "image_generation_call": "ig_",
    "mcp_call": "mcp_",
    "mcp_list_tools": "mcpl_",
    "mcp_approval_request": "mcpr_",
    "compaction": "cmp_",
}
"""How the server begins the ids that it gives."""

_ID_OPTIONAL = frozenset(
    {
        "additional_tools",
        "apply_patch_call",
        "compaction",
        "compaction_trigger",
        "configuration_update",
        "custom_tool_call",
        "function_call",
        "shell_call",
        "tool_search_call",
        *(kind for kind in OUTPUT_TYPES if kind != "local_shell_call_output"),
    }
)
_ROLES = {"user": Role.USER, "assistant": Role.MODEL, "system": Role.SYSTEM, "developer": Role.SYSTEM}
_KEPT = frozenset({"additional_tools", "configuration_update", "compaction_trigger"})


def type_of(entry: Entry) -> str:
    """The type of an item: "message" and "item_reference" also where `type` is left out; "" if it has
    none."""
    match entry.get("type"):
        case str() as kind:
            return kind
        case None if "role" in entry:
            return "message"
        case None if isinstance(entry.get("id"), str):
            return "item_reference"
    return ""


def shape_of(entry: Entry, index: int) -> Shape:
    """What grouping needs to know of one item. Raises ProviderFormatError, see `Provider.shape`."""
    if not isinstance(entry, dict):
        raise _malformed(index, f"an input item is a dict, not {type(entry).__name__}")
    kind = type_of(entry)
    if kind in CALL_TYPES:
        return _call_shape(entry, kind, index)
    if kind in OUTPUT_TYPES:
        return _output_shape(entry, kind, index)
    if kind in _KEPT:
        return Shape(Role.SYSTEM, keep=True)
    match kind:
        case "message":
            shape = _message_shape(entry, index)
            refuse_foreign(entry, FORMAT, "input", index)
            return shape
        case "reasoning":
            return Shape(Role.REASONING, binds="next")
        case "compaction":
            return Shape(Role.COMPACTION)
        case "program_output":
            return Shape(Role.MODEL, binds="previous")
        case "item_reference":
            refers_to_reasoning = _id_at(entry, "id", index).startswith("rs_")
            return Shape(Role.REASONING, binds="next") if refers_to_reasoning else Shape(Role.MODEL)
        case "":
            raise _malformed(index, "an input item has a `type`, or a `role` if it is a message", "type")
    return Shape(Role.MODEL)


def program_of(entry: Entry) -> str:
    """The call id of the `program` by which a call was made, "" if it was made by the model itself."""
    caller = entry.get("caller")
    return string_of(caller.get("caller_id")) if isinstance(caller, dict) else ""


def without_id(entry: Entry) -> Entry | None:
    """A model-made item without the id that the server gave it, None where its type needs one.

    The type of an assistant message with an id (`ResponseOutputMessageParam`) needs both `id` and `status`;
    without them it is an `EasyInputMessageParam`, whose content is a string: texts are written as one.
    Annotations and refusals have no place in a string; a message with some keeps its list, which OpenAI takes
    as well.
    """
    if entry.get("id") is None:
        return entry
    kind = type_of(entry)
    if kind in _ID_OPTIONAL:
        return {key: value for key, value in entry.items() if key != "id"}
    if kind != "message":
        return None
    easy = {key: value for key, value in entry.items() if key not in ("id", "status")}
    easy["content"] = _easy_content(entry.get("content"))
    return easy


def is_native(kind: str, output: Any) -> bool:
    """Whether `output` has the JSON type that an output item of type `kind` has to have (R16)."""
    match kind, output:
        case (("function_call_output" | "custom_tool_call_output"), str() | list()):
            return isinstance(output, str) or all(map(_is_input_part, output))
        case "computer_call_output", {"type": "computer_screenshot"}:
            return isinstance(output.get("image_url"), str) or isinstance(output.get("file_id"), str)
        case "shell_call_output", list():
            return all(map(_is_chunk, output))
        case "apply_patch_call_output", None | str():
            return True
    return kind == "local_shell_call_output" and isinstance(output, str)


def native_output(kind: str, old: Any, content: Any) -> Any:
    """`content` in the JSON type that an output of type `kind` has to have; `old` is what it replaces.

    A value that has the right type already is taken as it is. A screenshot has no place for words: any other
    content becomes a blank one.
    """
    if is_native(kind, content):
        return content
    match kind:
        case "computer_call_output":
            return BLANK_SCREENSHOT
        case "shell_call_output":
            return [{"stdout": text_of(content), "stderr": "", "outcome": _outcome(old)}]
    return text_of(content)


def made_answer(entry: Entry, call: Call, text: str) -> Entry:
    """An output item for `call`, which `entry` makes, of the type that answers it; it says `text` where it
    can."""
    call_type = CALL_TYPES[type_of(entry)]
    answer: Entry = {"type": call_type.output, call_type.output_key: call.id}
    match call_type.output:
        case "apply_patch_call_output":
            answer |= {"status": "failed", "output": text}
        case "tool_search_output":
            answer |= {"execution": "client", "status": "incomplete", "tools": []}
        case "mcp_approval_response":
            answer |= {"approve": False, "reason": text}
        case "shell_call_output":
            answer["output"] = [{"stdout": text, "stderr": "", "outcome": {"type": "timeout"}}]
        case kind:
            answer["output"] = native_output(kind, None, text)
    return answer | ({"caller": entry["caller"]} if program_of(entry) else {})


def _message_shape(entry: Entry, index: int) -> Shape:
    role = entry.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise _malformed(index, f"a message is from {', '.join(_ROLES)}, not {_brief(role)}", "role")
    if entry.get("tool_calls"):
        raise _malformed(
            index, "calls are items of type function_call here; `tool_calls` is Chat's", "tool_calls", "R19"
        )
    content = entry.get("content")
    blocks: list[Any] = content if isinstance(content, list) else []
    if not isinstance(content, str | list) or not all(isinstance(block, dict) for block in blocks):
        raise _malformed(index, f"content is a string or a list of parts, not {_brief(content)}", "content")
    return Shape(_ROLES[role], words=role == "user")


def _call_shape(entry: Entry, kind: str, index: int) -> Shape:
    call_type = CALL_TYPES[kind]
    binds = "previous" if program_of(entry) else ""
    if kind == "tool_search_call" and not _searched_by_client(entry):
        return Shape(Role.MODEL, binds=binds)
    id = _id_at(entry, call_type.key, index)
    name = call_type.name or entry.get("name")
    if not isinstance(name, str) or not name:
        raise _malformed(index, f"a {kind} names its tool, not {_brief(name)}", "name")
    call = Call(id, name, kind, deferred=entry.get("async") is True)
    return Shape(Role.MODEL, calls=(call,), binds=binds)


def _output_shape(entry: Entry, kind: str, index: int) -> Shape:
    """A function's output may come without a call id (its type has both optional), then it has a name."""
    if kind == "tool_search_output" and not _searched_by_client(entry):
        return Shape(Role.MODEL, binds="previous")
    call_type = CALL_TYPES[OUTPUT_TYPES[kind]]
    name = string_of(entry.get("name"))
    nameless = entry.get("call_id") is None and kind == "function_call_output" and name
    id = None if nameless else _id_at(entry, call_type.output_key, index)
    binds = "previous" if program_of(entry) else ""
    return Shape(Role.TOOL, results=(Result(id, name),), binds=binds)


def _searched_by_client(entry: Entry) -> bool:
    """Whether the client ran a tool search; where it is not said, a call id tells."""
    execution = entry.get("execution")
    return execution == "client" if execution else isinstance(entry.get("call_id"), str)


def _id_at(entry: Entry, key: str, index: int) -> str:
    id = entry.get(key)
    if not isinstance(id, str) or not id:
        raise _malformed(index, f"a {type_of(entry)} needs a string as `{key}`, not {_brief(id)}", key)
    return id


def _easy_content(content: Any) -> Any:
    if not isinstance(content, list) or not content:
        return content
    texts = [
        block.get("text") for block in content if isinstance(block, dict) and not block.get("annotations")
    ]
    plain = all(isinstance(block, dict) and block.get("type") == "output_text" for block in content)
    if not plain or len(texts) < len(content) or not all(isinstance(text, str) for text in texts):
        return content
    return "".join(text for text in texts if isinstance(text, str))


def _is_input_part(part: Any) -> bool:
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and kind.startswith("input_")


def _is_chunk(chunk: Any) -> bool:
    match chunk:
        case {"stdout": str(), "stderr": str(), "outcome": {"type": str()}}:
            return True
    return False


def _outcome(old: Any) -> Any:
    """How the commands went: the first failure, if there is one."""
    chunks = old if isinstance(old, list) else []
    outcomes = [chunk["outcome"] for chunk in chunks if isinstance(chunk, dict) and "outcome" in chunk]
    success = {"type": "exit", "exit_code": 0}
    failures = (outcome for outcome in outcomes if outcome != success)
    return next(failures, outcomes[-1] if outcomes else success)


def _brief(value: Any) -> str:
    return repr(value[:40]) if isinstance(value, str) else type(value).__name__


def _malformed(index: int, message: str, key: str = "", rule: str = "") -> ProviderFormatError:
    steps = ("input", index, key) if key else ("input", index)
    return ProviderFormatError(message, format=FORMAT, path=path_text(*steps), rule=rule)
