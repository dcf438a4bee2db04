"""The saver's own process: follow a journal, and have its cassette ready when the program ends.

It runs the same ``Finaliser.publish`` that a recorder or ``recover`` runs, over events that
arrive while the program is still running. Its work is disposable: any error ends this process,
and the recorder does the work itself, from the journal. There is one error that the recorder
accepts from it: that the session must not become a cassette.

It never outlives its recorder, and publishes nothing before the recorder has finished: a
thread watches the recorder, and interrupts the work when that is gone.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from ptycassette.errors import JournalError, RunFailedError, SecretLeftError
from ptycassette.model.records import Finished, JournalEvent
from ptycassette.recording.io.journal_file import JournalDecoder, tape_journal_of
from ptycassette.recording.io.saver import (
    Begin,
    Failed,
    Finish,
    Inbox,
    Message,
    Priority,
    Progress,
    Published,
    send,
)
from ptycassette.system.clock import monotonic_s
from ptycassette.system.files.whole_file import open_plain
from ptycassette.system.ownership import is_making_a_temporary
from ptycassette.system.pty.process import new_poll

if TYPE_CHECKING:
    from types import FrameType

    from ptycassette.recording.io.finalising import Finaliser


# A journal read while its recorder still writes to it, as a source of events.
#
# Each iterator starts at the first event. At the live end it polls: checking the file costs
# microseconds, so it checks again after 2 ms, then less and less often, down to every 50 ms. The
# recorder has no part in it: no message, no lock, no system call. While output floods the journal,
# it waits.
#
# An iterator ends after the event ``Finished``. If the recorder is gone without one, it raises, so
# that half a session never looks like a whole one.


# Detects a flood: a journal that grows so fast that following it does not pay.


_NEAR_BYTES = 4 << 20  # a reader with a smaller lag gains nothing by waiting
_SAMPLE_S = 0.05
_FACTOR = 3
_USUAL_PER_S = 6 << 20  # the rate of a saver, until it was measured


class Flood:
    """Compares how fast a journal grows with how fast it is read.

    ``outruns`` is called after each piece that was read. Once it is true, the reader waits
    ``WAIT_S`` and calls ``goes_on``, until that is false. A reader that has read nothing yet calls
    ``goes_on`` alone.
    """

    WAIT_S = 0.05

    def __init__(self, now_s: Callable[[], float] = monotonic_s) -> None:
        self._now_s = now_s
        self._since_s, self._size, self._at = now_s(), 0, 0
        self._read_per_s: float = _USUAL_PER_S

    def outruns(self, size: int, at: int) -> bool:
        """Whether the journal of ``size`` bytes grew far faster than it was read, up to ``at``."""
        passed_s = self._now_s() - self._since_s
        if passed_s < _SAMPLE_S:
            return False
        growth, read = size - self._size, at - self._at
        self._read_per_s = read / passed_s
        self._note(size, at)
        return size - at > _NEAR_BYTES and growth > _FACTOR * read

    def goes_on(self, size: int) -> bool:
        """Whether it still grows far faster than it was read before, or than savers read."""
        passed_s = self._now_s() - self._since_s
        growth = size - self._size
        self._note(size, self._at)
        return growth > _FACTOR * self._read_per_s * passed_s

    def _note(self, size: int, at: int) -> None:
        self._since_s, self._size, self._at = self._now_s(), size, at


_BLOCK_BYTES = 64 << 10
_SHORTEST_WAIT_S, _LONGEST_WAIT_S = 0.002, 0.05


class Pace(Protocol):
    """Decides when to continue reading. Both methods may raise to end it."""

    def wait(self, seconds: float) -> None:
        """Called when there is nothing to read: return after that long, or when there may be."""

    def yield_to_others(self) -> None:
        """Called after each block: return when it is fair to continue."""


class Following:
    """The events of a journal as they are written. An ``EventSource``.

    Args:
        path: the journal; it may lose its name meanwhile.
        pace: decides when to continue.

    Attributes:
        read_bytes: how far the most advanced iterator has read.

    Raises:
        NotFoundError, JournalError: it cannot be opened.
    """

    def __init__(self, path: Path, pace: Pace) -> None:
        self._path, self._pace = path, pace
        self._fd = open_plain(path, follow_links=False)
        self.read_bytes = 0

    @property
    def size(self) -> int:
        """The current length of the journal in bytes."""
        return os.fstat(self._fd).st_size

    def __call__(self) -> Iterator[JournalEvent]:
        """The events, from the first. Waits for those that are not written yet.

        Raises:
            JournalError: damaged.
        """
        decoder, at, ended, wait_s = JournalDecoder(), 0, False, _SHORTEST_WAIT_S
        flood = Flood()
        while True:
            try:
                block = os.pread(self._fd, _BLOCK_BYTES, at)
            except OSError as exc:
                where = str(self._path)
                raise JournalError(f"cannot be read: {exc.strerror}", where=where) from exc
            if not block:
                if ended:
                    break
                self._pace.wait(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
                continue
            wait_s = _SHORTEST_WAIT_S
            at += len(block)
            self.read_bytes = max(self.read_bytes, at)
            for event in decoder.feed(block):
                ended = ended or type(event) is Finished
                yield event
            self._pace.yield_to_others()
            if not ended and flood.outruns(self.size, at):
                self._pace.wait(flood.WAIT_S)
                while flood.goes_on(self.size):
                    self._pace.wait(flood.WAIT_S)
        decoder.finish()

    def close(self) -> None:
        """Close the file. Does nothing the second time."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


