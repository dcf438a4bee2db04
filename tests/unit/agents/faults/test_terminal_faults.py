"""Each fault of the terminal is what it says, on the stream that a driver gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from ptycassette.agents.faults.registry import FAULTS, TERMINAL_FAULTS, fault_lines, parse_fault
from ptycassette.errors import NotFoundError, UsageError
from ptycassette.model.records import (
    ExitStatus,
    Finished,
    FrameRecord,
    InputRecord,
    Output,
    Resized,
    Typed,
)
from ptycassette.model.screen import Cursor, Size
from ptycassette.replaying.standin.comparison import Listen, Play, RunEnded, StandinOptions
from ptycassette.replaying.standin.engine import StandinEngine
from ptycassette.replaying.standin.faulty import faulty_engine
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.testing import events_of

SIZE, LATER = Size(10, 60), Size(12, 70)
SHOWN = FrameRecord(
    seq=0, t_ms=1, size=SIZE, text=("Agent", "\u276f"), cursor=Cursor(1, 2, visible=True),
    raw_start=0, raw_end=9, parser_offset=9,
)  # fmt: skip
EVENTS = events_of(
    Output(0, "\x1b[>4;0m\x1b[2J\x1b[HAgent\r\n\u276f ".encode()),
    SHOWN,
    Typed(2_000, b"h"),
    Output(3_000, b"h"),
    Typed(4_000, b"i"),
    Output(5_000, b"i"),
    Typed(6_000, b"\r"),
    Output(7_000, b"\r\n\x1b[36mworking\x1b[0m"),
    Output(8_000, "\r\x1b[Kdéjà vu: a \u276f b".encode()),
    Output(9_000, " end\r\n\u276f ".encode()),
    Resized(10_000, LATER),
    Output(11_000, "\x1b[2J\x1b[Hrepainted\r\n\u276f ".encode()),
    Typed(12_000_000, b"/quit\r"),
    Output(12_001_000, b"\r\nbye\r\n"),
    Finished(t_us=12_002_000, exit=ExitStatus(code=0, exited=True, signaled=False)),
)
OUTPUT = b"".join(event.data for event in EVENTS if event.kind == "output")
FIRST = EVENTS[0].data
TALK = (b"hi\r", LATER, b"/quit\r")
STEP_US = 3_000_000


class Played(NamedTuple):
    """What a driver got: pieces, and the end; what was found."""

    pieces: list[bytes]
    waits_us: list[int]
    ended: RunEnded | None
    engine: StandinEngine

    @property
    def data(self) -> bytes:
        """All of it."""
        return b"".join(self.pieces)


def engine_of(fault: str) -> StandinEngine:
    """Plays the events with a fault."""
    inputs = [event.record for event in EVENTS if isinstance(event.record, InputRecord)]
    return faulty_engine(
        parse_fault(fault),
        lambda: iter(EVENTS),
        inputs,
        recorded=SIZE,
        met=lambda: None,
        options=StandinOptions(recorded_size=SIZE),
        size=SIZE,
    )


def play(fault: str, *talk: bytes | Size) -> Played:
    """A driver that acts whenever the stand-in waits for it, three seconds later."""
    engine = engine_of(fault)
    pieces, waits, now_us = [], [], 0
    for said in (*talk, None):
        until_us = now_us + 20_000_000
        while now_us < until_us:
            match engine.step(now_us):
                case Play(event=event):
                    pieces.append(event.data)
                case Listen(us=us) if us is not None and us < STEP_US - 1_000_000:
                    waits.append(us)
                    now_us += us
                case RunEnded() as ended:
                    return Played(pieces, waits, ended, engine)
                case _:
                    break
        now_us += STEP_US
        if isinstance(said, Size):
            engine.resized(said, now_us)
        elif said is not None:
            engine.feed(said, now_us)
    return Played(pieces, waits, None, engine)


def rows(data: bytes, size: Size = SIZE) -> Sequence[str]:
    """The screen after some output, which leaves no sequence open."""
    screen = PyteEmulator(size)
    screen.feed(data)
    assert screen.pending == 0
    return screen.snapshot().rows


def cut_characters(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Pieces that are no text by themselves."""
    for piece in pieces:
        try:
            piece.decode()
        except UnicodeDecodeError:
            yield piece


def test_chunks_are_split_where_it_hurts() -> None:
    """All bytes come, none is changed; some pieces end within a sequence or a character."""
    played = play("chunks-split", *TALK)

    assert played.data == OUTPUT
    assert len(list(cut_characters(played.pieces))) >= 8
    assert b"\x1b" in {piece[-1:] for piece in played.pieces}
    assert not any(b"\r\n" in piece for piece in played.pieces)
    assert max(played.waits_us) == 1000


def test_nobody_is_kept_waiting_who_has_gone() -> None:
    """Pieces come at once when the terminal is closed, and none when nothing can be written."""
    engine = engine_of("chunks-split")
    assert isinstance(engine.step(0), Listen)
    engine.input_ended()
    shown = engine.step(0)
    engine.stop()

    assert isinstance(shown, Play)
    assert engine.step(0) == RunEnded(None, complete=False)


