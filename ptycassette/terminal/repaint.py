"""Output that brings a terminal into the state of another one.

When a part of a recording is removed, the part after it still expects the screen that was painted
before. ``repaint_bytes`` restores that screen in a few bytes: the rows and those that scrolled off
the top, both buffers, cursors, margins, tab stops, modes, character sets, titles.

Not restored: the last character (a combining mark right after it joins nothing, REP repeats
nothing), the saved cursor and the keyboard flags of an alternate screen that is not shown, and
text right of the last column from a time when the terminal was wider.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ptycassette.model.screen import DEFAULT_STYLE, Style
from ptycassette.terminal.core import DECAWM, DECTCEM
from ptycassette.terminal.emulator import PyteEmulator, Terminal
from ptycassette.terminal.grid import BLANK, CHARSETS, Buffer, Charset, Row, is_protected

# The parameters of SGR that select a style (ECMA-48 8.3.117, and xterm's additions).
#
# A screen may come from a stranger's cassette, with any text as a colour; text that is not a
# colour gives no parameters.


_ATTRIBUTES: Final = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "blink": "5",
    "reverse": "7",
    "hidden": "8",
    "strike": "9",
    "overline": "53",
}
_UNDERLINES: Final = {
    "single": "4",
    "double": "4:2",
    "curly": "4:3",
    "dotted": "4:4",
    "dashed": "4:5",
}
_RGB: Final = re.compile(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})\Z")


def sgr_of(style: Style) -> str:
    """The parameters that select all of ``style``, from the default one."""
    codes = ["0", *attribute_parameters(style)]
    if style.underline in _UNDERLINES:
        codes.append(_UNDERLINES[style.underline])
    codes += color_parameters(style.fg, 30)
    codes += color_parameters(style.bg, 40)
    match style.underline_color:
        case int(index) if 0 <= index < 256:
            codes.append(f"58:5:{index}")
        case str(color) if rgb := _rgb(color):
            codes.append(f"58:2::{':'.join(rgb)}")
    return ";".join(codes)


def attribute_parameters(style: Style) -> list[str]:
    """The parameters of all attributes except colours and underlines."""
    return [code for name, code in _ATTRIBUTES.items() if getattr(style, name)]


def color_parameters(color: int | str | None, base: int) -> list[str]:
    """The parameters of a colour; ``base`` is 30 for the foreground, 40 for the background."""
    match color:
        case int() if 0 <= color < 8:
            return [str(base + color)]
        case int() if 8 <= color < 16:
            return [str(base + 60 + color - 8)]
        case int() if 16 <= color < 256:
            return [str(base + 8), "5", str(color)]
        case str() if rgb := _rgb(color):
            return [str(base + 8), "2", *rgb]
    return []


def _rgb(color: str) -> list[str]:
    """Red, green and blue of ``#rrggbb`` as decimal numbers; empty for anything else."""
    found = _RGB.match(color)
    return [str(int(part, 16)) for part in found.groups()] if found else []


RESET: Final = b"\x1bc\x1b]0;\x1b\\"
"""RIS, and no title: makes any terminal a fresh one."""

_DESIGNATE: Final = ("(", ")", "*", "+")
_INVOKE: Final = ("", "\x0e", "\x1bn", "\x1bo")
_SHIFT: Final = 5
_INSERT: Final = 4
_CONTROLS: Final = re.compile("[\x00-\x1f\x80-\x9f]")
_ALT: Final = (1049, 1047, 47)
_SAVES_CURSOR: Final = 1048


def repaint_bytes(emulator: PyteEmulator) -> bytes:
    """The bytes that bring a fresh terminal of the same size into the state of ``emulator``.

    An incomplete sequence or character at the end of its input is not part of it
    (``emulator.pending``).
    """
    return "".join(_terminal(emulator.terminal)).encode("utf-8", "surrogatepass")


