"""Record or serve the draws of this process, as ``PTYCASSETTE_DRAWS`` selects.

- not set: values come from the machine; nothing is logged.
- ``record:PATH``: values come from the machine and are logged to a new file.
- ``replay:PATH``: values come from the log; served draws are noted in ``PATH.served``.

While the program is recorded (``PTYCASSETTE_EVENTS`` is set), each draw and each divergence is
also a service event of the recording.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.errors import ExistsError, StorageError, UsageError
from ptycassette.model.records import EVENTS_VARIABLE
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.files.whole_file import read_plain
from ptycassette.system.ownership import owned_context
from ptycassette.tape.draws import (
    Draw,
    Draws,
    RecordedDraws,
    ServedDraws,
    divergence_event,
    draw_event,
    read_draws,
    write_draw,
)

VARIABLE = "PTYCASSETTE_DRAWS"
MAX_LOG_BYTES = 64 << 20
_HINT = f"{VARIABLE}=record:PATH or replay:PATH"


class MachineDraws:
    """The clock, random source and environment of this process."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()

    @staticmethod
    def time_ns() -> int:
        """As ``time.time_ns``."""
        return time.time_ns()

    @staticmethod
    def uuid4() -> uuid.UUID:
        """As ``uuid.uuid4``."""
        return uuid.uuid4()

    def random(self) -> float:
        """As ``random.random``."""
        return self._random.random()

    def randbytes(self, count: int) -> bytes:
        """As ``random.randbytes``."""
        return self._random.randbytes(count)

    @staticmethod
    def environ(name: str) -> str | None:
        """As ``os.environ.get``."""
        return os.environ.get(name)


def open_draws(environment: Mapping[str, str] | None = None) -> Draws:
    """The draws of this process, as ``PTYCASSETTE_DRAWS`` in ``environment`` selects.

    ``environment`` is that of this process if None.

    Raises:
        UsageError: the variable has another value.
        ExistsError: the new log already exists.
        StorageError: the log cannot be written.
        NotFoundError, UnreadableError, LimitError: the log cannot be read.
        RecordError: it is not a log of draws.
    """
    environment = os.environ if environment is None else environment
    asked, channel = environment.get(VARIABLE, ""), environment.get(EVENTS_VARIABLE, "")
    events = _Events(Path(channel)) if channel else None
    if not asked:
        return RecordedDraws(MachineDraws(), _both(lambda draw: None, events))  # noqa: ARG005
    mode, _, name = asked.partition(":")
    if mode not in {"record", "replay"} or not name:
        raise UsageError(f"{VARIABLE}={asked} means nothing", hint=_HINT)
    path = Path(name)
    if mode == "record":
        return RecordedDraws(MachineDraws(), _both(_Log(path).add, events))
    draws = list(read_draws(read_plain(path, max_bytes=MAX_LOG_BYTES), where=name))
    log = _Log(path.with_name(f"{path.name}.served"), again=True)
    return ServedDraws(draws, _both(log.add, events), events.diverged if events else None)


@owned_context
def served_draws(draws: Iterable[Draw]) -> Iterator[dict[str, str]]:
    """The variable that makes a program use exactly these draws.

    Raises:
        StorageError: the disk refuses.
    """
    with temporary_folder() as made:
        log = made / "draws.jsonl"
        with _written(log):
            log.write_bytes(b"".join(map(write_draw, draws)))
        yield {VARIABLE: f"replay:{log}"}


def _both(keep: Callable[[Draw], None], events: _Events | None) -> Callable[[Draw], None]:
    """Keep a draw, and send it to the recorder."""
    if events is None:
        return keep

    def kept(draw: Draw) -> None:
        keep(draw)
        events.add(draw)

    return kept


class _Events:
    """The channel for service events of the recording that this program runs in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _written(path):
            # Without O_NONBLOCK it would wait for ever if the recorder is gone.
            self._fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(self._fd, True)

    def add(self, draw: Draw) -> None:
        self._write(draw_event(draw))

    def diverged(self, message: str) -> None:
        self._write(divergence_event(message))

    def _write(self, payload: dict[str, Any]) -> None:
        line = msgspec.json.encode(payload) + b"\n"
        with _written(self._path):
            while line:
                line = line[os.write(self._fd, line) :]


@owned_context
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failed:
        raise StorageError(f"cannot be written: {failed.strerror}", where=str(path)) from failed


class _Log:
    """A file of draws. Each is written before the program gets it, so kill -9 loses none."""

    def __init__(self, path: Path, *, again: bool = False) -> None:
        self._path = path
        fresh = os.O_TRUNC if again else os.O_EXCL
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | fresh
        try:
            self._fd = os.open(path, flags, 0o600)
        except FileExistsError as there:
            raise ExistsError("a log of draws is never overwritten", where=str(path)) from there
        except OSError as failed:
            raise StorageError(f"cannot be written: {failed.strerror}", where=str(path)) from failed

    def add(self, draw: Draw) -> None:
        """Append a draw.

        Raises:
            StorageError: the disk refuses.
        """
        line = write_draw(draw)
        with _written(self._path):
            written = os.write(self._fd, line)
        if written != len(line):
            raise StorageError("the disk is full", where=str(self._path))
