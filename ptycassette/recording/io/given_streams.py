"""The standard streams of the recorder, and those that the program gets in their place.

The program finds the same kinds. Files, ``/dev/null`` and devices are passed on themselves. For a
pipe or a socket it gets another one, for a terminal a PTY; what goes through these is relayed.
Only the recorder keeps the caller's end of a pipe, so that the caller sees the end of a stream
when the program ends it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import socket
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from ptycassette.keys.quantities import time_text
from ptycassette.model.records import ExitStatus, Noted, Output, StreamKind, StreamKinds, Typed
from ptycassette.recording.io._interactive import ProgramTerminal, Streams, UserSignals
from ptycassette.recording.io.recorder import Recorder, SavingSignals
from ptycassette.recording.io.recording import RecordingEnded
from ptycassette.recording.session.core import StreamEnds
from ptycassette.system.interpreter import program_of_ours
from ptycassette.system.pty.process import raised_priority
from ptycassette.system.pty.terminal import SignalPipe, UserTerminal
from ptycassette.system.streams import reopened, same_stream, stream_kind, unread_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptycassette.model.ports import Clock
    from ptycassette.model.records import OutputStream
    from ptycassette.model.screen import Size
    from ptycassette.recording.io.journal_file import JournalFile
    from ptycassette.system.pty.process import PtyChild


_HIGH = 10  # descriptors that posix_spawn's dup2 to 0, 1 and 2 cannot meet


def given_kinds(*, pipes: bool = False) -> StreamKinds:
    """The kinds of our own stdin, stdout and stderr, for a program to find.

    Args:
        pipes: a pipe in place of a terminal.
    """
    kinds: list[StreamKind] = [stream_kind(fd) for fd in range(3)]
    if pipes:
        kinds = ["pipe" if kind == "terminal" else kind for kind in kinds]
    stdin, stdout, stderr = kinds
    merged = stdout == stderr and stdout in {"pipe", "socket", "file"} and same_stream(1, 2)
    merged = merged and stream_kind(1) != "terminal"  # two pipes in its place keep them apart
    return StreamKinds(stdin=stdin, stdout=stdout, stderr=stderr, merged=merged)


def release_streams() -> None:
    """Put ``/dev/null`` in place of our stdin, stdout and stderr."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)


