"""The whole state of an emulator as bytes, and back: checkpoints for seeking.

``save`` writes everything that affects how further bytes are rendered: both buffers
with their history, margins, tabs and saved cursors, pen, modes, character sets,
titles, stacks, the parser in the middle of a sequence or a character. ``load``
makes an emulator that continues exactly as the saved one would have. Encoding:
MessagePack through msgspec, no pickle. A stored state is not trusted: ``load`` checks
types, sizes and counts, and raises ``ValueError``.

Signals and answers that were not taken yet are not part of the state.
"""

from __future__ import annotations

from collections import deque
from itertools import groupby
from typing import Final

import msgspec

from ptycassette.model.records import NOT_JSON
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Size, Style
from ptycassette.terminal.core import MAX_CLUSTER, MAX_SIZE, MIN_COLUMNS
from ptycassette.terminal.emulator import ParserState, PyteEmulator, Terminal
from ptycassette.terminal.grid import (
    CHARSETS,
    Buffer,
    Charset,
    Pen,
    Pens,
    Row,
    Saved,
    is_protected,
    public_style,
)
from ptycassette.terminal.query_profiles import XTERM, QueryProfile
from ptycassette.terminal.widths import WidthModeName

_MAX_HISTORY: Final = 1 << 20


class _Row(msgspec.Struct, array_like=True, frozen=True):
    chars: list[str]
    styles: list[tuple[int, int]]  # (index of the style, how many cells)
    wrapped: bool


class _Saved(msgspec.Struct, array_like=True, frozen=True):
    x: int
    line: int
    style: int | None
    charset: str


class _Buffer(msgspec.Struct, array_like=True, frozen=True):
    lines: int
    columns: int
    scrollback: int
    reflows: bool
    rows: list[_Row]
    history: list[_Row]
    x: int
    y: int
    top: int
    bottom: int
    tabs: list[int]
    saved: _Saved


