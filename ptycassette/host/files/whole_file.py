"""Write a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ptycassette.errors import StorageError

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], parts: Iterable[bytes], *, mode: int = 0o644) -> None:
    """Write ``parts`` to ``path``: a temporary file beside it, fsync, one rename.

    Nobody ever sees half of it; what was there stays until the new file is whole.

    Raises:
        StorageError: the disk or the directory refuses; nothing was changed.
    """
    target = Path(path)
    try:
        fd, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    except OSError as exc:
        raise _refused(target, exc) from exc
    try:
        with os.fdopen(fd, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(target)
    except OSError as exc:
        _remove(name)
        raise _refused(target, exc) from exc
    except BaseException:
        _remove(name)
        raise


def _remove(name: str) -> None:
    with suppress(FileNotFoundError):
        Path(name).unlink()


def _refused(target: Path, exc: OSError) -> StorageError:
    return StorageError(
        f"cannot be written: {exc.strerror}",
        where=str(target),
        hint="name a place that exists, has room, and may be written",
    )
