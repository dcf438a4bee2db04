"""The user's screen, which may be slower than the program: output waits for it."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable

from ptycassette.recording.io._relay_limits import UNSHOWN_BYTES
from ptycassette.system.pty.polling import Poll

SECRET_ON = b"\x1b[22;2t\x1b]2;typing a secret, up to Enter (ptycassette)\x07\x1b]12;red\x07\x07"
"""Keep the title, put another one in its place; a red cursor; the bell (xterm ctlseqs)."""
SECRET_OFF = b"\x1b]112\x07\x1b[23;2t"
"""The cursor and the title as they were."""


class UserScreen:
    """Where output is shown.

    Args:
        fd: the descriptor; non-blocking if anything is to wait. -1 for none.
        poll: polls for room while output waits; call ``show_rest`` then.
        on_lost: called when the screen is gone.

    Attributes:
        fd: the descriptor; -1 once the screen is gone.
        waiting: output that is not shown yet.
    """

    def __init__(self, fd: int, poll: Poll, *, on_lost: Callable[[], None]) -> None:
        self.fd = fd
        self.waiting = bytearray()
        self._marked = False
        self._poll, self._on_lost = poll, on_lost

    @property
    def full(self) -> bool:
        """Whether so much output waits that no more should be read."""
        return len(self.waiting) > UNSHOWN_BYTES

    def show(self, data: bytes | memoryview) -> None:
        """Write ``data`` to the screen, as much as it takes at once; the rest waits."""
        if self.fd < 0:
            return
        done = 0 if self.waiting else self._write(data)
        if done < len(data):
            self.keep(data[done:])

    def mark_secret(self, on: bool) -> None:  # noqa: FBT001 - the one thing that it says
        """Show the user that typed input counts as secret, or no longer does. Idempotent.

        It uses the title and the cursor's colour, which cover nothing that the program painted.
        """
        if on != self._marked:
            self._marked = on
            self.show(SECRET_ON if on else SECRET_OFF)

    def keep(self, data: bytes | memoryview) -> None:
        """Queue ``data`` until there is room."""
        if not self.waiting:
            self._poll.register(self.fd, select.POLLOUT)
        self.waiting += data

    def show_rest(self) -> None:
        """Write waiting output."""
        with memoryview(self.waiting) as rest:
            done = self._write(rest)
        del self.waiting[:done]
        if not self.waiting and self.fd >= 0:
            self._poll.unregister(self.fd)

    def drop(self) -> None:
        """Stop showing output, and drop what waits."""
        if self.waiting:
            self._poll.unregister(self.fd)
            self.waiting = bytearray()  # not cleared: somebody may be looking at it
        self.fd = -1

    def _write(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self.fd, data)
        except BlockingIOError:
            return 0
        except OSError as exc:
            if exc.errno not in (errno.EIO, errno.EPIPE):
                raise
            self._on_lost()
            return len(data)
