"""The journal codec: layout, torn tails, corruption."""

from __future__ import annotations

import pytest
from record_doubles import PLAIN

from ptycassette.errors import JournalError
from ptycassette.model.records import (
    ExitStatus,
    Finished,
    JournalEvent,
    Noted,
    Output,
    Resized,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.recording.io.journal_file import JournalDecoder, JournalEncoder


def read(data: bytes, *, block: int = 1 << 20) -> tuple[list[JournalEvent], JournalDecoder]:
    """The events, and the decoder at its end."""
    decoder = JournalDecoder()
    events: list[JournalEvent] = []
    for at in range(0, len(data), block):
        events += decoder.feed(data[at : at + block])
    decoder.finish()
    return events, decoder


def journal(*events: JournalEvent, salt: int = 7) -> tuple[bytes, list[int]]:
    """A journal and the offsets at which its records end."""
    encoder = JournalEncoder(salt)
    data = encoder.begin(PLAIN)
    ends = [len(data)]
    for event in events:
        data += encoder.event(event)
        ends.append(len(data))
    return data, ends


EVENTS: tuple[JournalEvent, ...] = (
    Output(5, b"$ "),
    Typed(9, b"ls\r", key="enter"),
    Resized(11, Size(30, 100)),
    Output(12, b"\xff\x00\xc3"),
    Noted(13, {"a": [1, None, "x"]}),
    Finished(t_us=20, exit=ExitStatus(code=0, exited=True, signaled=False)),
)


def test_every_kind_of_event_survives() -> None:
    """What is encoded comes back, the head included."""
    data, _ = journal(*EVENTS)

    events, decoder = read(data)

    assert events == list(EVENTS)
    assert decoder.meta == PLAIN
    assert (decoder.torn_bytes, decoder.good_bytes) == (0, len(data))


def test_a_batch_keeps_every_read_and_its_moment() -> None:
    """Several reads in one record stay several output events."""
    encoder = JournalEncoder(1)
    data = encoder.begin(PLAIN)
    data += b"".join(encoder.batch([(100, 2), (130, 3)], memoryview(b"abcde")))

    events, _ = read(data)

    assert events == [Output(100, b"ab"), Output(130, b"cde")]


def test_a_key_comes_back_as_what_the_user_typed() -> None:
    """With the least work, and with the mark of a password where it is one."""
    encoder = JournalEncoder(1)
    data = encoder.begin(PLAIN) + encoder.key(5, b"ls\r") + encoder.key(6, b"***", masked=True)

    events, _ = read(data)

    assert events == [Typed(5, b"ls\r"), Typed(6, b"***", masked=True)]


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_of_any_size_give_the_same_events(block: int) -> None:
    """A record may be split over blocks anywhere."""
    data, _ = journal(*EVENTS)

    events, _ = read(data, block=block)

    assert events == list(EVENTS)


def test_a_cut_anywhere_drops_only_the_torn_record() -> None:
    """Whatever was whole before the cut is kept, and the rest is counted."""
    data, ends = journal(*EVENTS)

    for cut in range(ends[0], len(data)):
        events, decoder = read(data[:cut])
        whole = max(end for end in ends if end <= cut)

        assert events == list(EVENTS[: ends.index(whole)])
        assert decoder.torn_bytes == cut - whole


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\xa7jr\xf1", b"garbage" * 40])
def test_unwritten_blocks_at_the_end_are_a_torn_tail(tail: bytes) -> None:
    """After a power loss the end may be zeros or old bytes of the disk."""
    data, _ = journal(*EVENTS)

    events, decoder = read(data + tail, block=97)

    assert events == list(EVENTS)
    assert decoder.torn_bytes == len(tail)


def test_damage_with_records_behind_it_is_an_error() -> None:
    """A flipped bit anywhere before the last record is corruption, not a torn tail."""
    data, ends = journal(*EVENTS)

    for at in range(ends[0], ends[-2]):
        broken = bytearray(data)
        broken[at] ^= 0x10
        with pytest.raises(JournalError, match="with whole records after it"):
            read(bytes(broken), block=50)


def test_damage_in_the_last_record_is_a_torn_tail() -> None:
    """Nothing whole follows, so a crash explains it."""
    data, ends = journal(*EVENTS)
    broken = bytearray(data)
    broken[ends[-2] + 30] ^= 1

    events, decoder = read(bytes(broken))

    assert events == list(EVENTS[:-1])
    assert decoder.torn_bytes == ends[-1] - ends[-2]


def test_a_program_that_printed_a_journal_does_not_look_like_corruption() -> None:
    """Records inside of a torn record are no later records of this journal."""
    other, _ = journal(*EVENTS, salt=99)
    own, _ = journal(*EVENTS, salt=7)
    data, ends = journal(*EVENTS[:5], Output(14, other + own), salt=7)

    events, _ = read(data[:-3], block=31)

    assert events == list(EVENTS[:5])
    assert ends[-1] == len(data)


@pytest.mark.parametrize("length", [0, 5, 11, 12, 40])
def test_a_file_that_ends_before_its_head_says_so(length: int) -> None:
    """A recorder that died at its first write left nothing to recover."""
    data, _ = journal()

    with pytest.raises(JournalError, match="before its head"):
        read(data[:length])


def test_another_file_is_no_journal() -> None:
    """The first bytes decide."""
    with pytest.raises(JournalError, match="not a journal"):
        read(b"#!/bin/sh\n")


def test_a_newer_journal_is_named_so() -> None:
    """A later version of the layout is not mistaken for damage."""
    data, _ = journal()

    with pytest.raises(JournalError, match="version 2"):
        read(data[:7] + b"\x02" + data[8:])


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (2, b"\xc1", "cannot be understood"),
        (1, b"", "cannot be understood"),
        (1, b"\xff\xff\xff\xff", "cannot be understood"),
        (1, b"\x01\0\0\0\0\0\0\0\x01\0\0\0ab", "cannot be understood"),
        (3, b"", "cannot be understood"),
        (9, b"", "unknown kind 9"),
        (0, b"", "wrong place"),
    ],
)
def test_a_record_with_a_fitting_checksum_may_still_be_wrong(
    kind: int, body: bytes, message: str
) -> None:
    """A forged record raises the declared error and nothing else."""
    encoder = JournalEncoder(3)
    data = encoder.begin(PLAIN) + encoder.record(1, kind, body)

    with pytest.raises(JournalError, match=message):
        read(data)


def test_an_event_that_is_too_large_is_refused() -> None:
    """A journal takes 16 MiB per event; more is a mistake of the caller."""
    with pytest.raises(ValueError, match="takes"):
        JournalEncoder(0).event(Noted(0, "x" * (17 << 20)))
