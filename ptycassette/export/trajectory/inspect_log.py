"""A conversation as an eval log of Inspect (https://inspect.aisi.org.uk/eval-logs.html), in JSON.

The log has one sample, whose input is the first thing that the user said. It was not scored: there
are no results. ``read_eval_log`` and ``inspect view`` read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from ptycassette.export.registry import ExportSource
from ptycassette.export.trajectory.conversation import conversation_of, whole
from ptycassette.export.trajectory.steps import Conversation, Step
from ptycassette.model.manifest import Manifest
from ptycassette.model.visible_text import visible_json

_UNKNOWN = "none/none"
"""What Inspect calls a model that nobody named."""


def recording_inspect(source: ExportSource) -> Iterator[bytes]:
    """The log, one JSON document.

    Raises:
        UsageError: there is no conversation in the recording.
    """
    cassette = whole(source)
    spoken = conversation_of(source)
    manifest, final = cassette.manifest, cassette.final
    start = datetime.fromisoformat(manifest.provenance.recorded_at)
    ended = start + timedelta(milliseconds=final.duration_ms)
    usage = _usage(spoken.steps)
    stats = {
        "started_at": start.isoformat(),
        "completed_at": ended.isoformat(),
        "model_usage": usage,
    }
    about = {
        "cassette": manifest.id,
        "recorder": f"ptycassette {manifest.provenance.recorder_version}",
        "left_out": spoken.left_out,
    }
    made = {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": manifest.id,
            "task_id": manifest.id,
            "created": start.isoformat(),
            "task": manifest.harness.name,
            "dataset": {"name": "ptycassette", "samples": 1, "sample_ids": [1]},
            "model": spoken.model or _UNKNOWN,
            "config": {},
            "metadata": about,
        },
        "plan": {"name": "recorded", "steps": []},
        "stats": stats,
        "samples": [{**_sample(manifest, spoken), "model_usage": usage, **_times(start, ended)}],
    }
    yield visible_json(msgspec.json.format(msgspec.json.encode(made), indent=2)) + b"\n"


def _times(start: datetime, ended: datetime) -> dict[str, Any]:
    return {
        "started_at": start.isoformat(),
        "completed_at": ended.isoformat(),
        "total_time": (ended - start).total_seconds(),
    }


def _sample(manifest: Manifest, spoken: Conversation) -> dict[str, Any]:
    asked = next((step.text for step in spoken.steps if step.source == "user"), "")
    answers = [step for step in spoken.steps if step.source == "agent"]
    last = answers[-1]
    stop = "tool_calls" if last.calls else "stop"
    choice = {"message": _answer(last), "stop_reason": stop}
    return {
        "id": 1,
        "epoch": 1,
        "input": asked,
        "target": "",
        "messages": [message for step in spoken.steps for message in _messages(step)],
        "output": {"model": last.model or spoken.model or _UNKNOWN, "choices": [choice]},
        "metadata": {"argv": list(manifest.command.argv or ())},
    }


def _messages(step: Step) -> Iterator[dict[str, Any]]:
    if step.source == "agent":
        yield _answer(step)
    elif step.text:
        yield {"role": step.source, "content": step.text, "metadata": _about(step)}
    names = {call.call_id: call.name for call in step.calls}
    for result in step.results:
        yield {
            "role": "tool",
            "content": result.text,
            "tool_call_id": result.call_id,
            "function": names.get(result.call_id) or result.name or None,
        }


def _answer(step: Step) -> dict[str, Any]:
    content: Any = step.text
    if step.thought:
        thought = {"type": "reasoning", "reasoning": step.thought}
        content = [thought, {"type": "text", "text": step.text}]
    calls = [
        {"id": call.call_id, "function": call.name, "arguments": call.values, "type": "function"}
        for call in step.calls
    ]
    made = {"role": "assistant", "content": content, "source": "generate", "model": step.model}
    return {**made, "tool_calls": calls or None, "metadata": _about(step)}


def _about(step: Step) -> dict[str, Any] | None:
    """Where the recording has it."""
    seconds = None if step.t_us is None else step.t_us / 1_000_000
    found = {"tape_entry": step.entry, "at_s": seconds, "copied": step.copied or None}
    return {name: value for name, value in found.items() if value is not None} or None


def _usage(steps: Iterable[Step]) -> dict[str, Any]:
    """The tokens of each model. Inspect counts those that were read from a cache apart."""
    found: dict[str, dict[str, Any]] = {}
    for step in steps:
        if not step.usage:
            continue
        total = found.setdefault(step.model or _UNKNOWN, {})
        cached = step.usage.get("cached_input_tokens", 0)
        given, answered = step.usage.get("input_tokens", 0), step.usage.get("output_tokens", 0)
        for name, count in (
            ("input_tokens", given - cached),
            ("output_tokens", answered),
            ("total_tokens", given + answered),
            ("input_tokens_cache_read", cached),
            ("reasoning_tokens", step.usage.get("reasoning_output_tokens", 0)),
            ("total_cost", step.usage.get("cost_usd", 0)),
        ):
            if count or name.endswith("_tokens"):
                total[name] = total.get(name, 0) + count
    return found
