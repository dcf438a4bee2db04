"""Turn styles of cells into CSS classes: a page with a strict policy has no ``style`` attributes.

Each class has one meaning (``fg1``, ``bg-1e1e1e``, ``is-bold``), so names are the same in every
page, and only the rules of used classes are written. The default colours and the first sixteen are
variables: a theme sets them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, NamedTuple, Protocol

import msgspec

from ptycassette.formats.export.shown_lines import STRETCH_US, moments
from ptycassette.formats.export.svg import DARK, LIGHT, Theme, css_color, css_lines
from ptycassette.model.records import Event, FrameRecord, Manifest, moment_us
from ptycassette.model.screen import DEFAULT_STYLE, Cursor, Screen, Size, Style, StyleRun
from ptycassette.model.stored_screen import screen_of
from ptycassette.model.visible_text import visible
from ptycassette.replaying.divergence import folded_rows
from ptycassette.replaying.paint import Cell, cells_of_row
from ptycassette.terminal.emulator import default_emulator

FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

_VARIABLES = Theme(
    foreground="var(--fg)",
    background="var(--bg)",
    cursor="var(--fg)",
    palette=tuple(f"var(--c{number})" for number in range(16)),
)
_SIMPLE = (
    ("bold", "font-weight:bold"),
    ("dim", "opacity:.6"),
    ("italic", "font-style:italic"),
    ("hidden", "visibility:hidden"),
)


class StyleClasses:
    """The classes of styles, and the rules of the classes that were used."""

    def __init__(self) -> None:
        self._names: dict[Style, str] = {}
        self._rules: dict[str, str] = {}

    def of(self, style: Style) -> str:
        """The classes of a style, separated by spaces; empty if it looks like the default."""
        names = self._names.get(style)
        if names is None:
            names = self._names[style] = " ".join(self._made(style))
        return names

    def columns(self, count: int) -> str:
        """The class of a screen with ``count`` columns: its text shrinks until it fits."""
        self._rules[f"cols-{count}"] = f"--cols:{count}"
        return f"cols-{count}"

    def css(self) -> str:
        """The rules of all classes so far."""
        return "".join(f".{name}{{{rule}}}" for name, rule in sorted(self._rules.items()))

    def _made(self, style: Style) -> list[str]:
        front, back = _color(style.fg), _color(style.bg)
        if style.reverse:
            front = _color(style.bg) or ("-back", "var(--bg)")
            back = _color(style.fg) or ("-front", "var(--fg)")
        found = [(f"fg{front[0]}", f"color:{front[1]}")] if front else []
        found += [(f"bg{back[0]}", f"background:{back[1]}")] if back else []
        found += [(f"is-{name}", rule) for name, rule in _SIMPLE if getattr(style, name)]
        if lines := css_lines(style):
            initials = "".join(line[0] for line in lines.split())
            found.append((f"line-{initials}", f"text-decoration:{lines}"))
        self._rules.update(found)
        return [name for name, _ in found]


def _color(color: int | str | None) -> tuple[str, str] | None:
    """The suffix of a class and the value for a colour; None for the default colour."""
    value = css_color(color, _VARIABLES, "")
    if not value:
        return None
    return (f"-{value[1:]}" if value.startswith("#") else f"{color}"), value


def theme_css(selector: str, theme: Theme) -> str:
    """The rule that sets the variables of a theme for ``selector``."""
    names = (_VARIABLES.foreground, _VARIABLES.background, *_VARIABLES.palette)
    colors = (theme.foreground, theme.background, *theme.palette)
    pairs = zip(names, colors, strict=True)
    return f"{selector}{{{';'.join(f'{name[4:-1]}:{color}' for name, color in pairs)}}}"


def readers_theme_css() -> str:
    """Colour variables for screens: light, or dark if the reader prefers that."""
    return (
        f"{theme_css(':root', LIGHT)}"
        f"@media (prefers-color-scheme:dark){{{theme_css(':root', DARK)}}}"
    )


SCREEN_CSS = (
    f".screen{{color:var(--fg);background:var(--bg);font-family:{FONT};unicode-bidi:bidi-override;"
    "direction:ltr}"
    ".fold{opacity:.6}.c1,.c2{display:inline-block;width:1ch;overflow:hidden;vertical-align:top;"
    "white-space:pre;text-align:center}.c2{width:2ch}"
)
"""How screens look, whatever their colours."""


# Rows of screens as pieces of equal style, and those as HTML.


_AS_WIDE_AS_ITS_CELL = re.compile("[ -~\xa0-\u024f\u2500-\u259f]*")
"""Characters that every monospace font draws one cell wide: Latin, lines and blocks."""


class Piece(NamedTuple):
    """A stretch of a row.

    ``classes`` are the classes of its style. ``cells`` is 0 for plain text; 1 or 2 for one
    character in a box of that many cells, because the reader's font may draw it wider or narrower.
    """

    text: str
    classes: str
    cells: int


def row_pieces(
    text: str, runs: Sequence[StyleRun], cols: int, classes: StyleClasses
) -> list[Piece]:
    """A row of ``cols`` columns, without trailing blanks of the default style."""
    if text.isascii() and (not text or text.isprintable()) and len(text) <= cols:
        if not runs:
            return [Piece(text.rstrip(), "", 0)] if text.strip() else []
        if _are_in_order(runs, cols):
            return _joined(_ascii_pieces(text, runs, classes))
    row = Screen(size=Size(1, cols), rows=(text,), styles=(tuple(runs),), cursor=Cursor(0, 0))
    cells = cells_of_row(row, 0)
    while cells and cells[-1].style == DEFAULT_STYLE and cells[-1].text == " ":
        cells.pop()
    return _joined(_cell_pieces(cells, classes))


def screen_rows(screen: Screen) -> Iterator[tuple[str, tuple[StyleRun, ...]]]:
    """Text and styles of each row; a stored screen may have fewer rows than its size."""
    for row in range(screen.size.rows):
        text = screen.rows[row] if row < len(screen.rows) else ""
        yield text, screen.styles[row] if row < len(screen.styles) else ()


def _are_in_order(runs: Sequence[StyleRun], cols: int) -> bool:
    """Whether they do not overlap, as in every screen from an emulator."""
    at = 0
    for run in runs:
        if run.col < at:
            return False
        at = run.col + run.length
    return at <= cols


def _ascii_pieces(text: str, runs: Sequence[StyleRun], classes: StyleClasses) -> Iterator[Piece]:
    at = 0
    for run in runs:
        end = run.col + run.length
        if run.col > at:
            yield Piece(text[at : run.col].ljust(run.col - at), "", 0)
        yield Piece(text[run.col : end].ljust(run.length), classes.of(run.style), 0)
        at = end
    if rest := text[at:].rstrip():
        yield Piece(rest, "", 0)


def _cell_pieces(cells: Iterable[Cell], classes: StyleClasses) -> Iterator[Piece]:
    for cell in cells:
        if cell.width:
            boxed = cell.width if cell.width > 1 or not _fits(cell.text) else 0
            yield Piece(cell.text, classes.of(cell.style), boxed)


def _fits(text: str) -> bool:
    return len(text) == 1 and _AS_WIDE_AS_ITS_CELL.fullmatch(text) is not None


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Join neighbours of the same style; boxes stay separate."""
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last is not None and not (piece.cells or last.cells) and piece.classes == last.classes:
            joined[-1] = Piece(last.text + piece.text, last.classes, 0)
        else:
            joined.append(piece)
    return joined


