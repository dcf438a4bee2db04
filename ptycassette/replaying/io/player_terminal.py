"""The user's terminal during playback: reads keys, paints, and is always restored.

While entered, it is on the alternate screen, in cbreak mode, with the cursor as
painted. On leaving (end, key, exception, SIGTERM, SIGHUP, SIGINT) it is restored.
Pending answers of the terminal (to queries of a raw playback) are read and dropped,
so that no shell reads them as typed input. A stop (SIGTSTP, ctrl-z) restores the
terminal, too, and SIGCONT sets it up again. Only SIGKILL leaves it unrestored.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
from types import FrameType, TracebackType
from typing import Any, Self

from ptycassette.keys.reader import KeyReader
from ptycassette.model.screen import Size
from ptycassette.system.clock import monotonic_s

ENTER = b"\x1b[?1049h\x1b[2J\x1b[H"
LEAVE = b"\x1b[0m\x1b[?25h\x1b[?1049l"

# Resets the modes that a recording may have switched on when it is played raw: mouse reports,
# bracketed paste, focus reports, synchronised update, application cursor keys and keypad, origin
# and insert mode, autowrap off, scroll region, character sets, cursor shape, the kitty keyboard and
# xterm's modifyOtherKeys, palette and dynamic colours, alternate screen. (xterm's "Control
# Sequences"; DECSTR alone leaves most of it.)
RAW_LEAVE = (
    b"\x18\x1b\\"  # end whatever sequence was cut off
    b"\x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l"
    b"\x1b[?1015l\x1b[?1016l\x1b[?2004l\x1b[?2026l\x1b[?2031l\x1b[?2048l"
    b"\x1b[<99u\x1b[=0u"  # the alternate screen has keyboard flags of its own, as kitty has it
    b"\x1b7\x1b[?1049l\x1b[?1047l\x1b[?47l"  # DECSC: on the main screen 1049 restores this place
    b"\x1b[0m\x1b(B\x1b)B\x1b*B\x1b+B\x0f"
    b"\x1b7\x1b[?6l\x1b[r\x1b8\x1b[!p"  # resetting the region moves the cursor, so keep its place
    b"\x1b[?1l\x1b>\x1b[?5l\x1b[?7h\x1b[?45l\x1b[4l\x1b[20l"
    b"\x1b[<99u\x1b[=0u\x1b[>4m"
    b"\x1b[0 q\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\\x1b]8;;\x1b\\"
    b"\x1b[?25h"
    b"\x1b[23;0t"  # the title as it was
)
RAW_ENTER = b"\x1b[22;0t"  # keep the title (XTWINOPS 22)
QUIET_S = 0.15
"""Late answers are over when the terminal has been silent for so long."""
DRAIN_S = 1.0
_ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


class Interrupted(Exception):  # noqa: N818 - what happened, not an error
    """A signal asked the player to end. ``status`` is 128 + its number."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


_NAMED = frozenset({
    *("up", "down", "left", "right", "home", "end", "space", "enter", "escape"),
    *("ctrl-c", "ctrl-d", "ctrl-z"),
})  # fmt: skip


def player_keys(reader: KeyReader, data: bytes | None) -> list[str]:
    """The keys that ``data`` completes: a printable ASCII character, or a name (``left``).

    Pastes, answers of the terminal, reports of the mouse and other keys are dropped whole, so that
    no part of one counts as a key.

    Args:
        reader: of this terminal; with ``alt``, so that Alt-q is not q.
        data: what it sent; None for nothing since a while: a lone ESC was the Escape key, and the
            start of a longer sequence is dropped.
    """
    if data is None:
        return ["escape"] if (reader.pending, reader.flush())[0] == b"\x1b" else []
    names = ("space" if key.text == " " else key.text or key.name for key in reader.feed(data)
             if key.kind in {"text", "key"})  # fmt: skip
    return [name for name in names if name in _NAMED or (len(name) == 1 and "!" <= name <= "~")]


