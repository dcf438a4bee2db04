"""What a recording has that a format of recordings has no place for."""

from __future__ import annotations

from collections import Counter

from ptycassette.export._imported import marker_label
from ptycassette.export.registry import ExportFormat, ExportSource, Kind
from ptycassette.model.events import Event, FinalRecord, InputRecord, ServiceEventRecord


def left_out(source: ExportSource, chosen: ExportFormat, *, with_input: bool) -> dict[str, int]:
    """How many events of each kind are left out; or of what else there is.

    Args:
        source: the recording.
        chosen: the format.
        with_input: whether its input is written, if the format holds it. Answers of the terminal
            never are: they were not typed.
    """
    if chosen.holds is None:
        return chosen.left_out(source)
    found: Counter[str] = Counter()
    for event in source.events():
        kind = _kind(event)
        if kind is not None and (kind not in chosen.holds or (kind == "input" and not with_input)):
            found[kind] += 1
    return dict(found)


def _kind(event: Event) -> Kind | None:
    match event.record:
        case InputRecord(kind=kind, source=source):
            return None if source == "terminal" else kind
        case ServiceEventRecord(payload=payload):
            return "service-event" if marker_label(payload) is None else "marker"
        case FinalRecord(exit=ended):
            return None if ended is None else "exit"
        case _:
            return None
