"""The request log of the fake provider: entries in memory, and lines of JSON in a file.

The file may be committed one day, so each line is scrubbed before it is written: by the
rules, the machine's known values (environment, credential files, ``ptycassette.toml``)
and the clients' keys. Secrets that only a later request reveals are masked in earlier
lines when the log is closed; this happens in place, which needs no disk space.

Scrubbing a large request takes a tenth of a second. It is done in a thread of its own,
in the order of the requests, so that other answers continue meanwhile.

If the disk refuses, the provider continues: a half line is removed, nothing more is
written, and ``close`` raises.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.errors import StorageError
from ptycassette.harness.provider.fake.exchange import PlannedAnswer
from ptycassette.model.json_values import NOT_JSON
from ptycassette.model.ports import Clock
from ptycassette.scrub.io.conceal import process_scrubber

_WITHHELD = "(withheld: it could not be scrubbed)"
_FREE_TEXT = ("body", "path", "query", "headers", "problem", "unknown_fields")
"""What of an entry a client can put words into."""
MAX_LOGGED_BYTES = 400_000
"""Of a request and its body: clients wait for its scrubbing, up to 2.5 s for a megabyte."""
_SHORTEST = 8
"""Shorter keys are words such as ``test``, which would be removed from everything."""


class RequestLog:
    """Records the outcome of each request. Used by the provider's thread only.

    Args:
        clock: ``t_ms`` counts from the moment the log was opened.
        path: a file to append to, readable by its owner only; None keeps entries in memory
            only.
        known: secret values, including the accepted keys.
        tell: called once, from another thread, when the file cannot be written any more.

    Raises:
        StorageError: the file cannot be opened.
        UsageError: the configuration of scrubbing is wrong.
    """

    def __init__(
        self,
        clock: Clock,
        path: Path | None,
        *,
        known: Iterable[str] = (),
        tell: Callable[[StorageError], None] | None = None,
    ) -> None:
        self._clock = clock
        self._start_us = clock.now_us()
        self.entries: list[dict[str, Any]] = []
        self._file = None if path is None else _ScrubbedLines(path, known=known, tell=tell)

    def now_us(self) -> int:
        """Microseconds since the log was opened."""
        return self._clock.now_us() - self._start_us

    def learn(self, secrets: Iterable[str]) -> None:
        """Learn the keys of a client, so that they are masked in bodies, too."""
        if self._file is not None:
            self._file.learn(secrets)

    def add(
        self, exchange: PlannedAnswer, *, began_us: int, sent: int, outcome: str
    ) -> Future[None] | None:
        """Record a request that is over.

        Args:
            exchange: what was planned.
            began_us: when the request had arrived.
            sent: bytes of the body that were written to the connection.
            outcome: ``complete``, ``disconnect`` (as planned) or ``client-gone``.

        Returns:
            A future that is done when the line is in the file; None without a file.
        """
        entry = {
            **exchange.entry,
            "t_ms": began_us // 1000,
            "took_ms": (self.now_us() - began_us) // 1000,
            "sent_bytes": sent,
            "outcome": outcome,
        }
        self.entries.append(entry)
        return None if self._file is None else self._file.add(entry)

    def close(self) -> None:
        """Write remaining lines, search all lines again, and close the file.

        Raises:
            StorageError: the log could not be written, or searched again, completely.
                A second call does nothing.
        """
        file, self._file = self._file, None
        if file is not None:
            file.close()


class _ScrubbedLines:
    """A file of JSON lines, appended to by a thread of its own."""

    def __init__(
        self, path: Path, *, known: Iterable[str], tell: Callable[[StorageError], None] | None
    ) -> None:
        self._path = path.absolute()
        self._tell = tell
        self._failure: StorageError | None = None
        self._scrubber = process_scrubber(
            known=[value for value in known if len(value.strip()) >= _SHORTEST]
        )
        self._learnt: set[str] = set()
        self._lines: list[tuple[int, int]] = []
        """Offset and length of each line that is ours."""
        self._fd, self._seekable = _opened(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fake-provider-log")

    def learn(self, secrets: Iterable[str]) -> None:
        """Have the scrubber learn values; each once only."""
        new = [text for text in secrets if len(text) >= _SHORTEST and text not in self._learnt]
        if new:
            self._learnt.update(new)
            api_keys = msgspec.json.encode([{"api_key": text} for text in new])
            self._thread.submit(self._scrubber.traffic, [api_keys])

    def add(self, entry: dict[str, Any]) -> Future[None]:
        """Append a line when its turn comes."""
        return self._thread.submit(self._write, entry)

    def close(self) -> None:
        """See ``RequestLog.close``."""
        self._thread.shutdown(wait=True)
        try:
            if self._seekable:
                self._look_again()
        except OSError as refused:
            self._fail(
                f"the request log could not be looked through again: {refused.strerror}",
                hint="do not commit it: earlier lines may hold a secret that a later one showed",
            )
        try:
            os.close(self._fd)
        except OSError as refused:
            self._refused(refused)
        if self._failure is not None:
            raise self._failure

    def _write(self, entry: dict[str, Any]) -> None:
        """Write one line, whole or not at all."""
        if self._failure is not None:
            return
        line = self._clean(entry) + b"\n"
        written = 0
        try:
            while written < len(line):
                written += os.write(self._fd, line[written:])
        except OSError as refused:
            self._take_back(written)
            self._refused(refused)
            return
        if self._seekable:  # appended, so the position is behind it, whoever else appends
            self._lines.append((os.lseek(self._fd, 0, os.SEEK_CUR) - len(line), len(line)))

    def _take_back(self, written: int) -> None:
        """Remove an incomplete line, unless another process has written after it."""
        if not self._seekable or not written:
            return
        end = os.lseek(self._fd, 0, os.SEEK_CUR)
        if os.fstat(self._fd).st_size == end:
            os.ftruncate(self._fd, end - written)

    def _clean(self, entry: dict[str, Any]) -> bytes:
        """The line of an entry, without its end."""
        raw = msgspec.json.encode(entry)
        if len(raw) > MAX_LOGGED_BYTES:
            entry = {**entry, "body": f"(left out: {len(raw)} bytes)"}
            raw = msgspec.json.encode(entry)
        # As traffic first: values are found by the names of their keys, and from then on
        # everywhere. Then string by string, where placeholders say what was removed.
        if self._scrubber.traffic([raw]) == [raw]:
            return raw
        named = msgspec.json.encode(self._scrubber.value(entry, channel="provider"))
        [line] = self._scrubber.traffic([named])
        return line if _is_json(line) else msgspec.json.encode(_emptied(entry))

    def _look_again(self) -> None:
        """Mask secrets that were learnt after lines were written."""
        if not self._lines:
            return
        fd = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)  # a write of an appending one moves
        try:
            if not os.path.sameopenfile(fd, self._fd):
                return  # it was put away meanwhile, and another file has its name
            for offset, length in self._lines:
                line = os.pread(fd, length, offset)
                again = self._clean_in_place(line)
                if again != line:
                    _write_at(fd, again, offset)
        finally:
            os.close(fd)

    def _clean_in_place(self, line: bytes) -> bytes:
        """Scrub a line again, keeping its length."""
        [again] = self._scrubber.traffic([line])
        if again == line or _is_json(again):
            return again
        entry = msgspec.json.encode(_emptied(msgspec.json.decode(line)))
        return (entry if len(entry) < len(line) else b"{}").ljust(len(line) - 1) + b"\n"

    def _refused(self, refused: OSError) -> None:
        """Handle an error of the disk."""
        number = len(self._lines)
        counted = f"{number} whole request" + ("s" if number != 1 else "")
        whole = f"it holds {counted}; " if self._seekable else ""
        self._fail(
            f"the request log cannot be written any more: {refused.strerror}",
            hint=f"{whole}the provider continued to answer",
        )

    def _fail(self, message: str, *, hint: str) -> None:
        """Stop writing, and report it once."""
        if self._failure is None:
            self._failure = StorageError(message, where=str(self._path), hint=hint)
            if self._tell is not None:
                self._tell(self._failure)


def _opened(path: Path) -> tuple[int, bool]:
    """A descriptor for appending, and whether it is a regular file, in which we can seek."""
    # Otherwise opening a pipe without a reader would wait for ever.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    if not str(path).startswith(("/dev/", "/proc/")):  # /dev/stdout is a link of the system
        flags |= os.O_NOFOLLOW
    try:
        fd = os.open(path, flags, 0o600)
        os.set_blocking(fd, True)
        return fd, stat.S_ISREG(os.fstat(fd).st_mode)
    except OSError as failed:
        link = failed.errno == errno.ELOOP and path.is_symlink()
        raise StorageError(
            f"the request log cannot be written: {'it is a link' if link else failed.strerror}",
            where=str(path),
            hint="name the file that it leads to" if link else None,
        ) from failed


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except NOT_JSON:
        return False
    return True


def _emptied(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without the fields in which a client could have put a secret."""
    return {name: _WITHHELD if name in _FREE_TEXT else value for name, value in entry.items()}


def _write_at(fd: int, data: bytes, offset: int) -> None:
    """Overwrite the file with all of ``data`` at an offset."""
    written = 0
    while written < len(data):
        written += os.pwrite(fd, data[written:], offset + written)
