"""Turn a provider's answer into a transcript of its text and its tool calls.

A transcript is ``{"messages": [{"role": "assistant", "content": TEXT}], "tool_calls": [...]}``,
modelled on the turns of agent-scroll 0.1. ``tool_calls`` exists only if there are any; each has
``id``, ``name`` and ``args_hash``, so that a transcript shows no arguments.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from ptycassette.cassette.manifest import canonical_json
from ptycassette.tape.providers.neutral import ModelAnswer, text_in


def transcript_of(answer: ModelAnswer) -> dict[str, Any] | None:
    """The transcript of an answer; None if there is neither text nor a tool call."""
    if not answer.text and not answer.calls:
        return None
    found: dict[str, Any] = {"messages": [{"role": "assistant", "content": "".join(answer.text)}]}
    if answer.calls:
        found["tool_calls"] = [
            {"id": call.id, "name": call.name, "args_hash": args_hash(call.arguments)}
            for call in answer.calls.values()
        ]
    return found


def args_hash(arguments: str) -> str:
    """The hash of a call's arguments: of the JSON value if they are JSON, else of the text."""
    try:
        value = json.loads(arguments or "{}")
        text = canonical_json(value)
    except (ValueError, TypeError, RecursionError):
        text = canonical_json(arguments)
    return f"sha256:{sha256(text).hexdigest()}"


def tool_graph(transcript: Any) -> list[tuple[str, str]] | None:
    """The tools of a transcript with their argument hashes; None if it is not a transcript."""
    if not isinstance(transcript, dict):
        return None
    calls = transcript.get("tool_calls", [])
    found = []
    for call in calls if isinstance(calls, list) else [None]:
        if not isinstance(call, dict) or not text_in(call, "name"):
            return None
        hashed = text_in(call, "args_hash")
        if not hashed and "args" in call:
            hashed = args_hash(json.dumps(call["args"]))
        if not hashed:
            return None
        found.append((call["name"], hashed))
    return found
