"""The compiled relay loop, ``relay.c``, which is built at installation.

It is optional: without a C compiler, on other systems than Linux, or with
``PTYCASSETTE_PURE_PYTHON`` set, the loop in ``_interactive.py`` does all of the work.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ptycassette.system.pty.process import PURE_PYTHON, Poll

# Sizes and times of the hot loop, in Python and compiled.


__all__ = [
    "BATCH_BYTES",
    "HELD_MS",
    "KEY_BYTES",
    "MOST_OTHERS",
    "READ_BYTES",
    "SMALL_BYTES",
    "UNSHOWN_BYTES",
]

BATCH_BYTES: Final = 16 << 10
"""A burst is drained up to this: small enough that the program, we and the terminal work at the
same time, large enough that it costs few calls; measured (docs/recording.md)."""
READ_BYTES: Final = 32 << 10
"""Room behind a batch, for its last read."""
SMALL_BYTES: Final = 512
"""A read this small has emptied the PTY; asking again would only delay an echo."""
KEY_BYTES: Final = 4 << 10
"""What is read of the user's input at once."""
UNSHOWN_BYTES: Final = 64 << 10
"""While more than this waits for the screen, no more output is read."""
HELD_MS: Final = 10
"""A key waits this long for its answer before the journal gets it alone."""
MOST_OTHERS: Final = 4
"""Descriptors beside the two terminals."""


LIBRARY = Path(__file__).with_name("_relay.so")
_KEY, _JOURNAL_FAILED = 1, 2  # of its answers; anything else: look yourself


class _State(ctypes.Structure):
    """``struct relay`` of ``relay.c``."""

    _fields_ = (
        ("master", ctypes.c_int32),
        ("in_fd", ctypes.c_int32),
        ("out_fd", ctypes.c_int32),
        ("journal_fd", ctypes.c_int32),
        ("others", ctypes.c_int32 * MOST_OTHERS),
        ("salt", ctypes.c_uint32),
        ("index", ctypes.c_uint32),
        ("start_us", ctypes.c_int64),
        ("deadline_us", ctypes.c_int64),
        ("written", ctypes.c_uint64),
        ("key_us", ctypes.c_int64),
        ("key_count", ctypes.c_int32),
        ("key_sent", ctypes.c_int32),
        ("key_secret", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("unshown_at", ctypes.c_uint32),
        ("unshown_count", ctypes.c_uint32),
        ("key", ctypes.c_uint8 * KEY_BYTES),
        ("unshown", ctypes.c_uint8 * (UNSHOWN_BYTES + BATCH_BYTES + READ_BYTES)),
        ("data", ctypes.c_uint8 * (BATCH_BYTES + READ_BYTES)),
        ("table", ctypes.c_uint32 * 256 * 8),
        ("folds", ctypes.c_int32),
    )


class UnfinishedInput(msgspec.Struct, frozen=True, kw_only=True):
    """Typed input that the caller must complete. It is not in the journal yet.

    Attributes:
        t_us: its time, microseconds since the start.
        data: the bytes.
        sent: how many of them the program has received.
        secret: it was typed while the terminal did not echo.
    """

    t_us: int
    data: bytes
    sent: int
    secret: bool


class RelayRun(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one ``CompiledRelay.run``.

    Attributes:
        records: the number of records appended to the journal.
        written: their size in bytes.
        error: the ``errno`` of the write to the journal that failed; 0 if none did.
        unshown: output that the screen has not taken yet.
        key: a key to be completed.
    """

    records: int
    written: int
    error: int
    unshown: bytes
    key: UnfinishedInput | None


class CompiledRelay:
    """One relay between a program and a terminal.

    Args:
        library: what ``load`` found.
        master: the program's terminal; non-blocking.
        in_fd: where keys are read; -1 for none.
        others: further descriptors that end a run when they become readable; at most four.
        start_us: the time of ``CLOCK_MONOTONIC`` that counts as 0.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        *,
        master: int,
        in_fd: int,
        others: Sequence[int],
        start_us: int,
    ) -> None:
        rest = [-1] * (MOST_OTHERS - len(others))
        self._state = _State(master=master, in_fd=in_fd, start_us=start_us)
        self._state.others = (ctypes.c_int32 * MOST_OTHERS)(*others, *rest)
        self._at = ctypes.byref(self._state)
        self._run = library.relay_run
        library.relay_prepare(self._at)

    @staticmethod
    def load(path: Path = LIBRARY) -> ctypes.CDLL | None:
        """Load the library; None if it was not built, or belongs to another version."""
        if os.environ.get(PURE_PYTHON):
            return None
        try:
            library = ctypes.CDLL(str(path))
            if library.relay_size() != ctypes.sizeof(_State):
                return None
            state = ctypes.POINTER(_State)
            library.relay_prepare.argtypes = (state,)
            library.relay_prepare.restype = None
            library.relay_run.argtypes = (state,)
            library.relay_crc32.argtypes = (
                state, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32,
            )  # fmt: skip
            library.relay_crc32.restype = ctypes.c_uint32
        except (OSError, AttributeError):
            return None
        return library

    def run(
        self, *, journal_fd: int, salt: int, index: int, out_fd: int, deadline_us: int | None
    ) -> RelayRun:
        """Relay until something happens that only the caller can handle; check everything then.

        Args:
            journal_fd: where records go, at its end.
            salt: of the journal.
            index: of the next record.
            out_fd: the screen, non-blocking; -1 for none.
            deadline_us: the time of ``CLOCK_MONOTONIC`` at which to return.
        """
        state = self._state
        state.journal_fd, state.salt, state.index = journal_fd, salt, index
        state.out_fd, state.deadline_us = out_fd, deadline_us or 0
        status = self._run(self._at)
        at = state.unshown_at
        key = None
        if status == _KEY:
            key = UnfinishedInput(
                t_us=state.key_us,
                data=bytes(memoryview(state.key)[: state.key_count]),
                sent=state.key_sent,
                secret=bool(state.key_secret),
            )
        return RelayRun(
            records=(state.index - index) & 0xFFFFFFFF,
            written=state.written,
            error=state.error if status == _JOURNAL_FAILED else 0,
            unshown=bytes(memoryview(state.unshown)[at : at + state.unshown_count]),
            key=key,
        )


# The user's screen, which may be slower than the program: output waits for it.


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
        """Whether too much unshown output waits to read more."""
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
        """Stop showing output, and drop the waiting part."""
        if self.waiting:
            self._poll.unregister(self.fd)
            self.waiting = bytearray()  # not cleared: a user may be looking at it
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
