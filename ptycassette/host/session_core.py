"""What a session does, without deciding when: the core under the sync and the async face.

One pump (``session_pump``) calls it, from one thread; it never blocks. Others
hand in requests, which the pump performs in order, so that the tap sees output,
input, resizes and signals in the order in which they happened.

The order of work on a chunk: read, take the time, tell the tap. Everything
else comes after that: the emulator is fed when the PTY pauses, when a question
of the program may wait for an answer, or when too much has gathered
(``output_backlog`` tells what is done about floods).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

import msgspec

from ptycassette.errors import CassetteError, InputRefusedError, SessionClosedError, SessionError
from ptycassette.host.output_backlog import LIMIT_BYTES, OutputBacklog
from ptycassette.host.output_scan import OutputScan
from ptycassette.host.pty_port import LineMode, Pty
from ptycassette.host.pty_process import signal_name
from ptycassette.model.events import ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.model.journal import JournalEvent, Resized, Signalled, Typed
from ptycassette.model.ports import Clock, Emulator, SessionTap
from ptycassette.model.screen import Screen
from ptycassette.screen.signals import Signal
from ptycassette.screen.turns import Turn, turn_after

__all__ = ["Input", "SessionCore", "View"]

_READ_BYTES = 1 << 16
_READS_AT_ONCE = 64
_WORTH_SHORTENING = 1 << 15

T = TypeVar("T")


@runtime_checkable
class Telling(Protocol):
    """An emulator that tells what programs say besides text; others need not."""

    def signals(self) -> tuple[Signal, ...]:
        """What was told since the last call."""
        ...


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a waiter looks at. Times are microseconds since the start of the session.

    ``turn`` is what the program last told of whose turn it is, ``turn_us`` when;
    ``input_us`` is when a driver or user last sent something.
    """

    screen: Screen
    changed_us: int
    turn: Turn = "unknown"
    turn_us: int = 0
    input_us: int = 0
    exit: ExitStatus | None = None
    finished: bool = False


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes for the program, and what the tap is told about them."""

    data: bytes
    source: Literal["user", "driver", "terminal"] = "driver"
    key: str | None = None
    paste: bool = False


class _Sending:
    """An ``Input`` on its way into the terminal."""

    def __init__(self, what: Input) -> None:
        self.what = what
        self.done: Future[None] = Future()
        self.sent = 0


class _Request(Generic[T]):
    """Something that a caller wants done by the pump."""

    def __init__(self, action: Callable[[], T]) -> None:
        self.action = action
        self.done: Future[T] = Future()

    def run(self) -> None:
        """Do it, unless the caller has given up."""
        if not self.done.set_running_or_notify_cancel():
            return
        try:
            result = self.action()
        except Exception as exc:  # noqa: BLE001 - it belongs to the caller, who gets it
            self.done.set_exception(exc)
        else:
            self.done.set_result(result)


class SessionCore:
    """A live session over a ``Pty``.

    Args:
        pty: owned from here on.
        clock: gives ``t_us``, from 0 at construction.
        emulator: renders the output and answers the program's questions.
        tap: listens; called by the pump alone.

    Attributes:
        wake: called after a request was put in from another thread.
    """

    def __init__(
        self, pty: Pty, *, clock: Clock, emulator: Emulator, tap: SessionTap | None = None
    ) -> None:
        self.pty = pty
        self.wake: Callable[[], None] = lambda: None
        self.scan = OutputScan()
        self.finished = False
        self.timed_out = False
        self.output_bytes = 0
        self.unpublished = True
        self.failure: BaseException | None = None
        self.exit: ExitStatus | None = None
        self.ended_us: int | None = None
        self._clock = clock
        self._start_us = clock.now_us()
        self._emulator = emulator
        self._tap = tap
        self._broken: BaseException | None = None
        self._backlog = OutputBacklog()
        self._requests: deque[_Request[None]] = deque()
        self._sendings: deque[_Sending] = deque()
        self._line_bytes = 0
        self._hung_up = False
        self._asked = False
        self._untold = False
        self._changed_us = 0
        self._output_us = 0
        self._turn: Turn = "unknown"
        self._turn_us = 0
        self._input_us = 0
        self._rendering = threading.Lock()
        self._screen = emulator.snapshot()
        self._watchers: list[Callable[[], None]] = []

    # --- for everybody, from any thread -------------------------------------------------

    def now_us(self) -> int:
        """Microseconds since the start of the session."""
        return self._clock.now_us() - self._start_us

    @property
    def watched(self) -> bool:
        """Whether somebody waits for the screen."""
        return bool(self._watchers)

    def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have ``callback`` called, by the pump, when ``view`` changed; returns how to stop it."""
        self._watchers.append(callback)
        self.unpublished = True
        self.wake()
        if self.finished:
            callback()

        def stop() -> None:
            with suppress(ValueError):
                self._watchers.remove(callback)

        return stop

    def view(self) -> View:
        """The session as last rendered; as it ended when it is over."""
        if self.finished and (self.unpublished or self.behind):
            self.render()
        return View(
            screen=self._screen,
            changed_us=self._changed_us,
            turn=self._turn,
            turn_us=self._turn_us,
            input_us=self._input_us,
            exit=self.exit,
            finished=self.finished,
        )

    def send(self, what: Input) -> Future[None]:
        """Bytes for the program. The future is done when the terminal took all of them.

        It fails with ``InputRefusedError`` when the kernel would cut a line, and with
        ``SessionClosedError`` when the program is gone.
        """
        sending = _Sending(what)

        def begin() -> None:
            self._refuse_if_over()
            self._sendings.append(sending)

        def pass_on(begun: Future[None]) -> None:
            problem = begun.exception() if not begun.cancelled() else None
            if problem is not None:
                sending.done.set_exception(problem)

        self.request(begin).add_done_callback(pass_on)
        return sending.done

    def resize(self, size: Size) -> Future[None]:
        """Another size for the terminal, in force when the future is done."""
        return self.request(lambda: self._resize(size))

    def signal(self, which: str | int) -> Future[None]:
        """A signal for the foreground process group."""
        name = signal_name(which)
        return self.request(lambda: self._signal(name))

    def screen(self) -> Future[None]:
        """Done when everything read so far is rendered."""
        return self.request(self.render)

    def note(self, event: Callable[[int], JournalEvent]) -> Future[None]:
        """Tell the tap of something else, made from the moment in microseconds."""
        return self.request(lambda: self._tell(event(self.now_us())))

    def request(self, action: Callable[[], None]) -> Future[None]:
        """Have the pump do something; at once, here, when the session is over."""
        request = _Request(action)
        self._requests.append(request)
        self.wake()
        if self.finished:  # the pump may have looked for the last time already
            self._perform()
        return request.done

    # --- for the pump alone ------------------------------------------------------------

    @property
    def hung_up(self) -> bool:
        """Whether nobody has the other side of the PTY open just now."""
        return self._hung_up

    @property
    def wants_to_write(self) -> bool:
        """Whether input waits for room in the terminal's queue."""
        return bool(self._sendings)

    @property
    def behind(self) -> bool:
        """Whether there is output that the emulator has not seen."""
        return len(self._backlog) > 0

    def pump_output(self) -> bool:
        """Read what is there; whether there may be more at once."""
        tap, read, clock, start_us = self._tap, self.pty.read, self._clock, self._start_us
        for _ in range(_READS_AT_ONCE):
            data = read(_READ_BYTES)
            if not data:
                self._hung_up = data is not None
                return False
            t_us = clock.now_us() - start_us
            if tap is not None:
                tap.on_output(t_us, data)
            self._untold = self.unpublished = True
            self._output_us = t_us
            self.output_bytes += len(data)
            if self.scan.feed(data):
                self._asked = True
            self._backlog.append(data)
            if self._asked or self._backlog.full:
                self._relieve()
                return True
        return True

    def perform_requests(self) -> None:
        """Do what others asked for. Raises what the tap raised."""
        self._perform()
        self._raise_if_broken()

    def pump_input(self) -> None:
        """Write as much as the terminal takes."""
        while self._sendings:
            sending = self._sendings[0]
            problem: BaseException | None = None
            if not sending.done.cancelled():
                try:
                    if not self._write(sending):
                        return
                except Exception as exc:  # noqa: BLE001 - it belongs to whoever sent
                    problem = exc
            self._sendings.popleft()
            _settle(sending.done, problem)
            self._raise_if_broken()

    def pause(self) -> None:
        """The PTY has nothing more to say just now: tell the tap."""
        if self._untold:
            self._untold = False
            if self._tap is not None:
                self._tap.on_idle()

    def catch_up(self, interrupted: Callable[[], bool] = lambda: False) -> bool:
        """Feed the emulator, slice by slice; whether it has seen everything.

        ``interrupted`` is asked after each slice, a millisecond of work or so.
        """
        with self._rendering:
            if len(self._backlog) > _WORTH_SHORTENING:
                self._shorten()
            while self._backlog:
                self._emulator.feed(self._backlog.take())
                if self._backlog and interrupted():
                    break
            answer = self._emulator.answers()
            self._hear()
        if answer and not self.finished:
            self._sendings.append(_Sending(Input(data=answer, source="terminal")))
        return not self._backlog

    def _hear(self) -> None:
        """Take what the program told its terminal besides text."""
        if isinstance(self._emulator, Telling):
            turn = turn_after(self._emulator.signals())
            if turn is not None:
                self._turn, self._turn_us = turn, self._output_us

    def publish(self) -> None:
        """Take a snapshot and tell the waiters."""
        self.unpublished = False
        screen = self._emulator.snapshot()
        if screen != self._screen:
            self._screen = screen
            self._changed_us = self._output_us
        self.announce()

    def announce(self) -> None:
        """Tell the waiters to look again."""
        for callback in tuple(self._watchers):
            callback()

    def render(self) -> None:
        """Feed everything and take a snapshot."""
        self.catch_up()
        self.publish()

    def look_for_end(self) -> None:
        """Note the end of the program."""
        if self.exit is None:
            self.exit = self.pty.ended
            if self.exit is not None:
                self.ended_us = self.now_us()
                self.announce()

    def finish(self, failure: BaseException | None = None) -> None:
        """The pump is about to stop: everything has been read, or the tap failed."""
        self.failure = failure
        with suppress(Exception):
            self.exit = self.pty.poll() or self.exit
        if self.ended_us is None:
            self.ended_us = self.now_us()
        while self._sendings:
            _settle(self._sendings.popleft().done, self.over())
        self.finished = True
        self._perform()
        self.announce()

    # --- inside ------------------------------------------------------------------------

    def _perform(self) -> None:
        """Run the requests; after the end several threads may do so at once."""
        with suppress(IndexError):
            while True:
                self._requests.popleft().run()

    def _relieve(self) -> None:
        """Answer a question, or make room in the backlog."""
        if not self._asked:
            self._shorten()
            if len(self._backlog) <= LIMIT_BYTES // 2:
                return
        self._asked = False
        self.catch_up()

    def _shorten(self) -> None:
        """Drop what nobody will see, if the emulator and the margins allow to tell."""
        if self._emulator.pending == 0 and not self.scan.margins:
            self._backlog.shorten(self._emulator.size.rows)

    def _raise_if_broken(self) -> None:
        """Raise what the tap raised: a session that cannot be recorded must not go on."""
        if self._broken is not None:
            raise self._broken

    def over(self) -> CassetteError:
        """Why nothing can be done any more."""
        if self.failure is not None:
            error = SessionError(f"the session failed: {self.failure}", hint="see the cause above")
            error.__cause__ = self.failure
            return error
        return SessionClosedError(f"the session is over: {describe_exit(self.exit)}")

    def _refuse_if_over(self) -> None:
        """Raise when the program can get nothing any more."""
        self.look_for_end()
        if self.finished or self.exit is not None:
            raise self.over()

    def _tell(self, event: JournalEvent) -> None:
        """Tell the tap."""
        self._untold = True
        if self._tap is not None:
            try:
                self._tap.on_event(event)
            except BaseException as exc:
                self._broken = exc
                raise

    def _write(self, sending: _Sending) -> bool:
        """Write the rest of an input; whether all of it is in."""
        what = sending.what
        mode = self.pty.line_mode()
        if sending.sent == 0:
            self._check_lines(what.data, mode)
        while sending.sent < len(what.data):
            rest = what.data[sending.sent :]
            taken = rest[: self.pty.write(rest)]
            if not taken:
                return False
            sending.sent += len(taken)
            if what.source != "terminal":
                self._input_us = self.now_us()
            self._count_line(taken, mode)
            self._tell(_typed(self.now_us(), taken, what, secret=mode.secret))
        return True

    def _check_lines(self, data: bytes, mode: LineMode) -> None:
        """Refuse what the kernel would cut: it keeps ``max_line`` bytes of a line, no more."""
        if not mode.canonical:
            return
        length = self._line_bytes
        for piece in _lines(data, mode.resets):
            length += len(piece)
            if length > mode.max_line:
                raise InputRefusedError(
                    f"a line of {length} bytes or more; in canonical mode the terminal keeps"
                    f" {mode.max_line} and throws the rest away without a word",
                    where=f"input at t_us {self.now_us()}",
                    hint="send shorter lines, or wait until the program has left canonical mode",
                )
            length = 0

    def _count_line(self, data: bytes, mode: LineMode) -> None:
        """Remember how long the unfinished line is."""
        if not mode.canonical:
            self._line_bytes = 0
            return
        *ended, last = _lines(data, mode.resets)
        self._line_bytes = len(last) if ended else self._line_bytes + len(last)

    def _resize(self, size: Size) -> None:
        self._refuse_if_over()
        self.pump_output()  # what was written for the old size is rendered in it
        self.catch_up()
        self.pty.set_size(size)
        self._tell(Resized(self.now_us(), size))
        with self._rendering:
            self._emulator.resize(size)
        self._output_us = self.now_us()
        self.publish()

    def _signal(self, name: str) -> None:
        self._refuse_if_over()
        self._tell(Signalled(self.now_us(), name))
        self.pty.send_signal(name)


def describe_exit(status: ExitStatus | None) -> str:
    """How a program ended, in words."""
    if status is None:
        return "it was closed"
    if status.signaled:
        return f"the program was ended by a signal ({status.signal})"
    return f"the program ended with status {status.code}"


def _typed(t_us: int, data: bytes, what: Input, *, secret: bool) -> Typed:
    """What the tap is told: at a password prompt only how much was typed, and where lines end."""
    if not secret or what.source == "terminal":
        return Typed(t_us, data, source=what.source, key=what.key, paste=what.paste)
    hidden = bytes(byte if byte in b"\r\n" else 0x2A for byte in data)
    key = what.key if hidden == data else None
    return Typed(t_us, hidden, source=what.source, key=key, paste=what.paste, masked=True)


def _lines(data: bytes, ends: bytes) -> list[bytes]:
    """The data cut at each of the bytes in ``ends``."""
    for end in ends[1:]:
        data = data.replace(bytes([end]), ends[:1])
    return data.split(ends[:1])


def _settle(done: Future[None], problem: BaseException | None = None) -> None:
    """Complete a future, unless the caller has given up on it."""
    if not done.set_running_or_notify_cancel():
        return
    if problem is None:
        done.set_result(None)
    else:
        done.set_exception(problem)
