"""The scrubber that removes nothing, for those who said ``--no-scrub``; it says so in its report.

A cassette made with it says ``unscrubbed``, and no reader opens it unless told to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptycassette.model import EventSource, JournalEvent, ScrubReport, SessionMeta

__all__ = ["Unscrubbed"]


class Unscrubbed:
    """A ``Scrubber`` that hands everything through."""

    def events(self, meta: SessionMeta, source: EventSource) -> Iterator[JournalEvent]:  # noqa: ARG002 - the port
        """The events as they are."""
        return source()

    def text(self, value: str, *, channel: str) -> str:  # noqa: ARG002 - the port
        """The text as it is."""
        return value

    def value(self, value: Any, *, channel: str) -> Any:  # noqa: ARG002 - the port
        """The value as it is."""
        return value

    def verify(self, meta: SessionMeta, source: EventSource) -> tuple[str, ...]:  # noqa: ARG002 - the port
        """Looks at all events, as the port asks, and at nothing in them."""
        for _ in source():
            pass
        return ()

    def report(self) -> ScrubReport:
        """Nothing was scrubbed, on explicit demand."""
        return ScrubReport(status="unscrubbed")
