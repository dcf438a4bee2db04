"""Rows of cells: the only place that knows how cells are stored.

A row is two parallel lists, ``chars`` and ``styles``, one item per cell. In
``chars`` a cell is

* a string of one grapheme cluster,
* ``""`` for the right half of the wide character before it, or
* ``BLANK`` (U+0000) for a cell that nothing was written to. It looks like a
  space, but reflow treats it as the end of the text.

``origins`` is an optional third list: which bytes painted each cell (see
``ptycassette.terminal.watched``). Every operation that moves cells moves it, too. Only a
traced terminal fills it, so that an ordinary one is not slowed down.

``view`` caches the row's text and style runs. Code that changes a cell sets it to
``None``.

Rows whose cells are all equal (blank, or filled by DECALN) share their lists. So
clearing or scrolling a screen of a million cells costs no more than its rows. ``own``
is true if the lists belong to the row alone; if not, code that changes them calls
``take_over`` first.

The semantics of insert, delete and replace, above all what happens to half of a
wide character, are those of xterm.js.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any, Final

import msgspec

from ptycassette.model.screen import DEFAULT_STYLE, Style, StyleRun

# Character sets that programs designate with ``ESC ( F`` and its kin (ISO 2022).
#
# Only sets that replace ASCII characters one for one. They apply in UTF-8 too, because ncurses and
# dialog use line drawing there. Sources: the VT220 and VT510 manuals on the DEC special graphics
# and national replacement sets; which cells of the special graphics set change is as xterm does
# it.


Charset = dict[int, str]

_GRAPHICS: Final = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"


def _national(replaced: str, by: str) -> Charset:
    return {ord(old): new for old, new in zip(replaced, by, strict=True)}


_FINNISH: Final = _national("[\\]^`{|}~", "ÄÖÅÜéäöåü")
_NORWEGIAN: Final = _national("@[\\]^`{|}~", "ÄÆØÅÜäæøåü")
_SWEDISH: Final = _national("@[\\]^`{|}~", "ÉÄÖÅÜéäöåü")
_FRENCH_CANADIAN: Final = _national("@[\\]^`{|}~", "àâçêîôéùèû")

CHARSETS: Final[dict[str, Charset | None]] = {
    # final character: its replacements; None is ASCII
    "B": None,
    "0": {ord("`") + offset: char for offset, char in enumerate(_GRAPHICS)},
    "A": {ord("#"): "£"},
    "4": _national("#@[\\]{|}~", "£¾ĳ½|¨f¼´"),  # noqa: RUF001
    "C": _FINNISH,
    "5": _FINNISH,
    "R": _national("#@[\\]{|}~", "£à°ç§éùè¨"),
    "Q": _FRENCH_CANADIAN,
    "K": _national("@[\\]{|}~", "§ÄÖÜäöüß"),
    "Y": _national("#@[\\]`{|}~", "£§°çéùàòèì"),
    "E": _NORWEGIAN,
    "6": _NORWEGIAN,
    "Z": _national("#@[\\]{|}", "£§¡Ñ¿°ñç"),
    "H": _SWEDISH,
    "7": _SWEDISH,
    "=": _national("#@[\\]^_`{|}~", "ùàéçêîèôäöüû"),
}


# The parameters of a control sequence, bounded.


MAX_SEQUENCE: Final = 1024
"""Characters of a control sequence between its introducer and its final one; longer: ignored."""


MAX_PARAMETERS: Final = 32
MAX_VALUE: Final = 0x7FFFFFFF
_MAX_DIGITS: Final = 10


Parameter = tuple[int, tuple[int, ...]]
"""One parameter: its value (0 when empty) and what follows it after colons (-1 when empty)."""


def _number(text: str, empty: int) -> int:
    if not text:
        return empty
    if len(text) < _MAX_DIGITS:
        return int(text)
    digits = text.lstrip("0")
    return min(int(digits or "0"), MAX_VALUE) if len(digits) <= _MAX_DIGITS else MAX_VALUE


def parse_parameters(text: str) -> list[Parameter]:
    """The parameters in ``text``, digits with ``;`` and ``:`` between them. At least one."""
    items = text.split(";", MAX_PARAMETERS)[:MAX_PARAMETERS]
    if ":" not in text:
        return [(_number(item, 0), ()) for item in items]
    found: list[Parameter] = []
    left = MAX_PARAMETERS
    for item in items:
        value, *sub = item.split(":", left + 1)[: left + 1]
        left -= len(sub)
        found.append((_number(value, 0), tuple(_number(part, -1) for part in sub)))
    return found


def values(text: str) -> tuple[int, ...]:
    """The values alone; sub-parameters are dropped."""
    return tuple(value for value, _ in parse_parameters(text))


# SGR: the effect of ``CSI ... m`` on the style of painted characters.


_UNDERLINES: Final = ("", "single", "double", "curly", "dotted", "dashed")
_PEN_LIMIT: Final = 1 << 14
_NEXT_LIMIT: Final = 1 << 15

_SIMPLE: Final[dict[int, dict[str, Any]]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    5: {"blink": True},
    6: {"blink": True},
    7: {"reverse": True},
    8: {"hidden": True},
    9: {"strike": True},
    21: {"underline": "double"},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": ""},
    25: {"blink": False},
    27: {"reverse": False},
    28: {"hidden": False},
    29: {"strike": False},
    39: {"fg": None},
    49: {"bg": None},
    53: {"overline": True},
    55: {"overline": False},
    59: {"underline_color": None},
    **{30 + n: {"fg": n} for n in range(8)},
    **{40 + n: {"bg": n} for n in range(8)},
    **{90 + n: {"fg": 8 + n} for n in range(8)},
    **{100 + n: {"bg": 8 + n} for n in range(8)},
}
_RESET: Final[dict[str, Any]] = {
    # everything but the link, which is no part of SGR
    name: getattr(DEFAULT_STYLE, name)
    for name in Style.__struct_fields__
    if name != "link"
}
_COLORS: Final = {38: "fg", 48: "bg", 58: "underline_color"}


class ProtectedStyle(Style, frozen=True):
    """A style whose cells DECSED and DECSEL leave alone (DECSCA)."""


def is_protected(style: Style) -> bool:
    """Whether selective erase must leave a cell of that style alone."""
    return type(style) is ProtectedStyle


def _fields(style: Style) -> dict[str, Any]:
    return {name: getattr(style, name) for name in Style.__struct_fields__}


def public_style(style: Style) -> Style:
    """The style as the model has it, without the protection flag of the terminal."""
    return Style(**_fields(style)) if is_protected(style) else style


class Pen:
    """A style to paint with. Interned: compare with ``is``.

    ``style`` paints characters, ``erase`` what is erased (background only), and
    ``next`` maps SGR strings, as sent, to the pens they lead to.
    """

    __slots__ = ("erase", "next", "style")

    def __init__(self, style: Style, erase: Style) -> None:
        self.style = style
        self.erase = erase
        self.next: dict[str, Pen] = {}


class Pens:
    """All the pens of one terminal."""

    def __init__(self) -> None:
        self._pens: dict[Style, Pen] = {}
        self._erase: dict[int | str, Style] = {}
        self._remembered = 0
        self.default = self.of(DEFAULT_STYLE)

    def of(self, style: Style) -> Pen:
        """The pen for a style."""
        key = style
        pen = self._pens.get(key)
        if pen is not None and type(pen.style) is type(style):
            return pen
        if len(self._pens) >= _PEN_LIMIT:
            self._forget()
            self._pens.clear()
            self._erase.clear()
        erase = DEFAULT_STYLE
        if style.bg is not None:
            erase = self._erase.setdefault(style.bg, Style(bg=style.bg))
        pen = self._pens[key] = Pen(style, erase)
        return pen

    def change(self, pen: Pen, **changes: Any) -> Pen:
        """The pen with some fields changed."""
        kind = type(pen.style)
        return self.of(kind(**{**_fields(pen.style), **changes}))

    def protect(self, pen: Pen, *, protected: bool) -> Pen:
        """The same pen with protection from selective erase (DECSCA) on or off."""
        kind = ProtectedStyle if protected else Style
        return self.of(kind(**_fields(pen.style)))

    def apply(self, pen: Pen, text: str) -> Pen:
        """The pen after one or more complete SGR sequences, as ``CSI 1 m CSI 31 m``."""
        after = pen
        for sequence in text.split("m")[:-1]:
            single = f"{sequence}m"
            known = after.next.get(single)
            if known is None:
                parameters = sequence.lstrip("\x1b[\x9b")
                known = after
                if len(parameters) <= MAX_SEQUENCE:
                    known = self._apply_one(after, parameters)
                self._remember(after, single, known)
            after = known
        if text not in pen.next:
            self._remember(pen, text, after)
        return after

    def _remember(self, pen: Pen, text: str, after: Pen) -> None:
        """Cache the pen that ``text`` leads to, within a bound for all pens together."""
        if self._remembered >= _NEXT_LIMIT:
            self._forget()
        self._remembered += 1
        pen.next[text] = after

    def _forget(self) -> None:
        for pen in self._pens.values():
            pen.next.clear()
        self._remembered = 0

    def _apply_one(self, pen: Pen, parameters: str) -> Pen:
        changes: dict[str, Any] = {}
        protected = is_protected(pen.style)
        items = parse_parameters(parameters)
        at = 0
        while at < len(items):
            code, sub = items[at]
            if code == 0:
                changes = dict(_RESET)
                protected = False
            elif code == 4:
                changes["underline"] = _underline(sub)
            elif code in _COLORS:
                at += _color(items, at, changes)
            else:
                changes.update(_SIMPLE.get(code, {}))
            at += 1
        after = self.of(msgspec.structs.replace(pen.style, **changes))
        if protected != is_protected(after.style):
            after = self.protect(after, protected=protected)
        return after


def _underline(sub: tuple[int, ...]) -> str:
    style = sub[0] if sub else 1
    return _UNDERLINES[style] if 0 <= style < len(_UNDERLINES) else "single"


def _color(items: list[Parameter], at: int, changes: dict[str, Any]) -> int:
    """Set the colour that starts at ``items[at]``; returns how many more items it takes.

    With colons the values belong to one item, ``38:5:n`` or ``38:2:space:r:g:b``.
    With semicolons they are items of their own, ``38;5;n`` or ``38;2;r;g;b``, and
    missing ones at the end count as 0.
    """
    code, sub = items[at]
    field = _COLORS[code]
    if sub:
        _set_color(changes, field, sub[0], list(sub[1:2] if sub[0] == 5 else sub[2:5]))
        return 0
    rest = items[at + 1 : at + 7]
    if not rest:
        return 1
    mode, values = rest[0]
    if values:
        _set_color(changes, field, mode, list(values[:1] if mode == 5 else values[1:4]))
        return 1
    taken = {5: 2, 2: 4, 0: 6}.get(mode, 5)
    _set_color(changes, field, mode, [value for value, _ in rest[1:taken]])
    return taken


def _set_color(changes: dict[str, Any], field: str, mode: int, values: list[int]) -> None:
    known = [max(value, 0) & 255 for value in values]
    if mode == 5:
        changes[field] = known[0] if known else 0
    elif mode == 2:
        red, green, blue = [*known, 0, 0, 0][:3]
        changes[field] = f"#{red:02x}{green:02x}{blue:02x}"


BLANK: Final = "\0"

Origin = int | tuple[int, int]
"""The first byte that painted a cell, or first byte and end of the stretch that did."""


@cache
def _default_styles(count: int) -> list[Style]:
    return [DEFAULT_STYLE] * count


def collect_runs(styles: list[Style]) -> Iterator[StyleRun]:
    """The stretches of equal style, the default one left out."""
    col = 0
    for style, group in groupby(styles):
        length = len(list(group))
        if style is not DEFAULT_STYLE and style != DEFAULT_STYLE:
            yield StyleRun(col, length, public_style(style))
        col += length


class Uniform:
    """The lists that rows of equal cells share. Immutable.

    Args:
        cols: how many cells.
        char: the text of each cell.
        style: the style of each cell.
    """

    __slots__ = ("chars", "style", "styles", "view")

    def __init__(self, cols: int, char: str, style: Style) -> None:
        self.style = style
        self.chars = [char] * cols
        self.styles = [style] * cols
        text = "" if char == BLANK else char * cols
        self.view = (text, tuple(collect_runs(self.styles)))


class Row:
    """One row of cells.

    Args:
        cols: how many cells.
        style: how the blank cells are painted.
        wrapped: whether the row continues the row before it.
        traced: whether to keep ``origins``.
    """

    __slots__ = ("chars", "origins", "own", "styles", "view", "wrapped")

    def __init__(
        self,
        cols: int,
        style: Style = DEFAULT_STYLE,
        *,
        wrapped: bool = False,
        traced: bool = False,
    ) -> None:
        self.chars = [BLANK] * cols
        self.styles = [style] * cols
        self.own = True
        self.origins: list[Origin | None] | None = [None] * cols if traced else None
        self.wrapped = wrapped
        self.view: tuple[str, tuple[StyleRun, ...] | None] | None = None

    @classmethod
    def sharing(cls, cells: Uniform, *, wrapped: bool = False) -> Row:
        """A row that shares its lists until something is written to it. Untraced."""
        row = cls.__new__(cls)
        row.chars, row.styles, row.view = cells.chars, cells.styles, cells.view
        row.own = False
        row.origins = None
        row.wrapped = wrapped
        return row

    def share(self, cells: Uniform) -> None:
        """Share these lists from now on."""
        self.chars, self.styles, self.view = cells.chars, cells.styles, cells.view
        self.own = False

    def take_over(self) -> None:
        """Copy shared lists, because they are about to change."""
        if not self.own:
            length = len(self.chars)
            self.chars, self.styles = [self.chars[0]] * length, [self.styles[0]] * length
            self.own = True

    def text(self, cols: int) -> str:
        """The row's text, right-trimmed. Cells beyond ``cols`` are hidden."""
        view = self.view
        if view is None:
            chars = self.chars if len(self.chars) <= cols else self.chars[:cols]
            view = self.view = ("".join(chars).replace(BLANK, " ").rstrip(" "), None)
        return view[0]

    def render(self, cols: int) -> tuple[str, tuple[StyleRun, ...]]:
        """Text and style runs: the stretches of cells that are not in the default style."""
        view = self.view
        if view is not None and view[1] is not None:
            return view  # type: ignore[return-value] # mypy does not narrow tuples
        text = self.text(cols)
        styles = self.styles if len(self.styles) <= cols else self.styles[:cols]
        runs: tuple[StyleRun, ...] = ()
        if styles != _default_styles(len(styles)):
            runs = tuple(collect_runs(styles))
        rendered = self.view = (text, runs)
        return rendered

    def is_wide(self, col: int) -> bool:
        """Whether the cell is the left half of a wide character."""
        chars = self.chars
        return col + 1 < len(chars) and chars[col + 1] == "" and chars[col] != ""

    def set_blank(self, col: int, style: Style) -> None:
        """Empty one cell."""
        if not self.own:
            self.take_over()
        self.chars[col] = BLANK
        self.styles[col] = style
        if self.origins is not None:
            self.origins[col] = None

    def fill(self, cells: Uniform, *, unprotected_only: bool = False) -> None:
        """Set every cell."""
        length = len(self.chars)
        if unprotected_only and any(
            map(is_protected, self.styles if self.own else self.styles[:1])
        ):
            self.replace(0, length, cells.style, unprotected_only=True)
            return
        if self.origins is None and length == len(cells.chars):
            self.share(cells)
            return
        # It is still as long as on a wider screen, or it is traced.
        self.chars = [cells.chars[0]] * length
        self.styles = [cells.style] * length
        self.own = True
        if self.origins is not None:
            self.origins = [None] * length
        self.view = None

    def replace(
        self, start: int, end: int, style: Style, *, unprotected_only: bool = False
    ) -> None:
        """Empty the cells from ``start`` up to ``end``, and the other halves of wide characters."""
        chars = self.chars
        length = len(chars)
        end = min(end, length)
        if not self.own:
            if self._is_blank(style):
                return
            self.take_over()
            chars = self.chars
        self.view = None
        if start < length and chars[start] == "" and start:
            self.set_blank(start - 1, style)
        if start >= end:
            return
        if end < length and chars[end] == "":
            self.set_blank(end, style)
        if unprotected_only:
            for col in range(start, end):
                if not is_protected(self.styles[col]):
                    self.set_blank(col, style)
            self._mend()
            return
        chars[start:end] = [BLANK] * (end - start)
        self.styles[start:end] = [style] * (end - start)
        if self.origins is not None:
            self.origins[start:end] = [None] * (end - start)

    def insert(self, col: int, count: int, style: Style) -> None:
        """Shift the cells from ``col`` right by ``count``; cells that leave the row are lost."""
        chars = self.chars
        length = len(chars)
        count = min(count, length - col)
        if not self.own:
            if self._is_blank(style):
                return
            self.take_over()
            chars = self.chars
        self.view = None
        if col and chars[col] == "":
            self.set_blank(col - 1, style)
            self.set_blank(col, style)
        keep = length - count
        if chars[keep:] and chars[keep] == "" and keep > col:
            self.set_blank(keep - 1, style)
        del chars[keep:]
        chars[col:col] = [BLANK] * count
        del self.styles[keep:]
        self.styles[col:col] = [style] * count
        if self.origins is not None:
            del self.origins[keep:]
            self.origins[col:col] = [None] * count

    def delete(self, col: int, count: int, style: Style) -> None:
        """Shift the cells right of ``col`` left by ``count``; blank ones follow from the right."""
        chars = self.chars
        length = len(chars)
        count = min(count, length - col)
        if not self.own:
            if self._is_blank(style):
                return
            self.take_over()
            chars = self.chars
        self.view = None
        if col and chars[col] == "":
            self.set_blank(col - 1, style)
        if col + count < length and chars[col + count] == "":
            self.set_blank(col + count, style)
        del chars[col : col + count]
        chars.extend([BLANK] * count)
        del self.styles[col : col + count]
        self.styles.extend([style] * count)
        if self.origins is not None:
            del self.origins[col : col + count]
            self.origins.extend([None] * count)

    def resize(self, cols: int, style: Style = DEFAULT_STYLE) -> None:
        """Cut the row or lengthen it with blank cells."""
        missing = cols - len(self.chars)
        if not missing:
            return
        self.take_over()
        self.view = None
        if missing > 0:
            self.chars.extend([BLANK] * missing)
            self.styles.extend([style] * missing)
            if self.origins is not None:
                self.origins.extend([None] * missing)
            return
        # A wide character that is cut in half stays, as in xterm.js.
        del self.chars[cols:]
        del self.styles[cols:]
        if self.origins is not None:
            del self.origins[cols:]

    def copy_cells(self, source: Row, start: int, col: int, count: int) -> None:
        """Copy ``count`` cells of ``source`` from ``start`` to ``col``."""
        self.take_over()
        self.chars[col : col + count] = source.chars[start : start + count]
        self.styles[col : col + count] = source.styles[start : start + count]
        if self.origins is not None and source.origins is not None:
            self.origins[col : col + count] = source.origins[start : start + count]
        self.view = None

    def trimmed_length(self) -> int:
        """The number of cells up to the last one that was written to."""
        chars = self.chars
        if not self.own and chars[0] == BLANK:
            return 0
        for col in range(len(chars) - 1, -1, -1):
            if chars[col] != BLANK:
                return col + 1
        return 0

    def _is_blank(self, style: Style) -> bool:
        """Whether the cells of this row are all blank in that style already."""
        return self.chars[0] == BLANK and self.styles[0] is style

    def _mend(self) -> None:
        """Empty halves of wide characters that lost their other half."""
        chars = self.chars
        for col, char in enumerate(chars):
            if char == "" and (col == 0 or chars[col - 1] in {BLANK, ""}):
                chars[col] = BLANK