MakeFinaliser = Callable[[tuple[str, ...]], "Finaliser"]
"""Makes a finaliser that knows these secrets."""

# Before that, staging beside the target would not help: so little is saved at once at the end.
_WORTH_BYTES = 128 << 10
_WORTH_S = 5.0
_LOOK_S = 0.05
_PROGRESS_S = 0.1
_WATCH_MS = 1000
_UNWIND_S = 10.0


class _RecorderGoneError(BaseException):
    """The recorder is gone: stop, and leave no files behind."""


class _Recorder:
    """The saver's side of the connection to the recorder. A ``Pace``."""

    def __init__(self, control: socket.socket, inbox: Inbox, priority: Priority) -> None:
        self._control, self._inbox, self._priority = control, inbox, priority
        self._parent = os.getppid()
        self._main = threading.get_ident()
        # Its waits get a duration, not a deadline: an Event would not wait at all if the clock had
        # gone back, and a saver of low priority that is always busy gets no time on a busy machine.
        self._news_fd, self._noter_fd = os.pipe()
        self._news = new_poll()
        self._news.register(self._news_fd, select.POLLIN)
        self.finished = False
        self.gone = False
        self.on_finish: Callable[[], None] = lambda: None

    def take_finish(self) -> None:
        """Note that the journal is complete, and that the user waits."""
        self.on_finish()
        self.finished = True
        os.write(self._noter_fd, b"\0")
        self._priority.urgent()

    def watch(self) -> None:
        """Start the thread that stops the main thread when the recorder is gone."""
        signal.signal(signal.SIGTERM, _stop)
        # ``Thread.start`` waits until it runs, which takes long at this priority.
        _thread.start_new_thread(self._watch, ())

    def _watch(self) -> None:
        poll = new_poll()
        poll.register(self._control.fileno(), select.POLLIN)
        # Looks at its parent, too: a fork of the recorder may hold the socket open.
        while os.getppid() == self._parent:
            if not poll.poll(_WATCH_MS):
                continue
            if any(isinstance(message, Finish) for message in self._inbox.receive()):
                self.take_finish()
            if self._inbox.closed:
                break
        self._priority.urgent()  # cleaning up is short, and must not starve
        self.gone = True
        os.write(self._noter_fd, b"\0")
        signal.pthread_kill(self._main, signal.SIGTERM)
        time.sleep(_UNWIND_S)
        os._exit(1)

    def wait(self, seconds: float) -> None:
        """Return after that long, or when a message from the recorder arrives."""
        if self.finished:  # the journal is complete: there is nothing to wait for but a disk
            new_poll().poll(_ms(seconds))
        else:
            self._news.poll(_ms(seconds))
        self._check()
        self._priority.discount_pause()

    def yield_to_others(self) -> None:
        """Leave the processor to the program, unless the user waits for the saver."""
        pause_s = self._priority.pause_s()
        if pause_s:
            self._news.poll(_ms(pause_s))
            self._priority.discount_pause()
        self._check()

    def _check(self) -> None:
        if self.gone:
            _stop()


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _stop(_number: int = 0, frame: FrameType | None = None) -> None:
    if is_making_a_temporary(frame):
        return  # the next look at the recorder stops it
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once; the unwinding is not disturbed
    raise _RecorderGoneError


