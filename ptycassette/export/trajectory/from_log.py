"""The conversation as the session log of a CLI tells it, in service events."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from ptycassette.export.trajectory.steps import Step
from ptycassette.harness.provider.wire.neutral import Call, ToolResult
from ptycassette.model.events import Event, InputRecord, OutputRecord, ServiceEventRecord
from ptycassette.timeline.match_entries import iter_entries

_SENT = "<enter>"
"""How a line that was typed and sent ends, as ``Entry.shown`` has it."""


class LogReading:
    """Reads events.

    Args:
        with_messages: whether they tell the conversation; where a tape does, they repeat it.

    Attributes:
        left_out: how much of what else there is.
    """

    def __init__(self, *, with_messages: bool) -> None:
        self.left_out: Counter[str] = Counter()
        self._with_messages = with_messages
        self._steps: list[Step] = []
        self._inputs: list[InputRecord] = []
        self._untimed = 0  # so many steps were read after the last input and output
        self._callers: dict[str, Step] = {}
        self._thought: list[str] = []  # until the text or call that it leads to

    def take(self, event: Event) -> None:
        """The next event."""
        record = event.record
        if isinstance(record, OutputRecord | InputRecord):
            self._untimed = len(self._steps)
        if isinstance(record, InputRecord):
            if record.source != "terminal":
                self._inputs.append(record)
                self.left_out["inputs of the terminal"] += 1
        elif isinstance(record, ServiceEventRecord):
            payload = record.payload if isinstance(record.payload, dict) else {}
            if not self._is_message(payload, event.t_us) and "entry" not in payload:
                self.left_out["service events"] += 1
        elif event.kind == "frame":
            self.left_out["screens"] += 1

    def _is_message(self, payload: dict[str, Any], t_us: int) -> bool:
        if not self._with_messages:
            return False
        text, call_id = payload.get("text"), str(payload.get("call_id", ""))
        match payload.get("type"):
            case "message" if isinstance(text, str):
                role = payload.get("role")
                source: Any = role if role in {"user", "system"} else "agent"
                model = payload.get("model")
                model = model if isinstance(model, str) and source == "agent" else None
                thought = self._thoughts() if source == "agent" else ""
                step = Step(source=source, text=text, t_us=t_us, model=model, thought=thought)
                self._steps.append(step)
            case "thinking" if isinstance(text, str):
                self._thought.append(text)
            case "tool-call":
                last = self._steps[-1] if self._steps else None
                if last is None or last.source != "agent" or last.results or self._thought:
                    last = Step(source="agent", t_us=t_us, thought=self._thoughts())
                    self._steps.append(last)
                call = Call(call_id, str(payload.get("name", "")), payload.get("arguments"))
                last.calls += (call,)
                self._callers[call_id] = last
            case "tool-result" if call_id in self._callers:
                said = payload.get("output")
                output = said if isinstance(said, str) else msgspec.json.encode(said).decode()
                self._callers[call_id].results.append(ToolResult(call_id, output))
            case _:
                return False
        return True

    def _thoughts(self) -> str:
        thought = "\n".join(self._thought)
        self._thought.clear()
        return thought

    def steps(self) -> list[Step]:
        """The steps; what was typed is among them if the log does not tell what the user said."""
        for step in self._steps[self._untimed :]:
            step.t_us = None
        if any(step.source == "user" for step in self._steps):
            return self._steps
        typed = [
            Step(source="user", text=text, t_us=entry.t_us)
            for entry in iter_entries(self._inputs)
            if not entry.masked
            and entry.shown.endswith(_SENT)
            and (text := entry.shown.removesuffix(_SENT).strip())
        ]
        return [*typed, *self._steps]
