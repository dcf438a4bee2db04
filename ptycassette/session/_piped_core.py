"""The core of a session over pipes: what a program reads, and what it writes to which stream.

Rules, those of every recording over pipes (docs/decisions/0240):

- Input is recorded when the program has read it, before output that came later. The kernel
  reports how much of a pipe is unread.
- The end of stdin is passed on when the pipe is empty, because nothing can be counted after it.
- The screen shows all output as a terminal would. It answers no queries: the answers would
  go to stdin.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from ptycassette.errors import SessionClosedError
from ptycassette.model.journal import Output, Typed
from ptycassette.model.streams import painted_lines
from ptycassette.session._input import Input, InputQueue, Sending, typed_event
from ptycassette.session._stream_ends import StreamEnds
from ptycassette.session.core import SessionCore
from ptycassette.system.pty.port import Pty

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ptycassette.model.events import OutputStream

_READ_BYTES = 1 << 16
_READS_AT_ONCE = 64


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
        """What the program wrote and where; nothing at the end of a stream; None for not now."""
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
        """Send nothing after what is in the queue. Idempotent."""
        self._ending = True
        self.settle()

    @property
    def unsettled(self) -> bool:
        """Whether the program may read more of what it was sent."""
        return not self._over and (bool(self._unread) or self._ending)

    def settle(self) -> None:
        """Report what the program has read since the last call; end its stdin when that is due."""
        if self._over:
            return
        self._report_read()
        if self._ending and not self._unread and not len(self):
            self._over = True
            self._tell(Typed(self._now_us(), b"", source="driver", eof=True))
            self._pipe.end_input()

    def leave(self) -> None:
        """Drop the queue: the program reads no more."""
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
        outputs: what the program wrote to each stream so far.
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
        """Close the program's stdin after all that was sent."""
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
        """Do what no descriptor announces. Raises what the tap raised."""
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
                    self._screen.answer_or_shorten()  # what it answers is for terminals
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
