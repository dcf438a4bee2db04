"""What a session asks of a PTY: the seam between ``PtyChild`` and ``testing.ScriptedPty``.

Nothing here blocks. Whoever drives the session waits, by descriptors or by a script.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from ptycassette.model import ExitStatus, Size


class LineMode(msgspec.Struct, frozen=True, kw_only=True):
    """How the terminal's line discipline takes input just now (termios(3)).

    Attributes:
        canonical: ICANON: the program gets whole lines; the kernel cuts those
            over ``max_line`` bytes without a word.
        echo: ECHO: what is typed is shown.
        resets: bytes that end the line or throw it away: newline, carriage
            return if ICRNL, VEOF, VEOL, VKILL, and VINTR, VQUIT, VSUSP if ISIG.
        max_line: how many bytes a line may have before its end.
    """

    canonical: bool = False
    echo: bool = True
    resets: bytes = b"\n\r"
    max_line: int = 4095

    @property
    def secret(self) -> bool:
        """Whether this is how a password prompt reads: whole lines, not shown."""
        return self.canonical and not self.echo


class Pty(Protocol):
    """The master side of a PTY with a program on its other side."""

    @property
    def ended(self) -> ExitStatus | None:
        """How the program ended, as soon as it did."""
        ...

    def read(self, max_bytes: int) -> bytes | None:
        """What the program wrote; None when there is nothing now, empty when nobody can write."""
        ...

    def write(self, data: bytes) -> int:
        """How many bytes from the front of ``data`` the terminal took; 0 when its queue is full."""
        ...

    def line_mode(self) -> LineMode:
        """How input is taken just now."""
        ...

    def set_size(self, size: Size) -> None:
        """Give the terminal another size."""
        ...

    def send_signal(self, which: str | int) -> None:
        """Signal the foreground process group."""
        ...

    def request_end(self, grace_s: float) -> None:
        """Have the program and all it started ended; returns at once."""
        ...

    def poll(self) -> ExitStatus | None:
        """How the program ended, when nobody it started is left either."""
        ...

    def close(self) -> None:
        """Let go of everything. Idempotent."""
        ...


class Scripted(Pty, Protocol):
    """A PTY whose program is a script: it knows when it will say something next."""

    def due_us(self) -> int | None:
        """The time, on the session's clock, of the next event that needs no input."""
        ...