class PlayerTerminal:
    """The terminal of the user. Use as a context manager.

    Args:
        output: file descriptor to paint on; a terminal.
        keys: file descriptor to read keys from, a terminal, or None without keys.
        raw: the recording is written unchanged, so more must be restored at the end.
    """

    def __init__(self, output: int, keys: int | None, *, raw: bool = False) -> None:
        self._output = output
        self._keys = keys
        self._raw = raw
        self._reader = KeyReader(alt=True)
        self._saved: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._inside = False
        self._ended = False
        self._wake_read, self._wake_write = -1, -1
        self.resized = False
        """Set when the terminal changed its size or came back from a stop: paint all again."""

    def __enter__(self) -> Self:
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        try:
            for number in _ENDINGS:
                self._handle(number, self._on_ending)
            self._handle(signal.SIGWINCH, self._on_resize)
            self._handle(signal.SIGTSTP, self._on_stop)
            self._take()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Restore everything; the second call does nothing.

        A signal may arrive just when ``__exit__`` begins. It raises only once, so that a
        ``finally: terminal.close()`` around the ``with`` always succeeds.
        """
        self._ended = True
        try:
            self._give_back()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            self._handlers.clear()
            for fd in (self._wake_read, self._wake_write):
                if fd >= 0:
                    os.close(fd)
            self._wake_read = self._wake_write = -1

    @property
    def size(self) -> Size:
        """The current size of the terminal; 24x80 if it reports none."""
        try:
            size = os.get_terminal_size(self._output)
        except OSError:
            return Size(rows=24, cols=80)
        if size.lines < 1 or size.columns < 1:
            return Size(rows=24, cols=80)
        return Size(rows=size.lines, cols=size.columns)

    def write(self, data: bytes) -> None:
        """Write all of ``data``, also when the terminal takes only parts."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._output, view) :]
            except BlockingIOError:
                select.select([], [self._output], [], 1.0)

    def keys(self, timeout_s: float) -> list[str]:
        """Wait at most ``timeout_s`` for keys; wakes up for signals, too."""
        watched = [self._wake_read] if self._keys is None else [self._wake_read, self._keys]
        if self._reader.waits:
            timeout_s = min(timeout_s, 0.1)
        ready, _, _ = select.select(watched, [], [], max(0.0, timeout_s))
        if self._wake_read in ready:
            os.read(self._wake_read, 512)
        if self._keys is None or self._keys not in ready:
            return [] if ready else player_keys(self._reader, None)
        data = os.read(self._keys, 4096)
        if not data:  # the terminal is gone
            self._keys = None
            return ["q"]
        return player_keys(self._reader, data)

    def suspend(self) -> None:
        """Restore the terminal and stop, as ctrl-z does; continue on SIGCONT."""
        self._give_back()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0, signal.SIGTSTP)  # the whole job, as the key would
        signal.signal(signal.SIGTSTP, self._on_stop)
        self._take()
        self.resized = True

    def _handle(self, number: int, handler: Any) -> None:
        self._handlers[number] = signal.signal(number, handler)

    def _on_ending(self, number: int, _frame: FrameType | None) -> None:
        if self._ended:
            return
        self._ended = True
        raise Interrupted(number)

    def _on_resize(self, _number: int, _frame: FrameType | None) -> None:
        self.resized = True
        with contextlib.suppress(BlockingIOError):  # full: it wakes up anyway
            os.write(self._wake_write, b"w")

    def _on_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.suspend()

    def _take(self) -> None:
        self._inside = True
        tty_fd = self._output if self._keys is None else self._keys
        self._saved = termios.tcgetattr(tty_fd)
        changed = termios.tcgetattr(tty_fd)
        if self._keys is not None:
            # Keys one by one, without echo. ctrl-c and ctrl-z are keys, too, handled in one place.
            changed[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN | termios.ISIG)
            changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
        if self._raw:
            changed[1] &= ~termios.OPOST  # the recording has its own carriage returns
        termios.tcsetattr(tty_fd, termios.TCSADRAIN, changed)
        self.write(RAW_ENTER if self._raw else ENTER)

    def _give_back(self) -> None:
        """Restore everything; the second call does nothing."""
        if not self._inside:
            return
        self._inside = False
        with contextlib.suppress(OSError):  # a terminal that is gone has nothing to put back
            self.write(RAW_LEAVE if self._raw else LEAVE)
        if self._saved is None:
            return
        tty_fd = self._output if self._keys is None else self._keys
        with contextlib.suppress(OSError, termios.error):
            if self._keys is not None:
                self._drain(self._keys)
            termios.tcsetattr(tty_fd, termios.TCSAFLUSH, self._saved)
        self._saved = None

    def _drain(self, keys: int) -> None:
        if not self._raw:
            return
        deadline = monotonic_s() + DRAIN_S
        while monotonic_s() < deadline and select.select([keys], [], [], QUIET_S)[0]:
            if not os.read(keys, 4096):
                return
