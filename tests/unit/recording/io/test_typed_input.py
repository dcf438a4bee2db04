"""Keys of a user on their way: to the program, into the journal, and what is secret of them."""

from __future__ import annotations

import os
import pty
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptycassette.model.records import Harness, SessionMeta, Typed
from ptycassette.model.screen import Size
from ptycassette.recording.io._interactive import TypedInput
from ptycassette.recording.io.compiled_relay import SECRET_OFF, SECRET_ON, UserScreen
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.saver import JournalSource
from ptycassette.system.pty.process import new_poll

META = SessionMeta(id="a", argv=("x",), size=Size(5, 20), recorded_at="", harness=Harness(name="x"))
KEY = b"\x1d"


class Place:
    """A terminal, a journal, and what was told of secrets."""

    def __init__(self, folder: Path) -> None:
        self.master, self.slave = pty.openpty()
        self.journal = JournalFile(META, directory=folder)
        self.told: list[bool] = []

    def typed(self) -> list[tuple[bytes, bool]]:
        """What the journal holds: the bytes, and whether they were typed unseen."""
        self.journal.flush()
        events = JournalSource(self.journal.path)()
        return [(event.data, event.masked) for event in events if isinstance(event, Typed)]

    def input(self, key: bytes = b"") -> TypedInput:
        """What is tested."""
        return TypedInput(self.master, self.journal, secret_key=key, on_secret=self.told.append)

    def set_modes(self, change: Callable[[int], int]) -> None:
        """Change the local modes, and take everything as it comes."""
        modes = termios.tcgetattr(self.slave)
        modes[3] = change(modes[3])
        termios.tcsetattr(self.slave, termios.TCSANOW, modes)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Closed at the end."""
    place = Place(tmp_path)
    yield place
    place.journal.close()
    os.close(place.master)
    os.close(place.slave)


@pytest.mark.parametrize("data", [b"pass\r", b"p", b"\x15"])
def test_what_is_typed_without_echo_is_masked_and_kept(place: Place, data: bytes) -> None:
    """The journal is private; whoever recovers it must know what to scrub."""
    place.set_modes(lambda modes: modes & ~termios.ECHO)
    place.input().type(1, data)

    assert place.typed() == [(data, True)]


@pytest.mark.parametrize("off", [0, termios.ICANON, termios.ICANON | termios.ECHO])
def test_what_is_echoed_or_read_raw_is_not_masked(place: Place, off: int) -> None:
    """The screen tells of the latter, later."""
    place.set_modes(lambda modes: modes & ~off)
    place.input().type(1, b"ls\r")

    assert place.typed() == [(b"ls\r", False)]


@pytest.mark.parametrize(
    ("reads", "typed", "told"),
    [
        ([b"a", KEY, b"b", b"c\r", b"d"],
         [(b"a", False), (b"b", True), (b"c\r", True), (b"d", False)], [True, False]),
        ([b"a" + KEY + b"bc\rd"], [(b"a", False), (b"bc\r", True), (b"d", False)], [True, False]),
        ([KEY, b"b" + KEY, b"c\r"], [(b"b", True), (b"c\r", False)], [True, False]),
        ([KEY], [], [True]),
        ([KEY, b"\r"], [(b"\r", True)], [True, False]),
    ],
    ids=["keys", "one read", "off again", "alone", "empty"],
)  # fmt: skip
def test_what_is_typed_after_the_key_is_masked_up_to_enter(
    place: Place, reads: list[bytes], typed: list[tuple[bytes, bool]], told: list[bool]
) -> None:
    """The program does not get the key."""
    place.set_modes(lambda modes: modes & ~(termios.ICANON | termios.ECHO | termios.ICRNL))
    typing = place.input(KEY)
    for data in reads:
        typing.type(1, data)

    assert place.typed() == typed
    assert place.told == told


def test_the_key_is_a_key_where_it_was_not_chosen(place: Place) -> None:
    """Every key has a meaning in some program."""
    place.input().type(1, b"a" + KEY + b"b")

    assert place.typed() == [(b"a" + KEY + b"b", False)]


def test_the_screen_shows_once_that_a_secret_is_typed() -> None:
    """And that it no longer is."""
    reading, writing = os.pipe()
    screen = UserScreen(writing, new_poll(), on_lost=lambda: None)
    for on in (False, True, True, False, False):
        screen.mark_secret(on)
    os.close(writing)

    assert os.read(reading, 999) == SECRET_ON + SECRET_OFF
    os.close(reading)
