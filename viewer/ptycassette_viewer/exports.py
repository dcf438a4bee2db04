"""Exports the screen, or the whole recording, to a new file; never overwrites one."""

from __future__ import annotations

from pathlib import Path

from ptycassette import Cassette, CassetteError, Screen
from ptycassette.viewing import export_of_file, exports_of

SCREEN_ENDINGS = tuple(ending for one in exports_of("screen") for ending in one.endings)


def is_of_screen(name: str) -> bool:
    """Whether the ending of a name is that of an export of one screen."""
    return name.lower().endswith(SCREEN_ENDINGS)


def write_screen(screen: Screen, name: str) -> Path:
    """Write the screen to a file in the format of its ending.

    Raises:
        CassetteError: an unknown ending, an existing file, or a disk error.
    """
    return _write(name, export_of_file(name, of="screen").screen(screen))


def write_recording(cassette: Cassette, name: str) -> Path:
    """Write the whole recording to a file in the format of its ending.

    Raises:
        CassetteError: an unknown ending, an existing file, a disk error, or a recording that it
            cannot be made of.
    """
    return _write(name, b"".join(export_of_file(name, of="recording").recording(cassette)))


def _write(name: str, data: bytes) -> Path:
    path = Path(name).expanduser()
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError as exc:
        raise CassetteError(
            "this file exists already", where=str(path), hint="choose another name"
        ) from exc
    except OSError as exc:
        raise CassetteError(f"cannot be written: {exc.strerror}", where=str(path)) from exc
    return path
