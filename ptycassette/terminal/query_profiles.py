r"""Profiles: which queries a terminal answers, and with what.

``answers`` maps a question to its answer. Questions whose answer depends on the
state (``cpr``, ``decrqm``, ``cells``, colours) are answered when they are in the
map at all; their text in it is not used.

``profile_of(text)`` reads one that a user wrote, in TOML::

    name = "mine"
    extends = "xterm"            # or "dumb", which is where one begins without it
    unanswered = ["xtgettcap"]
    cell_pixels = [20, 10]

    [answers]
    da1 = "\u001b[?1;2c"

    [colors]
    background = [255, 255, 255]
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Final

import msgspec

from ptycassette.keys.names import Keyboard
from ptycassette.model.resolved_types import resolved
from ptycassette.model.toml_text import parse_toml
from ptycassette.terminal.core import DECAWM, DECTCEM, Core, Movement, Signal
from ptycassette.terminal.grid import CHARSETS, Buffer, Saved

Color = tuple[int, int, int]


class QueryProfile(msgspec.Struct, frozen=True, kw_only=True):
    """How a terminal answers queries.

    ``cell_pixels`` is height and width. ``colors`` has ``foreground``,
    ``background`` and ``cursor``; ``palette`` the first 16 colours.
    ``capabilities`` are those of XTGETTCAP.
    """

    name: str
    answers: dict[str, str] = {}
    capabilities: dict[str, str] = {}
    cell_pixels: tuple[int, int] = (16, 8)
    colors: dict[str, Color] = {}
    palette: tuple[Color, ...] = ()


XTERM: Final = QueryProfile(
    name="xterm",
    answers={
        "da1": "\x1b[?62;22c",
        "da2": "\x1b[>0;276;0c",
        "da3": "\x1bP!|00000000\x1b\\",
        "xtversion": "\x1bP>|ptycassette\x1b\\",
        "dsr": "",
        "cpr": "",
        "decrqm": "",
        "decrqss": "",
        "kitty-keyboard": "",
        "kitty-graphics": "",
        "pixels": "",
        "cell-pixels": "",
        "cells": "",
        "palette": "",
        "foreground": "",
        "background": "",
        "cursor": "",
        "color-scheme": "\x1b[?997;1n",
        "xtgettcap": "",
    },
    capabilities={
        "TN": "xterm-256color",
        "name": "xterm-256color",
        "Co": "256",
        "colors": "256",
        "RGB": "8",
    },
    colors={"foreground": (229, 229, 229), "background": (0, 0, 0), "cursor": (229, 229, 229)},
    palette=(
        (0, 0, 0),
        (205, 0, 0),
        (0, 205, 0),
        (205, 205, 0),
        (0, 0, 238),
        (205, 0, 205),
        (0, 205, 205),
        (229, 229, 229),
        (127, 127, 127),
        (255, 0, 0),
        (0, 255, 0),
        (255, 255, 0),
        (92, 92, 255),
        (255, 0, 255),
        (0, 255, 255),
        (255, 255, 255),
    ),
)
"""A modern xterm-like terminal with a dark background."""

DUMB: Final = QueryProfile(name="dumb")
"""Answers nothing."""

PROFILES: Final = {profile.name: profile for profile in (XTERM, DUMB)}

_QUESTIONS: Final = frozenset({*XTERM.answers, "answerback"})
_COLORS: Final = ("foreground", "background", "cursor")


class _Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A profile as a user writes it. Missing fields come from the profile it extends."""

    name: str
    extends: str = "dumb"
    unanswered: tuple[str, ...] = ()
    answers: dict[str, str] = {}
    capabilities: dict[str, str] = {}
    cell_pixels: tuple[int, int] | None = None
    colors: dict[str, Color] = {}
    palette: tuple[Color, ...] | None = None


def query_profile_of(text: str | bytes) -> QueryProfile:
    """The profile that a TOML text describes.

    Raises:
        ValueError: it is not TOML or not a profile; the message names the problem.
    """
    try:
        raw = parse_toml(text if isinstance(text, str) else text.decode())
        written = msgspec.convert(raw, resolved(_Written))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    base = PROFILES.get(written.extends)
    if base is None:
        raise ValueError(f"extends {written.extends!r}; there are: {', '.join(PROFILES)}")
    _check_names("question", {*written.unanswered, *written.answers}, _QUESTIONS)
    _check_names("colour", set(written.colors), _COLORS)
    answers = {**base.answers, **written.answers}
    profile = QueryProfile(
        name=written.name,
        answers={key: answer for key, answer in answers.items() if key not in written.unanswered},
        capabilities={**base.capabilities, **written.capabilities},
        cell_pixels=base.cell_pixels if written.cell_pixels is None else written.cell_pixels,
        colors={**base.colors, **written.colors},
        palette=base.palette if written.palette is None else written.palette,
    )
    parts = [part for color in (*profile.colors.values(), *profile.palette) for part in color]
    if not all(0 <= part <= 255 for part in parts) or min(profile.cell_pixels) < 1:
        raise ValueError("colours are three numbers from 0 to 255, pixels 1 or more")
    return profile


