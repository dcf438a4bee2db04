"""Answers of a terminal, told apart from what somebody types, however both come."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette import open_cassette
from ptycassette.agents.rerun.script import script_of
from ptycassette.cassette.timeline.exchange_cutting import exchanges
from ptycassette.keys.reader import AnswerReader, is_answer
from ptycassette.model.records import JournalEvent, Output, Resized, Typed
from ptycassette.model.screen import Size
from ptycassette.recording.sink_writer import answers_apart
from ptycassette.testing import write_cassette

ANSWERS = {
    "DA1": b"\x1b[?62;22c",
    "DA2": b"\x1b[>41;388;0c",
    "DA3": b"\x1bP!|7E565445\x1b\\",
    "DSR": b"\x1b[0n",
    "CPR": b"\x1b[12;40R",
    "DECXCPR": b"\x1b[?12;40;1R",
    "colour of the palette": b"\x1b]4;7;rgb:e5e5/e5e5/e5e5\x1b\\",
    "foreground": b"\x1b]10;rgb:ffff/ffff/ffff\x07",
    "background": b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
    "cursor's colour": b"\x1b]12;rgb:ffff/0/0\x1b\\",
    "clipboard": b"\x1b]52;c;aGk=\x1b\\",
    "title": b"\x1b]lmy window\x1b\\",
    "kitty's keyboard": b"\x1b[?31u",
    "kitty's graphics": b"\x1b_Gi=31;OK\x1b\\",
    "DECRQM": b"\x1b[?2026;2$y",
    "DECRQM of ANSI": b"\x1b[4;2$y",
    "DECRQSS": b"\x1bP1$r0m\x1b\\",
    "XTVERSION": b"\x1bP>|kitty(0.41.1)\x1b\\",
    "XTGETTCAP": b"\x1bP1+r544e=787465726d\x1b\\",
    "XTWINOPS 14": b"\x1b[4;600;800t",
    "XTWINOPS 18": b"\x1b[8;24;80t",
    "in-band resize": b"\x1b[48;24;80;480;640t",
    "where the window is": b"\x1b[3;-5;10t",
    "XTQMODKEYS": b"\x1b[>4;2m",
    "XTSMGRAPHICS": b"\x1b[?1;0;256S",
    "light or dark": b"\x1b[?997;1n",
    "DECREQTPARM": b"\x1b[2;1;1;120;120;1;0x",
    "focus": b"\x1b[I",
    "no focus": b"\x1b[O",
}
KEYS = [
    *(b"a", "é".encode(), b" ", b"\r", b"\x7f", b"\x03", b"\x1b[A", b"\x1bOP", b"\x1b[1;5C"),
    *(b"\x1b[3~", b"\x1b[97;5u", b"\x1b[200~x \x1b[?1;2c y\x1b[201~", b"\x1b[<0;3;4M", b"\x1b[Z"),
    *(b"hello", b"\x1b[13;2u", b"\x1b[1;2R"),
]
tokens = st.lists(st.sampled_from([*ANSWERS.values(), *KEYS]), max_size=8)


def told_apart(pieces: list[bytes], output: bytes = b"") -> tuple[bytes, bytes]:
    """The answers, and what was typed, of input that came in these pieces."""
    events: list[JournalEvent] = [Output(0, output)]
    for number, piece in enumerate(pieces):
        events += [Typed(number * 1000, piece), Output(number * 1000, b".")]
    typed = [event for event in answers_apart(events) if isinstance(event, Typed)]
    return tuple(
        b"".join(event.data for event in typed if (event.source == "terminal") == answer)
        for answer in (True, False)
    )  # type: ignore[return-value]


def cut(data: bytes, places: list[int]) -> Iterator[bytes]:
    """The pieces between some places."""
    ends = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    for start, end in itertools.pairwise(ends):
        if data[start:end]:
            yield data[start:end]


@pytest.mark.parametrize("name", ANSWERS)
def test_each_kind_of_answer_is_known(name: str) -> None:
    """Alone, between keys, in two reads, and beside another one."""
    answer = ANSWERS[name]

    assert told_apart([answer]) == (answer, b"")
    assert told_apart([b"a" + answer + b"b"]) == (answer, b"ab")
    assert told_apart([answer + answer]) == (answer * 2, b"")
    for place in range(2, len(answer) if "focus" not in name else 0):
        assert told_apart([answer[:place], answer[place:] + b"q"]) == (answer, b"q")


@given(parts=tokens, places=st.lists(st.integers(0, 400), max_size=8))
def test_law_of_pieces(parts: list[bytes], places: list[int]) -> None:
    """However a connection splits and merges it, all that was typed is typed, and nothing else.

    A piece may even end behind Escape; what somebody typed behind Escape is no answer.
    """
    wanted = tuple(
        b"".join(part for part in parts if (part in ANSWERS.values()) == answer)
        for answer in (True, False)
    )
    # A report of the focus is as long as a key: Escape and two letters are what they look like.
    split = [*cut(b"".join(parts), places)]
    if any(part in {b"\x1b[I", b"\x1b[O"} for part in parts):
        split = [b"".join(parts)]

    assert told_apart(split) == wanted


def test_what_may_be_a_key_is_an_answer_where_one_is_awaited() -> None:
    """The cursor in the first row looks like Shift-F3."""
    key = b"\x1b[1;2R"

    assert told_apart([key]) == (b"", key)
    assert told_apart([key, key], b"\x1b[6n") == (key, key)
    assert told_apart([b"\x1b[5;2R" + key], b"\x1b[6n") == (b"\x1b[5;2R", key)
    assert told_apart([b"\x1b[1", b";2Rx"], b"\x1b[?6n") == (key, b"x")


@pytest.mark.parametrize("query", [b"\x1b[6n", b"\x1b[?6n"])
def test_a_query_may_come_in_pieces(query: bytes) -> None:
    """As a program flushes it."""
    for place in range(len(query) + 1):
        reader = AnswerReader()
        for data in (b"text" * 9, b"a" + query[:place], query[place:], b"text" * 9):
            reader.output(data)
        reader.typed(b"\x1b[1;2R", focus=True)

        assert [part.answer for part in reader.take()[0]] == [True], place


def test_what_somebody_types_slowly_is_typed() -> None:
    """Escape, a bracket and so on are keys, and the rest of an answer comes within a second."""
    events = [Typed(at, key) for at, key in ((0, b"\x1b"), (2_000_000, b"[?1;2c"))]

    assert list(answers_apart(events)) == events
    assert told_apart([b"\x1b", b"]", b"]", b"\x07"]) == (b"", b"\x1b]]\x07")


def test_answers_are_apart_in_their_place_among_other_events() -> None:
    """Also where a password is read, which they are no part of, and what a driver sent is its."""
    events: list[JournalEvent] = [
        Typed(1, b"\x1b[?6", masked=True),
        Resized(2, Size(rows=5, cols=5)),
        Typed(3, b"2cpass\r", masked=True),
        Typed(4, b"\x1b[I", "driver"),
        Typed(5, b"\x1b[?1;2c", paste=True),
    ]

    assert list(answers_apart(events)) == [
        Typed(1, b"\x1b[?6", "terminal"),
        Resized(2, Size(rows=5, cols=5)),
        Typed(3, b"2c", "terminal"),
        Typed(3, b"pass\r", masked=True),
        *events[3:],
    ]


@given(data=st.lists(st.binary(max_size=12), max_size=6), focus=st.booleans())
def test_law_of_bytes(data: list[bytes], focus: bool) -> None:
    """No byte is lost, and none moves to another piece."""
    reader = AnswerReader()
    for piece in data:
        reader.typed(piece, focus=focus)

    assert [b"".join(part.data for part in stretches) for stretches in reader.take()] == data
    assert not is_answer(b"\x1b[1;2R")


def test_answers_in_a_recording_that_has_them_as_input_are_marked_as_it_is_read(
    tmp_path: Path,
) -> None:
    """Earlier recorders wrote them as what the user typed; a record that is mixed is cut."""
    write_cassette(
        tmp_path / "c",
        Output(0, b"\x1b[c\x1b]11;?\x07\x1b[6n"),
        Typed(1000, b"\x1b[?62;22c\x1b]11;rgb:0/0"),
        Output(2000, b"."),
        Typed(3000, b"/0\x07hi"),
        Typed(4000, b"\x1b[1;2R"),
        Output(5000, b"."),
        Typed(6000, b"\x1b[1;2R\r"),
        Typed(7000, b"\x1b[I"),
    )
    with open_cassette(tmp_path / "c") as cassette:
        inputs = list(cassette.inputs())
        events = [event for event in cassette.events() if event.kind == "input"]

    assert [(one.source, one.bytes) for one in inputs] == [
        ("terminal", b"\x1b[?62;22c\x1b]11;rgb:0/0"),
        ("user", b"hi"),
        ("terminal", b"\x1b[1;2R"),
        ("user", b"\x1b[1;2R\r"),
        ("terminal", b"\x1b[I"),
    ]
    with open_cassette(tmp_path / "c") as cassette:
        steps = script_of(cassette.events()).steps
        places = [exchange.typed for exchange in exchanges(cassette.events()) if exchange.inputs]

    assert [step.record.bytes for step in steps] == [b"hi", b"\x1b[1;2R\r"]
    assert places == [b"hi", b"\x1b[1;2R\r"]
    assert [event.record for event in events] == inputs
    assert [event.data for event in events] == [one.bytes for one in inputs]
