"""Draw frames as patches: each patch is the rectangle that differs from the frame before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple, Protocol

import msgspec
from PIL import Image, ImageChops, ImageDraw

from ptycassette.cassette.timeline.match import iter_entries
from ptycassette.errors import UsageError
from ptycassette.formats.export.page.styles import Film, filmed
from ptycassette.formats.export.pictures.shapes import hollow, is_shape, shape
from ptycassette.formats.export.registry import ExportSource
from ptycassette.formats.export.svg import Pace, Theme, css_color, paced
from ptycassette.model.records import Event, InputRecord, moment_us, streams_of
from ptycassette.model.screen import DEFAULT_STYLE, Cursor, Screen, Size, Style, StyleRun
from ptycassette.model.visible_text import printable
from ptycassette.replaying.paint import Cell, cells_of_row

# The colours of a picture: true colours, or numbers in a palette of at most 255.


Color = tuple[int, int, int]

MOST_COLORS = 255
"""One of the 256 is reserved for unchanged pixels."""
UNCHANGED = 255
MOST_SHADES = 15
FEWER_SHADES = 7
_FLATTEN = [round(value / 17) * 17 for value in range(256)]


class PaletteFullError(Exception):
    """A picture needs more colours than a palette has."""


class Inks(Protocol):
    """Puts colours on an image of this ``mode``."""

    mode: str

    def solid(self, color: Color) -> int | Color:
        """This colour as a value for Pillow's drawing functions."""
        ...

    def lay(self, image: Image.Image, at: tuple[int, int], mask: Image.Image, on: Laid) -> None:
        """Draw a mask of coverage on a ground."""
        ...

    def stamp(
        self, image: Image.Image, at: tuple[int, int], stamp: Image.Image, ground: Color
    ) -> None:
        """Draw an RGBA image, such as an emoji, on a ground."""
        ...


Laid = tuple[Color, Color]
"""The colours of text and ground."""


def flattened(mask: Image.Image) -> Image.Image:
    """A mask of coverage, reduced to the 16 degrees that are used."""
    return mask.point(_FLATTEN)


def blended(front: Color, ground: Color, coverage: int) -> Color:
    """Blend as Pillow does when it pastes with a mask: rounded, in whole numbers."""
    red, green, blue = (
        _muldiv255(a * coverage + b * (255 - coverage)) for a, b in zip(front, ground, strict=True)
    )
    return red, green, blue


def _muldiv255(product: int) -> int:
    rounded = product + 128
    return ((rounded >> 8) + rounded) >> 8


class TrueInks:
    """Paints in true colours."""

    mode = "RGB"

    def solid(self, color: Color) -> Color:
        """The colour itself."""
        return color

    def lay(self, image: Image.Image, at: tuple[int, int], mask: Image.Image, on: Laid) -> None:
        """Blend with the ground."""
        box = (*at, at[0] + mask.width, at[1] + mask.height)
        image.paste(on[1], box)
        image.paste(on[0], box, mask)

    def stamp(
        self, image: Image.Image, at: tuple[int, int], stamp: Image.Image, ground: Color
    ) -> None:
        """Blend with the ground."""
        box = (*at, at[0] + stamp.width, at[1] + stamp.height)
        image.paste(ground, box)
        image.paste(stamp, at, stamp)