def row_html(pieces: Iterable[Piece]) -> str:
    """A row as spans; text of the default style has no span."""
    return "".join(_span(piece) for piece in pieces)


def _span(piece: Piece) -> str:
    names = " ".join(filter(None, (piece.classes, f"c{piece.cells}" if piece.cells else "")))
    shown = escape(piece.text)
    return f'<span class="{names}">{shown}</span>' if names else shown


def screen_lines(screen: Screen, classes: StyleClasses) -> list[str]:
    """The rows of a screen, as the content of a ``pre`` of class ``screen``."""
    cols = screen.size.cols
    return [row_html(row_pieces(*row, cols, classes)) for row in screen_rows(screen)]


def screen_fragment(screen: Screen, classes: StyleClasses) -> str:
    """``screen`` as the content of a ``pre`` of class ``screen``.

    Three or more consecutive blank rows become one line that counts them; blank rows at the end
    are left out.
    """
    return "\n".join(
        f'<i class="fold">{row} blank rows</i>' if isinstance(row, int) else row
        for row in folded_rows(screen_lines(screen, classes))
    )


# The screens of a recording as a film: distinct rows once, and frames as lists of row numbers.


MOST_PAINTED = 16 << 20
MOST_FRAMES = 10_000
MOST_CHARACTERS = 4_000_000

_Row = tuple[str, tuple[StyleRun, ...], int]
"""Its text, its styles, and the columns of the screen."""


class Shot(msgspec.Struct, frozen=True):
    """A frame: its time, its properties besides its rows, and the numbers of its rows."""

    t_us: int
    size: Size
    cursor: Cursor
    title: str
    rows: tuple[int, ...]

    def looks_like(self, other: Shot) -> bool:
        """Whether only the time differs."""
        return msgspec.structs.replace(other, t_us=self.t_us) == self