def _check_names(what: str, names: set[str], known: Collection[str]) -> None:
    unknown = sorted(names.difference(known))
    if unknown:
        raise ValueError(f"no such {what}: {unknown[0]!r}; there are: {', '.join(sorted(known))}")


# Answers to queries that a program sends to its terminal.


MAX_REPLIES: Final = 4096
"""Answers kept until somebody takes them; further questions go unanswered."""

_PRIVATE_SHIFT: Final = 5
_ALT_SCREENS: Final = (47, 1047, 1049)
_KNOWN_MODES: Final = frozenset(
    {1, 6, 7, 9, 12, 25, 45, 66, 1000, 1002, 1003, 1004, 1006, 1016, 2004, 2026}
)
_SPECIAL_COLORS: Final = {"10": "foreground", "11": "background", "12": "cursor"}
_CUBE: Final = (0, 95, 135, 175, 215, 255)


class Reports(Core):
    """The part of the terminal that answers."""

    profile: QueryProfile = XTERM

    def _answer(self, query: str, text: str | None, **fields: object) -> None:
        """Answer if the profile does; add a ``query`` signal in any case."""
        self.signals.add(Signal("query", {"query": query}))
        if text is None:
            text = self.profile.answers.get(query)
        elif query not in self.profile.answers:
            return
        if text is not None and len(self.replies) < MAX_REPLIES:
            self.replies.append(text.format(**fields) if fields else text)

    def report_device_attributes(self, mode: int = 0, **_: bool) -> None:
        """DA1, ``CSI c``: report the primary device attributes (ECMA-48 8.3.24)."""
        if mode == 0:
            self._answer("da1", None)

    def report_secondary_attributes(self, mode: int = 0) -> None:
        """DA2, ``CSI > c``: report the secondary device attributes."""
        if mode == 0:
            self._answer("da2", None)

    def report_tertiary_attributes(self, mode: int = 0) -> None:
        """DA3, ``CSI = c``: report the tertiary device attributes."""
        if mode == 0:
            self._answer("da3", None)

    def report_version(self, mode: int = 0) -> None:
        """XTVERSION, ``CSI > q``: report the name and version of the terminal."""
        if mode == 0:
            self._answer("xtversion", None)

    def report_device_status(self, mode: int = 0, *, private: bool = False) -> None:
        """DSR: report the status (5), the cursor (6, ``?6``) or the colour scheme (``?996``)."""
        mark = "?" if private else ""
        if mode == 5 and not private:
            self._answer("dsr", "\x1b[0n")
        elif mode == 6:
            x = min(self.buf.x, self.columns - 1) + 1
            y = self.buf.y + 1 - (self.buf.top if self.origin else 0)
            self._answer("cpr", f"\x1b[{mark}{y};{x}R")
        elif mode == 996 and private:
            self._answer("color-scheme", None)

    def report_mode(self, mode: int = 0, *, private: bool = False) -> None:
        """DECRQM: report whether a mode is set."""
        if private:
            state = self._private_state(mode)
        elif mode in {4, 20}:
            state = 1 if mode in self.mode else 2
        else:
            state = {2: 4, 12: 3}.get(mode, 0)
        self._answer("decrqm", f"\x1b[{'?' if private else ''}{mode};{state}$y")

    def _private_state(self, mode: int) -> int:
        """The state of a mode: 1 set, 2 reset, 3 always set, 4 never set, 0 unknown."""
        if mode in _ALT_SCREENS:
            return 1 if self.alt is not None else 2
        if mode in {8, 1048}:
            return 3 if mode == 8 else 1
        if mode in {67, 1005, 1015}:
            return 4
        if mode == 2027:
            return 3 if self.width_mode.joining else 4
        if mode in _KNOWN_MODES:
            return 1 if mode << _PRIVATE_SHIFT in self.mode else 2
        return 0

    def report_keyboard(self) -> None:
        """Kitty keyboard protocol: report the flags in force."""
        self._answer("kitty-keyboard", f"\x1b[?{self.keyboard.flags}u")

    def report_graphics(self, control: str) -> None:
        """Kitty graphics: answer queries with "not supported", ignore everything else."""
        keys = dict(item.partition("=")[::2] for item in control.partition(";")[0].split(",")[:32])
        if keys.get("a") == "q":
            number = keys.get("i", "0")
            number = number if number.isdigit() and number.isascii() and len(number) < 11 else "0"
            self._answer("kitty-graphics", f"\x1b_Gi={number};ENOTSUPPORTED:no graphics\x1b\\")

    def report_window(self, what: int) -> None:
        """XTWINOPS 14, 16, 18, 19: report sizes in pixels and cells."""
        height, width = self.profile.cell_pixels
        match what:
            case 14:
                self._answer("pixels", f"\x1b[4;{height * self.lines};{width * self.columns}t")
            case 16:
                self._answer("cell-pixels", f"\x1b[6;{height};{width}t")
            case 18 | 19:
                kind = 8 if what == 18 else 9
                self._answer("cells", f"\x1b[{kind};{self.lines};{self.columns}t")

    def report_colors(self, code: str, rest: str) -> None:
        """OSC 4, 10, 11, 12 with ``?``: report colours. Setting a colour is ignored."""
        items = rest.split(";")[:512]
        if code == "4":
            for index, spec in zip(items[::2], items[1::2], strict=False):
                if spec == "?" and index.isdigit() and index.isascii() and len(index) < 4:
                    color = self._palette(int(index))
                    if color is not None:
                        self._answer("palette", f"\x1b]4;{int(index)};{color}\x1b\\")
            return
        for offset, spec in enumerate(items[:3]):
            name = _SPECIAL_COLORS.get(str(int(code) + offset))
            if spec == "?" and name is not None and name in self.profile.colors:
                color = _rgb(self.profile.colors[name])
                self._answer(name, f"\x1b]{int(code) + offset};{color}\x1b\\")

    def _palette(self, index: int) -> str | None:
        if index < 16:
            palette = self.profile.palette
            return _rgb(palette[index]) if index < len(palette) else None
        if index < 232:
            cube = index - 16
            return _rgb(tuple(_CUBE[part] for part in (cube // 36, cube // 6 % 6, cube % 6)))
        return _rgb((8 + (index - 232) * 10,) * 3) if index < 256 else None

    def report_setting(self, data: str) -> None:
        """DECRQSS: report a setting, such as the pen or the margins."""
        match data:
            case "m":
                answer = "0m"
            case "r":
                answer = f"{self.buf.top + 1};{self.buf.bottom + 1}r"
            case " q":
                answer = f"{self.cursor_style or 1} q"
            case '"p':
                answer = '61;1"p'
            case '"q':
                answer = '0"q'
            case _:
                self._answer("decrqss", "\x1bP0$r\x1b\\")
                return
        self._answer("decrqss", f"\x1bP1$r{answer}\x1b\\")

    def report_capabilities(self, data: str) -> None:
        """XTGETTCAP: report capabilities, names and values in hexadecimal."""
        for item in data.split(";")[:64]:
            try:
                name = bytes.fromhex(item).decode("ascii")
            except ValueError:
                continue
            value = self.profile.capabilities.get(name)
            if value is None:
                self._answer("xtgettcap", f"\x1bP0+r{item}\x1b\\")
            else:
                self._answer("xtgettcap", f"\x1bP1+r{item}={value.encode().hex().upper()}\x1b\\")

    def enquiry(self) -> None:
        """ENQ: send the answerback, which is empty unless the profile has one."""
        self._answer("answerback", None)


def _rgb(color: tuple[int, ...]) -> str:
    """A colour in X11 notation, 16 bits per channel."""
    return "rgb:" + "/".join(f"{part:02x}{part:02x}" for part in color)


# Modes, margins, character sets, buffers, and the soft reset.


_MODE_SHIFT: Final = 5
_MAX_MODES: Final = 256
_MAX_STACK: Final = 10
_ALT_SCREEN_MODES: Final = (47, 1047, 1049)
_SAVE_CURSOR: Final = (1048, 1049)
_MOUSE: Final = (9, 1000, 1002, 1003)
_MOUSE_ENCODINGS: Final = (1006, 1016)
_SYNCHRONIZED: Final = 2026
_COLUMN_MODE: Final = 3
_BEGINS: Final = Signal("synchronized", {"on": "1"})
_ENDS: Final = Signal("synchronized", {"on": "0"})
_DOES_MORE: Final = frozenset(
    {0, 2, _COLUMN_MODE, 6, 7, 45, *_MOUSE, *_MOUSE_ENCODINGS, *_SAVE_CURSOR, *_ALT_SCREEN_MODES}
)
"""Private modes that are more than remembered."""


def mode_name(mode: int) -> str:
    """The name of a mode: ``?25`` for a DEC private one, ``4`` for an ANSI one."""
    return f"?{mode >> _MODE_SHIFT}" if mode >= 1 << _MODE_SHIFT else str(mode)


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
        if mode >= 1 << _MODE_SHIFT:
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
        self._note(mode << _MODE_SHIFT, on=on)

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
        if mode in _ALT_SCREEN_MODES:
            self._show_alt(on=on)
        if mode in _SAVE_CURSOR and not on:
            self.restore_cursor()

    def restore_modes(self, modes: list[int]) -> None:
        """Turn on exactly ``modes``, without the side effects of setting them."""
        self.mode = set(modes)
        self.insert_mode = 4 in self.mode
        self.newline_mode = 20 in self.mode
        private = {mode >> _MODE_SHIFT for mode in self.mode}
        self.origin, self.autowrap, self.reverse_wrap = 6 in private, 7 in private, 45 in private

    @property
    def synchronized(self) -> bool:
        """Whether a synchronised update is open (DEC private mode 2026)."""
        return _SYNCHRONIZED << _MODE_SHIFT in self.mode

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
            for mode in _ALT_SCREEN_MODES:
                self.mode.discard(mode << _MODE_SHIFT)
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
        kept = {mode for mode in self.mode if mode >> _MODE_SHIFT in {*_ALT_SCREEN_MODES, *_MOUSE}}
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
        self._note(66 << _MODE_SHIFT, on=bool(application))

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


# Command strings: OSC, DCS, APC, PM and SOS.


_MAX_LINK: Final = 2083
_COLOR_QUERIES: Final = frozenset({"4", "5", "10", "11", "12", "17", "19"})
_COMMANDS: Final = {
    "0": "_titles",
    "1": "set_icon_name",
    "2": "set_title",
    "7": "_directory",
    "8": "_hyperlink",
    "9": "_notify",
    "52": "_clipboard",
    "99": "_notify_kitty",
    "133": "_prompt_mark",
    "633": "_prompt_mark",
    "777": "_notify_rxvt",
    "1337": "_property",
    "7501": "_turn",
}


class Strings(Modes):
    """The part of the terminal that reads command strings."""

    def operating_system_command(self, text: str) -> None:
        """OSC: perform ``code ; rest`` (ECMA-48 8.3.89)."""
        code, _, rest = text.partition(";")
        if not code.isdigit() or not code.isascii():
            return
        code = code.lstrip("0") or "0"
        if code in _COLOR_QUERIES:
            self.report_colors(code, rest)
        elif (name := _COMMANDS.get(code)) is not None:
            getattr(self, name)(rest)

    def _titles(self, text: str) -> None:
        self.set_title(text)
        self.set_icon_name(text)

    def _directory(self, uri: str) -> None:
        self.signals.tell("cwd", uri=uri)

    def _clipboard(self, rest: str) -> None:
        selection, _, payload = rest.partition(";")
        self.signals.tell("clipboard", selection=selection, payload=payload)

    def _prompt_mark(self, rest: str) -> None:
        mark, _, detail = rest.partition(";")
        self.signals.tell("prompt", mark=mark, detail=detail)

    def _notify_kitty(self, rest: str) -> None:
        self.signals.tell("notification", body=rest.partition(";")[2])

    def _notify_rxvt(self, rest: str) -> None:
        kind, _, rest = rest.partition(";")
        if kind == "notify":
            title, _, body = rest.partition(";")
            self.signals.tell("notification", title=title, body=body)

    def _property(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        if name == "CurrentDir":
            self.signals.tell("cwd", path=value)

    def _hyperlink(self, rest: str) -> None:
        params, separator, uri = rest.partition(";")
        if not separator or (not uri and params.strip()):
            return
        uri = uri[:_MAX_LINK]
        self.pen = self.pens.change(self.pen, link=uri or None)
        self.signals.tell("link", uri=uri, params=params)

    def _notify(self, rest: str) -> None:
        """OSC 9: a notification (iTerm2), or ``4;state;percent`` and ``9;path`` (ConEmu)."""
        kind, _, value = rest.partition(";")
        if kind == "4":
            state, _, percent = value.partition(";")
            self.signals.tell("progress", state=state, percent=percent)
        elif kind == "9" and value:
            self.signals.tell("cwd", path=value.strip('"'))
        else:
            self.signals.tell("notification", body=rest)

    def _turn(self, rest: str) -> None:
        """OSC 7501: ``key=value`` pairs, or a bare state, between semicolons or colons.

        Codex writes ``state=working:app=codex``.
        """
        data: dict[str, str] = {}
        for item in rest.replace(":", ";").split(";")[:16]:
            key, separator, value = item.partition("=")
            data[key[:64] if separator else "state"] = value if separator else key
        self.signals.tell("turn", **{"state": "", **data})

    def device_control(self, function: str, data: str) -> None:
        """DCS: perform the function with this prefix, these intermediates and final character."""
        match function:
            case "$q":
                self.report_setting(data)
            case "+q":
                self.report_capabilities(data)

    def application_command(self, introducer: str, data: str) -> None:
        """APC (``_``), PM (``^``), SOS (``X``): only kitty graphics queries have an effect."""
        if introducer == "_" and data.startswith("G"):
            self.report_graphics(data[1:])