class GivenStreams(msgspec.Struct, kw_only=True):
    """Both sides of each stream.

    Attributes:
        kinds: the kind of each stream.
        given: the caller's stdin, stdout and stderr; -1 where we do not need one.
        ours: our ends of the program's streams; -1 for a stream without one.
        theirs: the program's ends; None for the PTY. Closed by ``started``.
        program_has_file: whether the program got the caller's file itself.
        starts: the positions in such files before the program started.
    """

    kinds: StreamKinds
    given: list[int]
    ours: list[int]
    theirs: list[int | None]
    program_has_file: list[bool]
    starts: list[int]

    @classmethod
    def take(cls, kinds: StreamKinds) -> GivenStreams:
        """Take over our own streams. Afterwards 0, 1 and 2 are ``/dev/null``.

        Raises:
            OSError: no descriptors are left.
        """
        given = [_raised(fd) for fd in range(3)]
        made = cls(
            kinds=kinds,
            given=given,
            ours=[-1] * 3,
            theirs=[None] * 3,
            program_has_file=[False] * 3,
            starts=[0] * 3,
        )
        for number, kind in enumerate((kinds.stdin, kinds.stdout, kinds.stderr)):
            if number == 2 and kinds.merged and made.ours[1] >= 0:
                made._merge()
            else:
                made._open(number, kind)
        release_streams()
        return made

    def _merge(self) -> None:
        """Give the program one stream for stdout and stderr."""
        shared = self.given[2] if self.program_has_file[1] else self.theirs[1]
        self.theirs[2] = None if shared is None else _raised(shared)
        self.close_given(2)

    def _open(self, number: int, kind: StreamKind) -> None:
        if kind in {"null", "device"}:
            self.theirs[number], self.given[number] = self.given[number], -1
        elif kind == "file":
            self._share_file(number)
        elif kind != "terminal":
            self._make_pipe(number, kind)

    def _share_file(self, number: int) -> None:
        """Give the program the file itself; its output is read from the file."""
        if number == 0:
            self.theirs[0] = _raised(self.given[0])
            self.program_has_file[0] = True
            self.starts[0] = os.lseek(self.given[0], 0, os.SEEK_CUR)
            return
        try:
            self.ours[number] = reopened(self.given[number], os.O_RDONLY)
        except OSError:  # it is write-only for us, so output to it goes through a pipe
            self._make_pipe(number, "pipe")
            return
        given = self.given[number]
        self.theirs[number] = _raised(given)
        self.program_has_file[number] = True
        appends = fcntl.fcntl(given, fcntl.F_GETFL) & os.O_APPEND
        at = os.lseek(given, 0, os.SEEK_CUR)
        self.starts[number] = os.fstat(given).st_size if appends else at

    def _make_pipe(self, number: int, kind: StreamKind) -> None:
        if kind == "socket":
            one, other = socket.socketpair()
            ours, theirs = one.detach(), other.detach()
        elif number == 0:
            theirs, ours = os.pipe()
        else:
            ours, theirs = os.pipe()
        self.ours[number], self.theirs[number] = _raised(ours), _raised(theirs)
        os.close(ours)
        os.close(theirs)
        os.set_blocking(self.ours[number], False)

    @property
    def for_program(self) -> tuple[int | None, int | None, int | None]:
        """The descriptors for ``spawn``."""
        stdin, stdout, stderr = self.theirs
        return stdin, stdout, stderr

    def started(self) -> None:
        """Close our copies of the program's ends."""
        _close(self.theirs)
        self.theirs = [None] * 3

    def close(self) -> None:
        """Close everything. Idempotent."""
        self.started()
        _close(self.given)
        _close(self.ours)
        self.given, self.ours = [-1] * 3, [-1] * 3

    def close_given(self, number: int) -> None:
        """Close the caller's end of a stream."""
        _close([self.given[number]])
        self.given[number] = -1

    def close_ours(self, number: int) -> None:
        """Close our end of a stream of the program."""
        _close([self.ours[number]])
        self.ours[number] = -1


def _raised(fd: int) -> int:
    """A copy of ``fd`` with a high number, which no other program inherits."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)


def _close(fds: Sequence[int | None]) -> None:
    for fd in fds:
        if fd is not None and fd >= 0:
            with suppress(OSError):
                os.close(fd)


# Relays a stdin that is not a terminal from the caller to the program.


_READ_BYTES = 64 << 10
_GONE = {errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.EBADF}


class NoInput:
    """A stdin of which nothing is recorded: ``/dev/null``, a device, or the PTY."""

    @property
    def wants_input(self) -> bool:
        """Whether the caller's next bytes can be taken."""
        return False

    @property
    def wants_room(self) -> bool:
        """Whether bytes wait for room in the program's pipe."""
        return False

    @property
    def unsettled(self) -> bool:
        """Whether there is work that no descriptor announces."""
        return False

    def settle(self, t_us: int) -> None:
        """Record what the program has read since the last call."""

    def end(self, t_us: int) -> int | None:
        """Finish after the program's end; returns the position in a file that was its stdin."""
        del t_us
        return None


