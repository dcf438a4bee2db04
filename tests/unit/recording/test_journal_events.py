"""Items of a journal as events, for those who follow a recording that still goes on."""

from __future__ import annotations

from ptycassette.model import InputRecord, Typed
from ptycassette.recording.journal_events import event_of


def test_what_was_typed_unseen_is_hidden_from_followers() -> None:
    """The journal holds it, the viewer does not show it."""
    event = event_of(Typed(1, b"pass\r", key="p", masked=True), 1, 0)
    assert event is not None
    record = event.record

    assert isinstance(record, InputRecord)
    assert (record.bytes, record.key, record.masked) == (b"****\r", None, True)
    assert event.data == b"****\r"
