"""The whole terminal: pyte's ``Screen`` by name and methods, xterm.js by behaviour."""

from __future__ import annotations

import re
from typing import Final

from ptycassette.terminal._editing import Editing
from ptycassette.terminal._grammar import STRIKE
from ptycassette.terminal._painting import Painting
from ptycassette.terminal._strings import Strings
from ptycassette.terminal.widths import NO_JOIN, PLAIN

_ESCAPES: Final[dict[str, tuple[str, int | None]]] = {
    # final character of ``ESC final``: the method and its argument
    "7": ("save_cursor", None),
    "8": ("restore_cursor", None),
    "D": ("index", None),
    "E": ("next_line", None),
    "H": ("set_tab_stop", None),
    "M": ("reverse_index", None),
    "=": ("keypad", 1),
    ">": ("keypad", 0),
    "Z": ("report_device_attributes", None),
    "c": ("reset", None),
    "n": ("invoke_charset", 2),
    "}": ("invoke_charset", 2),
    "o": ("invoke_charset", 3),
    "|": ("invoke_charset", 3),
    "~": ("invoke_charset", 1),
}
_STRUCK_OVER: Final = re.compile(f".{STRIKE}")


class Terminal(Painting, Editing, Strings):
    """A terminal that a ``Parser`` feeds. See ``Core`` for the arguments and the state."""

    def draw_struck(self, data: str) -> None:
        """Paint text with ``STRIKE`` where it moves back, and strikes a character over another."""
        if STRIKE not in data:
            self.draw(data)
            return
        if not (self.traced or self.insert_mode or self.charset_map or self.kind > PLAIN):
            shown = _STRUCK_OVER.sub("", data)
            fits = self.buf.x + len(shown) < self.columns and STRIKE not in {data[0], data[-1]}
            if fits and (shown.isascii() or self.width_mode.narrow.fullmatch(shown)):
                self.draw(shown)
                return
        for number, part in enumerate(data.split(STRIKE)):
            if number:
                struck = self.kind != NO_JOIN
                self.backspace()
                self.kind, self.struck = NO_JOIN, struck
            if part:
                self.draw(part)

    def apply_sgr(self, text: str) -> None:
        """SGR: apply one or more complete sequences to the pen."""
        self.pen = self.pens.apply(self.pen, text)

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        """SGR: change the pen by parameters, with pyte's signature."""
        if not private:
            self.apply_sgr(f"\x1b[{';'.join(map(str, attributes))}m")

    def escape(self, intermediates: str, final: str) -> None:
        """A two-character or longer escape sequence (ECMA-48 5.3)."""
        if intermediates:
            if intermediates == "#" and final == "8":
                self.alignment_display()
            elif intermediates == "%" and final in "@G":
                self.default_charset()
            elif len(intermediates) == 1:
                self.define_charset(final, intermediates)
            return
        name, argument = _ESCAPES.get(final, ("ignore", None))
        method = getattr(self, name)
        if argument is None:
            method()
        else:
            method(argument)

    def ignore(self, *_: object) -> None:
        """A control function that does nothing here."""

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Take another size; ``None`` keeps that dimension."""
        lines, columns = lines or self.lines, columns or self.columns
        if (lines, columns) == (self.lines, self.columns):
            return
        if self.watched:
            self.losing(0, self.lines - 1)
        self.main.resize(lines, columns)
        if self.alt is not None:
            self.alt.resize(lines, columns)
        self.lines, self.columns = lines, columns
