"""The compiled relay loop, ``relay.c``, which is built at installation.

It is optional: without a C compiler, on other systems than Linux, or with
``PTYCASSETTE_PURE_PYTHON`` set, the loop in ``interactive.py`` does all of the work.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ptycassette.recording.io._relay_limits import (
    BATCH_BYTES,
    KEY_BYTES,
    MOST_OTHERS,
    READ_BYTES,
    UNSHOWN_BYTES,
)
from ptycassette.system.pty.polling import PURE_PYTHON

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
