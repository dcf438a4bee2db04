"""The OpenAI Responses API: requests in, JSON, server-sent events or WebSocket messages out.

Source: the public API reference of OpenAI (Responses, Streaming events,
WebSocket mode). Over HTTP a request is a body; over a WebSocket it is the same
body with ``type: response.create``, and each event is one text message. The
events are the same, so they are made once, as objects, and framed twice.

``previous_response_id`` continues an earlier answer. The caller keeps what
came before; here it is only read.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.tape.providers import openai_chat
from ptycassette.tape.providers.neutral import (
    Ask,
    Call,
    Field,
    Message,
    Role,
    ToolResult,
    UnknownFields,
    WireError,
    read,
)

error = openai_chat.error
models = openai_chat.models

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_TEXTS: dict[str, str | None] = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "refusal": "refusal",
    "input_image": None,
    "input_file": None,
    "input_audio": None,
    # Clients send back parts of encrypted conversations between agents.
    "encrypted_content": None,
}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_OUTPUTS = frozenset(f"{kind}_output" for kind in _CALLS)
_SILENT = frozenset({"item_reference", "reasoning"})
# Items without anything that a script could match.
_UNMATCHED = frozenset(
    {
        "additional_tools",
        "compaction",
        "compaction_summary",
        "compaction_trigger",
        "image_generation_call",
        "mcp_list_tools",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
    }
)
_NAMED_TOOLS = frozenset({"function", "custom"})
_BUILT_IN_TOOLS = frozenset(
    {
        "apply_patch",
        "code_interpreter",
        "computer_use_preview",
        "file_search",
        "image_generation",
        "local_shell",
        "mcp",
        "shell",
        "tool_search",
        "web_search",
        "web_search_preview",
    }
)


class _Responses(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of ``POST /v1/responses``, and ``type`` and ``generate`` of WebSocket mode."""

    model: str
    input: Any = None
    instructions: str | None = None
    previous_response_id: str | None = None
    stream: bool = False
    type: str | None = None
    generate: bool = True
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    reasoning: Any = None
    text: Any = None
    store: bool | None = None
    include: list[str] | None = None
    prompt: Any = None
    prompt_cache_key: str | None = None
    prompt_cache_options: Any = None
    prompt_cache_retention: str | None = None
    client_metadata: Any = None
    metadata: Any = None
    conversation: Any = None
    context_management: Any = None
    background: bool | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    stream_options: Any = None
    temperature: float | None = None
    top_logprobs: int | None = None
    top_p: float | None = None
    truncation: str | None = None
    user: str | None = None


class Context(msgspec.Struct, frozen=True):
    """The settings of a request besides the conversation."""

    previous_id: str | None = None
    generate: bool = True


def parse(
    body: Any, *, unknown_fields: UnknownFields = "reject"
) -> tuple[Ask, Context, tuple[str, ...]]:
    """A request as an ``Ask``, its context, and the unknown fields that were ignored.

    Raises:
        WireError: the API would refuse it, or this fake does not support it.
    """
    request, unknown = read(body, _Responses, unknown_fields=unknown_fields)
    if request.background:
        raise WireError("background: this fake answers at once")
    turns: list[Message] = []
    if request.instructions:
        turns.append(Message("system", request.instructions))
    if isinstance(request.input, str):
        turns.append(Message("user", request.input))
    elif request.input is not None:
        turns += (one for item in Field(request.input, "input").items() for one in turns_of(item))
    elif request.generate and request.previous_response_id is None:
        raise WireError("input: missing")
    tools: list[str] = []
    for tool in Field(request.tools or [], "tools").items():
        tools += _tool_names(tool)
    ask = Ask(
        api="responses",
        model=request.model,
        stream=request.stream,
        turns=tuple(turns),
        tools=tuple(tools),
    )
    return ask, Context(request.previous_response_id, request.generate), unknown


def _tool_names(tool: Field) -> list[str]:
    """The names under which a tool can be called; a namespace holds several."""
    kind = tool.word("type")
    if kind in _NAMED_TOOLS:
        return [tool.word("name")]
    if kind == "namespace":
        return [name for one in tool.get("tools").items() for name in _tool_names(one)]
    if kind not in _BUILT_IN_TOOLS:
        tool.refuse(f".type: unknown tool type {kind!r}")
    return [kind]


def turns_of(item: Field) -> list[Message]:
    """The turns of one input item; none for items without content."""
    kind = item.word("type", "message")
    if kind in _SILENT or (item.strict and kind in _UNMATCHED):
        return []
    if kind.startswith("local_shell"):  # no script can call it
        item.refuse(f".type: unknown item type {kind!r}")
    if kind in {"message", "agent_message"}:
        role = item.word("role") if kind == "message" else "assistant"
        if role not in _ROLES:
            item.refuse(f".role: unknown role {role!r}")
        return [Message(_ROLES.get(role, "user"), item.get("content").text(_TEXTS))]
    if kind in _CALLS:
        name = item.word("name") or kind.removesuffix("_call")
        call = Call(item.word("call_id"), name, item.get(_CALLS[kind]).value)
        return [Message("assistant", calls=(call,))]
    if kind in _OUTPUTS:
        output = item.get("output").text(_TEXTS)
        return [Message("user", results=(ToolResult(item.word("call_id"), output),))]
    item.refuse(f".type: unknown item type {kind!r}")
    return [Message("user", f"[{kind}]")]
