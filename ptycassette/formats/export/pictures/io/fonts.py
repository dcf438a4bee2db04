"""Draw glyphs from fonts in boxes of whole cells, and write pictures and films.

The font is JetBrains Mono from the package ``fontpkg-jetbrains-mono``, which the extra ``pictures``
installs, so that a picture looks the same on every machine; or the first font of ``--font``.
Missing characters come from the other fonts of ``--font``, then from fonts that fontconfig finds.
A character that no font has becomes a hollow box. If there is no font at all, Pillow's own draws
Latin, which then is not monospace.
"""

from __future__ import annotations

import io
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec
from PIL import Image, ImageChops, ImageDraw, ImageFont
from PIL.GifImagePlugin import getdata

from ptycassette.errors import StorageError, UsageError
from ptycassette.formats.export.pictures.painter import (
    UNCHANGED,
    Metrics,
    Painter,
    Patch,
    Reel,
    reel_of,
    reel_of_screen,
)
from ptycassette.formats.export.pictures.shapes import hollow
from ptycassette.formats.export.registry import ExportSource
from ptycassette.formats.export.svg import DARK, Theme, pace_of, theme_named
from ptycassette.model.screen import Screen
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.files.whole_file import write_whole
from ptycassette.system.interpreter import program_of_ours

# Find fonts by name and by character through fontconfig (``fc-match``), if it is installed.


_FORMAT = "%{file}\\n%{index}\\n%{weight}\\n%{slant}\\n%{color}\\n%{family}\\n"
_BOLD = 180
"""The weight that fontconfig calls demibold, and all above it."""
_INDEX = 0xFFFF
"""Higher bits select named instances of a variable font."""


class FontFile(msgspec.Struct, frozen=True):
    """A font in a file; ``coloured`` if it contains pictures."""

    path: str
    index: int = 0
    bold: bool = False
    italic: bool = False
    coloured: bool = False


def named(name: str, *, bold: bool = False, italic: bool = False) -> FontFile | None:
    """The font for a file or a family; None if it does not exist, or the file lacks the weight."""
    if Path(name).is_file():
        return None if bold or italic else FontFile(str(Path(name)), coloured=_holds_pictures(name))
    style = f":weight={200 if bold else 80}:slant={100 if italic else 0}"
    found = _matched(f"{_escaped(name)}{style}")
    if found is not None and (name == "monospace" or name.casefold() in found[1].casefold()):
        return found[0]
    if bold or italic:
        return None
    try:
        return FontFile(str(ImageFont.truetype(name).path))  # in the folders that Pillow searches
    except OSError:
        return None


def with_character(char: str, *, picture: bool) -> FontFile | None:
    """A font with this character, the best match that fontconfig finds."""
    family = "emoji" if picture else "monospace"
    found = _matched(f"{family}:charset={ord(char):x}")
    return found[0] if found else None


