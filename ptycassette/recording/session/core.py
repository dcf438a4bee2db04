"""The core of a session: what it does, but not when. ``Session`` and ``AsyncSession`` share it.

One pump (in ``base.py``) calls it, from one thread; it never blocks. Other threads
submit requests, which the pump performs in order, so that the tap sees output,
input, resizes and signals in the order in which they happened.

Each chunk is read, timestamped and passed to the tap. Everything else comes later:
the emulator is fed when the PTY pauses, when a query may wait for an answer, or when
too much has gathered. ``_screen`` has the rest about the screen, ``_input`` about input.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeGuard, TypeVar

import msgspec

from ptycassette.errors import (
    CassetteError,
    DivergenceError,
    InputRefusedError,
    SessionClosedError,
    SessionError,
)
from ptycassette.model.ports import Clock, Emulator, SessionTap
from ptycassette.model.records import (
    ExitStatus,
    JournalEvent,
    Output,
    Resized,
    Signalled,
    Typed,
    painted_lines,
)
from ptycassette.model.screen import Size
from ptycassette.recording.session._screen import OutputScan, SessionScreen, SessionView
from ptycassette.scrub.io.process_secrets import remember
from ptycassette.system.clock import Steady
from ptycassette.system.ownership import Owner
from ptycassette.system.pty.terminal import LineMode, Pty, signal_name

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ptycassette.model.records import OutputStream
    from ptycassette.scrub.typed.secrets import TypedSecrets


# The queue of input for the terminal of a session.


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes for the program, and how they are reported to the tap.

    ``secret``: the sender declared it secret, whatever the terminal's modes are.
    """

    data: bytes
    source: Literal["user", "driver", "terminal"] = "driver"
    key: str | None = None
    paste: bool = False
    secret: bool = False


class Sending:
    """An ``Input`` on its way into the terminal.

    Args:
        what: the input.
        hidden: send asterisks instead of secrets, to a recording that is replayed: it holds
            asterisks at that place, and must not repeat the secret in a message.
    """

    def __init__(self, what: Input, *, hidden: bool = False) -> None:
        if hidden and what.secret:
            data = Typed(0, what.data, masked=True).hidden().data
            what = msgspec.structs.replace(what, data=data)
        from concurrent.futures import Future  # noqa: PLC0415 - it loads logging

        self.what = what
        self.done: Future[None] = Future()
        self.sent = 0