class PaletteInks:
    """Paints in numbers of a palette (mode ``L``) that grows as colours are needed.

    ``shades`` is how many degrees of coverage exist besides zero: 15 are exact.

    Raises:
        PaletteFullError: by each method that needs another colour when the palette is full.
    """

    mode = "L"

    def __init__(self, shades: int = MOST_SHADES) -> None:
        self._shades = shades
        self._numbers: dict[Color, int] = {}
        self._steps = [round(255 * step / shades) for step in range(shades + 1)]
        self._step_of = [round(value * shades / 255) for value in range(256)]
        self._ramps: dict[Laid, list[int | None]] = {}
        self._stamped = False

    @property
    def is_exact(self) -> bool:
        """Whether no colour was replaced by another."""
        return self._shades == MOST_SHADES and not self._stamped

    @property
    def palette(self) -> bytes:
        """Red, green and blue of 256 colours; unused ones are black."""
        return b"".join(map(bytes, self._numbers)).ljust(768, b"\0")

    def solid(self, color: Color) -> int:
        """The number of a colour."""
        number = self._numbers.get(color)
        if number is None:
            if len(self._numbers) >= MOST_COLORS:
                raise PaletteFullError
            number = self._numbers[color] = len(self._numbers)
        return number

    def lay(self, image: Image.Image, at: tuple[int, int], mask: Image.Image, on: Laid) -> None:
        """Turn degrees of coverage into numbers."""
        counts = mask.histogram()
        degrees = {self._step_of[value] for value in range(0, 256, 17) if counts[value]}
        ramp = self.ramp(on, degrees)
        image.paste(mask.point([ramp[step] or 0 for step in self._step_of]), at)

    def ramp(self, on: Laid, degrees: Iterable[int]) -> list[int | None]:
        """The numbers for degrees of coverage; None for an unused degree."""
        ramp = self._ramps.get(on)
        if ramp is None:
            ramp = self._ramps[on] = [None] * len(self._steps)
        for degree in degrees:
            if ramp[degree] is None:
                ramp[degree] = self.solid(blended(*on, self._steps[degree]))
        return ramp

    def stamp(
        self, image: Image.Image, at: tuple[int, int], stamp: Image.Image, ground: Color
    ) -> None:
        """Reduce the image to a few colours of its own."""
        self._stamped = True
        whole = Image.new("RGB", stamp.size, ground)
        whole.paste(stamp, (0, 0), stamp)
        few = whole.quantize(2 * self._shades, dither=Image.Dither.NONE)
        colors = few.getpalette() or []
        numbers = [
            self.solid((colors[at], colors[at + 1], colors[at + 2]))
            for at in range(0, len(colors), 3)
        ]
        few = Image.frombytes("L", few.size, few.tobytes())
        image.paste(few.point(numbers + [0] * (256 - len(numbers))), at)


def palette_for(pairs: Iterable[Laid]) -> PaletteInks | None:
    """One palette for a whole film, as fine as possible; None if there are too many colours."""
    wanted = list(pairs)
    for shades in (MOST_SHADES, FEWER_SHADES):
        inks = PaletteInks(shades)
        try:
            for pair in wanted:
                inks.ramp(pair, range(shades + 1))
        except PaletteFullError:
            continue
        return inks
    return None


# The interface of fonts for painters.


class Metrics(msgspec.Struct, frozen=True):
    """The size of a cell in pixels; ``baseline`` is counted from its top."""

    width: int
    height: int
    baseline: int


class Typeface(Protocol):
    """Glyphs of one size."""

    @property
    def metrics(self) -> Metrics:
        """The size of a cell."""
        ...

    def glyph(self, text: str, cells: int, *, bold: bool, italic: bool) -> Image.Image:
        """A cluster: coverage (mode ``L``), or a coloured picture (mode ``RGBA``)."""
        ...


# A row of a screen as an image.


MOST_GLYPHS = 20_000
"""The most glyphs in one film; further ones become boxes. A glyph takes up to a millisecond;
sessions have some hundreds."""
_DIM = 153
"""Out of 255: dim text is drawn with 60 % of its colour."""
_Run = list[tuple[int, Cell]]


class Look(msgspec.Struct, frozen=True):
    """The colours of a cell after reverse, dim and the cursor are applied."""

    front: Color
    ground: Color
    line: Color

    @property
    def laid(self) -> Laid:
        """The colours of text and ground."""
        return self.front, self.ground