def test_chunks_are_merged() -> None:
    """One piece each time that the driver is waited for."""
    played = play("chunks-merged", *TALK)

    assert played.data == OUTPUT
    assert len(played.pieces) == 4
    assert b"working" in played.pieces[1]
    assert played.pieces[1].endswith("end\r\n\u276f ".encode())


def test_output_stalls() -> None:
    """In the middle of the answer, once, for the time that was asked for."""
    played = play("stall:1.5", *TALK)
    answer = b"".join(event.data for event in EVENTS if 7_000 <= event.t_us <= 9_000)
    ends = [sum(map(len, played.pieces[:number])) for number in range(len(played.pieces))]

    assert played.data == OUTPUT
    assert len(FIRST) + len(b"hi") + len(answer) // 2 in ends
    assert played.waits_us == [1_500_000]


def test_garbage_is_none_for_a_terminal() -> None:
    """It is no UTF-8, and leaves the screen as it was."""
    played = play("garbage-bytes", *TALK)
    (garbage,) = set(played.pieces) - {event.data for event in EVENTS}

    assert played.data.replace(garbage, b"") == OUTPUT
    assert list(cut_characters([garbage]))
    assert rows(played.data, LATER) == rows(OUTPUT, LATER)
    assert rows(FIRST + garbage) == rows(FIRST)


def test_the_prompt_is_renamed_where_it_stands() -> None:
    """Not within an answer, nor in a sequence."""
    played = play("prompt-renamed", *TALK)

    assert played.data.count("\u00bb ".encode()) == 3
    assert "a \u276f b".encode() in played.data
    assert played.data.replace("\u00bb".encode(), "\u276f".encode()) == OUTPUT


@pytest.mark.parametrize(
    ("fault", "exit_status", "data"),
    [
        ("early-eof", ExitStatus(code=0, exited=True, signaled=False), None),
        ("exit-code:7", ExitStatus(code=7, exited=True, signaled=False), OUTPUT),
        ("exit-code:0", ExitStatus(code=1, exited=True, signaled=False), OUTPUT),
        ("exit-signal", ExitStatus(code=-1, signal="killed", exited=False, signaled=True), OUTPUT),
    ],
)
def test_the_program_ends_otherwise(
    fault: str, exit_status: ExitStatus, data: bytes | None
) -> None:
    """And that is no divergence of the driver's."""
    played = play(fault, *TALK)

    assert played.ended == RunEnded(exit_status)
    assert played.data == (data or played.data)
    assert len(OUTPUT) / 4 < len(played.data) <= len(OUTPUT)
    assert OUTPUT.startswith(played.data)
    assert not played.engine.unplayed()
    assert not played.engine.diverged


@pytest.mark.parametrize(
    ("fault", "talk"),
    [
        ("trust-screen", (b"x\r", *TALK)),
        ("trust-screen", (b"1", *TALK)),
        ("trust-screen", (b"\x1b[13u", *TALK)),  # as kitty sends Enter
        ("trust-screen", (b"\x1bOM", *TALK)),  # as a numeric keypad sends Enter
        ("trust-screen", (b"\x1b[200~1\x1b[201~", *TALK)),
        ("quota-screen", (b"hi\r", b"\x1b[27;1;13~", b"hi\r", *TALK[1:])),
        ("quota-screen", (b"hi\r", b"\r", b"hi\r", *TALK[1:])),
        ("quota-screen@2", (b"hi\r", LATER, b"/quit\r", b"\r", b"\r")),
        ("enter-dropped", TALK),
        ("paste-enter-race", (b"hi\r", b"\r", LATER, b"/quit", b"\r")),
        ("paste-enter-race@2", (b"hi\r", LATER, b"\x1b[200~/quit\x1b[201~\r", b"\r")),
    ],
)
def test_whoever_is_ready_goes_on_as_recorded(fault: str, talk: tuple[bytes | Size, ...]) -> None:
    """All that was recorded comes, and the screens are the recorded ones."""
    played = play(fault, *talk)

    assert played.ended == RunEnded(ExitStatus(code=0, exited=True, signaled=False))
    assert not played.engine.diverged
    assert [piece for piece in played.pieces if piece in {event.data for event in EVENTS}] == [
        event.data for event in EVENTS if event.kind == "output"
    ]
    assert rows(played.data, LATER) == rows(OUTPUT, LATER)


def test_enter_is_lost_while_the_dialog_renders() -> None:
    """It is painted again and again, the same; what was typed meanwhile is not lost."""
    played = play("enter-dropped", b"hi\r")
    engine = engine_of("enter-dropped")
    while isinstance(engine.step(0), Play):
        pass
    engine.feed(b"hi\r", 1)
    steps = [engine.step(at_us) for at_us in range(0, 9_000_000, 50_000)]
    got = b"".join(todo.event.data for todo in steps if isinstance(todo, Play))

    assert len(played.waits_us) == 5
    assert {tuple(rows(piece)) for piece in played.pieces[1:6]} == {tuple(rows(FIRST))}
    assert got.endswith(b"hi")
    assert b"working" not in got