class _State(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    scrollback: int
    width: WidthModeName
    styles: list[Style]
    protected: list[int]
    main: _Buffer
    alt: _Buffer | None
    alt_saved: _Saved | None
    pen: int
    mode: list[int]
    cursor_style: int
    mouse: tuple[int, int]
    keyboard: list[int]
    hidden_keyboard: list[int] = []
    gsets: list[str]
    glevel: int
    charset: str
    kind: int
    cell_width: int
    title: str
    icon_name: str
    titles: list[str]
    icons: list[str]
    parser: ParserState


def _charset_name(charset: Charset | None) -> str:
    return next(name for name, known in CHARSETS.items() if known is charset)


class _Styles:
    """The styles of a state, without duplicates."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Style, bool], int] = {}

    def number(self, style: Style) -> int:
        key = (public_style(style), is_protected(style))
        return self._numbers.setdefault(key, len(self._numbers))

    def listed(self) -> tuple[list[Style], list[int]]:
        """All styles, and the numbers of the protected ones."""
        keys = list(self._numbers)
        return [style for style, _ in keys], [
            n for n, (_, protected) in enumerate(keys) if protected
        ]


def _pack_row(row: Row, styles: _Styles) -> _Row:
    if not row.own:
        return _Row(row.chars, [(styles.number(row.styles[0]), len(row.styles))], row.wrapped)
    runs: list[tuple[int, int]] = []
    for style, cells in groupby(row.styles):
        number, length = styles.number(style), len(list(cells))
        if runs and runs[-1][0] == number:
            length += runs.pop()[1]
        runs.append((number, length))
    return _Row(row.chars, runs, row.wrapped)


def _pack_saved(saved: Saved, styles: _Styles) -> _Saved:
    style = None if saved.pen is None else styles.number(saved.pen.style)
    return _Saved(saved.x, saved.line, style, _charset_name(saved.charset))


def _pack_buffer(buffer: Buffer, styles: _Styles) -> _Buffer:
    return _Buffer(
        buffer.lines,
        buffer.columns,
        buffer.scrollback,
        buffer.reflows,
        [_pack_row(row, styles) for row in buffer.rows],
        [_pack_row(row, styles) for row in buffer.history],
        buffer.x,
        buffer.y,
        buffer.top,
        buffer.bottom,
        sorted(buffer.tabs),
        _pack_saved(buffer.saved, styles),
    )


def save_emulator(emulator: PyteEmulator) -> bytes:
    """The state of an emulator as bytes; see ``load_emulator``."""
    terminal = emulator.terminal
    styles = _Styles()
    main = _pack_buffer(terminal.main, styles)
    alt = None if terminal.alt is None else _pack_buffer(terminal.alt, styles)
    pen = styles.number(terminal.pen.style)
    alt_saved = None if terminal.alt_saved is None else _pack_saved(terminal.alt_saved, styles)
    listed, protected = styles.listed()
    return msgspec.msgpack.encode(
        _State(
            version=emulator.identity.version,
            scrollback=terminal.scrollback,
            width=terminal.width_mode.name,
            styles=listed,
            protected=protected,
            main=main,
            alt=alt,
            alt_saved=alt_saved,
            pen=pen,
            mode=sorted(terminal.mode),
            cursor_style=terminal.cursor_style,
            mouse=(terminal.mouse_protocol, terminal.mouse_encoding),
            keyboard=terminal.keyboard.shown,
            hidden_keyboard=terminal.keyboard.hidden,
            gsets=[_charset_name(charset) for charset in terminal.gsets],
            glevel=terminal.glevel,
            charset=_charset_name(terminal.charset_map),
            kind=terminal.kind,
            cell_width=terminal.width,
            title=terminal.title,
            icon_name=terminal.icon_name,
            titles=terminal.title_stack,
            icons=terminal.icon_stack,
            parser=emulator.parser.state(),
        )
    )


class _Loader:
    """Builds rows and buffers from a state, and checks them."""

    def __init__(self, state: _State, pens: Pens) -> None:
        protected = set(state.protected)
        self.pens = [
            pens.protect(pens.of(style), protected=True) if number in protected else pens.of(style)
            for number, style in enumerate(state.styles)
        ]

    def row(self, packed: _Row, columns: int) -> Row:
        """A row of at least ``columns`` cells."""
        count = len(packed.chars)
        _check(columns <= count <= MAX_SIZE, "a row has another width than its buffer")
        _check(sum(length for _, length in packed.styles) == count, "styles do not fit a row")
        _check(max(map(len, packed.chars)) <= MAX_CLUSTER, "a cell holds too much")
        row = Row(0, wrapped=packed.wrapped)
        row.chars = packed.chars
        for number, length in packed.styles:
            _check(length > 0, "styles do not fit a row")
            row.styles.extend([self.pen(number).style] * length)
        return row

    def pen(self, number: int) -> Pen:
        _check(0 <= number < len(self.pens), "no such style")
        return self.pens[number]

    def saved(self, packed: _Saved) -> Saved:
        pen = None if packed.style is None else self.pen(packed.style)
        _check(packed.x >= 0 and packed.line >= 0, "a saved cursor is outside")
        return Saved(packed.x, packed.line, pen, _charset(packed.charset))

    def buffer(self, packed: _Buffer) -> Buffer:
        _check(1 <= packed.lines <= MAX_SIZE, "a buffer has too many rows, or none")
        _check(MIN_COLUMNS <= packed.columns <= MAX_SIZE, "a buffer is too wide or too narrow")
        _check(len(packed.rows) == packed.lines, "a buffer has another height than it says")
        _check(0 <= packed.scrollback <= _MAX_HISTORY, "the history is too long")
        _check(len(packed.history) <= packed.scrollback, "the history is too long")
        _check(0 <= packed.x <= packed.columns, "the cursor is outside")
        _check(0 <= packed.y < packed.lines, "the cursor is outside")
        _check(0 <= packed.top <= packed.bottom < packed.lines, "the margins are outside")
        scrollback = packed.scrollback if packed.reflows else None
        buffer = Buffer(packed.lines, packed.columns, scrollback)
        buffer.rows = [self.row(row, packed.columns) for row in packed.rows]
        history = (self.row(row, packed.columns) for row in packed.history)
        buffer.history = deque(history, maxlen=packed.scrollback)
        buffer.x, buffer.y = packed.x, packed.y
        buffer.top, buffer.bottom = packed.top, packed.bottom
        buffer.tabs = set(packed.tabs)
        buffer.saved = self.saved(packed.saved)
        return buffer


def _check(fact: bool, otherwise: str) -> None:  # noqa: FBT001 - an assertion that stays
    if not fact:
        raise ValueError(f"not the state of an emulator: {otherwise}")


def _charset(name: str) -> Charset | None:
    _check(name in CHARSETS, "no such character set")
    return CHARSETS[name]


def load_emulator(data: bytes, *, profile: QueryProfile = XTERM) -> PyteEmulator:
    """An emulator that continues where the saved one was.

    Raises:
        ValueError: ``data`` is not a state, or belongs to another version of the emulator.
    """
    try:
        state = msgspec.msgpack.decode(data, type=resolved(_State))
    except NOT_JSON as error:
        raise ValueError(f"not the state of an emulator: {error}") from error
    size = Size(state.main.lines, state.main.columns)
    _check(0 <= state.scrollback <= _MAX_HISTORY, "the history is too long")
    emulator = PyteEmulator(size, width=state.width, scrollback=state.scrollback, profile=profile)
    mine = emulator.identity.version
    if state.version != mine:
        raise ValueError(f"the state is that of emulator {state.version}, this one is {mine}")
    _restore(emulator.terminal, state)
    emulator.parser.restore(state.parser)
    return emulator


def _restore(terminal: Terminal, state: _State) -> None:
    loader = _Loader(state, terminal.pens)
    terminal.main = terminal.buf = loader.buffer(state.main)
    if state.alt is not None:
        terminal.alt = terminal.buf = loader.buffer(state.alt)
        same = (state.alt.lines, state.alt.columns) == (state.main.lines, state.main.columns)
        _check(same, "the buffers differ in size")
    terminal.alt_saved = None if state.alt_saved is None else loader.saved(state.alt_saved)
    terminal.pen = loader.pen(state.pen)
    terminal.restore_modes(state.mode)
    terminal.cursor_style = state.cursor_style
    terminal.mouse_protocol, terminal.mouse_encoding = state.mouse
    terminal.keyboard.shown, terminal.keyboard.hidden = state.keyboard, state.hidden_keyboard
    _check(len(state.gsets) == 4 and 0 <= state.glevel < 4, "no such character set")
    terminal.gsets = [_charset(name) for name in state.gsets]
    terminal.glevel = state.glevel
    terminal.charset_map = _charset(state.charset)
    terminal.kind, terminal.width = state.kind, state.cell_width
    terminal.title, terminal.icon_name = state.title, state.icon_name
    terminal.title_stack, terminal.icon_stack = state.titles, state.icons
