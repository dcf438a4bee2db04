"""Items of a journal as events, for those who follow a recording that still goes on."""

from __future__ import annotations

from ptycassette.model.records import FinalRecord, Finished, InputRecord, Typed
from ptycassette.recording.sink_writer import event_of


def test_what_was_typed_unseen_is_hidden_from_followers() -> None:
    """The journal holds it, the viewer does not show it."""
    event = event_of(Typed(1, b"pass\r", key="p", masked=True), 1, 0)
    assert event is not None
    record = event.record

    assert isinstance(record, InputRecord)
    assert (record.bytes, record.key, record.masked) == (b"****\r", None, True)
    assert event.data == b"****\r"


def test_the_end_tells_followers_what_the_cassette_will_say() -> None:
    """Not only the exit: the record is the one that is saved."""
    event = event_of(Finished(t_us=1_500, final_text="done", cost_usd=0.5), 7, 0)
    assert event is not None
    record = event.record

    assert isinstance(record, FinalRecord)
    assert (record.seq, record.t_ms, record.duration_ms) == (7, 1, 1)
    assert (record.final_text, record.cost_usd) == ("done", 0.5)