def color_of(color: int | str | None, theme: Theme, default: str) -> Color:
    """A colour of a style as red, green and blue."""
    text = css_color(color, theme, default)
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def look_of(style: Style, theme: Theme, *, cursor: bool = False) -> Look:
    """How a style is painted; the cursor is a block with text in the colour of its ground."""
    front = color_of(style.fg, theme, theme.foreground)
    ground = color_of(style.bg, theme, theme.background)
    if style.reverse:
        front, ground = ground, front
    if cursor:
        front, ground = ground, color_of(theme.cursor, theme, theme.cursor)
        if front == ground:
            front = color_of(theme.background, theme, theme.background)
    elif style.dim:
        front = _mixed(front, ground)
    line = front
    if style.underline_color is not None and not cursor:
        line = color_of(style.underline_color, theme, theme.foreground)
    return Look(ground if style.hidden else front, ground, ground if style.hidden else line)


def _mixed(front: Color, ground: Color) -> Color:
    red, green, blue = (
        (a * _DIM + b * (255 - _DIM)) // 255 for a, b in zip(front, ground, strict=True)
    )
    return red, green, blue


class RowPainter:
    """Paints rows of cells with the inks of a picture.

    Args:
        typeface: draws all characters that are not shapes.
        theme: the default colours and those that programs name by number.
        inks: the inks of the image. They may be changed, because glyphs are kept without colour.
    """

    def __init__(self, typeface: Typeface, theme: Theme, inks: Inks) -> None:
        self.inks = inks
        self._typeface = typeface
        self._theme = theme
        self._glyphs: dict[tuple[str, int, bool, bool], Image.Image] = {}
        self._looks: dict[tuple[Style, bool], Look] = {}

    def paint(self, cells: Sequence[Cell], cursor: int | None) -> Image.Image:
        """The image of a row; ``cursor`` is the column of the cursor, if it is in this row."""
        cell = self._typeface.metrics
        ground = self.inks.solid(self._look(DEFAULT_STYLE, cursor=False).ground)
        row = Image.new(self.inks.mode, (len(cells) * cell.width, cell.height), ground)
        for (style, has_cursor), run in _runs(cells, cursor):
            look = self._look(style, cursor=has_cursor)
            self._run(row, run, style, look)
            if style.underline or style.strike or style.overline:
                left = run[0][0] * cell.width
                right = left + sum(one.width for _, one in run) * cell.width
                self._lines(row, left, right, style, look)
        return row

    def _look(self, style: Style, *, cursor: bool) -> Look:
        look = self._looks.get((style, cursor))
        if look is None:
            look = self._looks[style, cursor] = look_of(style, self._theme, cursor=cursor)
        return look

    def _run(self, row: Image.Image, run: _Run, style: Style, look: Look) -> None:
        cell = self._typeface.metrics
        left = run[0][0]
        wide = sum(one.width for _, one in run) * cell.width
        if style.hidden or all(one.text == " " for _, one in run):
            box = (left * cell.width, 0, left * cell.width + wide, cell.height)
            row.paste(self.inks.solid(look.ground), box)
            return
        strip = Image.new("L", (wide, cell.height))
        stamps = []
        for col, one in run:
            if one.text == " ":
                continue
            glyph = self._glyph(one.text, one.width, style)
            if glyph.mode == "L":
                strip.paste(glyph, ((col - left) * cell.width, 0))
            else:
                stamps.append((col, glyph))
        self.inks.lay(row, (left * cell.width, 0), strip, look.laid)
        for col, glyph in stamps:
            self.inks.stamp(row, (col * cell.width, 0), glyph, look.ground)

    def _glyph(self, text: str, cells: int, style: Style) -> Image.Image:
        key = (text, cells, style.bold, style.italic)
        glyph = self._glyphs.get(key)
        if glyph is None:
            metrics = self._typeface.metrics
            if len(self._glyphs) >= MOST_GLYPHS:
                return hollow(cells * metrics.width, metrics.height)
            if is_shape(text):
                glyph = flattened(shape(text, cells * metrics.width, metrics.height))
            else:
                glyph = self._typeface.glyph(text, cells, bold=style.bold, italic=style.italic)
                glyph = flattened(glyph) if glyph.mode == "L" else glyph
            self._glyphs[key] = glyph
        return glyph

    def _lines(self, row: Image.Image, left: int, right: int, style: Style, look: Look) -> None:
        metrics = self._typeface.metrics
        draw = ImageDraw.Draw(row)
        thick = max(1, metrics.height // 20)

        def line(top: int, color: Color) -> None:
            box = (left, top, right - 1, top + thick - 1)
            draw.rectangle(box, fill=self.inks.solid(color))

        if style.strike:
            line(metrics.baseline - round(metrics.baseline * 0.3), look.front)
        if style.overline:
            line(0, look.front)
        if not style.underline:
            return
        below = min(metrics.baseline + 2, metrics.height - 3 * thick)
        match style.underline:
            case "double":
                line(below, look.line)
                line(below + 2 * thick, look.line)
            case "curly" | "dotted" | "dashed":
                fill = self.inks.solid(look.line)
                for box in _pattern(style.underline, left, right, below, thick):
                    draw.rectangle(box, fill=fill)
            case _:
                line(below, look.line)


def _pattern(
    kind: str, left: int, right: int, top: int, thick: int
) -> Iterator[tuple[int, int, int, int]]:
    """The rectangles of a line that is not straight or not solid, with inclusive ends."""
    on, period = {"curly": (2, 4), "dotted": (1, 2), "dashed": (4, 6)}[kind]
    for begin in range(left - left % (period * thick), right, period * thick):
        for at, down in ((begin, 0), (begin + on * thick, thick)):
            end = min(at + on * thick, right) - 1
            if end >= max(at, left) and (not down or kind == "curly"):
                yield max(at, left), top + down, end, top + down + thick - 1


def _runs(cells: Sequence[Cell], cursor: int | None) -> Iterator[tuple[tuple[Style, bool], _Run]]:
    """Neighbours of one style, without the right halves of wide cells."""
    if cursor is not None:
        while cursor > 0 and not cells[cursor].width:
            cursor -= 1
    shown = ((col, cell) for col, cell in enumerate(cells) if cell.width)
    for key, group in groupby(shown, key=lambda one: (one[1].style, one[0] == cursor)):
        yield key, list(group)


# The content of a film: distinct rows, and frames as lists of them, with their times.


HOLD_US = 2_500_000
"""How long the last frame stays."""
LONGEST_US = 600_000_000
"""The longest pause in a picture; a GIF can store 655 s at most."""
MOST_PIXELS = 40_000_000
MOST_SIDE = 16_383
"""The longest pause in a WebP."""
MOST_PIXELS_IN_ALL = 4_000_000_000
_MOST_CAPTIONS = 10_000
_MOST_KEYS = 100_000
_CAPTION_STYLE = Style(fg=15, bg=0)


class Framing(NamedTuple):
    """One frame without its time: the numbers of its rows, the cursor, and the caption's row."""

    size: Size
    cursor: Cursor
    rows: tuple[int, ...]
    caption: int | None


class Reel(msgspec.Struct):
    """A film to be drawn.

    ``rows`` are text, styles and columns, by number; ``frames`` are times from 0 on and their
    content; ``size`` is the size of the largest screen, including the caption's row.
    """

    rows: Sequence[tuple[str, tuple[StyleRun, ...], int]]
    frames: Sequence[tuple[int, Framing]]
    size: Size

    @property
    def durations_us(self) -> list[int]:
        """How long each frame is shown, in microseconds."""
        times = [t_us for t_us, _ in self.frames]
        gaps = [min(after - before, LONGEST_US) for before, after in pairwise(times)]
        return [*gaps, HOLD_US]

    def cells(self, number: int) -> list[Cell]:
        """The cells of a row."""
        text, runs, cols = self.rows[number]
        row = Screen(size=Size(1, cols), rows=(text,), styles=(runs,), cursor=Cursor(0, 0))
        return cells_of_row(row, 0)

    def pairs(self, theme: Theme) -> Iterator[Laid]:
        """The pairs of text and ground colours that occur."""
        used = {key for _, frame in self.frames for key in frame.rows}
        used |= {frame.caption for _, frame in self.frames if frame.caption is not None}
        styles = {run.style for number in used for run in self.rows[number][1]}
        found = {look_of(style, theme).laid for style in styles | {DEFAULT_STYLE}}
        found.add(look_of(DEFAULT_STYLE, theme, cursor=True).laid)
        yield from sorted(found)


def reel_of(source: ExportSource, pace: Pace, metrics: Metrics, *, caption: bool = False) -> Reel:
    """The film of a recording.

    Args:
        source: the recording.
        pace: the stretch and the speed.
        metrics: the size of a cell.
        caption: show the typed text below the screen.

    Raises:
        UsageError: the program had no terminal, it showed nothing, or the picture would be too
            large.
    """
    if not streams_of(source.manifest).with_terminal:
        raise UsageError(
            "there is no screen to draw: the program had pipes or files",
            where=str(source.path),
            hint="write a page (.html) or a text (.txt)",
        )
    film = filmed(source, start_us=pace.start_us, end_us=pace.end_us)
    if not film.shots:
        raise UsageError(
            "no frames to draw",
            where=str(source.path),
            hint="the program showed nothing; ptycassette cat writes the raw output",
        )
    size = _size(film, caption=caption)
    pixels = _checked(size, metrics)
    film.thin_to(max(1, MOST_PIXELS_IN_ALL // pixels))
    rows = film.rows
    frames: Iterable[tuple[int, Framing]] = (
        (shot.t_us, Framing(shot.size, shot.cursor, shot.rows, None)) for shot in film.shots
    )
    if caption:
        frames = _captioned(frames, _captions(source.events()), rows, size.cols)
    shown = paced(frames, pace)
    return Reel(rows, shown, size)


def reel_of_screen(screen: Screen, metrics: Metrics) -> Reel:
    """One screen as a film of one frame.

    Raises:
        UsageError: the picture would be too large.
    """
    _checked(screen.size, metrics)
    film = Film()
    film.add(0, screen)
    shot = film.shots[0]
    frame = Framing(shot.size, shot.cursor, shot.rows, None)
    return Reel(film.rows, [(0, frame)], screen.size)


def _size(film: Film, *, caption: bool) -> Size:
    rows = max(shot.size.rows for shot in film.shots)
    cols = max(shot.size.cols for shot in film.shots)
    return Size(rows=rows + caption, cols=cols)


def _checked(size: Size, metrics: Metrics) -> int:
    width, height = size.cols * metrics.width, size.rows * metrics.height
    if max(width, height) > MOST_SIDE or width * height > MOST_PIXELS:
        raise UsageError(
            f"a picture of {size} cells would have {width}x{height} pixels, and "
            f"at most {MOST_SIDE} on a side and {MOST_PIXELS} in all are drawn",
            hint="take a smaller --font-size, or write a page (.html)",
        )
    return max(1, width * height)


def _captions(events: Iterable[Event]) -> Iterator[tuple[int, str]]:
    """The typed text as it grows: times and lines."""
    inputs = [event.record for event in events if isinstance(event.record, InputRecord)]
    times = {record.seq: moment_us(record) for record in inputs}
    for entry in iter_entries(inputs, most_keys=_MOST_KEYS):
        if entry.masked:
            yield entry.t_us, "(masked)"
            continue
        for step in entry.steps[:-1]:
            yield times.get(step.seq, entry.t_us), step.line
        yield entry.last_t_us, entry.shown


def _captioned(
    frames: Iterable[tuple[int, Framing]],
    captions: Iterable[tuple[int, str]],
    rows: list[tuple[str, tuple[StyleRun, ...], int]],
    cols: int,
) -> Iterator[tuple[int, Framing]]:
    """The frames with the latest caption below them; each new caption adds a frame."""
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        if text not in numbers:
            numbers[text] = len(rows)
            # The end of a long line is what was typed last.
            shown = printable(text, limit=10_000)
            shown = shown if len(shown) <= cols - 2 else f"…{shown[-(cols - 3) :]}"
            rows.append((f" {shown}", (StyleRun(0, cols, _CAPTION_STYLE),), cols))
        return numbers[text]

    waiting = iter([*zip(range(_MOST_CAPTIONS), captions, strict=False)])
    following = next(waiting, None)
    now = number("")
    last: Framing | None = None
    for t_us, frame in frames:
        while following is not None and following[1][0] <= t_us:
            now = number(following[1][1])
            if last is not None and following[1][0] < t_us:
                yield following[1][0], last._replace(caption=now)
            following = next(waiting, None)
        last = frame
        yield t_us, frame._replace(caption=now)
    while following is not None and last is not None:
        now = number(following[1][1])
        yield following[1][0], last._replace(caption=now)
        following = next(waiting, None)


MARGIN = 8
"""Pixels around the screen."""
_PATIENCE = 10
"""How many frames with too many colours for a palette pass before one is tried again. After each
failure the number doubles."""
_KEPT_BYTES = 64 << 20
"""The most cached images of rows."""

_Box = tuple[int, int, int, int]
_Key = tuple[int, int | None]
"""The number of a row, and the column of the cursor in it."""


class Patch(NamedTuple):
    """A rectangle of a frame: all of the first frame, then the part that differs from the last one.

    ``image`` has the mode of the inks; ``palette`` belongs to mode ``L``. ``before`` is the
    previous content in the same numbers or colours; None if that was painted with others.
    """

    at: tuple[int, int]
    image: Image.Image
    palette: bytes | None
    before: Image.Image | None


def canvas_size(reel: Reel, metrics: Metrics) -> tuple[int, int]:
    """Width and height of a film's pictures in pixels; even, because video formats require that."""
    width = reel.size.cols * metrics.width + 2 * MARGIN
    height = reel.size.rows * metrics.height + 2 * MARGIN
    return width + width % 2, height + height % 2


class Painter:
    """Draws a film, frame by frame, in constant memory.

    Args:
        reel: the film.
        typeface: the glyphs.
        theme: the colours.
        palettes: paint in palette numbers while there are few enough colours, else in true colours.
        even: patches begin and end at even pixels.
    """

    def __init__(
        self,
        reel: Reel,
        typeface: Typeface,
        theme: Theme,
        *,
        palettes: bool = False,
        even: bool = False,
    ) -> None:
        self.size = canvas_size(reel, typeface.metrics)
        self._reel = reel
        self._typeface = typeface
        self._theme = theme
        self._palettes = palettes
        self._even = even
        self._patience = _PATIENCE
        found = palette_for(reel.pairs(theme)) if palettes else TrueInks()
        self.palette = found.palette if isinstance(found, PaletteInks) else None
        """The palette of the whole film, if one is enough."""
        inks = found or PaletteInks()
        self._rows = RowPainter(typeface, theme, inks)
        self._begin(inks)

    def _begin(self, inks: Inks) -> None:
        self._inks = inks
        self._since = 0
        self._rows.inks = inks
        ground = color_of(None, self._theme, self._theme.background)
        self._canvas = Image.new(inks.mode, self.size, inks.solid(ground))
        width, height = self._reel.size.cols, self._typeface.metrics.height
        blank = Image.new(
            inks.mode, (width * self._typeface.metrics.width, height), inks.solid(ground)
        )
        self._blank = blank
        self._shown: list[tuple[_Key | None, Image.Image]] = [
            (None, blank) for _ in range(self._reel.size.rows)
        ]
        self._kept: dict[_Key, Image.Image] = {}
        per_row = max(1, blank.width * blank.height * (1 if inks.mode == "L" else 4))
        self._most_kept = max(2 * self._reel.size.rows, _KEPT_BYTES // per_row)

    @property
    def is_exact(self) -> bool:
        """Whether all colours so far are the same as without palettes."""
        return not isinstance(self._inks, PaletteInks) or self._inks.is_exact

    def patches(self) -> Iterator[Patch]:
        """One patch for each frame; the smallest possible one if no change is visible."""
        for number, (_, frame) in enumerate(self._reel.frames):
            yield self._patch(frame, whole=number == 0)

    def _patch(self, frame: Framing, *, whole: bool) -> Patch:
        self._since += 1
        without = self._palettes and isinstance(self._inks, TrueInks)
        try:
            # After a while without a palette, one may be enough again.
            changed = None if without and self._since > self._patience else self._changed(frame)
        except PaletteFullError:
            changed = None
        if changed is None:
            changed, whole = self._restarted(frame), True
        box = (0, 0, *self.size) if whole else self._box(changed)
        before = None if whole else self._canvas.crop(box)
        for row, image, _ in changed:
            self._canvas.paste(image, (MARGIN, MARGIN + row * self._typeface.metrics.height))
        palette = self._inks.palette if isinstance(self._inks, PaletteInks) else None
        return Patch(box[:2], self._canvas.crop(box), palette, before)

    def _restarted(self, frame: Framing) -> list[tuple[int, Image.Image, _Box]]:
        """The whole frame with a palette of its own, or in true colours if it has too many."""
        attempts: tuple[Callable[[], Inks], ...] = (
            PaletteInks, lambda: PaletteInks(FEWER_SHADES), TrueInks,
        )  # fmt: skip
        waited = self._patience
        for inks in attempts:
            self._begin(inks())
            self._patience = 2 * waited if inks is TrueInks else _PATIENCE
            try:
                return self._changed(frame)
            except PaletteFullError:
                continue
        raise AssertionError("true inks have no palette")

    def _changed(self, frame: Framing) -> list[tuple[int, Image.Image, _Box]]:
        """Rows that look different, with their places; from now on they count as shown."""
        found = []
        for row, (old_key, old) in enumerate(self._shown):
            key = self._key(frame, row)
            if key == old_key:
                continue
            image = self._blank if key is None else self._image(key)
            box = ImageChops.difference(old, image).getbbox()
            self._shown[row] = (key, image)
            if box is not None:
                found.append((row, image, box))
        return found

    def _key(self, frame: Framing, row: int) -> _Key | None:
        if frame.caption is not None and row == self._reel.size.rows - 1:
            return frame.caption, None
        if row >= len(frame.rows):
            return None
        cursor = frame.cursor
        inside = cursor.visible and cursor.row == row and 0 <= cursor.col < frame.size.cols
        return frame.rows[row], cursor.col if inside else None

    def _image(self, key: _Key) -> Image.Image:
        image = self._kept.pop(key, None)
        if image is None:
            number, cursor = key
            image = self._rows.paint(self._reel.cells(number), cursor)
            if image.width < self._blank.width:
                narrow, image = image, self._blank.copy()
                image.paste(narrow, (0, 0))
            if len(self._kept) >= self._most_kept:
                del self._kept[next(iter(self._kept))]
        self._kept[key] = image  # the most recently used one is at the end
        return image

    def _box(self, changed: list[tuple[int, Image.Image, _Box]]) -> _Box:
        if not changed:
            return (0, 0, 2, 2) if self._even else (0, 0, 1, 1)
        height = self._typeface.metrics.height
        left = MARGIN + min(box[0] for _, _, box in changed)
        right = MARGIN + max(box[2] for _, _, box in changed)
        top = MARGIN + min(row * height + box[1] for row, _, box in changed)
        bottom = MARGIN + max(row * height + box[3] for row, _, box in changed)
        if self._even:
            left, top = left - left % 2, top - top % 2
            right, bottom = right + right % 2, bottom + bottom % 2
        return left, top, right, bottom
