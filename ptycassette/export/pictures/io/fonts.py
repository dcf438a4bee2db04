"""Glyphs from fonts, each in a box of whole cells, so that whatever font it is from lines up.

The font is JetBrains Mono from the package ``fontpkg-jetbrains-mono``, which the extra ``pictures``
installs, so that a picture looks the same on every machine; or that of ``--font``. What it lacks is
taken from the other fonts of ``--font``, then from fonts that fontconfig knows. What none has
becomes a hollow box. Without any font Pillow's own one draws Latin, which then is not monospace.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageFont

from ptycassette.errors import UsageError
from ptycassette.export.pictures.io import fontconfig
from ptycassette.export.pictures.io.fontconfig import FontFile
from ptycassette.export.pictures.shapes import hollow
from ptycassette.export.pictures.typeface import Metrics

FONT_SIZE = 15
"""At which JetBrains Mono is 9 pixels wide, and needs no rounding."""
_PACKAGE = "fontpkg_jetbrains_mono"
_BITMAP_SIZES = (109, 136, 160, 128, 96)
"""Of fonts that hold pictures: Noto Color Emoji has 109 or 136, Apple's has 160 and 96."""
_SLANT = 0.2
_PICTURES = 0x1F000
"""Most characters from here on are emoji."""
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
_MOST_SEARCHES = 40
"""Of fonts by character: fontconfig takes up to 50 ms for one."""

_Loaded = ImageFont.FreeTypeFont | ImageFont.ImageFont


class Font:
    """A ``Typeface`` of files.

    Args:
        names: files or families, separated by commas; the first one is that of the text.
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
        """In the middle of its cells, and made smaller where it would be wider."""
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
        """The font of the text, and whether it is bold and italic by itself."""
        found = self._texts.get((bold, italic))
        if found is None:
            found = self._texts[bold, italic] = self._find_text_font(bold=bold, italic=italic)
        return found

    def _find_text_font(self, *, bold: bool, italic: bool) -> tuple[_Loaded, bool, bool]:
        if self._wanted:
            name = self._wanted[0]
            file = fontconfig.named(name, bold=bold, italic=italic)
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
        file = fontconfig.named("monospace", bold=bold, italic=italic)
        if file is not None:
            return self._load(file, self._size), file.bold, file.italic
        return ImageFont.load_default(self._size), False, False

    def _elsewhere(self, text: str, base: str) -> tuple[_Loaded, bool] | None:
        """Another font that has a character, and whether it is coloured."""
        if self._others is None:
            files = [fontconfig.named(name) for name in self._wanted[1:]]
            self._others = [file for file in files if file is not None]
        must = "\ufe0f" in text  # be a picture
        picture = must or ord(base) >= _PICTURES
        found = self._known(base, coloured=picture)
        if found is None and self._searches < _MOST_SEARCHES:
            self._searches += 1
            more = fontconfig.with_character(base, picture=picture)
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
    """The file of the packaged font; both weights are in it."""
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
    """The same font of another size, which reads its file again."""
    return font.font_variant(size=size)


def _embolden(font: ImageFont.FreeTypeFont) -> None:
    """Set the weight of a variable font."""
    try:
        names = [bytes(axis["name"] or b"").lower() for axis in font.get_variation_axes()]
    except OSError:
        return  # not variable: bold by itself
    font.set_variation_by_axes([700 if b"weight" in name else 0 for name in names])


def _has(font: _Loaded, char: str) -> bool:
    """Whether a font has a character; if not, it draws the same as for U+FFFF, which is none."""
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
    """An emoji, as large as fits; of a sequence that the font does not join, the first one."""
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
    """A line about characters that no font had, if there are any."""
    if font.missing:
        shown = " ".join(f"U+{ord(char):04X}" for char in sorted(font.missing)[:8])
        more = f" and {len(font.missing) - 8} more" if len(font.missing) > 8 else ""
        yield (
            f"no font has {shown}{more}: boxes were drawn (--font TEXT,OTHERS names fonts; Debian: "
            "apt install fonts-noto-cjk fonts-noto-color-emoji)"
        )