# Reflow: how wrapped lines change with the width.


class Lines:
    """History and screen as one list of rows.

    Args:
        rows: oldest first.
        base: index of the first row on screen.
        y: the cursor's row on screen.
        limit: how many rows fit, history included.
    """

    __slots__ = ("base", "limit", "rows", "saved_line", "y")

    def __init__(self, rows: list[Row], base: int, y: int, limit: int) -> None:
        self.rows = rows
        self.base = base
        self.y = y
        self.limit = limit
        self.saved_line = 0


def _length(group: list[Row], at: int, columns: int) -> int:
    """The number of cells of row ``at`` that belong to line ``group``."""
    row = group[at]
    if at == len(group) - 1:
        return row.trimmed_length()
    # A wide character that did not fit leaves the last cell blank.
    if row.chars[columns - 1] == BLANK and group[at + 1].is_wide(0):
        return columns - 1
    return columns


def _cells(group: list[Row], columns: int, width: int) -> Row:
    """The whole line in one row."""
    lengths = [_length(group, at, columns) for at in range(len(group))]
    line = Row(sum(lengths) + width, traced=group[0].origins is not None)
    col = 0
    for row, length in zip(group, lengths, strict=True):
        line.copy_cells(row, 0, col, length)
        col += length
    line.resize(col)
    return line