class InputQueue:
    """Input that the terminal has not taken yet.

    Args:
        pty: takes the bytes.
        now_us: the time, for the tap.
        tell: a function, called with each piece that the terminal took.
    """

    def __init__(
        self, pty: Pty, *, now_us: Callable[[], int], tell: Callable[[Typed], None]
    ) -> None:
        self._pty = pty
        self._now_us = now_us
        self._tell = tell
        self._sendings: deque[Sending] = deque()
        self._line_bytes = 0
        self.last_us = 0
        """When a driver or user last sent something."""

    def __len__(self) -> int:
        return len(self._sendings)

    def add(self, sending: Sending) -> None:
        """Append it to the queue."""
        self._sendings.append(sending)

    def fail(self, problem: BaseException) -> None:
        """Fail the future of every input: nothing can be sent any more."""
        while self._sendings:
            _settle(self._sendings.popleft().done, problem)

    def send_next(self) -> bool:
        """Write the first input, as far as the terminal takes it; returns whether it is done.

        If it is, the sender's future has its result or error.
        """
        if not self._sendings:
            return False
        sending = self._sendings[0]
        problem: BaseException | None = None
        if not sending.done.cancelled():
            try:
                if not self._write(sending):
                    return False
            except Exception as exc:  # noqa: BLE001 - it belongs to whoever sent
                problem = exc
        self._sendings.popleft()
        _settle(sending.done, problem)
        return True

    def _write(self, sending: Sending) -> bool:
        """Write the rest of an input; returns whether all of it was taken."""
        what = sending.what
        mode = self._pty.line_mode()
        if sending.sent == 0:
            self._check_lines(what.data, mode)
        while sending.sent < len(what.data):
            rest = what.data[sending.sent :]
            # Before it is there: an answer to it gets its time from another clock reader.
            typed_us = self._now_us()
            taken = rest[: self._pty.write(rest)]
            if not taken:
                return False
            sending.sent += len(taken)
            if what.source != "terminal":
                self.last_us = self._now_us()
            self._count_line(taken, mode)
            self._tell(typed_event(typed_us, taken, what, secret=mode.secret))
        return True

    def _check_lines(self, data: bytes, mode: LineMode) -> None:
        """Refuse input that the kernel would cut: it keeps ``max_line`` bytes of a line."""
        if not mode.canonical:
            return
        length = self._line_bytes
        for piece in _lines(data, mode.resets):
            length += len(piece)
            if length > mode.max_line:
                raise InputRefusedError(
                    f"a line of {length} bytes or more; in canonical mode the terminal keeps"
                    f" {mode.max_line} and throws the rest away without a word",
                    where=f"input at t_us {self._now_us()}",
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


def typed_event(t_us: int, data: bytes, what: Input, *, secret: bool) -> Typed:
    """The event for the tap, with the real bytes. Answers of the terminal are never secret."""
    return Typed(
        t_us,
        data,
        source=what.source,
        key=what.key,
        paste=what.paste,
        masked=(secret or what.secret) and what.source != "terminal",
    )


def _lines(data: bytes, ends: bytes) -> list[bytes]:
    """The data, cut after each of the bytes in ``ends``."""
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


# Requests of other threads to the pump, with their results.


T = TypeVar("T")


class Request(Generic[T]):
    """A request to the pump."""

    def __init__(self, action: Callable[[], T]) -> None:
        from concurrent.futures import Future  # noqa: PLC0415 - it loads logging

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


# Passes the events of a session to its tap, without the secrets that others must not see.


class TapFeed:
    """The way to a tap, for the pump alone. Without a tap, secrets are still remembered.

    After the tap has raised, ``raise_failure`` raises the same: a session that cannot be recorded
    must not continue.
    """

    def __init__(self, tap: SessionTap | None) -> None:
        self._tap = tap
        self._takes_secrets = bool(getattr(tap, "takes_secrets", False))
        self._secrets: TypedSecrets | None = None
        self._failure: BaseException | None = None
        self._active = False

    def output(self, t_us: int, data: bytes) -> None:
        """Pass on output. The hot path."""
        self._active = True
        if self._tap is not None:
            self._tap.on_output(t_us, data)

    def event(self, event: JournalEvent) -> None:
        """Pass on any other event."""
        self._active = True
        if isinstance(event, Typed):
            self._remember(event)
            event = event if self._takes_secrets else event.hidden()
        if self._tap is not None:
            try:
                self._tap.on_event(event)
            except BaseException as exc:
                self._failure = exc
                raise

    def pause(self) -> None:
        """Tell the tap that there is no more output for now, once after each activity."""
        if self._active:
            self._active = False
            if self._tap is not None:
                self._tap.on_idle()

    def raise_failure(self) -> None:
        """Raise the tap's error, if it raised one."""
        if self._failure is not None:
            raise self._failure

    def _remember(self, event: Typed) -> None:
        """Keep secret input out of logs and traces of this process."""
        if event.masked and self._secrets is None:
            # Imported here, because it loads the scrubber, and few sessions need it.
            from ptycassette.scrub.typed.secrets import TypedSecrets  # noqa: PLC0415

            self._secrets = TypedSecrets()
        if self._secrets is not None:
            remember(self._secrets.feed(event))


__all__ = ["Input", "SessionCore", "SessionView", "describe_exit"]

_READ_BYTES = 1 << 16
_READS_AT_ONCE = 64


class SessionCore:
    """A live session over a ``Pty``.

    Args:
        pty: owned from here on.
        clock: gives ``t_us``.
        emulator: renders the output and answers the program's questions.
        tap: listens; called by the pump alone.
        start_us: the moment of the clock that counts as 0, before the program started; now when
            None.

    Attributes:
        wake: called after another thread submitted a request.
        owner: the process whose pump drives it.
    """

    def __init__(
        self,
        pty: Pty,
        *,
        clock: Clock,
        emulator: Emulator,
        tap: SessionTap | None = None,
        start_us: int | None = None,
    ) -> None:
        self.pty = pty
        self.wake: Callable[[], None] = lambda: None
        self.finished = False
        self.timed_out = False
        self.failure: BaseException | None = None
        self.exit: ExitStatus | None = None
        self.ended_us: int | None = None
        self.owner = Owner()
        zero_us = clock.now_us() if start_us is None else start_us
        self._elapsed = Steady(lambda: clock.now_us() - zero_us)
        self._tap = TapFeed(tap)
        self._replayed = bool(getattr(pty, "replayed", False))
        self._screen = SessionScreen(emulator)
        self._input = InputQueue(pty, now_us=self.now_us, tell=self._tap.event)
        self._requests: deque[Request[None]] = deque()
        self._hung_up = False
        self._watchers: list[Callable[[], None]] = []
        self._end_watchers: list[Callable[[], None]] = []

    # --- for everybody, from any thread -------------------------------------------------

    def now_us(self) -> int:
        """Microseconds since the start of the session; never less than before."""
        return self._elapsed.now_us()

    @property
    def scan(self) -> OutputScan:
        """Modes and queries in the output, known before it is rendered."""
        return self._screen.scan

    @property
    def keyboard_flags(self) -> int:
        """Flags of kitty's keyboard protocol in force; 0 if the emulator does not confirm it."""
        return self.scan.keyboard.flags if self._screen.confirms_keyboard else 0

    @property
    def output_bytes(self) -> int:
        """How many bytes of output there were so far."""
        return self._screen.output_bytes

    @property
    def unpublished(self) -> bool:
        """Whether the last snapshot may be out of date."""
        return self._screen.unpublished

    @property
    def watched(self) -> bool:
        """Whether a caller waits for the screen."""
        return bool(self._watchers)

    def watch(self, callback: Callable[[], None], *, screen: bool = True) -> Callable[[], None]:
        """Have the pump call ``callback`` when ``view`` changed; returns a function that ends this.

        Without ``screen`` only when the program has ended. Then nothing is rendered for it, and
        no thread is woken that could delay the pump on a busy machine.
        """
        self._refuse_in_a_fork()
        watchers = self._watchers if screen else self._end_watchers
        watchers.append(callback)
        if screen:
            self._screen.unpublished = True
            self.wake()
        if self.finished:
            callback()

        def stop() -> None:
            with suppress(ValueError):
                watchers.remove(callback)

        return stop

    def view(self) -> SessionView:
        """The session as last rendered; after the end, its final state."""
        if self.finished and (self.unpublished or self.behind):
            self.render()
        return self._screen.view(
            input_us=self._input.last_us, ended=self.exit, finished=self.finished
        )

    def send(self, what: Input) -> Future[None]:
        """Send bytes. The future is done when the terminal took all of them.

        It fails with ``InputRefusedError`` when the kernel would cut a line, and with
        ``SessionClosedError`` when the program is gone.
        """
        sending = Sending(what, hidden=self._replayed)

        def begin() -> None:
            self._refuse_if_over()
            self._input.add(sending)

        def pass_on(begun: Future[None]) -> None:
            problem = begun.exception() if not begun.cancelled() else None
            if problem is not None:
                sending.done.set_exception(problem)

        self.request(begin).add_done_callback(pass_on)
        return sending.done

    def resize(self, size: Size) -> Future[None]:
        """Resize the terminal; done when the future is."""
        return self.request(lambda: self._resize(size))

    def signal(self, which: str | int) -> Future[None]:
        """Signal the foreground process group."""
        name = signal_name(which)
        return self.request(lambda: self._signal(name))

    def end(self, grace_s: float) -> Future[None]:
        """End the program and all processes below it: SIGTERM, SIGKILL after ``grace_s``.

        Recorded as the signal ``term``, or ``kill`` without grace, unless the program had ended
        by itself. In replay the future fails with the divergence, if this is one.
        """
        return self.request(lambda: self._end(grace_s))

    def screen(self) -> Future[None]:
        """Render everything read so far; the future is done when that is."""
        return self.request(self.render)

    def note(self, event: Callable[[int], JournalEvent]) -> Future[None]:
        """Report another event to the tap; it is made from the time in microseconds."""
        return self.request(lambda: self._tap.event(event(self.now_us())))

    def request(self, action: Callable[[], None]) -> Future[None]:
        """Submit a request to the pump; after the end it is performed at once, in this thread."""
        self._refuse_in_a_fork()
        request = Request(action)
        self._requests.append(request)
        self.wake()
        if self.finished:  # the pump may have looked for the last time already
            self._perform()
        return request.done

    # --- for the pump alone ------------------------------------------------------------

    @property
    def hung_up(self) -> bool:
        """Whether no process has the slave side of the PTY open now."""
        return self._hung_up

    @property
    def wants_to_write(self) -> bool:
        """Whether input waits for room in the terminal's queue."""
        return len(self._input) > 0

    @property
    def behind(self) -> bool:
        """Whether there is output that the emulator has not seen."""
        return self._screen.behind

    def pump_output(self) -> bool:
        """Read what is there; returns whether there may be more at once."""
        tap, read, now_us = self._tap.output, self.pty.read, self.now_us
        for _ in range(_READS_AT_ONCE):
            data = read(_READ_BYTES)
            if not data:
                self._hung_up = data is not None
                return False
            t_us = now_us()
            tap(t_us, data)
            if self._screen.take(t_us, data):
                self._answer(self._screen.answer_or_shorten())
                return True
        return True

    def perform_requests(self) -> None:
        """Perform the requests of other threads. Raises what the tap raised."""
        self._perform()
        self._tap.raise_failure()

    def pump_input(self) -> None:
        """Write as much as the terminal takes."""
        while self._input.send_next():
            self._tap.raise_failure()

    def pause(self) -> None:
        """Tell the tap that the PTY has no more output for now."""
        self._tap.pause()

    def catch_up(self, interrupted: Callable[[], bool] = lambda: False) -> bool:
        """Feed the emulator, slice by slice; returns whether it has seen everything.

        ``interrupted`` is asked after each slice, a millisecond of work or so.
        """
        self._answer(self._screen.catch_up(interrupted))
        return not self._screen.behind

    def publish(self) -> None:
        """Take a snapshot and wake the waiters."""
        self._screen.publish()
        self.announce()

    def announce(self) -> None:
        """Wake the waiters."""
        for callback in tuple(self._watchers):
            callback()

    def _announce_end(self) -> None:
        self.announce()
        for callback in tuple(self._end_watchers):
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
                self._announce_end()

    def finish(self, failure: BaseException | None = None) -> None:
        """The pump is about to stop: everything has been read, or the tap failed."""
        self.failure = failure
        with suppress(Exception):
            self.exit = self.pty.poll() or self.exit
        lost = getattr(self.pty, "lost", None)  # a script has no helpers
        if self.failure is None and lost is not None:
            self.failure = SessionError(lost, hint="run it again, and see what kills processes")
        if self.ended_us is None:
            self.ended_us = self.now_us()
        self._input.fail(self.over())
        self.finished = True
        self._perform()
        self._announce_end()

    # --- inside ------------------------------------------------------------------------

    def _perform(self) -> None:
        """Run the requests; after the end several threads may do so at once."""
        with suppress(IndexError):
            while True:
                self._requests.popleft().run()

    def _answer(self, data: bytes) -> None:
        """Send the terminal's answer to a query."""
        if data and not self.finished:
            self._input.add(Sending(Input(data=data, source="terminal")))

    def over(self) -> CassetteError:
        """The error for calls after the end."""
        if isinstance(self.failure, DivergenceError | SessionError):
            return self.failure  # the first caller gets the error with what, where and what to do
        if self.failure is not None:
            error = SessionError(f"the session failed: {self.failure}", hint="see the cause above")
            error.__cause__ = self.failure
            return error
        return SessionClosedError(f"the session is over: {describe_exit(self.exit)}")

    def _refuse_in_a_fork(self) -> None:
        if not self.owner.here:
            raise SessionError(
                f"the session belongs to process {self.owner.pid}, and this is a fork of it",
                hint="start a session of its own in each process",
            )

    def _refuse_if_over(self) -> None:
        """Raise if the program cannot get more input."""
        self.look_for_end()
        if self.finished or self.exit is not None:
            raise self.over()

    def _resize(self, size: Size) -> None:
        self._refuse_if_over()
        self.pump_output()  # output for the old size is rendered in it
        self.catch_up()
        self.pty.set_size(size)
        self._tap.event(Resized(self.now_us(), size))
        self._screen.resize(size, self.now_us())
        self.publish()

    def _signal(self, name: str) -> None:
        self._refuse_if_over()
        self._tap.event(Signalled(self.now_us(), name))
        self.pty.send_signal(name)

    def _end(self, grace_s: float) -> None:
        self.look_for_end()
        if self.exit is None and not self.finished:
            name = "term" if grace_s > 0 else "kill"
            self._tap.event(Signalled(self.now_us(), name))
            compare = getattr(self.pty, "ended_by", None)
            if compare is not None:  # a replay: it decides the outcome
                compare(name)
                return
        self.pty.request_end(grace_s)


def describe_exit(status: ExitStatus | None) -> str:
    """How a program ended, in words."""
    if status is None:
        return "it was closed"
    if status.signaled:
        return f"the program was ended by a signal ({status.signal})"
    return f"the program ended with status {status.code}"


# Which ends of streams are recorded as events.


_ON_PURPOSE_US = 50_000
"""A program that just ends closes its streams some milliseconds before."""


class StreamEnds:
    """The ends of streams that are not decided yet."""

    def __init__(self) -> None:
        self._seen: list[Output] = []

    def __len__(self) -> int:
        return len(self._seen)

    def note(self, t_us: int, stream: OutputStream) -> None:
        """A stream has ended."""
        self._seen.append(Output(t_us, b"", stream=stream, eof=True))

    def due(self, t_us: int, *, ended: bool) -> list[Output]:
        """The ends that were on purpose, to be recorded now.

        Args:
            t_us: the time.
            ended: the program has ended.
        """
        if ended:
            self._seen.clear()
        due = [end for end in self._seen if t_us - end.t_us >= _ON_PURPOSE_US]
        del self._seen[: len(due)]
        return due


# The core of a session over pipes: a program's input, and its output to each stream.


class PipedPty(Pty, Protocol):
    """The port of a session over pipes: that of a PTY, and more."""

    @property
    def piped(self) -> bool:
        """Whether the program's streams are not its terminal."""
        ...

    @property
    def hung_up(self) -> bool:
        """Whether stdout and stderr have ended."""
        ...

    @property
    def reader_gone(self) -> bool:
        """Whether the program has closed its stdin before it was ended."""
        ...

    def read_stream(self, max_bytes: int) -> tuple[OutputStream | None, bytes] | None:
        """The stream and its bytes; None if nothing can be read yet.

        The bytes are empty at the end of a stream.
        """
        ...

    def unread(self) -> int:
        """How many written bytes the program has not read yet."""
        ...

    def end_input(self) -> None:
        """Close the program's stdin."""
        ...


def has_pipes(pty: Pty) -> TypeGuard[PipedPty]:
    """Whether the program behind ``pty`` has streams other than its terminal."""
    return bool(getattr(pty, "piped", False))


class _Stdin(InputQueue):
    """Input for the program; it becomes an event when the program has read it."""

    def __init__(self, pty: PipedPty, **wiring: Any) -> None:
        super().__init__(pty, **wiring)
        self._pipe = pty
        self._unread: deque[tuple[Input, bytes]] = deque()
        self._unread_bytes = 0
        self._ending = False
        self._over = False

    def add(self, sending: Sending) -> None:
        """Append it to the queue.

        Raises:
            ValueError: the caller has closed stdin.
        """
        if self._ending:
            raise ValueError("stdin was closed: nothing can be sent any more")
        super().add(sending)

    def end(self) -> None:
        """Send nothing after the input in the queue. Idempotent."""
        self._ending = True
        self.settle()

    @property
    def unsettled(self) -> bool:
        """Whether the program may still read more of the sent input."""
        return not self._over and (bool(self._unread) or self._ending)

    def settle(self) -> None:
        """Report the input that the program has read since the last call.

        End its stdin when that is due.
        """
        if self._over:
            return
        self._report_read()
        if self._ending and not self._unread and not len(self):
            self._over = True
            self._tell(Typed(self._now_us(), b"", source="driver", eof=True))
            self._pipe.end_input()

    def leave(self) -> None:
        """Drop the queue: the program has stopped reading."""
        if not self._over:
            self._report_read()
            self._over = True
            self._pipe.end_input()

    def _report_read(self) -> None:
        read = self._unread_bytes - self._pipe.unread() if self._unread else 0
        while read > 0:
            what, data = self._unread.popleft()
            part, rest = data[:read], data[read:]
            if rest:
                self._unread.appendleft((what, rest))
            read -= len(part)
            self._unread_bytes -= len(part)
            self._tell(typed_event(self._now_us(), part, what, secret=False))

    def _write(self, sending: Sending) -> bool:
        what = sending.what
        while sending.sent < len(what.data):
            try:
                count = self._pty.write(what.data[sending.sent :])
            except BrokenPipeError as exc:
                raise SessionClosedError("the program has closed its stdin") from exc
            if not count:
                return False
            taken = what.data[sending.sent : sending.sent + count]
            sending.sent += count
            self.last_us = self._now_us()
            self._unread.append((what, taken))
            self._unread_bytes += count
            self.settle()
        return True


class PipedCore(SessionCore):
    """A ``SessionCore`` over a ``PipedPty``.

    Attributes:
        outputs: the program's output to each stream so far.
    """

    def __init__(self, pty: PipedPty, **wiring: Any) -> None:
        super().__init__(pty, **wiring)
        self._pipe = pty
        self._stdin = _Stdin(pty, now_us=self.now_us, tell=self._tap.event)
        self._input = self._stdin
        self.outputs = {"stdout": bytearray(), "stderr": bytearray()}
        self._ended_streams: set[str] = set()
        self._lines_at = {"stdout": 0, "stderr": 0}
        self._ends = StreamEnds()

    # --- for everybody, from any thread -------------------------------------------------

    def close_stdin(self) -> Future[None]:
        """Close the program's stdin after all input was sent."""
        return self.request(self._stdin.end)

    def has_line(self, stream: str) -> bool:
        """Whether ``take_line`` would return at once, with a line or at the end of the stream."""
        output, at = self.outputs[stream], self._lines_at[stream]
        return output.find(b"\n", at) >= 0 or self.finished or stream in self._ended_streams

    def take_line(self, stream: str) -> bytes:
        """The next line with its newline; the rest at the end of the stream."""
        output, at = self.outputs[stream], self._lines_at[stream]
        end = output.find(b"\n", at) + 1 or len(output)
        self._lines_at[stream] = end
        return bytes(output[at:end])

    # --- for the pump alone ------------------------------------------------------------

    @property
    def hung_up(self) -> bool:
        """Whether stdout and stderr have ended."""
        return self._pipe.hung_up

    @property
    def unsettled(self) -> bool:
        """Whether there is work that no descriptor announces."""
        return self._stdin.unsettled or len(self._ends) > 0

    def settle(self) -> None:
        """Do the work that no descriptor announces.

        Raises:
            Exception: the tap's error.
        """
        if self._stdin.unsettled or self._pipe.reader_gone:
            if self._pipe.reader_gone:
                self._stdin.leave()
                if self.exit is None:
                    self._ends.note(self.now_us(), "stdin")
            self._stdin.settle()
        for end in self._ends.due(self.now_us(), ended=self.exit is not None):
            self._tap.event(end)
        self._tap.raise_failure()

    def pump_output(self) -> bool:
        """Read what is there; returns whether there may be more at once."""
        news = False
        try:
            for _ in range(_READS_AT_ONCE):
                piece = self._pipe.read_stream(_READ_BYTES)
                if piece is None:
                    return False
                news = True
                if self._take(*piece):
                    self._screen.answer_or_shorten()  # its answers are for terminals
                    return True
            return True
        finally:
            if news:
                for callback in tuple(self._end_watchers):  # who waits for a line is among them
                    callback()

    def _take(self, stream: OutputStream | None, data: bytes) -> bool:
        """Take a piece of output; returns whether ``answer_or_shorten`` is due."""
        t_us = self.now_us()
        self._stdin.settle()
        if not data:
            if stream is not None:
                self._ended_streams.add(stream)
                self._ends.note(t_us, stream)
            return False
        self._tap.event(Output(t_us, data, stream=stream))
        self._tap.raise_failure()
        if stream is None:
            return self._screen.take(t_us, data)
        self.outputs[stream] += data
        return self._screen.take(t_us, painted_lines(data))

    def finish(self, failure: BaseException | None = None) -> None:
        """See ``SessionCore.finish``."""
        with suppress(Exception):  # of the tap, which has failed before
            self._stdin.leave()
        super().finish(failure)

    def _answer(self, data: bytes) -> None:
        """Answer nothing."""