@cache
def _matched(pattern: str) -> tuple[FontFile, str] | None:
    """The file and the family that fontconfig finds for a pattern."""
    program = program_of_ours("fc-match")
    if program is None:
        return None
    command = [program, "--format", _FORMAT, "--", pattern]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        path, index, weight, slant, color, family = done.stdout.split("\n")[:6]
        file = FontFile(
            path,
            int(index) & _INDEX,
            bold=_number(weight) >= _BOLD,
            italic=_number(slant) > 0,
            coloured=color == "True",
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return file, family


def _number(text: str) -> float:
    """The weight as a number; a variable font has a range, of which the beginning is used."""
    return float(text.strip("[]").split(" ")[0] or 0)


def _escaped(name: str) -> str:
    return "".join(f"\\{char}" if char in "\\-:,=" else char for char in name)


def _holds_pictures(path: str) -> bool:
    """Whether a font consists of pictures, without outlines to scale."""
    try:
        ImageFont.truetype(path, 15)
    except OSError:
        return True
    return False


FONT_SIZE = 15
"""At this size JetBrains Mono is 9 pixels wide, and needs no rounding."""
_PACKAGE = "fontpkg_jetbrains_mono"
_BITMAP_SIZES = (109, 136, 160, 128, 96)
"""Sizes of picture fonts: Noto Color Emoji has 109 or 136, Apple's has 160 and 96."""
_SLANT = 0.2
_PICTURES = 0x1F000
"""Most characters from here on are emoji."""
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
_MOST_SEARCHES = 40
"""The most searches for fonts by character; fontconfig takes up to 50 ms for one."""

_Loaded = ImageFont.FreeTypeFont | ImageFont.ImageFont


class Font:
    """A ``Typeface`` of font files.

    Args:
        names: files or families, separated by commas; the first one draws the text.
        size: in pixels.

    Raises:
        UsageError: there is no such font, or it cannot be read.
    """

    def __init__(self, names: str | None = None, size: int | None = None) -> None:
        self._size = size or FONT_SIZE
        self._wanted = [one.strip() for one in (names or "").split(",") if one.strip()]
        self._texts: dict[tuple[bool, bool], tuple[_Loaded, bool, bool]] = {}
        self._others: list[FontFile] | None = None
        self._searches = 0
        self._load = cache(_loaded)
        self._smaller = cache(_smaller)
        self._has = cache(_has)
        self.missing: set[str] = set()
        """Characters that no font had."""
        regular = self._text_font(bold=False, italic=False)[0]
        self._metrics = _metrics(regular, self._size)

    @property
    def metrics(self) -> Metrics:
        """The size of a cell."""
        return self._metrics

    def glyph(self, text: str, cells: int, *, bold: bool, italic: bool) -> Image.Image:
        """A cluster in its cells: coverage (``L``), or a coloured picture (``RGBA``)."""
        width, height = cells * self._metrics.width, self._metrics.height
        base = text[0]
        if not base.isprintable() or base.isspace():
            return Image.new("L", (width, height))
        font, is_bold, is_italic = self._text_font(bold=bold, italic=italic)
        if "\ufe0f" in text or not self._has(font, base):
            found = self._elsewhere(text, base)
            if found is None:
                if not self._has(font, base):
                    self.missing.add(base)
                    return hollow(width, height)
            else:
                (font, coloured), is_bold, is_italic = found, False, False
                if coloured:
                    return _picture(font, text, width, height)
        mask = self._drawn(font, text, width, height)
        if bold and not is_bold:
            mask = ImageChops.lighter(mask, ImageChops.offset(mask, 1, 0))
        if italic and not is_italic:
            shift = (1, _SLANT, -_SLANT * self._metrics.baseline, 0, 1, 0)
            mask = mask.transform(
                mask.size, Image.Transform.AFFINE, shift, Image.Resampling.BILINEAR
            )
        return mask

    def _drawn(self, font: _Loaded, text: str, width: int, height: int) -> Image.Image:
        """Centred in its cells, and made smaller if it would be too wide."""
        shown = text.strip(_JOINERS) or text
        long = font.getlength(shown)
        if long > width + 1 and isinstance(font, ImageFont.FreeTypeFont):
            font = self._smaller(font, max(4, int(font.size * width / long)))
            long = font.getlength(shown)
        mask = Image.new("L", (width, height))
        at = (round((width - long) / 2), self._metrics.baseline)
        anchor = "ls" if isinstance(font, ImageFont.FreeTypeFont) else None
        ImageDraw.Draw(mask).text(at if anchor else (0, 0), shown, 255, font, anchor)
        return mask

    def _text_font(self, *, bold: bool, italic: bool) -> tuple[_Loaded, bool, bool]:
        """The font for text, and whether it has its own bold and italic faces."""
        found = self._texts.get((bold, italic))
        if found is None:
            found = self._texts[bold, italic] = self._find_text_font(bold=bold, italic=italic)
        return found

    def _find_text_font(self, *, bold: bool, italic: bool) -> tuple[_Loaded, bool, bool]:
        if self._wanted:
            name = self._wanted[0]
            file = named(name, bold=bold, italic=italic)
            if file is None and not (bold or italic):
                raise UsageError(
                    f"there is no font {name!r}",
                    where="--font",
                    hint="name a file (.ttf, .otf, .ttc), or a family that fc-list shows",
                )
            if file is None:
                return self._text_font(bold=False, italic=False)[0], False, False
            return self._load(file, self._size), file.bold, file.italic
        packaged = _packaged(italic=italic)
        if packaged is not None:
            return self._load(FontFile(packaged, bold=bold), self._size), True, True
        file = named("monospace", bold=bold, italic=italic)
        if file is not None:
            return self._load(file, self._size), file.bold, file.italic
        return ImageFont.load_default(self._size), False, False

    def _elsewhere(self, text: str, base: str) -> tuple[_Loaded, bool] | None:
        """Another font with this character, and whether it is coloured."""
        if self._others is None:
            files = [named(name) for name in self._wanted[1:]]
            self._others = [file for file in files if file is not None]
        must = "\ufe0f" in text  # be a picture
        picture = must or ord(base) >= _PICTURES
        found = self._known(base, coloured=picture)
        if found is None and self._searches < _MOST_SEARCHES:
            self._searches += 1
            more = with_character(base, picture=picture)
            if more is not None and more not in self._others:
                self._others.append(more)
                found = self._known(base, coloured=picture)
        if found is None and not must:
            found = self._known(base, coloured=not picture)
        return found

    def _known(self, base: str, *, coloured: bool) -> tuple[_Loaded, bool] | None:
        for file in self._others or ():
            if file.coloured == coloured:
                font = self._load(file, self._size)
                if self._has(font, base):
                    return font, coloured
        return None


def _packaged(*, italic: bool) -> str | None:
    """The file of the packaged font; it contains both weights."""
    spec = find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for file in (Path(folder) / "files").glob("*Italic*.ttf" if italic else "*Mono[[]*.ttf"):
            return str(file)
    return None


def _loaded(file: FontFile, size: int) -> _Loaded:
    sizes = (size, *_BITMAP_SIZES) if file.coloured else (size,)
    font = None
    for one in sizes:
        try:
            font = ImageFont.truetype(file.path, one, index=file.index)
            font.getmask("0")
            break
        except OSError as exc:
            reason = exc
    if font is None:
        raise UsageError(
            f"the font cannot be read: {reason}", where=file.path, hint="name another with --font"
        ) from reason
    if file.bold:
        _embolden(font)
    return font


def _smaller(font: ImageFont.FreeTypeFont, size: int) -> ImageFont.FreeTypeFont:
    """The same font in another size; this reads its file again."""
    return font.font_variant(size=size)


def _embolden(font: ImageFont.FreeTypeFont) -> None:
    try:
        names = [bytes(axis["name"] or b"").lower() for axis in font.get_variation_axes()]
    except OSError:
        return  # not variable: bold by itself
    font.set_variation_by_axes([700 if b"weight" in name else 0 for name in names])


def _has(font: _Loaded, char: str) -> bool:
    """Whether a font has a character; if not, it draws the same as for U+FFFF, a noncharacter."""
    if isinstance(font, ImageFont.ImageFont):
        return char.isascii()
    return bytes(font.getmask(char)) != bytes(font.getmask("\uffff"))


def _metrics(font: _Loaded, size: int) -> Metrics:
    width = max(1, round(font.getlength("M")))
    if isinstance(font, ImageFont.FreeTypeFont):
        ascent, descent = font.getmetrics()
        return Metrics(width=width, height=max(2, ascent + descent), baseline=ascent)
    return Metrics(width=width, height=max(2, round(size * 1.3)), baseline=size)


def _picture(font: _Loaded, text: str, width: int, height: int) -> Image.Image:
    """An emoji, as large as fits; only the first of a sequence that the font does not join."""
    if font.getlength(text) > 1.5 * font.getlength(text[0]):
        text = text[0]
    left, top, right, bottom = font.getbbox(text)
    large = Image.new("RGBA", (max(1, int(right - left)), max(1, int(bottom - top))))
    ImageDraw.Draw(large).text((-left, -top), text, font=font, embedded_color=True)
    scale = min(width / large.width, height / large.height)
    size = (max(1, round(large.width * scale)), max(1, round(large.height * scale)))
    small = large.resize(size, Image.Resampling.BOX)
    whole = Image.new("RGBA", (width, height))
    whole.paste(small, ((width - small.width) // 2, (height - small.height) // 2))
    return whole


def missing_text(font: Font) -> Iterator[str]:
    """A line that lists the characters that no font has; nothing if there are none."""
    if font.missing:
        shown = " ".join(f"U+{ord(char):04X}" for char in sorted(font.missing)[:8])
        more = f" and {len(font.missing) - 8} more" if len(font.missing) > 8 else ""
        yield (
            f"no font has {shown}{more}: boxes were drawn (--font TEXT,OTHERS names fonts; Debian: "
            "apt install fonts-noto-cjk fonts-noto-color-emoji)"
        )


# An animated GIF, written patch by patch.


_NO_DISPOSAL = 1 << 2
_TRANSPARENT = 1
_SAME = [255] + [0] * 255
"""Turns a difference into a mask of the unchanged pixels."""


def gif_pieces(
    size: tuple[int, int],
    patches: Iterable[Patch],
    durations_us: Iterable[int],
    palette: bytes | None,
) -> Iterator[bytes]:
    """The GIF in pieces; ``palette`` is the palette of most patches, if there is one."""
    table = 0xF7 if palette else 0x70  # 256 colours of 8 bits
    yield b"GIF89a" + struct.pack("<HHBBB", *size, table, 0, 0) + (palette or b"")
    yield b"\x21\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<H", 0) + b"\0"
    t_us = 0
    for patch, duration_us in zip(patches, durations_us, strict=True):
        centiseconds = round((t_us + duration_us) / 10_000) - round(t_us / 10_000)
        t_us += duration_us
        image, colors = _numbered(patch)
        flags = _NO_DISPOSAL | (_TRANSPARENT if patch.before is not None else 0)
        yield struct.pack("<3sBBHBB", b"\x21\xf9\x04", flags, 0, 0, 0, 0)[:4] + struct.pack(
            "<HBB", centiseconds, UNCHANGED, 0
        )
        image.putpalette(colors)
        yield b"".join(getdata(image, patch.at, include_color_table=colors != palette))
    yield b";"


def _numbered(patch: Patch) -> tuple[Image.Image, bytes]:
    """A patch in palette numbers, with unchanged pixels transparent."""
    image, before = patch.image, patch.before
    if patch.palette is None:  # more colours than a palette has
        few = image.quantize(UNCHANGED, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        colors = bytes(few.getpalette() or []).ljust(768, b"\0")
        image = Image.frombytes("L", few.size, few.tobytes())
    else:
        colors = patch.palette
        image = image.copy()
    if before is not None:
        difference = ImageChops.difference(patch.image, before)
        if difference.mode != "L":
            red, green, blue = difference.split()
            difference = ImageChops.lighter(ImageChops.lighter(red, green), blue)
        image.paste(UNCHANGED, (0, 0), difference.point(_SAME))
    return image, colors


# PNG, still and animated, written patch by patch.


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TRUE_COLOR = 2
_DENOMINATORS = (1000, 100)
"""The limit of delays, which have 16 bits: milliseconds up to 65 s, else centiseconds."""


def png_file(patch: Patch) -> bytes:
    """One whole frame as a PNG."""
    image = patch.image
    if patch.palette is not None:
        image.putpalette(patch.palette)
    made = io.BytesIO()
    image.save(made, "PNG", optimize=True)
    return made.getvalue()


def apng_pieces(
    size: tuple[int, int],
    patches: Iterable[Patch],
    durations_us: list[int],
    *,
    level: int = 6,
) -> Iterator[bytes]:
    """An animated PNG that loops for ever, in pieces, from patches in true colours.

    ``level`` is the compression level of zlib: 1 is fast, 9 is small.
    """
    yield _SIGNATURE + _chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, _TRUE_COLOR, 0, 0, 0))
    yield _chunk(b"acTL", struct.pack(">II", len(durations_us), 0))
    number = t_us = 0
    for patch, duration_us in zip(patches, durations_us, strict=True):
        ms = round((t_us + duration_us) / 1000) - round(t_us / 1000)
        t_us += duration_us
        unit = _DENOMINATORS[ms > 0xFFFF]
        head = (number, *patch.image.size, *patch.at, ms * unit // 1000, unit, 0, 0)
        yield _chunk(b"fcTL", struct.pack(">IIIIIHHBB", *head))
        number += 1
        for data in _data(patch.image, level):
            if number == 1:
                yield _chunk(b"IDAT", data)
            else:
                yield _chunk(b"fdAT", struct.pack(">I", number) + data)
                number += 1
    yield _chunk(b"IEND", b"")


def _data(image: Image.Image, level: int) -> Iterator[bytes]:
    """The compressed pixels in one piece, as Pillow makes them."""
    made = io.BytesIO()
    image.save(made, "PNG", compress_level=level)
    data, at, found = made.getvalue(), len(_SIGNATURE), []
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        if data[at + 4 : at + 8] == b"IDAT":
            found.append(data[at + 8 : at + 8 + length])
        at += length + 12
    yield b"".join(found)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# Films through ``ffmpeg``, from an animated PNG.


Container = Literal["mp4", "webm"]

_CODECS: dict[Container, tuple[str, ...]] = {
    "mp4": (
        "-c:v", "libx264", "-preset", "veryfast", "-tune", "animation", "-crf", "18",
        "-pix_fmt", "yuv420p", "-movflags", "+faststart",
    ),
    "webm": (
        "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "7", "-row-mt", "1",
        "-crf", "24", "-b:v", "0", "-pix_fmt", "yuv420p",
    ),
}  # fmt: skip
_COLORS = (
    "-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709",
    "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv",
)  # fmt: skip
"""The colours that players expect at this size; ffmpeg's default is for old television."""
_TIMES = ("-fps_mode", "vfr", "-enc_time_base", "1:1000")
_PIECE = 1 << 20
_TAIL_US = 100_000


def video_pieces(
    painter: Painter, durations_us: list[int], container: Container
) -> Iterator[bytes]:
    """A film in pieces.

    Raises:
        UsageError: ffmpeg is not installed, or was built without the codec.
        StorageError: the temporary folder has no room for the film.
    """
    program = program_of_ours("ffmpeg")
    if program is None:
        raise UsageError(
            f"{container} is made by ffmpeg, which is not installed",
            hint="install it (Debian: apt install ffmpeg; macOS: brew install ffmpeg), or write"
            " .gif, .webp or .apng",
        )
    with temporary_folder() as folder:
        animation, film = folder / "film.png", folder / f"film.{container}"
        write_whole(animation, _animation(painter, durations_us), durable=False)
        command = [
            program, "-hide_banner", "-nostdin", "-loglevel", "error", "-protocol_whitelist",
            "file", "-f", "apng", "-i", str(animation), *_CODECS[container], *_COLORS, *_TIMES,
            "-map_metadata", "-1", "-f", container, str(film),
        ]  # fmt: skip
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise _failed(done.stderr, done.returncode, container, folder)
        with film.open("rb") as made:
            while piece := made.read(_PIECE):
                yield piece


def _animation(painter: Painter, durations_us: list[int]) -> Iterator[bytes]:
    """The animated PNG, with its last frame repeated at the end, so that it stays visible."""
    *most, last = durations_us
    shown = [*most, last - _TAIL_US, _TAIL_US]
    return apng_pieces(painter.size, _held(painter.patches()), shown, level=1)


def _held(patches: Iterable[Patch]) -> Iterator[Patch]:
    patch = None
    for patch in patches:
        yield patch
    if patch is not None:
        yield patch


def _failed(
    notes: str, status: int, container: Container, folder: Path
) -> UsageError | StorageError:
    said = " ".join(notes.split())[-400:] or f"it ended with {status}"
    if "No space left" in notes:
        return StorageError(
            f"ffmpeg could not write the film: {said}",
            where=str(folder),
            hint="make room there, or name another folder in XDG_CACHE_HOME",
        )
    return UsageError(
        f"ffmpeg made no {container}: {said}",
        hint="ffmpeg -codecs shows what it was built with; .gif, .webp and .apng need no ffmpeg",
    )


# An animated WebP without loss, made patch by patch.


_ANIMATED = 0x02
_NO_BLENDING = 0x02
_IN_MEMORY = 32 << 20
_LONGEST_MS = (1 << 24) - 1


def webp_pieces(
    size: tuple[int, int], patches: Iterable[Patch], durations_us: Iterable[int]
) -> Iterator[bytes]:
    """The WebP in pieces, from patches in true colours that begin and end at even pixels."""
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as waiting:
        t_us = 0
        for patch, duration_us in zip(patches, durations_us, strict=True):
            ms = round((t_us + duration_us) / 1000) - round(t_us / 1000)
            t_us += duration_us
            (x, y), (width, height) = patch.at, patch.image.size
            head = b"".join(
                value.to_bytes(3, "little")
                for value in (x // 2, y // 2, width - 1, height - 1, min(ms, _LONGEST_MS))
            )
            waiting.write(_webp_chunk(b"ANMF", head + bytes([_NO_BLENDING]) + _pixels(patch.image)))
        canvas = b"".join((side - 1).to_bytes(3, "little") for side in size)
        start = b"WEBP" + _webp_chunk(b"VP8X", bytes([_ANIMATED, 0, 0, 0]) + canvas)
        start += _webp_chunk(b"ANIM", struct.pack("<IH", 0xFFFFFFFF, 0))
        yield b"RIFF" + struct.pack("<I", len(start) + waiting.tell()) + start
        waiting.seek(0)
        while piece := waiting.read(_PIECE):
            yield piece


def _pixels(image: Image.Image) -> bytes:
    """The chunks of a still WebP, without the file header."""
    made = io.BytesIO()
    image.save(made, "WEBP", lossless=True, quality=50, method=1)
    return made.getvalue()[12:]


def _webp_chunk(kind: bytes, data: bytes) -> bytes:
    return kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


# Recordings as pictures and films: the functions that the registry of exports names.


LAST_US = 1 << 62
"""Later than any moment of a recording."""


class Pieces:
    """A file in pieces; read ``notes`` after it is complete."""

    def __init__(self, pieces: Callable[[], Iterator[bytes]], font: Font) -> None:
        self._pieces = pieces
        self._font = font

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces()

    @property
    def notes(self) -> list[str]:
        """Warnings about parts that could not be drawn."""
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
        idle_limit: the longest pause in seconds; None for the recording's own limit, else 2.
        theme: ``dark`` or ``light``.
        speed: how many times faster than recorded.
        start: the beginning, in seconds.
        end: the end, in seconds.
        caption: show the typed text below the screen.
        font: files or families of fonts, separated by commas.
        font_size: in pixels.

    Raises:
        UsageError: there is nothing to draw, the picture would be too large, or a font or ffmpeg is
            missing.
    """
    typeface = Font(font, font_size)
    pace = pace_of(source.manifest, idle_limit=idle_limit, speed=speed, start=start, end=end)
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
    pace = pace_of(source.manifest, idle_limit=None, speed=None, start=end, end=end)
    if end is None:
        pace = msgspec.structs.replace(pace, start_us=LAST_US)
    reel = reel_of(source, pace, typeface.metrics, caption=caption)
    return Pieces(lambda: iter([_png(reel, typeface, theme_named(theme))]), typeface)


def screen_png(screen: Screen) -> bytes:
    """One screen as a PNG."""
    typeface = Font()
    return _png(reel_of_screen(screen, typeface.metrics), typeface, DARK)


def _png(reel: Reel, typeface: Font, theme: Theme) -> bytes:
    """With one palette if that is exact, else in true colours."""
    painter = Painter(reel, typeface, theme, palettes=True)
    (patch,) = painter.patches()
    if not painter.is_exact:
        (patch,) = Painter(reel, typeface, theme).patches()
    return png_file(patch)
