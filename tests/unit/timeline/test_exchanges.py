"""Exchanges: one stretch of input up to the next, with the output it caused."""

from __future__ import annotations

from ptycassette.model import Finished, Noted, Output, Resized, Signalled, Size, Typed
from ptycassette.testing import events_of
from ptycassette.timeline import exchanges


def test_what_is_said_before_any_input_is_exchange_zero() -> None:
    """The greeting has no input; the first input starts exchange 1."""
    greeting, first = exchanges(events_of(Output(0, b"$ "), Typed(5, b"ls\r"), Output(9, b"a b")))

    assert (greeting.number, greeting.typed, greeting.output) == (0, b"", b"$ ")
    assert (first.number, first.typed, first.output) == (1, b"ls\r", b"a b")


def test_input_without_output_between_is_one_stretch() -> None:
    """Keys, a resize and a signal in a row belong together."""
    (only,) = exchanges(
        events_of(
            Typed(1, b"a"),
            Resized(2, Size(rows=5, cols=30)),
            Noted(3, "hook"),
            Signalled(4, "int"),
            Typed(5, b"b"),
            Output(6, b"ab"),
        )
    )

    assert (only.number, only.typed, only.output) == (1, b"ab", b"ab")
    assert [event.seq for event in only.inputs] == [1, 2, 4, 5]


def test_output_ends_a_stretch_of_input() -> None:
    """An echoed key is an exchange of its own."""
    found = list(
        exchanges(
            events_of(
                Typed(1, b"l"), Output(2, b"l"), Typed(3, b"s"), Output(4, b"s"), Finished(t_us=5)
            )
        )
    )

    assert [(one.number, one.typed, one.output) for one in found] == [
        (1, b"l", b"l"),
        (2, b"s", b"s"),
    ]
    assert found[1].answers[-1].kind == "final"


def test_answers_of_the_terminal_start_nothing() -> None:
    """What the terminal answers to a query is nobody's input."""
    (only,) = exchanges(
        events_of(
            Output(0, b"\x1b[6n"), Typed(1, b"\x1b[1;1R", source="terminal"), Output(2, b"ok")
        )
    )

    assert (only.number, only.inputs, len(only.answers)) == (0, (), 3)


def test_bounds_of_an_exchange() -> None:
    """First and last seq and the time of its start."""
    greeting, first = exchanges(events_of(Output(7, b"$ "), Typed(8, b"x"), Noted(9, 1)))

    assert (greeting.first_seq, greeting.last_seq, greeting.t_us) == (1, 1, 7)
    assert (first.first_seq, first.last_seq, first.t_us) == (2, 3, 8)


def test_a_note_inside_typing_does_not_hide_the_last_seq() -> None:
    """The last seq is the last of inputs and answers together."""
    (only,) = exchanges(events_of(Typed(1, b"a"), Noted(2, 1), Typed(3, b"b")))

    assert only.last_seq == 3


def test_no_events_no_exchanges() -> None:
    """Nothing in, nothing out."""
    assert list(exchanges([])) == []
