"""Streamed messages: what comes in pieces is read as one text by verification."""

from __future__ import annotations

from ptycassette.model import JournalEvent, Noted, SessionMeta
from ptycassette.scrub import default_scrubber
from ptycassette.scrub.deltas import Deltas
from ptycassette.scrub.structured import Joined
from ptycassette.scrub.verify import Texts

VALUE = "qP7x" + "R2mK9v" + "T4nB"


def streamed(kind: type[Noted]) -> list[JournalEvent]:
    """The value, three characters an event."""
    return [
        kind(1000 * at, {"delta": {"text": VALUE[at : at + 3]}}) for at in range(0, len(VALUE), 3)
    ]


def test_a_value_in_pieces_is_found(meta: SessionMeta) -> None:
    """The finding says when it began."""
    findings = default_scrubber(known=[VALUE]).verify(meta, lambda: iter(streamed(Noted)))

    assert findings == ("service-events: 0 ms: rule declared matches (2 times)",)


def test_texts_of_a_cassette_are_no_message(meta: SessionMeta) -> None:
    """One frame does not go on with the last one."""
    assert default_scrubber(known=[VALUE]).verify(meta, lambda: iter(streamed(Texts))) == ()


def test_what_one_event_holds_is_told_once(meta: SessionMeta) -> None:
    """With its own string, not with the message as well."""
    events = [Noted(0, {"text": "so "}), Noted(1000, {"text": VALUE})]
    findings = default_scrubber(known=[VALUE]).verify(meta, lambda: iter(events))

    assert findings == ("service-events: 1 ms: rule declared matches (once)",)


def test_long_messages_are_given_in_parts_that_overlap() -> None:
    """Memory does not grow with a stream, and nothing hides on a cut."""
    deltas = Deltas()
    text = "".join(chr(65 + number % 50) for number in range(40_000))
    given = [
        message.text()
        for at in range(0, len(text), 100)
        for message in deltas.add({"text": text[at : at + 100]}, at)
    ]
    rest = [message.text() for message in deltas.rest()]

    assert given[0] == given[1] == text[:32800]
    assert rest[0].endswith(text[32800:])
    assert len(rest[0]) >= 40_000 - 32_800 + 2048


def test_many_places_are_not_kept_for_ever() -> None:
    """A stranger chooses the keys."""
    deltas = Deltas()
    given = [
        message.text()
        for number in range(5000)
        for message in deltas.add({f"k{number}": str(number)}, 0)
    ]

    assert given[0] == "0"
    assert len([*deltas.rest()]) < 4097


def test_messages_come_in_the_order_of_their_places() -> None:
    """Whatever seed the hashes of strings have: runs of the same events give the same report."""
    deltas, joined = Deltas(), Joined()
    payload = {key: {f"l{at}": key for at in range(20)} for key in "pq"}
    list(deltas.add(payload, 0))
    list(joined.add(payload))

    assert [one.text() for one in deltas.rest()] == ["p", "pq"] * 20 + ["q"] * 20
    assert [one.text for one in joined.rest()] == ["p"] * 20 + ["q", "pq"] * 20
