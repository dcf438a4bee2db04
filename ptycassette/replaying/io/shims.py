"""Shims: executables with a program's name, in a directory to put first on PATH.

A shim is a shell script of one line that starts ``standin/io/boot.py`` by path, isolated
from the environment's Python (``-I -S``). A file beside it holds its settings.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ptycassette.errors import CassetteError, ManifestError, NotFoundError, SpawnError, UsageError
from ptycassette.model.records import NOT_JSON, native, storable
from ptycassette.model.resolved_types import resolved
from ptycassette.system.files.whole_file import read_plain, write_whole
from ptycassette.system.interpreter import python_command

_MAX_BYTES = 1 << 20

CONFIG_NAME = ".ptycassette-shim.json"
MARK = "# made by ptycassette"


class ShimConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the shims in a directory.

    The environment's PTYCASSETTE_MODE overrides ``mode``. ``options`` are words for the stand-in.
    ``state`` is the place of the next session's number. ``pending`` is the directory for recordings
    that are published later; when it is empty, they go into the library at once. ``hooks`` is a
    file of hooks, for recorder and stand-in. ``project`` is the project file to use, wherever the
    program starts. ``each`` is as for ``Library``.
    """

    library: str
    state: str
    pending: str = ""
    mode: str | None = None
    report: str = ""
    hooks: str = ""
    project: str = ""
    each: bool = False
    options: tuple[str, ...] = ()


def make_shims(directory: Path, programs: Iterable[str], config: ShimConfig) -> list[Path]:
    """Write a shim for each of ``programs`` into ``directory``.

    Raises:
        UsageError: a name is invalid, or there is a file in the way that is not a shim.
        StorageError: the disk refuses.
    """
    directory.mkdir(parents=True, exist_ok=True)
    write_whole(
        directory / CONFIG_NAME, [msgspec.json.encode(storable(msgspec.to_builtins(config)))]
    )
    boot = Path(__file__).parents[1] / "standin" / "io" / "boot.py"
    made = []
    for program in programs:
        if not program or Path(program).name != program or program.startswith("."):
            raise UsageError(
                f"{program!r} is not the name of a program",
                hint="give a name without a path and without a dot at the start",
            )
        target = directory / program
        if not _may_replace(target):
            raise UsageError("there is a file there that is not a shim", where=str(target))
        words = python_command(str(boot), "--shim", str(directory), program, isolated=True)
        script = f'#!/bin/sh\n{MARK}\nexec {shlex.join(words)} -- "$@"\n'
        write_whole(target, [os.fsencode(script)], mode=0o777)
        made.append(target)
    return made


def _may_replace(target: Path) -> bool:
    """Whether the target does not exist, or is a shim."""
    if not os.path.lexists(target):
        return True
    try:
        return MARK.encode() in read_plain(target, max_bytes=_MAX_BYTES)[:200]
    except CassetteError:  # a directory, a pipe, a link to nowhere, something large
        return False


def read_shim_config(directory: Path) -> ShimConfig:
    """Read the settings that ``make_shims`` wrote.

    Raises:
        NotFoundError: the directory has no shims.
        ManifestError: the file was changed since.
    """
    path = directory / CONFIG_NAME
    try:
        said = msgspec.json.decode(read_plain(path, max_bytes=_MAX_BYTES))
        return msgspec.convert(native(said), resolved(ShimConfig))
    except NotFoundError as exc:
        raise NotFoundError("no shims were made here", where=str(directory)) from exc
    except NOT_JSON as exc:
        raise ManifestError(f"not a configuration of shims: {exc}", where=str(path)) from exc


def find_real(program: str, path: str) -> str:
    """The real program, found further along ``path``.

    Raises:
        SpawnError: ``path`` has no such program.
    """
    for name in path.split(os.pathsep):
        directory = Path(name or ".")
        found = directory / program
        # In this order: a directory on the PATH may be closed to us.
        if os.access(found, os.X_OK) and found.is_file() and not (directory / CONFIG_NAME).exists():
            return str(found)
    raise SpawnError(
        f"the real {program} is not on PATH behind the shim",
        hint="install it, or run in mode replay",
    )
