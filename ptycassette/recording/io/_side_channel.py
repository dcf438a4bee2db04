"""The side channel: the recorded program, or a hook of it, appends JSON lines to a path.

The path is in the child's environment as ``PTYCASSETTE_EVENTS``; it is a FIFO
in a private directory, so a line is seen when it arrives. ``echo '{"step": 1}'
>> "$PTYCASSETTE_EVENTS"`` is all it takes. One line is one service event.
Lines up to 4096 bytes from several writers never mix (PIPE_BUF, pipe(7)).

The input is not trusted: a line that is too long or not JSON becomes a warning
event without its content. After too many events the rest is only counted.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from ptycassette.cassette.strict_json import parse_strict
from ptycassette.errors import CassetteError, RecordError, RefusedError, StorageError
from ptycassette.model.limits import Limits
from ptycassette.model.records import without_halves
from ptycassette.system.files.state_dirs import private_dir, spare_dirs

MAX_LINE_BYTES = 64 << 10
MAX_EVENTS = 100_000

_LIMITS = Limits(max_depth=32)  # a record puts it one level deeper, and readers have limits too


class ServiceEventReader:
    """Bytes in, payloads of service events out. No I/O."""

    def __init__(
        self, *, max_line_bytes: int = MAX_LINE_BYTES, max_events: int = MAX_EVENTS
    ) -> None:
        self._max_line = max_line_bytes
        self._left = max_events
        self._rest = b""
        self._too_long = 0

    def feed(self, data: bytes) -> Iterator[Any]:
        """The payloads of the complete lines; warnings for those that are invalid."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = b""
        for line in lines:
            length, self._too_long = self._too_long + len(line), 0
            if length > self._max_line:
                yield from self._count(_warning(f"a line of {length} bytes was left out"))
            elif line.strip():
                yield from self._count(self._parse(line))
        if self._too_long or len(rest) > self._max_line:
            self._too_long += len(rest)
        else:
            self._rest = rest

    def finish(self) -> Iterator[Any]:
        """The last payload: a line without its newline counts if it is JSON."""
        yield from self.feed(b"\n")

    def _parse(self, line: bytes) -> Any:
        line, _ = without_halves(line)
        try:
            return parse_strict(line, where="side channel", error=RecordError, limits=_LIMITS)
        except CassetteError as exc:
            return _warning(f"a line of {len(line)} bytes was left out: {exc.message}")

    def _count(self, payload: Any) -> Iterator[Any]:
        self._left -= 1
        if self._left > 0:
            yield payload
        elif self._left == 0:
            yield _warning("too many events; the rest is left out")


def _warning(message: str) -> dict[str, str]:
    return {"type": "ptycassette.warning", "channel": "side-channel", "message": message}


class SideChannel:
    """The FIFO: created on entering, removed on leaving.

    Args:
        top: the state directory.

    Raises:
        StorageError: on entering: it cannot be made.
    """

    def __init__(self, top: Path) -> None:
        self._top = self._folder = self.path = top
        self._reader = ServiceEventReader()
        self._thread: threading.Thread | None = None
        self._stop = -1
        self.fd = -1

    def __enter__(self) -> Self:
        refused = self._make(self._top)
        if refused is None:
            return self
        usual = self.path
        for place in spare_dirs():  # on a file system that has pipes
            with suppress(StorageError, RefusedError):
                if self._make(place) is None:
                    return self
        raise StorageError(
            f"cannot make the side channel, a named pipe: {refused.strerror}",
            where=str(usual),
            hint="set PTYCASSETTE_STATE_DIR to a directory on a local disk",
        ) from refused

    def _make(self, top: Path) -> OSError | None:
        """Make it below ``top``; returns why the file system refuses."""
        self._folder = top / "channels" / os.urandom(8).hex()
        self.path = self._folder / "events"
        private_dir(top / "channels", top=top)
        private_dir(self._folder, top=top)
        try:
            os.mkfifo(self.path, 0o600)
            # Also open for writing, so that the last writer's close is no end of file for us,
            # and opening it never has to wait.
            self.fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as exc:
            self._remove()
            return exc
        return None

    def __exit__(self, *_: object) -> None:
        self.stop_thread()
        os.close(self.fd)
        self._remove()

    def _remove(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
            self._folder.rmdir()

    def read(self) -> Iterator[Any]:
        """The payloads that have arrived; call it when ``fd`` is readable."""
        with suppress(BlockingIOError):
            while data := os.read(self.fd, 64 << 10):
                yield from self._reader.feed(data)

    def finish(self) -> Iterator[Any]:
        """The remaining payloads, after the program has ended."""
        yield from self.read()
        yield from self._reader.finish()

    def start_thread(self, take: Callable[[Any], None]) -> None:
        """Call ``take`` with every payload as it arrives, from a thread."""
        reading, self._stop = os.pipe()
        self._thread = threading.Thread(
            target=self._serve, args=(take, reading), name="side-channel", daemon=True
        )
        self._thread.start()

    def stop_thread(self) -> None:
        """End the thread; ``finish`` reads what it has not. Idempotent."""
        if self._thread is not None:
            os.close(self._stop)
            self._thread.join()
            self._thread = None

    def _serve(self, take: Callable[[Any], None], stop: int) -> None:
        try:
            while stop not in select.select([self.fd, stop], [], [])[0]:
                for payload in self.read():
                    take(payload)
        finally:
            os.close(stop)
