"""The evidence for predicates: the events of one recording, by kind.

The frame at time t is the latest at or before t; before the first frame there is
none. Times are milliseconds of the recording.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from ptycassette.model.events import (
    Event,
    FinalRecord,
    FrameRecord,
    InputRecord,
    OutputRecord,
    ServiceEventRecord,
)
from ptycassette.model.manifest import Manifest
from ptycassette.timeline.match_entries import Entry, read_entries

# OSC 52 ; selection ; base64, ended by BEL or ST (xterm's ctlseqs, "Manipulate Selection Data").
_CLIPBOARD = re.compile(rb"\x1b\]52;[^;\x07\x1b]*;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\)")
_LINK = re.compile(rb"\x1b\]8;[^;\x07\x1b]*;([^\x07\x1b]+)(?:\x07|\x1b\\)")


class Evidence:
    """The evidence of one recording.

    Args:
        manifest: of the recording.
        events: starts a fresh pass over all events.
        artifacts: the names of the files that the cassette holds.
    """

    def __init__(
        self,
        manifest: Manifest,
        events: Callable[[], Iterable[Event]],
        artifacts: Iterable[str] = (),
    ) -> None:
        self.manifest = manifest
        self.artifacts = frozenset(artifacts)
        self._events = events
        self.timed: list[tuple[int, int, str]] = []
        self.frames: list[FrameRecord] = []
        self.inputs: list[InputRecord] = []
        self.outputs: list[OutputRecord] = []
        self.services: list[ServiceEventRecord] = []
        self.final: FinalRecord | None = None
        for event in events():
            self._sort(event)
        self._frame_times = [frame.t_ms for frame in self.frames]
        self.end_ms = self.timed[-1][1] if self.timed else 0

    def _sort(self, event: Event) -> None:
        record = event.record
        self.timed.append((record.seq, record.t_ms, event.kind))
        match record:
            case FrameRecord():
                self.frames.append(record)
            case InputRecord():
                self.inputs.append(record)
            case OutputRecord():
                self.outputs.append(record)
            case ServiceEventRecord():
                self.services.append(record)
            case FinalRecord():
                self.final = record

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The recorded input as lines and the keys that sent them."""
        return read_entries(self.inputs)

    def start_of(self, exchange: int) -> int | None:
        """When input ``exchange`` (from 1) was complete, in ms; None when there is none."""
        if not 1 <= exchange <= len(self.entries):
            return None
        return self.entries[exchange - 1].last_t_us // 1000

    def frame_at(self, t_ms: int) -> FrameRecord | None:
        """The frame that was shown at ``t_ms``: the latest at or before."""
        at = bisect.bisect_right(self._frame_times, t_ms)
        return self.frames[at - 1] if at else None

    def frames_between(self, start_ms: int, end_ms: int) -> Iterator[FrameRecord]:
        """The frame shown at the start, and all that came up to the end."""
        first = max(0, bisect.bisect_right(self._frame_times, start_ms) - 1)
        for at in range(first, len(self.frames)):
            if self.frames[at].t_ms > end_ms:
                return
            yield self.frames[at]

    def values_in(self, service: int) -> int:
        """How many JSON values a service event holds, by its number from 0."""
        return self._value_counts[service]

    @cached_property
    def _value_counts(self) -> list[int]:
        return [_values(record.payload) for record in self.services]

    @cached_property
    def clipboard(self) -> list[str]:
        """The texts put into the clipboard."""
        found = []
        for match in _CLIPBOARD.finditer(self._raw):
            try:
                found.append(base64.b64decode(match[1], validate=True).decode("utf-8", "replace"))
            except (binascii.Error, ValueError):
                continue
        return found

    @cached_property
    def links(self) -> list[str]:
        """The addresses of hyperlinks."""
        return [match[1].decode("utf-8", "replace") for match in _LINK.finditer(self._raw)]

    @cached_property
    def _raw(self) -> bytes:
        return b"".join(event.data for event in self._events() if event.kind == "output")


def _values(payload: Any) -> int:
    """How many values JSON holds, itself included. It nests no deeper than a reader allows."""
    if isinstance(payload, dict):
        return 1 + sum(map(_values, payload.values()))
    return 1 + sum(map(_values, payload)) if isinstance(payload, list) else 1
