"""SGR: what ``CSI ... m`` does to the style that characters are painted in.

A ``Pen`` is an interned style together with what erasing leaves behind
(background colour erase) and a table of the SGR strings seen so far and the pen
each one leads to. Programs send the same few hundred strings again and again,
so that applying one is a look-up.

Sources: ECMA-48 8.3.117, ISO/IEC 8613-6 (38 and 48), and for 4:n, 58, 59, 53 and
for malformed lists the behaviour of xterm.js.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ptycassette.model.screen import DEFAULT_STYLE, Style
from ptycassette.terminal._parameters import MAX_SEQUENCE, Parameter, parse_parameters

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
