"""The user's private state directory, where unscrubbed data may lie (decision 0002)."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ptycassette.errors import RefusedError, StorageError


def state_dir(env: Mapping[str, str] | None = None) -> Path:
    """The state directory: ``$PTYCASSETTE_STATE_DIR``, else below XDG's, else ``~/.local/state``.

    The XDG base directory specification asks for relative paths to be ignored.
    """
    env = os.environ if env is None else env
    own = env.get("PTYCASSETTE_STATE_DIR", "")
    if own:
        return Path(own).absolute()
    xdg = env.get("XDG_STATE_HOME", "")
    base = Path(xdg) if xdg.startswith("/") else Path.home() / ".local" / "state"
    return base / "ptycassette"


def journal_dir(env: Mapping[str, str] | None = None) -> Path:
    """Where journals lie; made private and kept out of version control when first used."""
    return private_dir(state_dir(env) / "journals", top=state_dir(env))


def lock_dir(env: Mapping[str, str] | None = None) -> Path:
    """Where lock files lie."""
    return private_dir(state_dir(env) / "locks", top=state_dir(env))


def private_dir(path: Path, *, top: Path) -> Path:
    """Make ``path`` and ``top`` (it or a parent of it) with mode 0700, and a ``.gitignore``.

    Raises:
        RefusedError: one of them belongs to somebody else, or is not a directory.
        StorageError: the disk refused.
    """
    try:
        top.parent.mkdir(parents=True, exist_ok=True)
        for folder in dict.fromkeys((top, path)):
            folder.mkdir(mode=0o700, exist_ok=True)
            _be_private(folder)
        ignore = top / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="ascii")
    except (FileExistsError, NotADirectoryError) as exc:
        raise RefusedError("is not a directory, and must be one", where=str(exc.filename)) from exc
    except OSError as exc:
        raise StorageError(
            f"cannot prepare the state directory: {exc.strerror}",
            where=str(exc.filename or path),
            hint="set PTYCASSETTE_STATE_DIR to a directory that you can write to",
        ) from exc
    return path


def _be_private(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        # A link could lead unscrubbed bytes to a place that others read.
        raise RefusedError("is not a directory", where=str(folder))
    if found.st_uid != os.geteuid():
        raise RefusedError(
            "belongs to another user",
            where=str(folder),
            hint="set PTYCASSETTE_STATE_DIR to a directory of your own",
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
