"""A conversation as a trajectory in ATIF, harbor's Agent Trajectory Interchange Format.

harbor's RFC 0001 (https://github.com/laude-institute/harbor), and ``harbor.models.trajectories``:
a step for each message of the system or the user, and one for each
answer with its tool calls and, as observations, their results.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from ptycassette.export.registry import ExportSource
from ptycassette.export.trajectory.conversation import conversation_of, whole
from ptycassette.export.trajectory.steps import Conversation, Step
from ptycassette.model.events import FinalRecord
from ptycassette.model.visible_text import visible_json

SCHEMA = "ATIF-v1.8"

_COUNTS = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cached_tokens": "cached_input_tokens",
    "cost_usd": "cost_usd",
}


def recording_atif(source: ExportSource) -> Iterator[bytes]:
    """The trajectory, one JSON document.

    Raises:
        UsageError: there is no conversation in the recording.
    """
    cassette = whole(source)
    spoken = conversation_of(source)
    manifest = cassette.manifest
    start = datetime.fromisoformat(manifest.provenance.recorded_at)
    made = {
        "schema_version": SCHEMA,
        "session_id": manifest.id,
        "agent": _with_values(
            name=manifest.harness.name,
            version=manifest.harness.binary_version or "unknown",
            model_name=spoken.model,
        ),
        "steps": [_step(number, step, start) for number, step in enumerate(spoken.steps, 1)],
        "notes": _notes(spoken, in_process="in_process" in (manifest.optional or {})),
        "final_metrics": _final(spoken, cassette.final),
        "extra": {"recorder": f"ptycassette {manifest.provenance.recorder_version}"},
    }
    yield visible_json(msgspec.json.format(msgspec.json.encode(made), indent=2)) + b"\n"


def _notes(spoken: Conversation, *, in_process: bool) -> str:
    lost = ", ".join(f"{count} x {name}" for name, count in spoken.left_out.items())
    made_of = "the calls of a Python function" if in_process else "a terminal recording"
    return f"Made of {made_of}." + (f" Left out: {lost}." if lost else "")


def _step(number: int, step: Step, start: datetime) -> dict[str, Any]:
    when = None if step.t_us is None else (start + timedelta(microseconds=step.t_us)).isoformat()
    calls = {call.call_id or f"{number}-{at}": call for at, call in enumerate(step.calls, 1)}
    unnamed = [(call_id, call.name) for call_id, call in calls.items() if not call.call_id]
    results = []
    for result in step.results:
        known: str | None = result.call_id if result.call_id in calls else None
        if known is None:
            at = next((n for n, (_, name) in enumerate(unnamed) if name == result.name), None)
            known = None if at is None else unnamed.pop(at)[0]
        results.append(_with_values(source_call_id=known, content=result.text))
    is_answer = step.source == "agent"
    extra = _with_values(tape_entry=step.entry)
    return _with_values(
        step_id=number,
        timestamp=when,
        source=step.source,
        model_name=step.model if is_answer else None,
        message=step.text,
        reasoning_content=step.thought or None,
        tool_calls=[
            {"tool_call_id": call_id, "function_name": call.name, "arguments": call.values}
            for call_id, call in calls.items()
        ]
        or None,
        observation={"results": results} if results else None,
        metrics=_metrics(step.usage) if is_answer else None,
        is_copied_context=True if step.copied else None,
        llm_call_count=1 if is_answer and step.entry is not None and not step.copied else None,
        extra=extra or None,
    )


def _metrics(usage: dict[str, Any]) -> dict[str, Any] | None:
    said = {name: usage[ours] for name, ours in _COUNTS.items() if ours in usage}
    more = {name: count for name, count in usage.items() if name not in _COUNTS.values()}
    return _with_values(**said, extra=more or None) or None


def _final(spoken: Conversation, final: FinalRecord) -> dict[str, Any]:
    usages = [step.usage for step in spoken.steps if step.usage]
    totals: dict[str, Any] = final.usage if isinstance(final.usage, dict) and not usages else {}
    for usage in usages:
        for name in _COUNTS.values():
            if name in usage:
                totals = {**totals, name: totals.get(name, 0) + usage[name]}
    cost = totals.get("cost_usd", final.cost_usd)
    return _with_values(
        total_prompt_tokens=totals.get("input_tokens"),
        total_completion_tokens=totals.get("output_tokens"),
        total_cached_tokens=totals.get("cached_input_tokens"),
        total_cost_usd=cost,
        total_steps=len(spoken.steps),
    )


def _with_values(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
