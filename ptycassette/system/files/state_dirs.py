"""The user's private state directory, where unscrubbed data may lie (decision 0002).

The first place that can be used counts:

1. ``$PTYCASSETTE_STATE_DIR``; if it is set, no other place is tried;
2. ``$XDG_STATE_HOME/ptycassette``, else ``~/.local/state/ptycassette``. Nothing is made below a
   home that does not exist;
3. ``$XDG_RUNTIME_DIR/ptycassette``, then ``ptycassette-UID`` in ``$TMPDIR``, ``/tmp`` or
   ``/var/tmp``: where the home is read-only, missing, or on a file system that gives everything
   to everybody.

A place can be used if it is a directory of this user that others cannot read or list.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ptycassette.errors import CassetteError, NotFoundError, RefusedError, StorageError

STATE_VARIABLE = "PTYCASSETTE_STATE_DIR"
_SET_IT = f"set {STATE_VARIABLE} to a directory of your own that others cannot read"


def current_dir() -> Path:
    """The current directory, also when it was deleted: then its old name, for messages.

    Raises:
        NotFoundError: it was deleted, and its name is not known either.
    """
    try:
        return Path.cwd()
    except OSError as exc:
        name = os.environ.get("PWD", "")
        with suppress(OSError):
            name = name or os.readlink("/proc/self/cwd").removesuffix(" (deleted)")  # noqa: PTH115 - a name
        if name.startswith("/"):
            return Path(name)
        raise NotFoundError(
            f"the current directory cannot be used: {exc.strerror}",
            hint="cd to a directory that exists",
        ) from exc


def absolute(path: str | os.PathLike[str]) -> Path:
    """``path`` seen from the current directory, which may have been deleted.

    Raises:
        NotFoundError: it is relative, and the current directory is not known.
    """
    given = Path(path)
    return given if given.is_absolute() else current_dir() / given


def home_dir(env: Mapping[str, str] | None = None) -> Path | None:
    """The user's home: ``$HOME``, else as the system has it; None without a home."""
    home = (os.environ if env is None else env).get("HOME", "")
    if not home:
        import pwd  # noqa: PLC0415 - nearly every process has HOME

        with suppress(KeyError):
            home = pwd.getpwuid(os.getuid()).pw_dir
    return Path(home) if home.startswith("/") and Path(home).is_dir() else None


def state_dir(env: Mapping[str, str] | None = None) -> Path:
    """The state directory that is used, made private.

    Raises:
        RefusedError: ``$PTYCASSETTE_STATE_DIR`` cannot be kept private.
        StorageError: none can be made.
    """
    env = os.environ if env is None else env
    own = env.get(STATE_VARIABLE, "")
    if own:
        return private_dir(absolute(own), top=absolute(own))
    why: CassetteError | None = None
    for place in (*_usual_dirs(env), *spare_dirs(env)):
        try:
            return private_dir(place, top=place)
        except CassetteError as exc:
            why = why or exc
    if why is not None:
        raise why
    raise StorageError(
        "there is no place for a state directory: no home, and no temporary directory",
        hint=_SET_IT,
    )


def known_state_dirs(env: Mapping[str, str] | None = None) -> list[Path]:
    """All directories where recordings of this user may have left something; they may be missing.

    Nothing is made.
    """
    env = os.environ if env is None else env
    own = env.get(STATE_VARIABLE, "")
    return [absolute(own)] if own else [*_usual_dirs(env), *spare_dirs(env)]


def _usual_dirs(env: Mapping[str, str]) -> Iterator[Path]:
    """The directory by XDG, whose specification ignores relative paths."""
    home, xdg = home_dir(env), env.get("XDG_STATE_HOME", "")
    gone = env.get("HOME", "") if home is None else ""
    if xdg.startswith("/"):
        if not (gone.startswith("/") and Path(xdg).is_relative_to(gone)):
            yield Path(xdg) / "ptycassette"
    elif home is not None:
        yield home / ".local" / "state" / "ptycassette"


def spare_dirs(env: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Places on other file systems, for what the usual one does not allow."""
    env = os.environ if env is None else env
    runtime = env.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and Path(runtime).is_dir():
        yield Path(runtime) / "ptycassette"
    for place in dict.fromkeys((env.get("TMPDIR", ""), "/tmp", "/var/tmp")):  # noqa: S108 - checked
        if place.startswith("/") and Path(place).is_dir():
            yield Path(place) / f"ptycassette-{os.getuid()}"


def cache_dir(env: Mapping[str, str] | None = None) -> Path | None:
    """The user's cache folder, for files that can be made again; None without one."""
    env = os.environ if env is None else env
    home, xdg = home_dir(env), env.get("XDG_CACHE_HOME", "")
    if xdg.startswith("/"):
        return Path(xdg) / "ptycassette"
    return None if home is None else home / ".cache" / "ptycassette"


def run_dirs(env: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Where temporary folders lie (``held_folder``), the usual place first; nothing is made."""
    cache = cache_dir(env)
    yield from (place / "runs" for place in (*([] if cache is None else [cache]), *spare_dirs(env)))


def journal_dir(env: Mapping[str, str] | None = None) -> Path:
    """Where journals lie; made private and kept out of version control when first used."""
    top = state_dir(env)
    return private_dir(top / "journals", top=top)


def journal_dirs(env: Mapping[str, str] | None = None) -> list[Path]:
    """Where journals may have been left, as far as these directories exist."""
    return [top / "journals" for top in known_state_dirs(env) if is_own_dir(top / "journals")]


def is_own_dir(folder: Path) -> bool:
    """Whether it is a directory, not a link to one, and belongs to this user."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def lock_dir(env: Mapping[str, str] | None = None) -> Path:
    """Where lock files lie."""
    top = state_dir(env)
    return private_dir(top / "locks", top=top)


def private_dir(path: Path, *, top: Path) -> Path:
    """Make ``path`` and ``top`` (it or a parent of it) with mode 0700, and a ``.gitignore``.

    Raises:
        RefusedError: one of them belongs to somebody else, is not a directory, or others can
            read it, and the file system does not change that.
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
        elif not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13), str(path))
    except (FileExistsError, NotADirectoryError) as exc:
        raise RefusedError("is not a directory, and must be one", where=str(exc.filename)) from exc
    except OSError as exc:
        raise StorageError(
            f"cannot prepare the state directory: {exc.strerror}",
            where=str(exc.filename or path),
            hint=f"set {STATE_VARIABLE} to a directory that you can write to",
        ) from exc
    return path


def _be_private(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        # A link could lead unscrubbed bytes to a place that others read.
        raise RefusedError("is not a directory", where=str(folder))
    if found.st_uid != os.geteuid():
        raise RefusedError("belongs to another user", where=str(folder), hint=_SET_IT)
    if found.st_mode & 0o777 == 0o700:
        return
    with suppress(OSError):  # some file systems refuse, others do nothing: the result counts
        folder.chmod(0o700)
    if folder.lstat().st_mode & 0o077:
        raise RefusedError(
            "others can read this directory, and its file system does not change that; what is"
            " recorded here is not scrubbed yet",
            where=str(folder),
            hint=_SET_IT,
        )