class FileInput(NoInput):
    """A file that the program reads itself."""

    def __init__(self, streams: GivenStreams, journal: JournalFile) -> None:
        self._fd, self._journal = streams.given[0], journal
        self._start = self._at = streams.starts[0]
        self._ended = False

    @property
    def unsettled(self) -> bool:
        """See ``NoInput``."""
        return True

    def settle(self, t_us: int) -> None:
        """See ``NoInput``."""
        offset = os.lseek(self._fd, 0, os.SEEK_CUR)
        while self._at < offset:
            try:
                data = os.pread(self._fd, min(_READ_BYTES, offset - self._at), self._at)
            except OSError:  # it is open for writing only
                return
            if not data:
                return
            self._at += len(data)
            at_end = self._at >= os.fstat(self._fd).st_size
            self._ended = self._ended or at_end
            self._journal.on_event(Typed(t_us, data, eof=at_end))

    def end(self, t_us: int) -> int | None:
        """See ``NoInput``."""
        self.settle(t_us)
        return os.lseek(self._fd, 0, os.SEEK_CUR) - self._start


class PipedInput(NoInput):
    """A pipe or a socket that we write to."""

    def __init__(
        self, streams: GivenStreams, journal: JournalFile, *, now_us: Callable[[], int]
    ) -> None:
        self._streams, self._journal, self._now_us = streams, journal, now_us
        self._is_socket = streams.kinds.stdin == "socket"
        self._waiting = b""
        self._unread = bytearray()  # sent, and not recorded as read
        self._ended = False  # the caller's side
        self.closed_early = False

    @property
    def wants_input(self) -> bool:
        """See ``NoInput``."""
        return not self._ended and not self._waiting and self._streams.given[0] >= 0

    @property
    def wants_room(self) -> bool:
        """See ``NoInput``."""
        return bool(self._waiting)

    @property
    def unsettled(self) -> bool:
        """See ``NoInput``."""
        return bool(self._unread) or (self._ended and self._streams.ours[0] >= 0)

    def take(self) -> None:
        """Take the caller's input."""
        try:
            data = os.read(self._streams.given[0], _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._waiting = data
            self.send()
        else:
            self._ended = True
            self._streams.close_given(0)

    def send(self) -> None:
        """Write waiting input."""
        try:
            done = os.write(self._streams.ours[0], self._waiting)
        except BlockingIOError:
            return
        except OSError as exc:
            if exc.errno not in _GONE:
                raise
            self.lose_reader()
            return
        self._unread += self._waiting[:done]
        self._waiting = self._waiting[done:]

    def lose_reader(self) -> None:
        """Close the caller's stream too, after the program has closed its stdin."""
        if self._streams.ours[0] < 0:
            return
        self.closed_early = True
        self.settle(self._now_us())
        self._waiting = b""
        self._streams.close_ours(0)
        self._streams.close_given(0)

    def settle(self, t_us: int) -> None:
        """See ``NoInput``."""
        fd = self._streams.ours[0]
        if fd < 0:
            return
        left = 0 if self._is_socket else unread_bytes(fd)
        read = len(self._unread) - left
        ends = self._ended and not self._waiting and not left and not self.closed_early
        if read > 0 or ends:
            data = bytes(self._unread[:read])
            del self._unread[:read]
            self._journal.on_event(Typed(t_us, data, eof=ends))
        if ends:
            self._end_stream(fd)

    def _end_stream(self, fd: int) -> None:
        if self._is_socket:
            with socket.socket(fileno=os.dup(fd)) as end:
                end.shutdown(socket.SHUT_WR)
        self._streams.close_ours(0)

    def end(self, t_us: int) -> int | None:
        """See ``NoInput``."""
        if not self._is_socket and self._streams.ours[0] >= 0 and not self.closed_early:
            self._ended = False  # no reader is left to see the end
            self.settle(t_us)
        self._streams.close_ours(0)
        self._streams.close_given(0)
        return None


# Relays a stdout or stderr that is not a terminal from the program to the caller.


_WAITING_BYTES = 64 << 10
"""As much as a pipe: a caller that does not read stops the program one pipe later."""
_READER_GONE = {errno.EPIPE, errno.EIO, errno.ECONNRESET}


class PipedOutput:
    """A pipe or a socket of the program, and the caller's stream behind it.

    Args:
        number: 1 or 2.
        streams: both sides.
        journal: gets the output before the caller does.

    Attributes:
        closed: whether the program's side has ended.
    """

    def __init__(self, number: int, streams: GivenStreams, journal: JournalFile) -> None:
        self.number = number
        self.name: OutputStream = "stdout" if number == 1 else "stderr"
        self._streams, self._journal = streams, journal
        self._waiting = bytearray()
        self._socket: socket.socket | None = None
        self._piecewise = True  # a pipe that has room takes so much without blocking (POSIX)
        self.closed = False
        self._open()

    def _open(self) -> None:
        given = self._streams.given[self.number]
        kind = stream_kind(given)
        if kind == "socket":
            self._socket = socket.socket(fileno=os.dup(given))
        elif kind in {"pipe", "terminal"}:
            with suppress(OSError):  # then it is written to in pieces
                own = reopened(given, os.O_WRONLY | os.O_NONBLOCK)
                self._streams.close_given(self.number)
                self._streams.given[self.number] = own
                self._piecewise = False

    @property
    def fd(self) -> int:
        """The descriptor of the program's output; -1 when it has ended."""
        return self._streams.ours[self.number]

    @property
    def caller_fd(self) -> int:
        """The descriptor of the caller's stream; -1 when it is closed."""
        return self._streams.given[self.number]

    @property
    def wants_output(self) -> bool:
        """Whether more can be read from the program."""
        return not self.closed and len(self._waiting) < _WAITING_BYTES

    @property
    def wants_room(self) -> bool:
        """Whether output waits for room in the caller's stream."""
        return bool(self._waiting)

    @property
    def done(self) -> bool:
        """Whether the stream has ended on both sides."""
        return self.closed and not self._waiting

    def leave(self) -> None:
        """Have ``cat`` pass on what other processes write later, and let go of both sides."""
        if self.closed:
            return
        if self.caller_fd >= 0 and (cat := program_of_ours("cat")) is not None:
            os.set_blocking(self.fd, True)
            if not self._piecewise:  # our own description: the caller's flags are its own
                os.set_blocking(self.caller_fd, True)
            os.posix_spawn(
                cat,
                ["cat"],
                {},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, self.fd, 0),
                    (os.POSIX_SPAWN_DUP2, self.caller_fd, 1),
                ],
                setsigmask=[],
                setsigdef=[signal.SIGPIPE],
            )
        self.closed = True

    def read(self, t_us: int) -> int | None:
        """Relay output; returns how many bytes, 0 at the end, None if there is nothing now."""
        try:
            data = os.read(self.fd, _READ_BYTES)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            data = b""
        if not data:
            self.closed = True
            self._streams.close_ours(self.number)
            self._end_when_shown()
            return 0
        self._journal.on_event(Output(t_us, data, stream=self.name))
        self._waiting += data
        self.write()
        return len(data)

    def write(self) -> None:
        """Write waiting output, as much as the caller takes."""
        if self.caller_fd < 0 or not self._waiting:
            return
        try:
            done = self._write()
        except BlockingIOError:
            return
        except OSError as exc:
            if exc.errno not in _READER_GONE:
                raise
            self.lose_caller()
            return
        del self._waiting[:done]
        self._end_when_shown()

    def _write(self) -> int:
        if self._socket is not None:
            return self._socket.send(self._waiting, socket.MSG_DONTWAIT)
        if not self._piecewise:
            return os.write(self.caller_fd, self._waiting)
        ready = select.select([], [self.caller_fd], [], 0)[1]
        if not ready:
            raise BlockingIOError
        return os.write(self.caller_fd, self._waiting[: select.PIPE_BUF])

    def lose_caller(self) -> None:
        """Close the program's stream too, after the caller has closed its end."""
        self._waiting.clear()
        self._close_caller()
        if not self.closed:
            self.closed = True
            self._streams.close_ours(self.number)

    def _end_when_shown(self) -> None:
        if self.done:
            self._close_caller()

    def _close_caller(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._streams.close_given(self.number)


class FileOutput:
    """A file that the program writes to itself, and that we read afterwards.

    Args:
        number, streams, journal: as for ``PipedOutput``.
    """

    def __init__(self, number: int, streams: GivenStreams, journal: JournalFile) -> None:
        self._name: OutputStream = "stdout" if number == 1 else "stderr"
        self._fd, self._journal = streams.ours[number], journal
        self._at = streams.starts[number]

    def settle(self, t_us: int) -> None:
        """Record what the program has written since the last call."""
        size = os.fstat(self._fd).st_size
        self._at = min(self._at, size)  # it was cut off
        while self._at < size:
            data = os.pread(self._fd, min(_READ_BYTES, size - self._at), self._at)
            if not data:
                return
            self._at += len(data)
            self._journal.on_event(Output(t_us, data, stream=self._name))


# The hot loop of a recording whose program has other streams than a terminal.


_SOON_MS = 1
_LATER_MS = 20
_SOON_TURNS = 50
_TURNS_OF_SILENCE = 12
"""Each of them takes ``_LATER_MS`` or more."""


class StreamRelay:
    """One session. Call ``run`` once.

    Args:
        child: the program, just spawned; it lingers.
        journal: where everything goes first.
        given: the streams.
        clock: time.
        start_us: the time that counts as 0.
        size: the size of the program's terminal.
        streams: the user's streams that are terminals, and the side channel.
        timeout_s: end the program after this long.

    Attributes:
        ended_us: when it was over.
        failure: why the run must not become a cassette; None if it may.
        stdin_offset: the final position in a file that was the program's stdin.
    """

    def __init__(
        self,
        child: PtyChild,
        journal: JournalFile,
        given: GivenStreams,
        *,
        clock: Clock,
        start_us: int,
        size: Size,
        streams: Streams,
        timeout_s: float | None = None,
    ) -> None:
        self._child, self._journal, self._given = child, journal, given
        self._clock, self._start_us = clock, start_us
        self._channel = streams.channel
        self._signals = UserSignals(child, journal, streams, size=size, now_us=self._now_us)
        self._deadline_us = None if timeout_s is None else start_us + round(timeout_s * 1_000_000)
        self._input = self._make_input()
        self._outputs: list[PipedOutput] = []
        self._files: list[FileOutput] = []
        self._make_outputs()
        self._terminal = ProgramTerminal.of(child, journal, given, streams)
        self._ends = StreamEnds()
        self._quiet_turns = 0
        self._turns_of_silence = 0
        self._knows_end = False
        self.failure: str | None = None
        self.stdin_offset: int | None = None
        self.ended_us = 0

    def _make_input(self) -> NoInput:
        kind = self._given.kinds.stdin
        if kind == "file":
            return FileInput(self._given, self._journal)
        if self._given.ours[0] >= 0:
            return PipedInput(self._given, self._journal, now_us=self._now_us)
        return NoInput()

    def _make_outputs(self) -> None:
        for number in (1, 2):
            ours, given = self._given.ours[number], self._given.given[number]
            if ours < 0:
                continue
            if self._given.program_has_file[number]:
                self._files.append(FileOutput(number, self._given, self._journal))
            elif given >= 0:
                self._outputs.append(PipedOutput(number, self._given, self._journal))

    @property
    def ended_by(self) -> int | None:
        """The signal that ended the recorder, if one did."""
        return self._signals.ended_by

    def _now_us(self) -> int:
        return self._clock.now_us() - self._start_us

    def run(self) -> ExitStatus:
        """Relay until the program has ended and all its output was read; returns its exit."""
        with SignalPipe(self._signals.caught) as signals, self._terminal or nullcontext():
            while not self._over():
                self._turn(signals)
        self.stdin_offset = self._input.end(self._now_us())
        self._settle()
        if self._channel is not None:
            self._note(self._channel.finish())
        self._child.leave()
        status = self._child.wait()
        self.ended_us = self._now_us()
        assert status is not None  # noqa: S101 - without a timeout it waits for the end
        return status

    def _over(self) -> bool:
        self._knows_end = self._child.ended is not None
        if not self._knows_end:
            return False
        if self._terminal is not None and not self._terminal.drain(self._now_us()):
            return False
        if all(output.done for output in self._outputs):
            return True
        if not self._waits_no_more or self._turns_of_silence < _TURNS_OF_SILENCE:
            return False
        for output in self._outputs:
            output.leave()
        return True

    @property
    def _waits_no_more(self) -> bool:
        """Whether the caller has ended the program and received all of its output."""
        gone = self._signals.asked_to_end and self._child.ended is not None
        return gone and not any(output.wants_room for output in self._outputs)

    def _turn(self, signals: SignalPipe) -> None:
        """Wait for the next event, and handle it."""
        ready = dict(self._poll(signals.fd))
        t_us = self._now_us()
        self._input.settle(t_us)
        if signals.fd in ready or self._given.given[0] in ready:
            self._signals.obey(signals)  # one that came before the input reaches the program first
        busy = False
        for output in self._outputs:
            busy = self._relay(output, ready, t_us) or busy
        if self._terminal is not None:
            self._terminal.serve(ready, t_us)
        self._feed(ready)
        if self._channel is not None and self._channel.fd in ready:
            self._note(self._channel.read())
        self._settle()
        self._turns_of_silence = (
            0 if busy or not self._waits_no_more else self._turns_of_silence + 1
        )
        self._quiet_turns = 0 if busy or self._input.wants_room else self._quiet_turns + 1
        if self._deadline_us is not None and self._clock.now_us() >= self._deadline_us:
            self._time_out()

    def _poll(self, signals_fd: int) -> list[tuple[int, int]]:
        poll = select.poll()
        if self._child.ended is None:
            poll.register(self._child.control_fd, select.POLLIN)
        poll.register(signals_fd, select.POLLIN)
        if self._channel is not None:
            poll.register(self._channel.fd, select.POLLIN)
        for fd, events in self._wanted():
            poll.register(fd, events)
        return poll.poll(self._timeout_ms())

    def _wanted(self) -> Iterable[tuple[int, int]]:
        """The descriptors to wait for, with their poll events; 0 for errors only (a closed end)."""
        for output in self._outputs:
            if not output.closed and output.wants_output:
                yield output.fd, select.POLLIN
            if output.caller_fd >= 0:
                yield output.caller_fd, select.POLLOUT if output.wants_room else 0
        if self._input.wants_input:
            yield self._given.given[0], select.POLLIN
        if self._given.ours[0] >= 0:
            yield self._given.ours[0], select.POLLOUT if self._input.wants_room else 0
        if self._terminal is not None:
            yield from self._terminal.wanted()

    def _timeout_ms(self) -> int | None:
        waits: list[int] = []
        if self._input.unsettled or self._ends:
            waits.append(_SOON_MS if self._quiet_turns < _SOON_TURNS else _LATER_MS)
        if self._waits_no_more:
            waits.append(_LATER_MS)
        if self._files or (self._terminal is not None and self._terminal.hung_up):
            waits.append(_LATER_MS)
        if self._deadline_us is not None:
            waits.append(max(0, (self._deadline_us - self._clock.now_us()) // 1000 + 1))
        if not self._knows_end and self._child.ended is not None:
            waits.append(0)  # it has ended since ``_over`` looked: nothing may wake us any more
        return min(waits) if waits else None

    def _relay(self, output: PipedOutput, ready: dict[int, int], t_us: int) -> bool:
        """Serve one output stream; returns whether there was output."""
        caller = output.caller_fd
        if caller in ready:
            if ready[caller] & (select.POLLERR | select.POLLNVAL) or (
                ready[caller] & select.POLLHUP and not ready[caller] & select.POLLOUT
            ):
                output.lose_caller()
            else:
                output.write()
        if output.closed or output.fd not in ready:
            return False
        count = output.read(t_us)
        if count == 0:
            self._ends.note(t_us, output.name)
        return bool(count)

    def _feed(self, ready: dict[int, int]) -> None:
        source = self._input
        if not isinstance(source, PipedInput):
            return
        ours, given = self._given.ours[0], self._given.given[0]
        if ours >= 0 and ready.get(ours, 0) & (select.POLLERR | select.POLLHUP):
            source.lose_reader()
            self._ends.note(self._now_us(), "stdin")
            return
        if ours >= 0 and ours in ready:
            source.send()
        if given >= 0 and given in ready and source.wants_input:
            source.take()

    def _settle(self) -> None:
        """Do the work that no descriptor announces."""
        t_us = self._now_us()
        self._input.settle(t_us)
        for file in self._files:
            file.settle(t_us)
        for end in self._ends.due(t_us, ended=self._child.ended is not None):
            self._journal.on_event(end)

    def _time_out(self) -> None:
        assert self._deadline_us is not None  # noqa: S101 - narrows the type
        seconds = (self._deadline_us - self._start_us) / 1_000_000
        self.failure = f"timeout: the program had not ended after {time_text(seconds)}"
        self._deadline_us = None
        self._child.request_end()

    def _note(self, payloads: Iterable[Any]) -> None:
        for payload in payloads:
            self._journal.on_event(Noted(self._now_us(), payload))


# The session of ``rec`` over the streams that it was given itself: pipes, files, a terminal.


def record_streams(
    recorder: Recorder,
    kinds: StreamKinds,
    *,
    passes_signals: bool = False,
    secret_key: bytes = b"",
    keeps_stderr: bool = False,
) -> RecordingEnded:
    """Record a program whose stdin, stdout and stderr are of the same kinds as ours.

    From the start of the program our own are ``/dev/null``, so that our output cannot mix with the
    program's.

    Args:
        recorder: entered.
        kinds: the kinds of the streams.
        passes_signals: signals are passed to the program instead of ending it.
        secret_key: as for ``record_interactive``.
        keeps_stderr: restore our stderr at the end of the program, for messages. Its reader
            sees the end only when we end.

    Raises:
        CassetteError: as ``Recorder.start`` and ``Recorder.finish``.
    """
    stderr = os.dup(2) if keeps_stderr else -1
    given = GivenStreams.take(kinds)
    with SavingSignals(recorder) as signals:
        try:
            relay, status = _relayed(
                recorder, given, signals, passes_signals=passes_signals, secret_key=secret_key
            )
        finally:
            given.close()
            if stderr >= 0:
                os.dup2(stderr, 2)
                os.close(stderr)
        if relay.stdin_offset is not None:
            recorder.set_final(stdin_offset=relay.stdin_offset)
        t_us = relay.ended_us
        manifest = recorder.finish(t_us=t_us, status=status, failure=relay.failure)
    return RecordingEnded(status=status, manifest=manifest, duration_us=t_us, signal=relay.ended_by)


def _relayed(
    recorder: Recorder,
    given: GivenStreams,
    signals: SavingSignals,
    *,
    passes_signals: bool,
    secret_key: bytes,
) -> tuple[StreamRelay, ExitStatus]:
    """Run the program to its end."""
    plan = recorder.plan
    stdin = given.given[0]
    with recorder.start(streams=given.for_program, lingers=True) as child:
        given.started()
        signals.hold()  # the relay has handlers of its own, and gives these back
        relay = StreamRelay(
            child,
            recorder.journal,
            given,
            clock=plan.clock,
            start_us=recorder.begin_now(),
            size=plan.size,
            streams=Streams(
                in_fd=stdin,
                terminal=UserTerminal(stdin) if given.kinds.stdin == "terminal" else None,
                channel=recorder.channel,
                secret_key=secret_key,
                fixed_size=True,
                on_terminal=given.kinds.with_terminal,
                passes_signals=passes_signals,
            ),
            timeout_s=plan.timeout_s,
        )
        with raised_priority():
            return relay, relay.run()
