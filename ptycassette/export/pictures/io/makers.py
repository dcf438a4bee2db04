"""Recordings as pictures and films: the functions that the registry of exports names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from ptycassette.export._colors import DARK, Theme, theme_named
from ptycassette.export.pace import pace_of
from ptycassette.export.pictures.io.fonts import Font, missing_text
from ptycassette.export.pictures.io.gif import gif_pieces
from ptycassette.export.pictures.io.png import apng_pieces, png_file
from ptycassette.export.pictures.io.video import video_pieces
from ptycassette.export.pictures.io.webp import webp_pieces
from ptycassette.export.pictures.painter import Painter
from ptycassette.export.pictures.reel import Reel, reel_of, reel_of_screen
from ptycassette.export.registry import ExportSource
from ptycassette.model.screen import Screen

LAST_US = 1 << 62
"""Later than any moment of a recording."""


class Pieces:
    """A file in pieces, and ``notes`` for whoever asked for it, once it is made."""

    def __init__(self, pieces: Callable[[], Iterator[bytes]], font: Font) -> None:
        self._pieces = pieces
        self._font = font

    def __iter__(self) -> Iterator[bytes]:
        """Make it."""
        return self._pieces()

    @property
    def notes(self) -> list[str]:
        """What could not be drawn."""
        return list(missing_text(self._font))


def recording_film(  # noqa: PLR0913 - as many as there are options
    kind: str,
    source: ExportSource,
    *,
    idle_limit: float | None = None,
    theme: str = "dark",
    speed: float | None = None,
    start: float | None = None,
    end: float | None = None,
    caption: bool = False,
    font: str | None = None,
    font_size: int | None = None,
) -> Pieces:
    """A recording as a moving picture.

    Args:
        kind: ``gif``, ``webp``, ``apng``, ``mp4`` or ``webm``.
        source: the recording.
        idle_limit: no pause longer than this, in seconds; 2 when None.
        theme: ``dark`` or ``light``.
        speed: so many times as fast as recorded.
        start: from this moment on, in seconds.
        end: until this moment.
        caption: below the screen, what was typed.
        font: files or families of fonts, separated by commas.
        font_size: in pixels.

    Raises:
        UsageError: there is nothing to draw, the picture would be too large, a font or ffmpeg is
            not there.
    """
    typeface = Font(font, font_size)
    pace = pace_of(idle_limit=idle_limit, speed=speed, start=start, end=end)
    reel = reel_of(source, pace, typeface.metrics, caption=caption)
    painter = Painter(
        reel,
        typeface,
        theme_named(theme),
        palettes=kind == "gif",
        even=kind == "webp",
    )
    return Pieces(lambda: _pieces(kind, painter, reel.durations_us), typeface)


def _pieces(kind: str, painter: Painter, durations_us: list[int]) -> Iterator[bytes]:
    size, patches = painter.size, painter.patches()
    match kind:
        case "gif":
            return gif_pieces(size, patches, durations_us, painter.palette)
        case "webp":
            return webp_pieces(size, patches, durations_us)
        case "apng":
            return apng_pieces(size, patches, durations_us)
        case "mp4" | "webm":
            return video_pieces(painter, durations_us, kind)
        case _:
            raise ValueError(f"there is no film of kind {kind!r}")


recording_gif = partial(recording_film, "gif")
recording_webp = partial(recording_film, "webp")
recording_apng = partial(recording_film, "apng")
recording_mp4 = partial(recording_film, "mp4")
recording_webm = partial(recording_film, "webm")


def recording_png(
    source: ExportSource,
    *,
    theme: str = "dark",
    end: float | None = None,
    caption: bool = False,
    font: str | None = None,
    font_size: int | None = None,
) -> Pieces:
    """The last screen of a recording, or that at ``end``, as a PNG; see ``recording_film``."""
    typeface = Font(font, font_size)
    pace = pace_of(idle_limit=None, speed=None, start=end, end=end)
    if end is None:
        pace = msgspec.structs.replace(pace, start_us=LAST_US)
    reel = reel_of(source, pace, typeface.metrics, caption=caption)
    return Pieces(lambda: iter([_png(reel, typeface, theme_named(theme))]), typeface)


def screen_png(screen: Screen) -> bytes:
    """One screen as a PNG."""
    typeface = Font()
    return _png(reel_of_screen(screen, typeface.metrics), typeface, DARK)


def _png(reel: Reel, typeface: Font, theme: Theme) -> bytes:
    """In one palette if that is exact, and in colours otherwise."""
    painter = Painter(reel, typeface, theme, palettes=True)
    (patch,) = painter.patches()
    if not painter.is_exact:
        (patch,) = Painter(reel, typeface, theme).patches()
    return png_file(patch)