def _groups(rows: list[Row]) -> list[tuple[int, int]]:
    """Start and end of each stretch of rows that is one line."""
    starts = [at for at, row in enumerate(rows) if not row.wrapped or at == 0]
    return list(zip(starts, [*starts[1:], len(rows)], strict=True))


def _break(line: Row, width: int) -> list[Row]:
    """The line in rows of ``width`` cells; a wide character is never halved."""
    traced = line.origins is not None
    total = len(line.chars)
    rows: list[Row] = []
    col = 0
    while col < total or not rows:
        end = min(col + width, total)
        if end < total and line.chars[end] == "":
            end -= 1
        row = Row(width, DEFAULT_STYLE, wrapped=bool(rows), traced=traced)
        row.copy_cells(line, col, 0, end - col)
        rows.append(row)
        col = end
    return rows


def _holds_cursor(text: Lines, start: int, end: int) -> bool:
    return start <= text.base + text.y < end


def widen(text: Lines, before: int, columns: int, lines: int) -> None:
    """Join wrapped lines again. Rows have their new width already."""
    removed = 0
    rows: list[Row] = []
    for start, end in _groups(text.rows):
        group = text.rows[start:end]
        if len(group) == 1 or _holds_cursor(text, start, end):
            rows.extend(group)
            continue
        wrapped = group[0].wrapped
        broken = _break(_cells(group, before, columns), columns)
        broken[0].wrapped = wrapped
        rows.extend(broken)
        removed += len(group) - len(broken)
    text.rows = rows
    for _ in range(removed):
        if text.base:
            text.base -= 1
            continue
        text.y = max(text.y - 1, 0)
        if len(text.rows) < lines:
            text.rows.append(Row(columns, traced=rows[0].origins is not None))
    text.saved_line = max(text.saved_line - removed, 0)


