"""The queue of input for the terminal of a session.

In canonical mode the kernel keeps a bounded line and silently drops the rest; such
input is refused. Input at a password prompt, or declared secret, is logged as masked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import msgspec

from ptycassette.errors import InputRefusedError
from ptycassette.model.journal import Typed
from ptycassette.system.pty.port import LineMode, Pty

if TYPE_CHECKING:
    from concurrent.futures import Future


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
        tell: called with each piece that the terminal took.
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
            # Before it is there: whoever answers it is stamped by another clock reader.
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