class Film:
    """Frames, thinned out if there are too many.

    Frames before ``start_us`` are dropped, except for the last of them.
    """

    def __init__(self, start_us: int = 0) -> None:
        self.shots: list[Shot] = []
        self._start_us = start_us
        self.stretch_us = STRETCH_US
        self._numbers: dict[_Row, int] = {}
        self._characters = 0

    @property
    def rows(self) -> list[_Row]:
        """The distinct rows, by number."""
        return list(self._numbers)

    def add(self, t_us: int, screen: Screen) -> None:
        """Add a screen, unless it looks like the previous one."""
        if t_us < self._start_us and self.shots:
            self.shots, self._numbers, self._characters = [], {}, 0
        cols = screen.size.cols
        rows = tuple(self._number((text, runs, cols)) for text, runs in screen_rows(screen))
        shot = Shot(t_us, screen.size, screen.cursor, screen.title, rows)
        if self.shots and shot.looks_like(self.shots[-1]):
            return
        self.shots.append(shot)
        while self._is_too_much() and len(self.shots) > 1:
            self._thin()

    def thin_to(self, most: int) -> None:
        """Drop frames, evenly in time, until at most ``most`` are left."""
        while len(self.shots) > most:
            self._thin()

    def _number(self, row: _Row) -> int:
        number = self._numbers.get(row)
        if number is None:
            number = self._numbers[row] = len(self._numbers)
            self._characters += len(row[0]) + 10 * len(row[1]) + 10
        return number

    def _is_too_much(self) -> bool:
        return len(self.shots) > MOST_FRAMES or self._characters > MOST_CHARACTERS

    def _thin(self) -> None:
        self.stretch_us *= 2
        rows, shots = self.rows, self.shots
        self._numbers, self._characters = {}, 0
        following = (*(shot.t_us // self.stretch_us for shot in shots[1:]), None)
        self.shots = [
            msgspec.structs.replace(
                shot, rows=tuple(self._number(rows[number]) for number in shot.rows)
            )
            for shot, after in zip(shots, following, strict=True)
            if shot.t_us // self.stretch_us != after
        ]


class FilmSource(Protocol):
    """The source of a film: an open cassette."""

    @property
    def manifest(self) -> Manifest:
        """The manifest, for the first size and the origin of the stored frames."""
        ...

    @property
    def output_size(self) -> int:
        """The number of bytes of output."""
        ...

    def frames(self) -> Iterator[FrameRecord]:
        """The stored frames."""
        ...

    def events(self) -> Iterator[Event]:
        """All events."""
        ...


def filmed(source: FilmSource, *, start_us: int = 0, end_us: int | None = None) -> Film:
    """The film of a recording, or of a stretch of it, with the screen at its start."""
    film = Film(start_us)
    terminal = source.manifest.terminal
    size = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
    ours = default_emulator(size).identity.name
    if terminal.emulator.name != ours or source.output_size > MOST_PAINTED:
        for frame in source.frames():
            if not film.shots or end_us is None or moment_us(frame) <= end_us:
                film.add(moment_us(frame), screen_of(frame))
    if not film.shots:
        events = source.events()
        _paint(film, (event for event in events if end_us is None or event.t_us <= end_us), size)
    return film


def _paint(film: Film, events: Iterable[Event], size: Size) -> None:
    emulator = default_emulator(size)
    film.add(0, emulator.snapshot())
    for t_us in moments(events, emulator, lambda: film.stretch_us):
        film.add(t_us, emulator.snapshot())


def film_object(film: Film, classes: StyleClasses) -> dict[str, Any]:
    """The film in the form that the script of the page reads.

    - ``frames``: each is ``[t_ms, cursor, size, title, ...changes]``. The cursor is
      ``row * 1000 + column``, -1 if it is hidden; size and title are indexes. The changes since
      the frame before are triples: the first changed row, the first number of its new rows, how
      many.
    - ``rows``: each is a list of pieces, ``text, style, text, style, ...``; a style is its index
      times 3, plus the cells of its box.
    - ``styles``: classes; the first is the default.
    - ``sizes``: ``[rows, columns]``; ``titles``: titles of the window.
    """
    styles: dict[str, int] = {"": 0}
    sizes: dict[Size, int] = {}
    titles: dict[str, int] = {}
    rows: list[list[Any]] = []
    for text, runs, cols in film.rows:
        pieces: list[Any] = []
        for piece in row_pieces(text, runs, cols, classes):
            style = styles.setdefault(piece.classes, len(styles))
            pieces += (piece.text, 3 * style + piece.cells)
        rows.append(pieces)
    frames = []
    before: tuple[int, ...] = ()
    for shot in film.shots:
        cursor = _cursor(shot)
        size = sizes.setdefault(shot.size, len(sizes))
        title = titles.setdefault(visible(shot.title), len(titles))
        head = [shot.t_us // 1000, cursor, size, title]
        frames.append([*head, *_changes(before, shot.rows)])
        before = shot.rows
    return {
        "frames": frames,
        "rows": rows,
        "styles": list(styles),
        "sizes": [(size.rows, size.cols) for size in sizes],
        "titles": list(titles),
    }


def _cursor(shot: Shot) -> int:
    row, col = shot.cursor.row, shot.cursor.col
    inside = 0 <= row < shot.size.rows and 0 <= col < shot.size.cols
    return row * 1000 + col if shot.cursor.visible and inside else -1


def _changes(before: tuple[int, ...], after: tuple[int, ...]) -> Iterator[int]:
    """Triples: the first changed row, the first number of its new rows, how many."""
    start = count = 0
    for at, number in enumerate((*after, -1)):
        changed = number >= 0 and (at >= len(before) or before[at] != number)
        if count and not (changed and number == after[start] + count):
            yield from (start, after[start], count)
            count = 0
        if changed:
            start = start if count else at
            count += 1
