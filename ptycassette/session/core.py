"""The core of a session: what it does, but not when. ``Session`` and ``AsyncSession`` share it.

One pump (``pump.py``) calls it, from one thread; it never blocks. Other threads
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
from typing import TYPE_CHECKING

from ptycassette.errors import CassetteError, DivergenceError, SessionClosedError, SessionError
from ptycassette.model.events import ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.model.journal import JournalEvent, Resized, Signalled
from ptycassette.model.ports import Clock, Emulator, SessionTap
from ptycassette.session._input import Input, InputQueue, Sending
from ptycassette.session._output_scan import OutputScan
from ptycassette.session._request import Request
from ptycassette.session._screen import SessionScreen, SessionView
from ptycassette.session._tap_feed import TapFeed
from ptycassette.system.clock import Steady
from ptycassette.system.ownership import Owner
from ptycassette.system.pty.port import Pty
from ptycassette.system.pty.signals import signal_name

if TYPE_CHECKING:
    from concurrent.futures import Future

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
        """End the program and all that it started: SIGTERM, SIGKILL after ``grace_s``.

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
            return self.failure  # it says what, where and what to do, to whoever asks first
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
        """Raise if the program can get no more input."""
        self.look_for_end()
        if self.finished or self.exit is not None:
            raise self.over()

    def _resize(self, size: Size) -> None:
        self._refuse_if_over()
        self.pump_output()  # what was written for the old size is rendered in it
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
            if compare is not None:  # a replay: it decides what comes of it
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