def narrow(text: Lines, before: int, columns: int, lines: int) -> None:
    """Break lines that no longer fit. Rows have their old width still.

    From the bottom up, because room for the new rows is taken from the blank rows
    at the bottom first.
    """
    dropped = 0
    added_so_far = 0
    pieces: list[tuple[list[Row], int]] = []
    for start, end in reversed(_groups(text.rows)):
        group = text.rows[start:end]
        fits = len(group) == 1 and group[0].trimmed_length() <= columns
        if fits or _holds_cursor(text, start, end):
            pieces.append((group, len(group)))
            continue
        broken = _break(_cells(group, before, columns), columns)
        broken[0].wrapped = group[0].wrapped
        added = len(broken) - len(group)
        pieces.append((broken, len(group)))
        added_so_far += added
        length = len(text.rows) - dropped
        if text.base == 0 and text.y != length - 1:
            over = max(0, text.y - text.limit + added)
        else:
            over = max(0, length - text.limit + added)
        for _ in range(added - over):
            if text.base == 0 and text.y < lines - 1:
                text.y += 1
                dropped += 1
            elif text.base == 0 or text.base < min(text.limit, length + added_so_far) - lines:
                text.base += 1
        text.saved_line = min(text.saved_line + added, text.base + lines - 1)
    text.rows = _drop_last(pieces, dropped)


