"""Answers to queries: what a terminal sends back when a program asks.

A ``QueryProfile`` defines which queries are answered, and how. Answers are collected in
``replies`` and must be sent at once (``Emulator.answers``): one that comes late is
read as typed input by the next prompt.

Sources: xterm's ctlseqs (DA, DSR, DECRQM, DECRQSS, XTVERSION, XTGETTCAP, XTWINOPS,
OSC 4/10/11/12), the kitty keyboard and graphics protocols, contour's ``CSI ? 996 n``.
"""

from __future__ import annotations

from typing import Final

from ptycassette.terminal._core import Core
from ptycassette.terminal.query_profiles import XTERM, QueryProfile
from ptycassette.terminal.signals import Signal

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
