"""Exports the screen as text, ANSI, SVG, PNG or HTML to a new file; never overwrites one."""

from __future__ import annotations

from pathlib import Path

from ptycassette import CassetteError, Screen, export_of_file, exports_of

SCREEN_ENDINGS = tuple(ending for one in exports_of("screen") for ending in one.endings)


def write_export(screen: Screen, name: str) -> Path:
    """Write the screen to a file in the format of its ending.

    Raises:
        CassetteError: an unknown ending, an existing file, or a disk error.
    """
    path = Path(name).expanduser()
    data = export_of_file(path.name, of="screen").screen(screen)
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError as exc:
        raise CassetteError(
            "there is such a file already", where=str(path), hint="choose another name"
        ) from exc
    except OSError as exc:
        raise CassetteError(f"cannot be written: {exc.strerror}", where=str(path)) from exc
    return path
