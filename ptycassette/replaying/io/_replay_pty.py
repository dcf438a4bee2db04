"""A PTY, or pipes, whose program is a recording. For a ``Session`` it behaves like a real one.

It wraps the stand-in's engine as a ``Scripted`` port, which sessions accept in place of a
PTY. Time is logical: it advances only while the session waits, and nothing sleeps.
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from ptycassette.cassette.io.reader import Cassette
from ptycassette.cassette.timeline.match import Matching, read_secrets
from ptycassette.model.records import Event, ExitStatus, OutputRecord, OutputStream, streams_of
from ptycassette.model.screen import Size
from ptycassette.replaying.divergence import divergence_error
from ptycassette.replaying.io.faults import faulty_engine_of, screen_after
from ptycassette.replaying.standin.comparison import Halt, Listen, Play, RunEnded, StandinOptions
from ptycassette.system.pty.terminal import LineMode, exit_status, signal_name, signal_number

if TYPE_CHECKING:
    from ptycassette.agents.faults.fault import FaultSpec


ENDED = ExitStatus(code=125, exited=True, signaled=False)
_RAW = LineMode(canonical=False, echo=False)


class LogicalClock:
    """A clock that advances only by sleeping, which takes no real time."""

    def __init__(self) -> None:
        self._now_us = 0

    def now_us(self) -> int:
        """Microseconds since it was made."""
        return self._now_us

    def wall(self) -> datetime:
        """A wall clock that starts in 2000 and moves along."""
        return datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=self._now_us)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._now_us += max(0, round(seconds * 1e6))


class LogicalSleeper:
    """Sleeps on a logical clock in an event loop: other tasks run, no real time passes."""

    def __init__(self, clock: LogicalClock) -> None:
        self._clock = clock

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._clock.sleep(seconds)
        import asyncio  # noqa: PLC0415 - most tests do without it, and it takes long to load

        await asyncio.sleep(0)


class ReplayPty:
    """The recording of ``cassette``, for a session.

    Args:
        cassette: open; stays the caller's.
        clock: the session's clock.
        matching: how input is compared.
        options: how it is played.
        size: the terminal's size at the start.
        allow_unplayed: allow the session to be closed before the recording ends.
        fault: what goes wrong meanwhile.

    Attributes:
        engine: makes the decisions; has the divergences.
        piped: the recorded program's streams were not all its terminal.
        replayed: true: input that a driver declares secret arrives masked, as it was recorded.
    """

    replayed = True
    reader_gone = False

    def __init__(
        self,
        cassette: Cassette,
        clock: LogicalClock,
        *,
        matching: Matching,
        options: StandinOptions,
        size: Size,
        allow_unplayed: bool = False,
        fault: FaultSpec | None = None,
    ) -> None:
        kinds = streams_of(cassette.manifest)
        self.piped = not kinds.only_terminal
        self._has_size = kinds.with_terminal
        more: dict[str, Any] = {
            "options": msgspec.structs.replace(
                options,
                stdin_is_stream=kinds.stdin != "terminal",
                recorded_size=options.recorded_size if self._has_size else None,
            ),
            "matching": matching,
            "size": size,
            "screen": lambda seq: screen_after(cassette, seq),
            "secrets": read_secrets(cassette.manifest, where=str(cassette.path)),
        }
        self.engine = faulty_engine_of(cassette, fault, lambda: None, more)
        self._where = str(cassette.path)
        self._allow_unplayed = allow_unplayed
        self._clock = clock
        self._unfed = self.engine.most_input
        self._output: deque[tuple[OutputStream | None, bytes]] = deque()
        self._finished: RunEnded | None = None
        self._reported = 0

    @property
    def complete(self) -> bool:
        """Whether the recording was played to its end."""
        return self._finished is not None and self._finished.complete

    @property
    def position(self) -> int:
        """The ``seq`` of the event that was played last, for traces."""
        return self.engine.position

    @property
    def hides_input(self) -> bool:
        """Whether the next input was typed unseen in the recording."""
        return self.engine.expects_masked

    def run_out(self) -> None:
        """Play up to the next input, because the driver will send nothing more."""
        self.engine.input_ended()
        while self._finished is None:
            wait_us = self._run()
            self._output.clear()
            if wait_us is not None:
                self._clock.sleep(wait_us / 1e6)

    # -- the port ------------------------------------------------------------------

    @property
    def ended(self) -> ExitStatus | None:
        """How the recorded program ended, once that was played."""
        self._run()
        if self._finished is None or self._output:
            return None
        if self._finished.killed_by:
            return exit_status(signal_number(self._finished.killed_by))
        if not self._finished.complete:
            return ENDED
        return self._finished.exit or ExitStatus(code=0, exited=True, signaled=False)

    def poll(self) -> ExitStatus | None:
        """As ``ended``."""
        return self.ended

    def due_us(self) -> int | None:
        """The time of the next event that does not need the driver."""
        wait_us = self._run()
        if self._output:
            return self._clock.now_us()
        return None if wait_us is None else self._clock.now_us() + wait_us

    def read(self, max_bytes: int) -> bytes | None:
        """Recorded output that is due.

        Raises:
            DivergenceError: the driver's silence, or its pace, differs from the recording.
        """
        piece = self.read_stream(max_bytes)
        if piece is None:
            return None if self._finished is None else b""
        return piece[1]

    def read_stream(self, max_bytes: int) -> tuple[OutputStream | None, bytes] | None:
        """As ``read``, with the stream; no bytes at its end.

        Raises:
            DivergenceError: as ``read``.
        """
        self._run()
        if not self._output:
            self._complain()
            return None
        stream, data = self._output.popleft()
        if len(data) > max_bytes:
            self._output.appendleft((stream, data[max_bytes:]))
        return stream, data[:max_bytes]

    @property
    def hung_up(self) -> bool:
        """Whether all output was read."""
        return self._finished is not None and not self._output

    def write(self, data: bytes) -> int:
        """Input, compared with the recording.

        Raises:
            DivergenceError: it differs from the recording.
        """
        fed = data if self._unfed is None else data[: self._unfed]
        if self._unfed is not None:
            self._unfed -= len(fed)
        if fed:
            self.engine.feed(fed, self._clock.now_us())
        self._run()
        self.engine.judge_early()
        self._run()
        self._complain()
        return len(data)

    def unread(self) -> int:
        """0: a recording takes all input at once."""
        return 0

    def end_input(self) -> None:
        """The driver ends stdin, compared with the recording.

        Raises:
            DivergenceError: it differs from the recording.
        """
        self.engine.input_ended(of_pipe=True)
        self._run()
        self._complain()

    def line_mode(self) -> LineMode:
        """Raw mode: the recording already has the effects of its line discipline."""
        return _RAW

    def set_size(self, size: Size) -> None:
        """A resize, compared with the recording.

        Raises:
            DivergenceError: it differs from the recording.
            ValueError: the recorded program had no terminal.
        """
        if not self._has_size:
            raise ValueError("the recorded program had no terminal, and so no size")
        self.engine.resized(size, self._clock.now_us())
        self._run()
        self._complain()

    def send_signal(self, which: str | int) -> None:
        """A signal, compared with the recording.

        Raises:
            DivergenceError: it differs from the recording.
        """
        self.engine.signalled(signal_name(which), self._clock.now_us())
        self._run()
        self._complain()

    def ended_by(self, name: str) -> None:
        """The driver ends the program by signal ``name``: what follows in the recording is played.

        Raises:
            DivergenceError: the recording has no such signal here.
        """
        self.engine.ended_by(name, self._clock.now_us())
        self._run()
        self._complain()

    def request_end(self, grace_s: float) -> None:
        """Close the session: play up to the next input; if there is one, it is missing."""
        del grace_s
        if self._finished is None:
            if self._allow_unplayed:
                self.engine.stop()
            else:
                self.engine.input_ended()
            self._run()
        self._output.clear()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    # -- inside --------------------------------------------------------------------

    def _run(self) -> int | None:
        """Step until the driver must act; returns the microseconds until the next event."""
        while self._finished is None:
            todo = self.engine.step(self._clock.now_us())
            match todo:
                case Play(event=event):
                    self._put(event)
                case Listen(us=us):
                    return us
                case RunEnded():
                    self._finished = todo
                case Halt():  # the driver's own process plays the recording
                    pass
        return None

    def _put(self, event: Event) -> None:
        """Deliver an output event: its bytes, or the end of its stream."""
        record = event.record
        assert isinstance(record, OutputRecord)  # noqa: S101 - the engine plays outputs only
        if event.data or not record.eof:
            self._output.append((record.stream, event.data))
        if record.eof:
            self._output.append((record.stream, b""))

    def _complain(self) -> None:
        found = self.engine.divergences
        if len(found) > self._reported and not self.engine.options.lenient:
            self._reported = len(found)
            raise divergence_error(found[-1], where=self._where)
