"""Modes, margins, character sets, buffers, and the soft reset.

Modes are in ``mode``, numbered as in pyte: ANSI modes by number, DEC private
ones shifted left by 5. The few that painting needs all the time are also
attributes.

Sources: DEC VT510 manual (DECSET), xterm's ctlseqs, the kitty keyboard protocol.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ptycassette.keys.names import Keyboard
from ptycassette.terminal._buffer import Buffer, Saved
from ptycassette.terminal._charsets import CHARSETS
from ptycassette.terminal._core import DECAWM, DECTCEM
from ptycassette.terminal._movement import Movement
from ptycassette.terminal._reports import Reports
from ptycassette.terminal.signals import Signal

_PRIVATE_SHIFT: Final = 5
_MAX_MODES: Final = 256
_MAX_STACK: Final = 10
_ALT_SCREENS: Final = (47, 1047, 1049)
_SAVE_CURSOR: Final = (1048, 1049)
_MOUSE: Final = (9, 1000, 1002, 1003)
_MOUSE_ENCODINGS: Final = (1006, 1016)
_SYNCHRONIZED: Final = 2026
_COLUMN_MODE: Final = 3
_BEGINS: Final = Signal("synchronized", {"on": "1"})
_ENDS: Final = Signal("synchronized", {"on": "0"})
_DOES_MORE: Final = frozenset(
    {0, 2, _COLUMN_MODE, 6, 7, 45, *_MOUSE, *_MOUSE_ENCODINGS, *_SAVE_CURSOR, *_ALT_SCREENS}
)
"""Private modes that are more than remembered."""


def mode_name(mode: int) -> str:
    """The name of a mode: ``?25`` for a DEC private one, ``4`` for an ANSI one."""
    return f"?{mode >> _PRIVATE_SHIFT}" if mode >= 1 << _PRIVATE_SHIFT else str(mode)


@lru_cache(maxsize=2 * _MAX_MODES)
def _mode_signal(mode: int, *, on: bool) -> Signal:
    return Signal("mode", {"mode": mode_name(mode), "on": "1" if on else "0"})


class Modes(Reports, Movement):
    """The part of the terminal that keeps modes."""

    def set_mode(self, *modes: int, private: bool = False, **_: object) -> None:
        """SM (ECMA-48 8.3.125) and, if ``private``, DECSET: set modes."""
        for mode in modes:
            if private:
                self._set_private(mode, on=True)
            else:
                self._set_ansi(mode, on=True)

    def reset_mode(self, *modes: int, private: bool = False, **_: object) -> None:
        """RM (ECMA-48 8.3.106) and, if ``private``, DECRST: reset modes."""
        for mode in modes:
            if private:
                self._set_private(mode, on=False)
            else:
                self._set_ansi(mode, on=False)

    def _note(self, mode: int, *, on: bool) -> None:
        """Store the mode, and add a signal if it changed."""
        if (mode in self.mode) == on:
            return
        if on:
            if len(self.mode) >= _MAX_MODES:
                return
            self.mode.add(mode)
        else:
            self.mode.discard(mode)
        self.signals.add(_mode_signal(mode, on=on))

    def _set_ansi(self, mode: int, *, on: bool) -> None:
        if mode >= 1 << _PRIVATE_SHIFT:
            return
        if mode == 4:
            self.insert_mode = on
        elif mode == 20:
            self.newline_mode = on
        self._note(mode, on=on)

    def _set_private(self, mode: int, *, on: bool) -> None:
        if mode >= 1 << 16:
            return
        if mode == _SYNCHRONIZED:
            self.signals.add(_BEGINS if on else _ENDS)
        elif mode in _DOES_MORE:
            if mode in {0, _COLUMN_MODE}:
                return  # DECCOLM needs ?40, which no terminal of today has on
            self._do_private(mode, on=on)
        self._note(mode << _PRIVATE_SHIFT, on=on)

    def _do_private(self, mode: int, *, on: bool) -> None:
        if mode == 2 and on:
            self.gsets = [None] * 4
            self._set_charset()
        elif mode == 6:
            self.origin = on
            self._move_to(0, 0)
        elif mode == 7:
            self.autowrap = on
        elif mode == 45:
            self.reverse_wrap = on
        elif mode in _MOUSE:
            self.mouse_protocol = mode if on else 0
        elif mode in _MOUSE_ENCODINGS:
            self.mouse_encoding = mode if on else 0
        elif mode in _SAVE_CURSOR and on:
            self.save_cursor()
        if mode in _ALT_SCREENS:
            self._show_alt(on=on)
        if mode in _SAVE_CURSOR and not on:
            self.restore_cursor()

    def restore_modes(self, modes: list[int]) -> None:
        """Turn on exactly ``modes``, without the side effects of setting them."""
        self.mode = set(modes)
        self.insert_mode = 4 in self.mode
        self.newline_mode = 20 in self.mode
        private = {mode >> _PRIVATE_SHIFT for mode in self.mode}
        self.origin, self.autowrap, self.reverse_wrap = 6 in private, 7 in private, 45 in private

    @property
    def synchronized(self) -> bool:
        """Whether a synchronised update is open (DEC private mode 2026)."""
        return _SYNCHRONIZED << _PRIVATE_SHIFT in self.mode

    def _show_alt(self, *, on: bool) -> None:
        """Switch buffers. The alternate one is blank each time; the cursor keeps its position."""
        if on == (self.alt is not None):
            return
        if self.watched:
            self.losing(0, self.lines - 1)
        before = self.buf
        if on:
            self.alt = Buffer(
                self.lines, self.columns, None, style=self.pen.erase, traced=self.traced
            )
            if self.alt_saved is not None:
                self.alt.saved = self.alt_saved
            self.buf = self.alt
        else:
            self.alt_saved = before.saved
            self.alt = None
            self.buf = self.main
            for mode in _ALT_SCREENS:
                self.mode.discard(mode << _PRIVATE_SHIFT)
        self.buf.x, self.buf.y = before.x, before.y
        self.keyboard.switch()
        self.signals.add(Signal("alt-screen", {"on": "1" if on else "0"}))

    def set_margins(self, top: int | None = None, bottom: int | None = None) -> None:
        """DECSTBM: set the margins (from 1) and home the cursor. Invalid margins are ignored."""
        first = top or 1
        last = bottom if bottom and bottom <= self.lines else self.lines
        if last > first:
            self.buf.top, self.buf.bottom = first - 1, last - 1
            self._move_to(0, 0)

    def define_charset(self, code: str, mode: str) -> None:
        """Designate character set ``code`` as G0 to G3 (``(``, ``)``, ``*``, ``+``)."""
        if code not in CHARSETS:
            return
        # 96-character sets (- . /) are designated as if they had 94, or not at all: xterm.js.
        at = {"(": 0, ")": 1, "-": 1, "*": 2, ".": 2, "+": 3}.get(mode)
        if at is None:
            return
        self.gsets[at] = CHARSETS[code]
        if self.glevel == at:
            self._set_charset()

    def default_charset(self) -> None:
        """``ESC % @`` and ``ESC % G``: select ASCII as G0, and use it."""
        self.gsets[0] = None
        self.invoke_charset(0)

    def invoke_charset(self, level: int) -> None:
        """LS0 to LS3: locking shift, use G``level``."""
        self.glevel = level
        self._set_charset()

    def shift_out(self) -> None:
        """SO: shift out, use G1 (ECMA-48 8.3.126)."""
        self.invoke_charset(1)

    def shift_in(self) -> None:
        """SI: shift in, use G0 (ECMA-48 8.3.119)."""
        self.invoke_charset(0)

    def soft_reset(self) -> None:
        """DECSTR: soft reset. As in xterm.js it turns wraparound on, and drops the saved cursor."""
        self.buf.top, self.buf.bottom = 0, self.lines - 1
        self.pen = self.pens.default
        self.insert_mode = self.origin = self.reverse_wrap = False
        self.autowrap = True
        kept = {mode for mode in self.mode if mode >> _PRIVATE_SHIFT in {*_ALT_SCREENS, *_MOUSE}}
        self.mode = kept | {DECAWM, DECTCEM}
        self.gsets = [None] * 4
        self.invoke_charset(0)
        self.buf.saved = Saved(0, len(self.buf.history), None, None)
        self.keyboard = Keyboard()

    def select_protected(self, how: int = 0) -> None:
        """DECSCA: protect what is painted next from selective erase (1), or not (0, 2)."""
        if how in {0, 1, 2}:
            self.pen = self.pens.protect(self.pen, protected=how == 1)

    def set_cursor_style(self, style: int = 0) -> None:
        """DECSCUSR: set the shape of the cursor; 0 to 6, others are ignored."""
        self.cursor_style = style if style <= 6 else self.cursor_style

    def keypad(self, application: int) -> None:
        """DECKPAM (1) and DECKPNM (0), which are also mode 66."""
        self._note(66 << _PRIVATE_SHIFT, on=bool(application))

    # -- kitty keyboard protocol ----------------------------------------------------------

    def push_keyboard(self, flags: int = 0) -> None:
        """``CSI > flags u``: push keyboard flags (kitty keyboard protocol)."""
        self.keyboard.change(">", flags)

    def pop_keyboard(self, count: int = 1) -> None:
        """``CSI < count u``: pop keyboard flags (kitty keyboard protocol)."""
        self.keyboard.change("<", count)

    def change_keyboard(self, flags: int = 0, how: int = 1) -> None:
        """``CSI = flags ; how u``: set (1), add (2) or remove (3) keyboard flags."""
        self.keyboard.change("=", flags, how)

    # -- titles ---------------------------------------------------------------------------

    def window_operation(self, what: int = 0, which: int = 0, *_: object) -> None:
        """XTWINOPS: report sizes, push (22) and pop (23) titles."""
        self.report_window(what)
        if what == 22:
            if which in {0, 2}:
                self.title_stack = [*self.title_stack[-(_MAX_STACK - 1) :], self.title]
            if which in {0, 1}:
                self.icon_stack = [*self.icon_stack[-(_MAX_STACK - 1) :], self.icon_name]
        elif what == 23:
            if which in {0, 2} and self.title_stack:
                self.set_title(self.title_stack.pop())
            if which in {0, 1} and self.icon_stack:
                self.set_icon_name(self.icon_stack.pop())

    def set_title(self, param: str) -> None:
        """OSC 0 and 2: set the window title."""
        self.title = param[:4096]
        self.signals.tell("title", text=self.title)

    def set_icon_name(self, param: str) -> None:
        """OSC 0 and 1: set the icon name."""
        self.icon_name = param[:4096]
        self.signals.tell("icon", text=self.icon_name)
