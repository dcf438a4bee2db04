"""The draws of this process, as ``PTYCASSETTE_DRAWS`` says.

- not set: from the machine; nothing is logged.
- ``record:PATH``: from the machine, logged to a new file.
- ``replay:PATH``: those of the log; what is served is noted in ``PATH.served``.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from ptycassette.errors import ExistsError, StorageError, UsageError
from ptycassette.system.files import read_plain
from ptycassette.tape.draws import Draw, Draws, RecordedDraws, ServedDraws, read_draws, write_draw

VARIABLE = "PTYCASSETTE_DRAWS"
MAX_LOG_BYTES = 64 << 20
_HINT = f"{VARIABLE}=record:PATH or replay:PATH"


class MachineDraws:
    """The clock and the chance of the machine."""

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


def open_draws(environment: Mapping[str, str] | None = None) -> Draws:
    """The draws of this process; its environment says which when None is given.

    Raises:
        UsageError: the variable says something else.
        ExistsError: there is a file already where a log is to be written.
        StorageError: the log cannot be written.
        NotFoundError, UnreadableError, LimitError: the log cannot be read.
        RecordError: it is not a log of draws.
    """
    asked = (os.environ if environment is None else environment).get(VARIABLE, "")
    if not asked:
        return RecordedDraws(MachineDraws(), lambda draw: None)  # noqa: ARG005 - nothing is kept
    mode, _, name = asked.partition(":")
    if mode not in {"record", "replay"} or not name:
        raise UsageError(f"{VARIABLE}={asked} means nothing", hint=_HINT)
    path = Path(name)
    if mode == "record":
        return RecordedDraws(MachineDraws(), _Log(path).add)
    draws = list(read_draws(read_plain(path, max_bytes=MAX_LOG_BYTES), where=name))
    return ServedDraws(draws, _Log(path.with_name(f"{path.name}.served"), again=True).add)


class _Log:
    """A file of draws; each is written before the program has it, so that kill -9 loses none."""

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
        try:
            if os.write(self._fd, line) != len(line):
                raise StorageError("the disk is full", where=str(self._path))
        except OSError as failed:
            raise StorageError(
                f"cannot be written: {failed.strerror}", where=str(self._path)
            ) from failed