def test_nothing_is_painted_for_a_resize() -> None:
    """What comes later is there."""
    played = play("resize-ignored", *TALK)

    assert b"repainted" not in played.data
    assert played.data.endswith(b"bye\r\n")
    assert not played.engine.diverged


@pytest.mark.parametrize(
    ("fault", "talk", "code"),
    [
        ("login-screen", (b"\r", b"\x1b"), 1),
        ("trust-screen", (b"2",), 1),
        ("endless-spinner", (b"hi\r", b"\x03"), 130),
        ("login-screen", (b"\x1b[13;1u", b"\x1b[27u"), 1),
        ("trust-screen", (b"\x1b[50u",), 1),
        ("quota-screen", (b"hi\r", b"\x1b[27u"), 1),
        ("endless-spinner", (b"hi\r", b"\x1b[99;5u"), 130),
    ],
)
def test_a_screen_of_a_fault_can_be_left(fault: str, talk: tuple[bytes, ...], code: int) -> None:
    """Then the program ends, and nothing of the recording's came behind it."""
    played = play(fault, *talk)

    assert played.ended == RunEnded(ExitStatus(code=code, exited=True, signaled=False))
    assert b"end\r\n" not in played.data


def test_a_spinner_spins() -> None:
    """Ten times a second, for as long as somebody looks; a signal ends it."""
    played = play("endless-spinner", b"hi\r")
    screen = rows(b"".join(played.pieces[:-1])), rows(played.data)
    played.engine.signalled("term", 10**12)

    assert screen[0] != screen[1]
    assert set(played.waits_us) == {100_000}
    assert played.engine.step(10**12) == RunEnded(None, complete=False, killed_by="term")


def test_faults_are_read_and_listed() -> None:
    """Each once, with its number and place."""
    for name, kind in FAULTS.items():
        spec = parse_fault(f"{name}:2@3" if kind.number else f"{name}@3")
        assert (spec.name, spec.at, spec.value) == (name, 3, 2 if kind.number else 0)
        assert sum(name in line.split("[")[0].split() for line in fault_lines()) == 1
    assert {kind.name for kind in TERMINAL_FAULTS.values()} < set(FAULTS)


@pytest.mark.parametrize(
    "text",
    ["late", "stall:x", "stall:601", "early-eof:2", "stall@0", "stall@x", "exit-code:256", ""],
)
def test_what_is_no_fault_is_refused(text: str) -> None:
    """With a message for whoever wrote it."""
    with pytest.raises(UsageError):
        parse_fault(text)


def test_faults_that_cannot_be_met_are_refused() -> None:
    """Of the provider, or at an input that there is not."""
    with pytest.raises(UsageError, match="fork --fault rate-limit"):
        play("rate-limit")
    with pytest.raises(NotFoundError, match="the recording has 2"):
        play("stall@3")


def test_nothing_of_keys_happens_over_pipes() -> None:
    """Other faults do: there is one answer, which has a middle, and an end."""
    events = events_of(Output(0, b"half"), Output(1, b" more"), Finished(t_us=2))
    got = {}
    for name in ("login-screen", "enter-dropped", "early-eof", "exit-code"):
        engine = faulty_engine(
            parse_fault(name), lambda: iter(events), (), recorded=SIZE, met=lambda: None,
            options=StandinOptions(stdin_is_stream=True),
        )  # fmt: skip
        data = b""
        while not isinstance(todo := engine.step(0), RunEnded):
            data += todo.event.data if isinstance(todo, Play) else b""
        got[name] = data, todo.exit.code if todo.exit else None

    assert got == {
        "login-screen": (b"half more", None),
        "enter-dropped": (b"half more", None),
        "early-eof": (b"half", 0),
        "exit-code": (b"half more", 1),
    }


RECOVERABLE = [
    name for name, kind in TERMINAL_FAULTS.items() if not kind.fatal and name != "resize-ignored"
]


@pytest.mark.parametrize("gives_up", ["closes", "signals", "waits", "leaves"])
@pytest.mark.parametrize("name", RECOVERABLE)
@pytest.mark.parametrize("talk", [(), (b"hi\r",)])
def test_a_driver_that_gives_up_at_a_fault_does_not_survive_it(
    name: str, talk: tuple[bytes, ...], gives_up: str
) -> None:
    """Also where it swallows its failure: what it did not send is missing, if it met the fault."""
    engine = engine_of(name)
    now_us = 0
    for said in (*talk, None):
        while not isinstance(engine.step(now_us), Listen | RunEnded):
            pass
        now_us += STEP_US
        if said is not None:
            engine.feed(said, now_us)
    match gives_up:
        case "closes":
            engine.input_ended()
        case "signals":
            engine.signalled("term", now_us)
        case "leaves":
            engine.feed(b"\x1b", now_us)
            engine.input_ended()
    for _ in range(10_000):
        now_us += STEP_US
        if isinstance(engine.step(now_us), RunEnded):
            break
    else:
        engine.input_ended()
        while not isinstance(engine.step(now_us), RunEnded):
            pass

    assert engine.diverged
