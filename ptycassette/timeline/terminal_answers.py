"""Which events are the terminal's own: nobody typed them, so nobody is waited for."""

from __future__ import annotations

from ptycassette.model import Event, InputRecord

__all__ = ["is_terminal_answer"]


def is_terminal_answer(event: Event) -> bool:
    """Whether ``event`` is the terminal's own answer to a query, typed by nobody."""
    return isinstance(event.record, InputRecord) and event.record.source == "terminal"