def serve_saver(control: socket.socket, make: MakeFinaliser) -> None:
    """Save one session; returns when there is nothing left to do.

    Args:
        control: the socket to the recorder.
        make: makes the finaliser.
    """
    inbox = Inbox(control)
    messages: list[Message] = []
    while not messages:
        if inbox.closed:
            return
        messages = inbox.receive()
    recorder = _Recorder(control, inbox, Priority.lowered())
    # The first is ``Begin``. Of a short session the other may have come with it.
    if any(isinstance(message, Finish) for message in messages):
        recorder.take_finish()
    with suppress(_RecorderGoneError):
        recorder.watch()
        if isinstance(messages[0], Begin):
            _save(control, messages[0], recorder, make)


def _save(control: socket.socket, begin: Begin, recorder: _Recorder, make: MakeFinaliser) -> None:
    from ptycassette.recording.io.saver import JournalSource

    path, start_s = Path(begin.journal), monotonic_s()
    source = Following(path, recorder)
    progress = _ProgressReport(control, recorder)
    at_finish = [0, 0]

    def remember() -> None:
        at_finish[:] = (source.read_bytes, progress.done_bytes)

    recorder.on_finish = remember
    meta = JournalSource(path).meta
    flood = Flood()
    while not recorder.finished and flood.goes_on(source.size):
        recorder.wait(Flood.WAIT_S)  # loading takes time from the program
    finaliser = make(begin.known)
    finaliser = msgspec.structs.replace(finaliser, progress=progress, tape=tape_journal_of(path))
    while not recorder.finished and (begin.unseen or source.size < _WORTH_BYTES):
        if not begin.unseen and monotonic_s() - start_s >= _WORTH_S:
            break
        recorder.wait(_LOOK_S)
    try:
        manifest = finaliser.publish(meta, source, Path(begin.target), overwrite=begin.overwrite)
    except (RunFailedError, SecretLeftError) as exc:
        stage = exc.stage if isinstance(exc, RunFailedError) else ""
        name, message = type(exc).__name__, exc.message
        send(
            control,
            Failed(error=name, message=message, where=exc.where, hint=exc.hint, stage=stage),
        )
    else:
        read, done = at_finish
        send(control, Published(manifest=manifest, read_bytes=read, done_bytes=done))


class _ProgressReport:
    """Reports progress to the recorder ten times a second, once the user waits."""

    def __init__(self, control: socket.socket, recorder: _Recorder) -> None:
        self._control, self._recorder = control, recorder
        self._due_s = 0.0
        self.done_bytes = 0

    def __call__(self, done_bytes: int) -> None:
        self.done_bytes = done_bytes
        if self._recorder.finished and monotonic_s() >= self._due_s:
            self._due_s = monotonic_s() + _PROGRESS_S
            with suppress(OSError):
                send(self._control, Progress(done_bytes=done_bytes))


def main() -> None:
    """Entry point of a saver that was started as a program: its socket is standard input."""
    from ptycassette.recording.io.finalising import Finaliser
    from ptycassette.recording.io.saver import detach_process

    control = socket.socket(fileno=os.dup(0))
    detach_process(control.fileno())
    serve_saver(control, lambda known: Finaliser(known=known))


if __name__ == "__main__":
    main()
    sys.exit(0)
