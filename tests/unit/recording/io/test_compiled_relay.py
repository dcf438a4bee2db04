"""The compiled loop: what it writes, shows and leaves to its caller. It reads pipes and sockets."""

from __future__ import annotations

import errno
import os
import pty
import random
import select
import socket
import termios
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from ctypes import c_uint32
from pathlib import Path
from typing import Any

import pytest
from record_doubles import PLAIN

from ptycassette.model.records import JournalEvent, Output, Typed
from ptycassette.recording.io import compiled_relay
from ptycassette.recording.io.compiled_relay import CompiledRelay, RelayRun
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.saver import JournalSource
from ptycassette.system.pty.process import PURE_PYTHON


class Place:
    """A relay whose program is a socket, its user two pipes; a third pipe ends its runs."""

    def __init__(self, library: Any, folder: Path) -> None:
        # One message a read, as a terminal's chunks.
        self.program, self._master = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._master.setblocking(False)
        self._keys, self.typing = os.pipe()
        self.screen, self.out = os.pipe()
        self._stop, self.stopping = os.pipe()
        os.set_blocking(self.out, False)
        os.set_blocking(self.screen, False)
        self.journal = JournalFile(PLAIN, directory=folder)
        self.start_us = time.monotonic_ns() // 1000
        self.relay = CompiledRelay(
            library,
            master=self._master.fileno(),
            in_fd=self._keys,
            others=[self._stop],
            start_us=self.start_us,
        )

    def run(self, *, deadline_us: int | None = None, journal_fd: int | None = None) -> RelayRun:
        """One run, accounted for in the journal unless another file stood for it."""
        fd, salt, index = self.journal.for_relay() or (-1, 0, 0)
        run = self.relay.run(
            journal_fd=fd if journal_fd is None else journal_fd,
            salt=salt,
            index=index,
            out_fd=self.out,
            deadline_us=deadline_us,
        )
        if journal_fd is None:
            self.journal.appended(records=run.records, written=run.written, error=0)
        return run

    def stop(self) -> None:
        """End the run that goes on, or the next."""
        os.write(self.stopping, b"x")

    def events(self) -> list[JournalEvent]:
        """What is in the journal."""
        assert self.journal.path.stat().st_size == self.journal.size
        return list(JournalSource(self.journal.path)())

    def shown(self) -> bytes:
        """What is on the screen."""
        try:
            return os.read(self.screen, 1 << 20)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """Let go of everything."""
        self.program.close()
        self._master.close()
        self.journal.close()
        for fd in (self._keys, self.typing, self.screen, self.out, self._stop, self.stopping):
            os.close(fd)


@pytest.fixture
def place(compiled_library: Any, tmp_path: Path) -> Iterator[Place]:
    """A relay with everything around it."""
    made = Place(compiled_library, tmp_path)
    yield made
    made.close()


def run_beside(place: Place, *others: Callable[[], None], **options: int) -> RelayRun:
    """One run, while others act beside it."""
    threads = [threading.Thread(target=other) for other in others]
    for thread in threads:
        thread.start()
    run = place.run(**options)
    for thread in threads:
        thread.join()
    return run


def moments(events: list[JournalEvent]) -> list[int]:
    """When they were."""
    return [event.t_us for event in events if isinstance(event, Output | Typed)]


@pytest.mark.parametrize("tables_alone", [False, True])
@pytest.mark.parametrize(
    "count", [0, 1, 7, 8, 9, 63, 64, 65, 79, 80, 127, 128, 143, 256, 1000, 4095, 70_001]
)
def test_the_checksum_is_that_of_zlib(
    compiled_library: Any, count: int, *, tables_alone: bool
) -> None:
    """Of any length, and going on from another; also on processors that know no faster way."""
    data = random.Random(count).randbytes(count)
    state = compiled_relay._State()
    compiled_library.relay_prepare(state)
    state.folds = 0 if tables_alone else state.folds

    found = compiled_library.relay_crc32(state, data, count, 0xDEADBEEF)

    assert found == zlib.crc32(data, 0xDEADBEEF)


