"""One line about each event that is not output, kept while indexing; bounded.

Lists show these, so that scrolling through a recording reads no file. Text is
escaped here.
"""

from __future__ import annotations

import json

from ptycassette import (
    Event,
    FinalRecord,
    InputRecord,
    ServiceEventRecord,
    printable,
    visible,
    visible_bytes,
)

_WIDTH = 120
_OVERHEAD = 120


class Summaries:
    """Lines by ``seq``.

    Args:
        max_bytes: how much memory they may take; after that, no line is kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._lines: dict[int, str] = {}
        self._left = max_bytes

    def add(self, event: Event) -> None:
        """Keep a line about an event, except for output and frames."""
        if event.kind in {"output", "frame"} or self._left <= 0:
            return
        line = summary(event)
        self._left -= _OVERHEAD + 2 * len(line)
        self._lines[event.seq] = line

    def get(self, seq: int) -> str | None:
        """The line about event ``seq``, None when there is none."""
        return self._lines.get(seq)

    def state(self) -> dict[int, str]:
        """All lines."""
        return self._lines

    def become(self, lines: dict[int, str]) -> None:
        """Take over the lines of another session on the same recording."""
        self._lines.update(lines)


def summary(event: Event) -> str:
    """An event in one line, or none."""
    record = event.record
    if isinstance(record, InputRecord):
        return _input_line(record)
    if isinstance(record, ServiceEventRecord):
        return service_line(record.payload)
    if isinstance(record, FinalRecord):
        status = record.exit
        if status is None:
            return "the end; how is not known"
        if status.signaled:
            return f"ended by signal {visible(status.signal, limit=20)}"
        return f"exit status {status.code}"
    return ""


def _input_line(record: InputRecord) -> str:
    if record.kind == "resize" and record.size is not None:
        return str(record.size)
    if record.kind == "signal":
        return visible(record.signal or "?", limit=20)
    data = record.bytes or b""
    words = []
    if record.masked:
        words.append("masked")
    if record.paste:
        words.append(f"paste of {len(data)} bytes")
    if record.key:
        words.append(f"<{visible(record.key, limit=20)}>")
    words.append(visible_bytes(data[:_WIDTH], limit=_WIDTH))
    return " ".join(words)


def service_line(payload: object) -> str:
    """The payload of a service event: its type and as much as fits."""
    if isinstance(payload, dict):
        said = _tape_line(payload)
        if said:
            return printable(said, limit=_WIDTH)
        kind = payload.get("type") or payload.get("kind") or payload.get("event")
        if isinstance(kind, str):
            rest = {key: value for key, value in payload.items() if value is not kind}
            return printable(f"{kind} {_json(rest)}", limit=_WIDTH)
    return printable(_json(payload), limit=_WIDTH)


def _tape_line(payload: dict[str, object]) -> str:
    """An event of the tape in words; empty for any other."""
    entry = f"[{payload.get('entry')}]"
    match payload.get("type"):
        case "model-request":
            asked = payload.get("method"), payload.get("target"), payload.get("model")
            said = [str(word) for word in asked if word]
            return " ".join(("→", entry, *(said or ["message"])))
        case "model-answer":
            return f"← {entry} {payload.get('status', 'message')}"
        case "model-end":
            why = (payload.get("outcome"), payload.get("detail"), payload.get("close_code"))
            return " ".join(("·", entry, *(str(word) for word in why if word)))
        case "tool-call":
            return f"← {entry} calls {payload.get('name')} ({payload.get('call_id')})"
        case "tool-result":
            return f"→ {entry} result of {payload.get('call_id')}"
        case _:
            return ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
