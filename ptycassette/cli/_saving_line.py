"""One line on the terminal while a recording is saved: bytes left, seconds left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

_SHOWN_AFTER_S = 0.5
_SHOWN_EACH_S = 0.1
_ERASE = "\r\x1b[K"


class SavingLine:
    """Shows the progress of saving on a terminal, if it takes more than half a second.

    Args:
        fd: where it is shown.
        now_s: a monotonic clock.
    """

    def __init__(self, fd: int = 2, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._fd, self._now_s = fd, now_s
        self._start_s: float | None = None
        self._start_bytes = 0
        self._due_s = 0.0
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of about ``total`` bytes are saved."""
        now_s = self._now_s()
        if self._start_s is None:
            self._start_s = now_s
            self._due_s = now_s + _SHOWN_AFTER_S
        if not self._start_bytes:
            self._start_bytes = done  # what had been saved while the program ran
        if now_s < self._due_s or not os.isatty(self._fd):
            return
        self._due_s = now_s + _SHOWN_EACH_S
        self._shown = True
        self._write(
            f"{_ERASE}ptycassette: saving, {self._left(now_s - self._start_s, done, total)}"
        )

    def _left(self, passed_s: float, done: int, total: int) -> str:
        from ptycassette.keys.quantities import bytes_text

        text = f"{bytes_text(max(0, total - done))} left"
        rate = (done - self._start_bytes) / passed_s
        return f"{text}, {max(1, round((total - done) / rate))} s" if rate > 0 else text

    def close(self) -> None:
        """Remove the line. Idempotent."""
        if self._shown:
            self._shown = False
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        try:
            os.write(self._fd, text.encode("ascii"))
        except OSError:  # the terminal is gone
            self._shown = False
