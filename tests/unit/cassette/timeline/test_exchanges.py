"""Exchanges: one stretch of input up to the next, with the output it caused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptycassette import open_cassette
from ptycassette.cassette.timeline.exchange_cutting import exchanges
from ptycassette.model.records import (
    Event,
    Finished,
    JournalEvent,
    Noted,
    Output,
    Resized,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.testing import events_of

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
IDLE, WORKING = b"\x1b]7501;state=idle\x07", b"\x1b]7501;state=working\x07"


def spoken(*parts: bytes | str | JournalEvent) -> list[Event]:
    """Events in turn, at moments that follow on each other: bytes are output, text is typed."""
    items: list[JournalEvent] = []
    for t_us, part in enumerate(parts):
        match part:
            case bytes():
                items.append(Output(t_us, part))
            case str():
                items.append(Typed(t_us, part.encode()))
            case _:
                items.append(part)
    return events_of(*items)


CUT: dict[str, tuple[list[Event], list[tuple[int, bytes, int, int | None]]]] = {
    # events; of each exchange its number, what was typed, its last seq, and where its turn ends
    "nothing is no exchange": ([], []),
    "what is said before any input is exchange 0": (
        spoken(b"$ ", "ls\r", b"a b"), [(0, b"", 1, None), (1, b"ls\r", 3, None)]
    ),
    "output ends a stretch of input, so that an echoed key is one of its own": (
        spoken("l", b"l", "s", b"s", Finished(t_us=5)), [(1, b"l", 2, None), (2, b"s", 5, None)]
    ),
    "a note inside typing does not hide the last seq": (
        spoken("a", Noted(1, 1), "b"), [(1, b"ab", 3, None)]
    ),
    "a program that marks its turns is cut by them, with echoes and what is typed meanwhile": (
        spoken(
            IDLE, "h", b"h", "i", b"i", "\r", WORKING, "y", b"ok" + IDLE, b"> ", "/quit\r", b"bye"
        ),
        [(0, b"", 1, 1), (1, b"hi\ry", 10, 9), (2, b"/quit\r", 12, None)],
    ),
    "a resize in the middle of typing does not cut it": (
        spoken(IDLE, "a", b"a", Resized(3, Size(rows=5, cols=30)), b"redrawn", "b\r"),
        [(0, b"", 1, 1), (1, b"ab\r", 6, None)],
    ),
    "a paste marked by the recorder waits for its Enter, also without brackets": (
        spoken(IDLE, Typed(1, b"pasted\x1b[x", paste=True), b"echo", "\r"),
        [(0, b"", 1, 1), (1, b"pasted\x1b[x\r", 4, None)],
    ),
    "a paste waits for its Enter also while something else is a turn": (
        spoken(
            IDLE, "\x1b[200~hi\x1b[201~", b"hi", WORKING, IDLE, "\r", WORKING, b"ok" + IDLE,
            "/quit\r", b"bye",
        ),
        [(0, b"", 1, 1), (1, b"\x1b[200~hi\x1b[201~\r", 8, 8), (2, b"/quit\r", 10, None)],
    ),
    "an answer to a dialog is over with the turn that it began": (
        spoken(IDLE, "y", WORKING, b"ok" + IDLE, "next\r", b"x"),
        [(0, b"", 1, 1), (1, b"y", 4, 4), (2, b"next\r", 6, None)],
    ),
    "input to a command of a shell is cut as ever: its mark says only that something runs": (
        spoken(
            b"\x1b]133;A\x07$ ", "r", b"r", "\r", b"\x1b]133;C\x07name? ",
            "joe", b"joe", "\r", b"hello\x1b]133;D;0\x07",
        ),
        [(0, b"", 1, 1), (1, b"r\r", 5, None), (2, b"joe\r", 9, 9)],
    ),
    "work before anybody spoke is the greeting": (
        spoken(WORKING, "x", IDLE), [(0, b"", 1, None), (1, b"x", 3, 3)]
    ),
    "a reset forgets the turns": (
        spoken(WORKING, "a", b"\x1bc", "b", b"b", "c"),
        [(0, b"", 1, None), (1, b"a", 3, None), (2, b"b", 5, None), (3, b"c", 6, None)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CUT)
def test_a_session_is_cut_into_exchanges(name: str) -> None:
    """All of it, in order, with nothing between them."""
    events, wanted = CUT[name]
    found = list(exchanges(events))

    assert [(one.number, one.typed, one.last_seq, one.done_seq) for one in found] == wanted
    assert [one.first_seq for one in found] == [1, *(one.last_seq + 1 for one in found)][:-1]
    assert b"".join(one.output for one in found) == b"".join(
        event.data for event in events if event.kind == "output"
    )


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


@pytest.mark.parametrize(
    ("typed", "stretches"),
    [
        ([b"ab", b"\x1b[D", b"\x7f", b"c", b"\r"], 1),
        ([b"ab", b"\x1b", b"c\r"], 2),
        ([b"ab", b"\x1b[13u", b"c\r"], 2),
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