def _terminal(terminal: Terminal) -> Iterator[str]:
    yield from _titles(terminal)
    main, alt = terminal.main, terminal.alt
    yield from _lines(terminal, main)
    yield from _marks(main)
    if alt is not None:
        yield from _keyboard(terminal.keyboard.hidden)
        shown = next((mode for mode in _ALT if mode << _SHIFT in terminal.mode), _ALT[1])
        switch = f"\x1b[?{shown}h"
        if shown != _ALT[0]:
            yield from _saved(main)
            yield switch
        else:  # which saves the cursor itself, and fills the screen with its colour
            yield from _saved(main, by=switch)
            yield "\x1b[2J"
        for number, row in enumerate(alt.rows, 1):
            if cells := "".join(_cells(terminal, row)):
                yield f"\x1b[{number}H{cells}"
        yield from _marks(alt)
    yield from _saved(terminal.buf)
    yield from _modes(terminal)
    charsets = "".join(_charsets(terminal))
    if terminal.charset_map is terminal.gsets[terminal.glevel]:
        yield from _cursor(terminal)
        yield charsets
    else:  # restoring the cursor has brought another one back
        yield f"{charsets}\x1b8"
        yield from _cursor(terminal)
    if terminal.pen.style != DEFAULT_STYLE or terminal.buf.saved.pen is not None:
        yield _pen(terminal.pen.style)
    if terminal.insert_mode:
        yield f"\x1b[{_INSERT}h"


def _titles(terminal: Terminal) -> Iterator[str]:
    for what, number, stack, text in (
        (2, 2, terminal.title_stack, terminal.title),
        (1, 1, terminal.icon_stack, terminal.icon_name),
    ):
        for title in stack:
            yield f"\x1b]{what};{_plain(title)}\x1b\\\x1b[22;{number}t"
        if stack or text:
            yield f"\x1b]{what};{_plain(text)}\x1b\\"


def _lines(terminal: Terminal, main: Buffer) -> Iterator[str]:
    """The rows of the main screen and those above it, each printed below the one before it."""
    rows = [*main.history, *main.rows]
    if not main.history:
        while len(rows) > 1 and not (rows[-1].wrapped or any(_cells(terminal, rows[-1]))):
            rows.pop()
    for number, row in enumerate(rows):
        if number and not row.wrapped:
            yield "\r\n"
        yield from _cells(terminal, row)
        if number + 1 < len(rows) and rows[number + 1].wrapped:
            yield from _wrapping(row, rows[number + 1], terminal.columns)


def _wrapping(row: Row, after: Row, columns: int) -> Iterator[str]:
    """Make the row below continue ``row``: that happens when a character did not fit."""
    last = row.chars[columns - 1]
    if last == BLANK and after.chars[1] == "":
        yield f"\x1b[{columns}G{_pen(row.styles[columns - 1])}{after.chars[0]}{_pen(DEFAULT_STYLE)}"
    else:
        at = columns - 2 if last == "" else columns - 1
        text = " " if row.chars[at] == BLANK else row.chars[at]
        yield f"\x1b[{at + 1}G{_pen(row.styles[at])}{text}{_pen(DEFAULT_STYLE)} "
    yield "\r\x1b[2X"


def _cells(terminal: Terminal, row: Row) -> Iterator[str]:
    """The cells of a row, the cursor at its beginning; blank ones are passed over or erased."""
    columns = terminal.columns
    chars, styles = row.chars[:columns], row.styles[:columns]
    pen: Style = DEFAULT_STYLE
    at = x = 0
    while x < columns:
        char, style = chars[x], styles[x]
        if char == BLANK:
            end = x + 1
            while end < columns and chars[end] == BLANK and styles[end] is style:
                end += 1
            if style != DEFAULT_STYLE or is_protected(style):
                if at != x:
                    yield f"\x1b[{x + 1}G"
                if terminal.pens.of(style).erase == style:
                    yield f"{_pen(style)}\x1b[{end - x}X"
                    at = x
                else:
                    yield _pen(style) + " " * (end - x)
                    at = end
                pen = style
            x = end
            continue
        if at != x or not char.isascii():
            yield f"\x1b[{x + 1}G"  # also keeps a character from joining the one before it
        if style is not pen:
            yield _pen(style)
            pen = style
        yield char
        x += 1
        while x < columns and chars[x] == "":
            x += 1
        at = x
    if pen is not DEFAULT_STYLE:
        yield _pen(DEFAULT_STYLE)


