"""Exchanges: one stretch of input up to the next, with the output it caused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptycassette import open_cassette
from ptycassette.model import Finished, Noted, Output, Resized, Signalled, Size, Typed
from ptycassette.testing import events_of
from ptycassette.timeline import exchanges

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
IDLE, WORKING = b"\x1b]7501;state=idle\x07", b"\x1b]7501;state=working\x07"


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


def test_a_program_that_marks_its_turns_is_cut_by_them() -> None:
    """Typing, its echoes and what is typed while it works are one exchange, up to its end."""
    found = list(
        exchanges(
            events_of(
                Output(0, IDLE),
                Typed(1, b"h"),
                Output(2, b"h"),
                Typed(3, b"i"),
                Output(4, b"i"),
                Typed(5, b"\r"),
                Output(6, WORKING),
                Typed(7, b"y"),
                Output(8, b"ok" + IDLE),
                Output(9, b"> "),
                Typed(10, b"/quit\r"),
                Output(11, b"bye"),
            )
        )
    )

    assert [(one.number, one.typed, one.done_seq) for one in found] == [
        (0, b"", 1),
        (1, b"hi\ry", 9),
        (2, b"/quit\r", None),
    ]
    assert found[1].last_seq == 10


@pytest.mark.parametrize(
    ("typed", "stretches"),
    [
        ([b"ab", b"\x1b[D", b"\x7f", b"c", b"\r"], 1),
        ([b"ab", b"\x1b", b"c\r"], 2),
        ([b"ab", b"\x03", b"c\r"], 2),
        ([b"\x1b[200~a\nb\x1b[201~", b"\r", b"x"], 2),
        ([b"\x1b[A", b"\x1b[B", b"\r"], 3),
        ([b"a\r", b"b\r"], 2),
    ],
)
def test_typing_goes_on_until_it_is_sent_off_or_given_up(
    typed: list[bytes], stretches: int
) -> None:
    """Between turns: keys that edit do not end it; Enter, ctrl-c and Escape do."""
    events = [Output(0, IDLE)]
    for number, data in enumerate(typed, start=1):
        events += [Typed(2 * number, data), Output(2 * number + 1, b"echo")]

    assert len(list(exchanges(events_of(*events)))) == 1 + stretches


def test_a_resize_in_the_middle_of_typing_does_not_cut_it() -> None:
    """What was typed still waits for its Enter."""
    found = list(
        exchanges(
            events_of(
                Output(0, IDLE),
                Typed(1, b"a"),
                Output(2, b"a"),
                Resized(3, Size(rows=5, cols=30)),
                Output(4, b"redrawn"),
                Typed(5, b"b\r"),
            )
        )
    )

    assert [one.typed for one in found] == [b"", b"ab\r"]


def test_a_paste_marked_by_the_recorder_waits_for_its_enter() -> None:
    """Also when the program did not ask for brackets."""
    found = list(
        exchanges(
            events_of(
                Output(0, IDLE),
                Typed(1, b"pasted\x1b[x", paste=True),
                Output(2, b"echo"),
                Typed(3, b"\r"),
            )
        )
    )

    assert [one.typed for one in found] == [b"", b"pasted\x1b[x\r"]


def test_input_to_a_command_of_a_shell_is_cut_as_ever() -> None:
    """A prompt mark says that something runs, not that it is one turn of it."""
    found = list(
        exchanges(
            events_of(
                Output(0, b"\x1b]133;A\x07$ "),
                Typed(1, b"r"),
                Output(2, b"r"),
                Typed(3, b"\r"),
                Output(4, b"\x1b]133;C\x07name? "),
                Typed(5, b"joe"),
                Output(6, b"joe"),
                Typed(7, b"\r"),
                Output(8, b"hello\x1b]133;D;0\x07"),
            )
        )
    )

    assert [(one.typed, one.done_seq) for one in found] == [
        (b"", 1),
        (b"r\r", None),
        (b"joe\r", 9),
    ]


def test_work_before_anybody_spoke_is_the_greeting() -> None:
    """Exchange 0 has no input, even when the program was busy when it came."""
    greeting, first = exchanges(events_of(Output(0, WORKING), Typed(1, b"x"), Output(2, IDLE)))

    assert (greeting.inputs, first.number, first.typed, first.done_seq) == ((), 1, b"x", 3)


def test_a_reset_forgets_the_turns() -> None:
    """Then every echoed key is an exchange again."""
    found = exchanges(
        events_of(
            Output(0, WORKING),
            Typed(1, b"a"),
            Output(2, b"\x1bc"),
            Typed(3, b"b"),
            Output(4, b"b"),
            Typed(5, b"c"),
        )
    )

    assert [one.typed for one in found] == [b"", b"a", b"b", b"c"]


def test_a_recorded_agent_is_cut_into_its_turns() -> None:
    """What was asked is one exchange with its Enter and its answer; so is an interrupted turn."""
    with open_cassette(FIXTURES / "agents" / "codex-tui") as cassette:
        found = list(exchanges(cassette.events()))

    assert [one.typed for one in found] == [
        b"",
        b"\x1b[200~What does note.txt say?\x1b[201~\r",
        b"",
        b"",
        b"/status\r",
        b"\x1b[200~Count slowly to twenty.\x1b[201~\r\x03",
        b"\x03",
    ]
    assert [one.done_seq is not None for one in found] == [
        True,
        True,
        False,
        False,
        False,
        True,
        True,
    ]
