"""The scrubber of ``--no-scrub``, which removes nothing and reports so.

A cassette made with it is marked ``unscrubbed``. Readers refuse it by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptycassette.model.ports import EventSource
from ptycassette.model.records import JournalEvent, ScrubReport, SessionMeta


class Unscrubbed:
    """A ``Scrubber`` that changes nothing."""

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
        """Iterate over all events, as the port requires, without searching them."""
        for _ in source():
            pass
        return ()

    def report(self) -> ScrubReport:
        """A report that nothing was scrubbed, on explicit demand."""
        return ScrubReport(status="unscrubbed")
