"""The clock of a program, set back to a moment by libfaketime, where that is installed.

libfaketime is loaded into programs that are linked dynamically, and into those that they start.
Nothing tells a static one another time.
"""

from __future__ import annotations

import shutil
import struct
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import msgspec

_PLACES = (
    "/usr/lib/*/faketime",
    "/usr/lib64/faketime",
    "/usr/lib/faketime",
    "/usr/local/lib/faketime",
)
_LIBRARY = "libfaketimeMT.so.1"
_HEADER = struct.Struct("<16x2HI3QI3H")  # ELF64, from e_type to e_phnum
_ELF64_LITTLE = b"\x7fELF\x02\x01"
_PT_INTERP = 3
_READ_BYTES = 64 << 10
_MOST_INTERPRETERS = 4


class ClockPin(msgspec.Struct, frozen=True):
    """Variables that set the clock of a program, and how that is said in a report."""

    environment: Mapping[str, str]
    said: str


def clock_pin(program: str, moment: datetime, *, path: str | None = None) -> ClockPin:
    """How a program is given a clock that starts at a moment and runs on.

    Args:
        program: the name or the path of the program.
        moment: with a time zone.
        path: where programs are looked for; ``PATH`` of this process when None.
    """
    library = _library()
    if library is None:
        return ClockPin({}, "not pinned: libfaketime is not installed")
    problem = _static(program, path)
    if problem is not None:
        return ClockPin({}, f"not pinned: {problem}")
    environment = {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"@{moment.timestamp():.0f}",
        "FAKETIME_FMT": "%s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # what waits with it would wait for ever
        "FAKETIME_NO_CACHE": "1",
    }
    return ClockPin(environment, f"starts at {moment.isoformat()} (libfaketime)")


def _library() -> Path | None:
    if not sys.platform.startswith("linux"):
        return None
    found = (path for place in _PLACES for path in Path("/").glob(f"{place[1:]}/{_LIBRARY}"))
    return next(found, None)


def _static(program: str, path: str | None) -> str | None:
    """Why libfaketime is not loaded into a program; None where it is."""
    words = [program]
    for _ in range(_MOST_INTERPRETERS):
        found = shutil.which(words[0], path=path)
        if found is None:
            return f"{words[0]} was not found"
        with Path(found).open("rb") as file:
            head = file.read(_READ_BYTES)
        if not head.startswith(b"#!"):
            return None if _is_dynamic(head) else f"{Path(found).name} is not linked dynamically"
        words = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
        if len(words) > 1 and Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        if not words:
            return f"{Path(found).name} names no interpreter"
    return "it has too many interpreters"


def _is_dynamic(head: bytes) -> bool:
    """Whether a program names a dynamic loader (ELF, PT_INTERP)."""
    if not head.startswith(_ELF64_LITTLE) or len(head) < _HEADER.size:
        return False
    _, _, _, _, table, _, _, _, size, count = _HEADER.unpack_from(head)
    types = (head[at : at + 4] for at in range(table, table + size * count, size or 1))
    return any(int.from_bytes(one, "little") == _PT_INTERP for one in types)