def _drop_last(pieces: list[tuple[list[Row], int]], count: int) -> list[Row]:
    """All rows from top to bottom, without the last ``count`` that were there before.

    ``pieces`` are in order from the bottom up, each with the number of rows that it had
    before. Usually the dropped rows are blank; if not, xterm.js loses the same text.
    """
    rows: list[Row] = []
    for piece, old in pieces:
        lost = min(count, old)
        count -= lost
        rows.extend(reversed(piece[: old - lost] + piece[old:]))
    rows.reverse()
    return rows


# A screen buffer: the rows on screen, the rows that left it, cursor, margins, tabs.


_TAB_WIDTH = 8


class Saved:
    """The state that DECSC saves, in one slot per buffer.

    ``pen`` is ``None`` for the default one.
    """

    __slots__ = ("charset", "line", "pen", "x")

    def __init__(self, x: int, line: int, pen: Pen | None, charset: Charset | None) -> None:
        self.x = x
        self.line = line
        self.pen = pen
        self.charset = charset


class Buffer:
    """One screen buffer.

    Args:
        lines: rows on screen, 1 or more.
        columns: cells in a row, 2 or more.
        scrollback: how many rows that scrolled off the top are kept; ``None``
            makes an alternate buffer, which keeps and reflows nothing.
        traced: whether rows keep ``origins``.
    """

    __slots__ = (
        "_blank",
        "bottom",
        "columns",
        "history",
        "lines",
        "reflows",
        "rows",
        "saved",
        "scrollback",
        "tabs",
        "top",
        "traced",
        "x",
        "y",
    )

    def __init__(
        self,
        lines: int,
        columns: int,
        scrollback: int | None,
        *,
        style: Style = DEFAULT_STYLE,
        traced: bool = False,
    ) -> None:
        self.lines = lines
        self.columns = columns
        self.scrollback = scrollback or 0
        self.reflows = scrollback is not None
        self.traced = traced
        self._blank = Uniform(columns, BLANK, style)
        self.rows = [self.blank_row(style) for _ in range(lines)]
        self.history: deque[Row] = deque(maxlen=self.scrollback)
        self.x = self.y = 0
        self.top, self.bottom = 0, lines - 1
        self.tabs = set(range(0, columns, _TAB_WIDTH))
        self.saved = Saved(0, 0, None, None)

    def blank_row(self, style: Style, *, wrapped: bool = False) -> Row:
        """A new row of this buffer's width."""
        if self.traced:
            return Row(self.columns, style, wrapped=wrapped, traced=True)
        return Row.sharing(self.blank(style), wrapped=wrapped)

    def blank(self, style: Style) -> Uniform:
        """The cells of an empty row."""
        cells = self._blank
        if cells.style is not style:
            cells = self._blank = Uniform(self.columns, BLANK, style)
        return cells

    def scroll(self, style: Style, *, wrapped: bool = False) -> None:
        """Move the rows between the margins up by one; the top one goes to the history."""
        rows, top = self.rows, self.top
        gone = rows.pop(top)
        if top == 0:
            self.history.append(gone)
        rows.insert(self.bottom, self.blank_row(style, wrapped=wrapped))

    def insert_rows(self, at: int, count: int, style: Style) -> None:
        """Push ``count`` blank rows in at row ``at``; rows fall out at the bottom margin."""
        count = min(count, self.bottom - at + 1)
        end = self.bottom + 1
        del self.rows[end - count : end]
        self.rows[at:at] = [self.blank_row(style) for _ in range(count)]

    def delete_rows(self, at: int, count: int, style: Style) -> None:
        """Remove ``count`` rows at row ``at``; blank ones come in at the bottom margin."""
        count = min(count, self.bottom - at + 1)
        del self.rows[at : at + count]
        end = self.bottom + 1 - count
        self.rows[end:end] = [self.blank_row(style) for _ in range(count)]

    def next_tab(self, x: int) -> int:
        """The column of the next tab stop right of ``x``, or the last column."""
        last = self.columns - 1
        return min((tab for tab in self.tabs if x < tab <= last), default=last)

    def previous_tab(self, x: int) -> int:
        """The column of the tab stop left of ``x``, or the first column."""
        return max((tab for tab in self.tabs if tab < x), default=0)

    def resize(self, lines: int, columns: int) -> None:
        """Take another size, as xterm.js does.

        Fewer rows: blank rows below the cursor go first, then the top moves into
        the history. More rows: the history comes back when the cursor is in the
        last row. Another width: wrapped lines are reflowed, except the one that
        the cursor is in, because the program will repaint that one itself.
        """
        if columns > self.columns:
            for row in (*self.history, *self.rows):
                row.resize(max(columns, len(row.chars)))
        if not self.reflows:
            # Its rows keep their length: a wider screen shows again what a narrower one hid.
            self._drop_views()
        moved = self._change_height(lines, columns)
        self.x = min(self.x, columns - 1)
        self.y = min(self.y, lines - 1) + moved
        self.saved.x = min(self.saved.x, columns - 1)
        before = self.columns
        self.columns, self.lines = columns, lines
        self._blank = Uniform(columns, BLANK, DEFAULT_STYLE)
        self.top, self.bottom = 0, lines - 1
        if self.reflows and before != columns:
            self._reflow(before)
        self._extend_tabs()

    def _drop_views(self) -> None:
        for row in self.rows:
            row.view = None

    def _change_height(self, lines: int, columns: int) -> int:
        """Add or remove rows; returns how far the text moved down."""
        rows, history = self.rows, self.history
        moved = 0
        while len(rows) < lines:
            if history and len(rows) <= self.y + moved + 1:
                rows.insert(0, history.pop())
                moved += 1
            else:
                rows.append(Row(columns, traced=self.traced))
        while len(rows) > lines:
            if len(rows) > self.y + 1:
                rows.pop()
            else:
                gone = rows.pop(0)
                if self.reflows:
                    history.append(gone)
                # The rows below the cursor are gone already: the cursor is in the last one.
                self.y -= 1
        return moved

    def _reflow(self, before: int) -> None:
        limit = self.lines + self.scrollback
        text = Lines([*self.history, *self.rows], len(self.history), self.y, limit)
        text.saved_line = self.saved.line
        if self.columns > before:
            widen(text, before, self.columns, self.lines)
        else:
            narrow(text, before, self.columns, self.lines)
        rows = text.rows[-limit:]
        for row in rows:
            row.resize(self.columns)
        base = max(0, min(text.base, len(rows) - self.lines))
        self.history = deque(rows[:base], maxlen=self.scrollback)
        self.rows = rows[base : base + self.lines]
        while len(self.rows) < self.lines:
            self.rows.append(Row(self.columns, traced=self.traced))
        self.y = text.y
        self.saved.line = text.saved_line

    def _extend_tabs(self) -> None:
        """Set further tab stops, every eight columns from the last one on."""
        first = self.columns if self.columns in self.tabs else self.previous_tab(self.columns)
        self.tabs.update(range(first, self.columns, _TAB_WIDTH))