def test_output_is_in_the_journal_and_on_the_screen(place: Place) -> None:
    """As it came, with its moment, and counted."""
    place.program.send(b"hello\xff")

    def look() -> None:
        select.select([place.screen], [], [])
        place.stop()

    run = run_beside(place, look)

    (event,) = place.events()
    assert isinstance(event, Output)
    assert (run.records, event.data, place.shown()) == (1, b"hello\xff", b"hello\xff")
    assert 0 <= event.t_us <= time.monotonic_ns() // 1000 - place.start_us


def test_many_reads_make_one_batch(place: Place) -> None:
    """Each read keeps its own moment and its own bytes; nothing is lost over many batches."""
    source = random.Random(5)
    sent = [source.randbytes(count) for count in (1000, 512, 4095, 511, 600) * 10]
    for data in sent:
        place.program.send(data)
    received = bytearray()

    def look() -> None:
        while len(received) < sum(map(len, sent)):
            select.select([place.screen], [], [])
            received.extend(place.shown())
        place.stop()

    run = run_beside(place, look)

    events = place.events()
    assert received == b"".join(sent)
    assert [event.data for event in events if isinstance(event, Output)] == sent
    assert moments(events) == sorted(moments(events))
    assert run.records < len(events) / 2


def test_a_key_goes_to_the_program_and_before_its_echo(place: Place) -> None:
    """Both are in the journal, the key first."""

    def answer() -> None:
        data = place.program.recv(100)
        place.program.send(data.upper())
        select.select([place.screen], [], [])
        place.stop()

    before_us = time.monotonic_ns() // 1000 - place.start_us
    os.write(place.typing, b"x")
    run = run_beside(place, answer)

    key, echo = place.events()
    assert isinstance(key, Typed)
    assert isinstance(echo, Output)
    assert (key.data, key.masked, echo.data, place.shown()) == (b"x", False, b"X", b"X")
    assert before_us <= key.t_us <= echo.t_us
    assert run.key is None


@pytest.mark.parametrize("waits", [True, False], ids=["with silence", "at once"])
def test_keys_without_an_answer_are_in_the_journal_in_their_order(
    place: Place, *, waits: bool
) -> None:
    """After a moment of silence while the run goes on, or at its end; nobody waits for answers."""
    sizes = [place.journal.size]

    def look() -> None:
        for key in (b"x", b"y", b"z"):
            os.write(place.typing, key)
            place.program.recv(100)
            until = time.monotonic() + 60 * (waits and key != b"z")
            while place.journal.path.stat().st_size <= sizes[-1] and time.monotonic() < until:
                time.sleep(0.01)
            sizes.append(place.journal.path.stat().st_size)
        place.stop()

    run_beside(place, look)

    assert not waits or sizes[0] < sizes[1] < sizes[2] < place.journal.size
    assert [event.data for event in place.events() if isinstance(event, Typed)] == [
        b"x", b"y", b"z",
    ]  # fmt: skip


def test_a_screen_that_takes_little_gets_it_all(place: Place) -> None:
    """In order, whatever the pieces in which it was taken."""
    source = random.Random(7)
    sent = [source.randbytes(4095) for _ in range(150)]
    received = bytearray()

    def write() -> None:
        for data in sent:
            place.program.send(data)

    def look() -> None:
        while len(received) < 150 * 4095:
            select.select([place.screen], [], [])
            received.extend(os.read(place.screen, source.randrange(1, 9000)))
        place.stop()

    run_beside(place, write, look)

    assert received == b"".join(sent)


@pytest.mark.parametrize("ends", ["stopped", "closed"])
def test_a_slow_screen_loses_nothing_and_stops_the_program(place: Place, ends: str) -> None:
    """What it does not take comes back; the program is not read when that is much."""
    sent = random.Random(6).randbytes(400_000)
    place.program.setblocking(False)
    taken = 0

    def fill() -> None:
        nonlocal taken
        until = time.monotonic() + 0.3
        while time.monotonic() < until and taken < len(sent):
            try:
                taken += place.program.send(sent[taken : taken + 4096])
            except BlockingIOError:
                time.sleep(0.005)
        if ends == "closed":
            place.program.close()
        else:
            place.stop()

    run = run_beside(place, fill)

    journaled = b"".join(event.data for event in place.events() if isinstance(event, Output))
    assert place.shown() + run.unshown == journaled
    assert sent.startswith(journaled)
    assert len(run.unshown) < 64 * 1024 + 48 * 1024
    assert taken < len(sent)