def _pen(style: Style) -> str:
    """The sequences that select a style: SGR, the link, the protection."""
    link = "" if style.link is None else _plain(style.link)
    protected = 1 if is_protected(style) else 0
    return f'\x1b[{sgr_of(style)}m\x1b]8;;{link}\x1b\\\x1b[{protected}"q'


def _marks(buffer: Buffer) -> Iterator[str]:
    """Tab stops and margins of a buffer, if they are not the usual ones."""
    usual = set(range(0, buffer.columns, 8))
    if {tab for tab in buffer.tabs if tab < buffer.columns} != usual:
        yield "\x1b[3g"
        for tab in sorted(buffer.tabs):
            if tab < buffer.columns:
                yield f"\x1b[{tab + 1}G\x1bH"
    if (buffer.top, buffer.bottom) != (0, buffer.lines - 1):
        yield f"\x1b[{buffer.top + 1};{buffer.bottom + 1}r"


def _saved(buffer: Buffer, *, by: str = "") -> Iterator[str]:
    """The saved cursor of the buffer that is shown; ``by`` is the sequence that saves it."""
    saved = buffer.saved
    if not (by or saved.x or saved.line or saved.pen or saved.charset):
        return
    row = max(0, saved.line - len(buffer.history))
    yield f"\x1b[{row + 1};{saved.x + 1}H"
    yield _pen(DEFAULT_STYLE if saved.pen is None else saved.pen.style)
    if saved.charset is not None:
        yield f"\x1b({_charset_name(saved.charset)}"
    yield (by or "\x1b7") + _pen(DEFAULT_STYLE)
    if saved.charset is not None:
        yield "\x1b(B"


def _modes(terminal: Terminal) -> Iterator[str]:
    """All modes except the alternate screen and insertion, which would disturb later output."""
    alone = {_SAVES_CURSOR, *_ALT}
    last = (terminal.mouse_protocol, terminal.mouse_encoding)
    private = [mode >> _SHIFT for mode in terminal.mode if mode >> _SHIFT]
    private.sort(key=lambda mode: (mode in last, mode))
    for mode in private:
        if mode not in alone and mode << _SHIFT not in {DECAWM, DECTCEM}:
            yield f"\x1b[?{mode}h"
    for mode in (DECAWM, DECTCEM):
        if mode not in terminal.mode:
            yield f"\x1b[?{mode >> _SHIFT}l"
    for mode in sorted(terminal.mode):
        if mode >> _SHIFT == 0 and mode != _INSERT:
            yield f"\x1b[{mode}h"
    yield from _keyboard(terminal.keyboard.shown)
    if terminal.cursor_style:
        yield f"\x1b[{terminal.cursor_style} q"


def _keyboard(stack: list[int]) -> Iterator[str]:
    return (f"\x1b[>{flags}u" for flags in stack)


def _cursor(terminal: Terminal) -> Iterator[str]:
    """The cursor. It gets past the last column only by printing the character there."""
    buf, columns = terminal.buf, terminal.columns
    row = buf.y - (buf.top if terminal.origin else 0) + 1
    if buf.x < columns:
        yield f"\x1b[{row};{buf.x + 1}H"
        return
    cells: Sequence[str] = buf.rows[buf.y].chars
    at = columns - 2 if cells[columns - 1] == "" else columns - 1
    text = " " if cells[at] == BLANK else cells[at]
    yield f"\x1b[{row};{at + 1}H{_pen(buf.rows[buf.y].styles[at])}{text}{_pen(DEFAULT_STYLE)}"


def _charsets(terminal: Terminal) -> Iterator[str]:
    for sign, charset in zip(_DESIGNATE, terminal.gsets, strict=True):
        if charset is not None:
            yield f"\x1b{sign}{_charset_name(charset)}"
    yield _INVOKE[terminal.glevel]


def _charset_name(charset: Charset) -> str:
    return next(name for name, known in CHARSETS.items() if known is charset)


def _plain(text: str) -> str:
    """Remove the control characters that would end the string around the text."""
    return _CONTROLS.sub("", text)
