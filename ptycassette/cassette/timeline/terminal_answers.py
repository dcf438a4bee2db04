"""Which inputs are answers of the terminal, which a replay does not wait for."""

from __future__ import annotations

from ptycassette.model.records import Event, InputRecord


def is_terminal_answer(event: Event) -> bool:
    """Whether ``event`` is an answer of the terminal to a query, not typed input."""
    return isinstance(event.record, InputRecord) and event.record.source == "terminal"