def test_a_key_that_is_not_taken_is_left_to_the_caller(place: Place) -> None:
    """It says how much of it the program has; it is not in the journal."""
    place._master.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    filler = 0
    try:
        while True:
            filler += place._master.send(bytes(1000))
    except BlockingIOError:
        os.write(place.typing, b"xyz")
    run = place.run()

    assert run.key is not None
    assert (run.key.data, run.key.sent, run.key.secret) == (b"xyz", 0, False)
    assert place.events() == []


@pytest.mark.parametrize("data", [b"s", b"secret\r"])
def test_a_password_is_left_to_the_caller(place: Place, data: bytes) -> None:
    """Typed while the program reads a line without showing it; it is not in the journal."""
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    modes = termios.tcgetattr(slave)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    place.relay._state.master = master
    os.write(place.typing, data)
    run = place.run()
    os.close(master)
    os.close(slave)

    assert run.key is not None
    assert (run.key.data, run.key.sent, run.key.secret) == (data, len(data), True)
    assert place.events() == []


def test_a_full_disk_ends_the_run(place: Place) -> None:
    """With its error; nothing is on the screen that is not in the journal."""
    full = os.open("/dev/full", os.O_WRONLY)
    place.program.send(b"lost")
    run = place.run(journal_fd=full)
    os.close(full)

    assert (run.error, run.written, place.shown()) == (errno.ENOSPC, 0, b"")


def test_the_journal_goes_on_after_a_run(place: Place) -> None:
    """Records of both kinds of writer follow each other."""

    def look() -> None:
        place.program.recv(100)
        place.stop()

    os.write(place.typing, b"a")
    place.journal.on_output(1, b"before")
    run_beside(place, look)
    place.journal.hold_key(10**9, b"held")
    place.run()
    place.journal.on_output(2 * 10**9, b"after")

    data = [event.data for event in place.events() if isinstance(event, Output | Typed)]
    assert data == [b"before", b"a", b"held", b"after"]


def test_a_deadline_ends_the_run(place: Place) -> None:
    """Also while the program never stops to write."""
    ended = False

    def write() -> None:
        place.program.settimeout(0.05)
        while not ended:
            try:
                place.program.send(b"x" * 100)
            except TimeoutError:
                continue
            place.shown()

    thread = threading.Thread(target=write)
    thread.start()
    place.run(deadline_us=time.monotonic_ns() // 1000 + 100_000)
    ended = True
    thread.join()

    assert time.monotonic_ns() // 1000 - place.start_us >= 100_000


@pytest.mark.parametrize("which", ["program", "keys", "nothing"])
def test_an_end_is_left_to_the_caller(place: Place, which: str) -> None:
    """Of the program's side, and of the user's."""
    if which == "program":
        place.program.close()
    elif which == "nothing":
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, place._keys)
        os.close(nothing)
    else:
        os.close(place.typing)
        place.typing = os.dup(place.screen)
    run = place.run()

    assert (run.records, run.key, run.error) == (0, None, 0)


def test_a_lost_screen_is_left_to_the_caller(place: Place) -> None:
    """What it did not take comes back, and is in the journal."""
    os.close(place.screen)
    place.screen = os.dup(place.stopping)
    place.program.send(b"hello")
    run = place.run()

    assert run.unshown == b"hello"
    assert [event.data for event in place.events() if isinstance(event, Output)] == [b"hello"]


def test_without_a_library_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled_library: Any
) -> None:
    """None was made, it is no library, or it is not wanted."""
    broken = tmp_path / "_relay.so"
    broken.write_bytes(b"no library")
    found = [CompiledRelay.load(tmp_path / "absent.so"), CompiledRelay.load(broken)]
    monkeypatch.setenv(PURE_PYTHON, "1")

    assert compiled_library is not None
    assert [*found, CompiledRelay.load()] == [None, None, None]


def test_a_library_of_another_layout_is_not_used(
    monkeypatch: pytest.MonkeyPatch, compiled_library: Any
) -> None:
    """One that an older version left behind would write past its memory."""
    monkeypatch.setattr(compiled_relay, "_State", c_uint32)

    assert compiled_library is not None
    assert CompiledRelay.load() is None
