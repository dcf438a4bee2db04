"""Exports the screen as text, ANSI, SVG or HTML to a new file; never overwrites one."""

from __future__ import annotations

from pathlib import Path

from ptycassette import CassetteError, Screen, render_ansi, render_text, screen_html, still_svg

__all__ = ["FORMATS", "exported", "write_export"]

FORMATS = ("txt", "ansi", "svg", "html")


def exported(screen: Screen, suffix: str) -> bytes:
    """The screen in a format of ``FORMATS``."""
    match suffix:
        case "txt":
            return (render_text(screen) + "\n").encode("utf-8", "replace")
        case "ansi":
            return (render_ansi(screen) + "\n").encode("utf-8", "replace")
        case "svg":
            return still_svg(screen)
        case "html":
            return screen_html(screen).encode("utf-8", "replace")
    raise ValueError(f"no such format: {suffix}")


def write_export(screen: Screen, name: str) -> Path:
    """Write the screen to a file; its suffix says how.

    Raises:
        CassetteError: an unknown suffix, a file that is there already, or a disk that refuses.
    """
    path = Path(name).expanduser()
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        raise CassetteError(
            f"no format is called \u201c{suffix}\u201d" if suffix else "the name says no format",
            hint=f"end the name with one of .{', .'.join(FORMATS)}",
        )
    try:
        with path.open("xb") as file:
            file.write(exported(screen, suffix))
    except FileExistsError as exc:
        raise CassetteError(
            "there is such a file already", where=str(path), hint="choose another name"
        ) from exc
    except OSError as exc:
        raise CassetteError(f"cannot be written: {exc.strerror}", where=str(path)) from exc
    return path
