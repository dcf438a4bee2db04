"""The project file: defaults of commands, ``use`` and the pytest plugin.

::

    [tool.ptycassette]            # in pyproject.toml; in ptycassette.toml without a heading
    size = "100x30"               # of the terminal that programs are recorded in
    mode = "auto"                 # of use, the plugin and shims
    library = "tests/cassettes"   # where cassettes are, relative to the file
    idle_limit = "2s"             # players shorten longer pauses of new recordings
    compare = "normalised"        # how input is compared

    [tool.ptycassette.scrub]      # further secrets: docs/scrubbing.md

    [tool.ptycassette.seal]       # required seals of cassettes: docs/sealing.md
    required = true
    trust = "trust.toml"          # the trusted keys, relative to the file

The file of the current directory is used, else that of the nearest directory above it, up to the
repository (a directory with ``.git``) or the home directory. A file above that belongs to another
user (except root) is ignored: it could switch off rules of the scrubber. PTYCASSETTE_PROJECT
names a file to use in every directory. Shims set it for the programs that they start, so that a
program in another directory is recorded and scrubbed by the project's settings. Options and
variables of the environment override the file.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.errors import NotFoundError, UsageError
from ptycassette.keys.quantities import LONGEST_S, TIME_EXAMPLES, parse_size, parse_time
from ptycassette.model.screen import Size
from ptycassette.model.toml_text import MAX_TOML_BYTES, parse_toml
from ptycassette.model.visible_text import visible
from ptycassette.system.files.state_dirs import absolute, current_dir, home_dir
from ptycassette.system.files.whole_file import read_plain

PROJECT_VARIABLE = "PTYCASSETTE_PROJECT"
OWN_NAME, SHARED_NAME = "ptycassette.toml", "pyproject.toml"
_MARK = re.compile(rb"tool\s*\.\s*[\"']?ptycassette|ptycassette\s*=|\[\s*tool\s*\]")
MODES = ("replay", "auto", "record", "rerecord", "rewrite", "live", "rerun")
STRATEGIES = ("exact", "prompt", "normalised", "semantic", "any")


class SealPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Whether cassettes must be sealed, and the file with the trusted keys."""

    required: bool = False
    trust: Path | None = None


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a project file; None for each that it does not set. ``where`` is the file."""

    where: Path | None = None
    size: Size | None = None
    mode: str | None = None
    library: Path | None = None
    idle_limit_s: float | None = None
    compare: str | None = None
    scrub: Any = None
    seal: SealPolicy = SealPolicy()


def _size(value: Any, where: Path) -> Size | None:
    del where
    try:
        return parse_size(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _one_of(*names: str) -> Callable[[Any, Path], str | None]:
    return lambda value, _: value if isinstance(value, str) and value in names else None


def _path(value: Any, where: Path) -> Path | None:
    if not isinstance(value, str) or not value or "\0" in value:
        return None
    try:
        return (where.parent / Path(value).expanduser()).absolute()
    except RuntimeError:  # ~nobody
        return None


def _seconds(value: Any, where: Path) -> float | None:
    del where
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if 0 <= value <= LONGEST_S else None
    try:
        return parse_time(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _table(value: Any, where: Path) -> Any:
    del where
    return value if isinstance(value, dict) else None


def _flag(value: Any, where: Path) -> bool | None:
    del where
    return value if isinstance(value, bool) else None


Keys = Mapping[str, tuple[str, str, Callable[[Any, Path], Any]]]

SEAL_KEYS: Keys = {
    "required": ("required", "true or false", _flag),
    "trust": ("trust", "a file, relative to the project file", _path),
}
KEYS: Keys = {
    "size": ("size", 'COLSxROWS, such as "100x30"', _size),
    "mode": ("mode", f"one of {', '.join(MODES)}", _one_of(*MODES)),
    "library": ("library", "a directory, relative to the file", _path),
    "idle_limit": ("idle_limit_s", f"a time: seconds, or such as {TIME_EXAMPLES}", _seconds),
    "compare": ("compare", f"one of {', '.join(STRATEGIES)}", _one_of(*STRATEGIES)),
    "scrub": ("scrub", "a table (docs/scrubbing.md)", _table),
    "seal": ("seal", "a table: required = true or false, trust = a file", _table),
}
"""Key in the file -> field, what is allowed, and what reads it (None where it is not allowed)."""


def find_project(start: Path | None = None) -> Project:
    """The project file for a directory; an empty ``Project`` without one.

    Args:
        start: the directory; the current one when None. A file in PTYCASSETTE_PROJECT overrides it.

    Raises:
        UsageError: it is not TOML, has an unknown key or a value that is not allowed.
        UnreadableError, UnsafeFileError, LimitError: it cannot be read.
        NotFoundError: PTYCASSETTE_PROJECT names a file that does not exist, or that has no settings
            for ptycassette.
    """
    if named := os.environ.get(PROJECT_VARIABLE):
        return _named(absolute(named))
    here = absolute(start or current_dir())
    for place in _places(here):
        for path in (place / OWN_NAME, place / SHARED_NAME):
            if place != here and not _is_trusted(path):
                continue
            found = _read_once(path)
            if found is not None:
                return found
    return Project()


def _named(path: Path) -> Project:
    found = _read_once(path)
    if found is None:
        why = "has no table tool.ptycassette" if path.exists() else "is not there"
        raise NotFoundError(f"the project file {why}", where=f"{PROJECT_VARIABLE}={path}")
    return found


_READ: dict[Path, tuple[tuple[int, ...], Project | None]] = {}
"""What was read of each file, and how the file was then."""
_SETTLED_NS = 2_000_000_000
"""A file that was changed so recently could be changed again without another time of change."""


def _read_once(path: Path) -> Project | None:
    """The settings in a file; None if there is no file, or it has no table of ours.

    A process reads and checks a file once, as long as it stays the same. The callers share the
    result.
    """
    try:
        status = path.stat()
    except OSError:
        return _read(path)  # it is not there, or reading it shows why
    state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    known = _READ.get(path)
    if known is not None and known[0] == state:
        return known[1]
    found = _read(path)
    if abs(time.time_ns() - status.st_mtime_ns) > _SETTLED_NS:
        _READ[path] = (state, found)
    return found


def _read(path: Path) -> Project | None:
    table = _table_of(path)
    return None if table is None else _project(table, path)


def _places(start: Path) -> Iterator[Path]:
    """The directory and those above it, up to the repository or the home directory."""
    home = home_dir()
    for place in (start, *start.parents):
        yield place
        if place == home or os.path.lexists(place / ".git"):
            return


def _is_trusted(path: Path) -> bool:
    try:
        return path.stat().st_uid in {0, os.geteuid()}
    except OSError:
        return True  # it does not exist, or reading it shows the reason


def _table_of(path: Path) -> dict[str, Any] | None:
    """Our table in a file; None without a file or a table."""
    if not os.path.lexists(path):  # the error would look for names like it, in a folder for each
        return None
    try:
        data = read_plain(path, max_bytes=MAX_TOML_BYTES)
    except NotFoundError:
        return None
    shared = path.name == SHARED_NAME
    if shared and not _MARK.search(data):
        return None
    try:
        tables = parse_toml(data.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise UsageError("not UTF-8", where=visible(str(path))) from exc
    except ValueError as exc:
        raise UsageError(f"not TOML: {exc}", where=visible(str(path))) from exc
    if not shared:
        return tables
    tool = tables.get("tool")
    found = tool.get("ptycassette") if isinstance(tool, dict) else None
    if found is not None and not isinstance(found, dict):
        raise UsageError("tool.ptycassette is not a table", where=visible(str(path)))
    return found


def _project(table: dict[str, Any], path: Path) -> Project:
    prefix = "tool.ptycassette." if path.name == SHARED_NAME else ""
    fields = _fields(table, path, KEYS, prefix)
    if "seal" in fields:
        fields["seal"] = SealPolicy(**_fields(fields["seal"], path, SEAL_KEYS, f"{prefix}seal."))
    return Project(where=path, **fields)


def _fields(table: Mapping[str, Any], path: Path, keys: Keys, prefix: str) -> dict[str, Any]:
    """The fields that a table sets.

    Raises:
        UsageError: a key is unknown, or its value is not allowed.
    """
    where = visible(str(path))
    fields: dict[str, Any] = {}
    for key, value in table.items():
        if key not in keys:
            raise UsageError(
                f"{visible(prefix + key, limit=100)} is not a key of the project file",
                where=where,
                hint=_likely(key, keys) + f"allowed: {', '.join(keys)}",
            )
        field, allowed, read = keys[key]
        found = read(value, path)
        if found is None:
            raise UsageError(
                f"{prefix}{key} is {visible(repr(value), limit=100)}, and must be {allowed}",
                where=where,
            )
        fields[field] = found
    return fields


def _likely(key: str, keys: Keys) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - for errors alone

    near = get_close_matches(key, list(keys), n=1)
    return f"did you mean {near[0]}? " if near else ""
