"""The default emulator behind the ``Emulator`` port: pyte's names, xterm.js's behaviour.

It is an emulator of our own: its classes and methods have the names of pyte's, none of its code is
pyte's. ``stock_pyte`` runs the library itself; a table in docs/screens.md compares the two.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.ports import EmulatorFactory
from ptycassette.model.records import EmulatorId
from ptycassette.model.screen import Cursor, Screen, Size
from ptycassette.terminal.core import DECTCEM, DEFAULT_SCROLLBACK, Core, Painting, Signal, bounded
from ptycassette.terminal.grid import BLANK, MAX_SEQUENCE, Uniform, values
from ptycassette.terminal.query_profiles import XTERM, QueryProfile, Strings, mode_name
from ptycassette.terminal.widths import NO_JOIN, PLAIN, WidthModeName, width_mode

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


# Editing functions: erase, insert, delete and scroll cells, rows and columns.
#
# Erased cells take only the background colour of the pen (BCE). Method names are pyte's where pyte
# has the function. Semantics: xterm.js.


class Editing(Core):
    """The part of the terminal that edits."""

    def erase_in_display(self, how: int = 0, *_: object, private: bool = False) -> None:
        """ED and, if ``private``, DECSED: erase below (0), above (1), all (2), the history (3)."""
        self._restrict(self.columns)
        buf, erase = self.buf, self.pen.erase
        if self.watched and how < 3:
            first, last = (buf.y, self.lines - 1) if how == 0 else (0, buf.y)
            self.losing(*((0, self.lines - 1) if how == 2 else (first, last)))
        match how:
            case 0:
                self._erase_cells(buf.x, self.columns, clear_wrap=buf.x == 0, private=private)
                whole = range(buf.y + 1, self.lines)
            case 1:
                self._erase_cells(0, buf.x + 1, clear_wrap=True, private=private)
                if buf.x + 1 >= self.columns:
                    self._end_wrap_after()
                whole = range(buf.y)
            case 2:
                whole = range(self.lines)
            case 3:
                buf.history.clear()
                return
            case _:
                return
        blank = buf.blank(erase)
        for y in whole:
            row = buf.rows[y]
            row.fill(blank, unprotected_only=private)
            row.wrapped = False

    def _end_wrap_after(self) -> None:
        """Mark the row after the cursor's as not continuing it any more.

        As xterm.js does, we count that row from the top of the history instead of the
        screen. The difference can be seen after a resize.
        """
        at = self.buf.y + 1
        history = self.buf.history
        if at < len(history):
            history[at].wrapped = False
        elif at - len(history) < self.lines:
            self.buf.rows[at - len(history)].wrapped = False

    def erase_in_line(self, how: int = 0, *_: object, private: bool = False) -> None:
        """EL and, if ``private``, DECSEL: erase to the right (0), to the left (1), the row (2)."""
        buf = self.buf
        if self.watched:
            self.losing(buf.y, buf.y)
        if how == 0 and not private and not self.origin:
            # The usual case. Without DECOM the cursor is never outside.
            x, erase = buf.x, self.pen.erase
            row = buf.rows[buf.y]
            chars = row.chars
            left = len(chars) - x
            if left != self.columns - x or row.origins is not None or (left and chars[x] == ""):
                row.replace(x, self.columns, erase)
            elif not x:
                row.share(buf.blank(erase))
            elif row.own:
                chars[x:] = [BLANK] * left
                row.styles[x:] = [erase] * left
                row.view = None
            else:
                row.replace(x, self.columns, erase)
            if x == 0:
                row.wrapped = False
            return
        row = buf.rows[buf.y]
        plain = not private and not self.origin and row.origins is None
        if how == 2 and plain and len(row.chars) == self.columns:
            row.share(buf.blank(self.pen.erase))
            row.wrapped = False
            return
        self._restrict(self.columns)
        match how:
            case 0:
                self._erase_cells(buf.x, self.columns, clear_wrap=buf.x == 0, private=private)
            case 1:
                self._erase_cells(0, buf.x + 1, clear_wrap=False, private=private)
            case 2:
                self._erase_cells(0, self.columns, clear_wrap=True, private=private)
            case _:
                return

    def _erase_cells(self, start: int, end: int, *, clear_wrap: bool, private: bool) -> None:
        row = self.row
        row.replace(start, end, self.pen.erase, unprotected_only=private)
        if clear_wrap:
            row.wrapped = False

    def erase_characters(self, count: int | None = None) -> None:
        """ECH: erase ``count`` cells from the cursor on (ECMA-48 8.3.38)."""
        self._restrict()
        buf = self.buf
        if self.watched:
            self.losing(buf.y, buf.y)
        self.row.replace(buf.x, buf.x + min(count or 1, self.columns), self.pen.erase)

    def insert_characters(self, count: int | None = None) -> None:
        """ICH: insert ``count`` blank cells at the cursor (ECMA-48 8.3.64)."""
        self._restrict()
        if self.watched:
            self.losing(self.buf.y, self.buf.y)
        self.row.insert(self.buf.x, count or 1, self.pen.erase)

    def delete_characters(self, count: int | None = None) -> None:
        """DCH: delete ``count`` cells; those to the right move left (ECMA-48 8.3.26)."""
        self._restrict()
        if self.watched:
            self.losing(self.buf.y, self.buf.y)
        self.row.delete(self.buf.x, count or 1, self.pen.erase)

    def _inside_margins(self) -> bool:
        return self.buf.top <= self.buf.y <= self.buf.bottom

    def insert_lines(self, count: int | None = None) -> None:
        """IL: between the margins, insert ``count`` rows and move to the first column."""
        self._restrict()
        if self._inside_margins():
            if self.watched:
                self.losing(self.buf.y, self.buf.bottom)
            self.buf.insert_rows(self.buf.y, count or 1, self.pen.erase)
            self.buf.x = 0

    def delete_lines(self, count: int | None = None) -> None:
        """DL: between the margins, delete ``count`` rows and move to the first column."""
        self._restrict()
        if self._inside_margins():
            if self.watched:
                self.losing(self.buf.y, self.buf.bottom)
            self.buf.delete_rows(self.buf.y, count or 1, self.pen.erase)
            self.buf.x = 0

    def scroll_up(self, count: int | None = None) -> None:
        """SU: scroll up by ``count`` rows. The rows that leave do not enter the history."""
        if self.watched:
            self.losing(self.buf.top, self.buf.bottom)
        self.buf.delete_rows(self.buf.top, count or 1, self.pen.erase)

    def scroll_down(self, count: int | None = None) -> None:
        """SD: scroll down by ``count`` rows. The new rows have no background colour."""
        if self.watched:
            self.losing(self.buf.top, self.buf.bottom)
        self.buf.insert_rows(self.buf.top, count or 1, self.pens.default.style)

    def _shift_columns(self, col: int, count: int, *, insert: bool) -> None:
        buf = self.buf
        if not self._inside_margins():
            return
        if self.watched:
            self.losing(buf.top, buf.bottom)
        for y in range(buf.top, buf.bottom + 1):
            row = buf.rows[y]
            (row.insert if insert else row.delete)(col % self.columns, count, self.pen.erase)
            row.wrapped = False

    def scroll_left(self, count: int | None = None) -> None:
        """SL: scroll left by ``count`` columns (ECMA-48 8.3.121)."""
        self._shift_columns(0, count or 1, insert=False)

    def scroll_right(self, count: int | None = None) -> None:
        """SR: scroll right by ``count`` columns (ECMA-48 8.3.135)."""
        self._shift_columns(0, count or 1, insert=True)

    def insert_columns(self, count: int | None = None) -> None:
        """DECIC: insert ``count`` blank columns at the cursor, between the margins."""
        self._shift_columns(self.buf.x, count or 1, insert=True)

    def delete_columns(self, count: int | None = None) -> None:
        """DECDC: delete ``count`` columns at the cursor, between the margins."""
        self._shift_columns(self.buf.x, count or 1, insert=False)

    def alignment_display(self) -> None:
        """DECALN: fill the screen with E. As in xterm.js, the margins stay."""
        if self.watched:
            self.losing(0, self.lines - 1)
        self._move_to(0, 0)
        cells = Uniform(self.columns, "E", self.pen.style)
        for row in self.buf.rows[self.buf.y :]:
            row.fill(cells)
            row.wrapped = False
        self._move_to(0, 0)


# The grammar of control functions, as regular expressions and states.


# It begins with a character class, so that the search skips text at full speed; what
# follows depends on the control character just taken. Nothing in it can backtrack far. (No group is
# repeated possessively: Python 3.11.2 continues after the part of one that fails.)
SPLIT: Final = re.compile(
    r"([\x00-\x1f\x7f-\x9f]"
    r"(?:(?:(?<=\x1b)\[|(?<=\x9b))(?:"
    r"[0-9;:]*+(?:m(?:\x1b\[[0-9;:]*+m)*|[ -/]*+[@-~])|[<-?][0-9;:]*+[ -/]*+[@-~]"
    r"|[<-?]?[0-9;:]{0,20}+[ -/]{0,4}+[^\x00-\x9f]"
    r"|[\x00-\x17\x19\x1c-?\x7f]*+(?:[@-~\x18\x1a]|(?=\x1b)))"
    r"|(?<=\x1b)(?:"
    r"[ -/]*+[0-OQ-WYZ\\`-~\xa0-\U0010ffff]"
    r"|\][^\x00-\x1f\x7f-\x9f]*+(?:\x07|\x1b\\|[\x18\x1a])"
    r"|P[<-?]?[0-9;:]*+[ -/]*+[@-~][^\x00-\x1f\x7f-\x9f]*+(?:\x1b\\|[\x18\x1a])"
    r"|[X^_][ -~]*+(?:\x1b\\|[\x18\x1a\xa0-\U0010ffff])"
    r"|P?[ -?]*+[\x18\x1a]"
    r")|(?<=\r)\n)?)"
)
"""Used with ``split``: text and control functions take turns. What is malformed, or was aborted by
CAN, SUB or ESC, is a control function, too."""

STRIKE: Final = "\udc08"
"""BS between characters of which one is struck over the other. No decoded text has it."""

STRUCK: Final = re.compile("\x08(?:(?<=([!-~])\x08)(?=\\1)|(?<=_\x08)(?=[!-~]))")
"""BS after which a character comes again, or comes over a low line: bold and underlined text of
manual pages. ``Terminal.draw_struck`` paints a run of such text in one go."""


CONTROL: Final = re.compile(r"([<-?]?)([0-9;:]*)([ -/]*)([@-~])")
"""A control sequence without its introducer: prefix, parameters, intermediates, final."""

_STRINGS: Final = frozenset({"\x1b]", "\x1bP", "\x1bX", "\x1b^", "\x1b_"})

WITHIN: Final = re.compile("[\x00-\x1f\x7f]")
"""A control character within a control sequence. It comes first; but DEL is ignored."""

CONTROL_SO_FAR: Final = re.compile(r"[<-?]?[0-9;:]*[ -/]*")
"""A control sequence that may still become a valid one."""

PRINTABLE: Final = re.compile("[^\x00-\x1f\x7f-\x9f]+")
STRING_END: Final = re.compile("[\x07\x18\x1a\x1b\x80-\x9f]")
NOT_ASCII: Final = re.compile("[^\x00-\x7f]")
C0: Final = re.compile("[\x00-\x1f]")
BOM: Final = "\ufeff"
DROPPED: Final = re.compile("[\udc80-\udcff\ufeff]")
"""What is dropped of text: BOM, and malformed bytes, as ``surrogateescape`` decodes them."""

STARTERS: Final = "\x1b\x90\x98\x9b\x9d\x9e\x9f"
"""Characters that begin a sequence or a string, and end whatever was open."""

GROUND, ESCAPE, CSI, OSC, DCS, STRING = range(6)
"""States. ``STRING`` is APC, PM or SOS."""


class ParserState(msgspec.Struct, array_like=True, frozen=True):
    """The state of a parser between two chunks."""

    state: int
    kept: str
    overlong: bool
    dcs_body: bool
    sequence_bytes: int
    held: bytes


# The whole terminal: pyte's ``Screen`` by name and methods, xterm.js by behaviour.


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


# The dispatch tables: which method performs which control function.


Action = tuple[Callable[..., Any], tuple[Any, ...]]

ALL: Final = 32
"""Take all parameters."""

C0_FUNCTIONS: Final = {
    "\r\n": "new_line",
    "\x05": "enquiry",
    "\x07": "bell",
    "\x08": "backspace",
    "\x09": "tab",
    "\x0a": "linefeed",
    "\x0b": "linefeed",
    "\x0c": "linefeed",
    "\x0d": "carriage_return",
    "\x0e": "shift_out",
    "\x0f": "shift_in",
}
C1_FUNCTIONS: Final = {"\x84": "index", "\x85": "next_line", "\x88": "set_tab_stop"}

CSI_FUNCTIONS: Final[dict[str, tuple[str, int]]] = {
    # prefix, intermediates and final: the method, and how many parameters it takes
    "@": ("insert_characters", 1),
    " @": ("scroll_left", 1),
    "A": ("cursor_up", 1),
    " A": ("scroll_right", 1),
    "B": ("cursor_down", 1),
    "C": ("cursor_forward", 1),
    "D": ("cursor_back", 1),
    "E": ("cursor_down1", 1),
    "F": ("cursor_up1", 1),
    "G": ("cursor_to_column", 1),
    "H": ("cursor_position", 2),
    "I": ("forward_tab", 1),
    "J": ("erase_in_display", 1),
    "?J": ("erase_in_display", 1),
    "K": ("erase_in_line", 1),
    "?K": ("erase_in_line", 1),
    "L": ("insert_lines", 1),
    "M": ("delete_lines", 1),
    "P": ("delete_characters", 1),
    "S": ("scroll_up", 1),
    "T": ("scroll_down", 1),
    "X": ("erase_characters", 1),
    "Z": ("backward_tab", 1),
    "`": ("cursor_to_column", 1),
    "a": ("cursor_forward", 1),
    "b": ("repeat", 1),
    "c": ("report_device_attributes", 1),
    ">c": ("report_secondary_attributes", 1),
    "=c": ("report_tertiary_attributes", 1),
    "d": ("cursor_to_line", 1),
    "e": ("cursor_row_forward", 1),
    "f": ("cursor_position", 2),
    "g": ("clear_tab_stop", 1),
    "h": ("set_mode", ALL),
    "?h": ("set_mode", ALL),
    "l": ("reset_mode", ALL),
    "?l": ("reset_mode", ALL),
    "n": ("report_device_status", 1),
    "?n": ("report_device_status", 1),
    "!p": ("soft_reset", 0),
    "$p": ("report_mode", 1),
    "?$p": ("report_mode", 1),
    " q": ("set_cursor_style", 1),
    '"q': ("select_protected", 1),
    ">q": ("report_version", 1),
    "r": ("set_margins", 2),
    "s": ("save_cursor", 0),
    "t": ("window_operation", ALL),
    "u": ("restore_cursor", 0),
    "?u": ("report_keyboard", 0),
    ">u": ("push_keyboard", 1),
    "<u": ("pop_keyboard", 1),
    "=u": ("change_keyboard", 2),
    "'}": ("insert_columns", 1),
    "'~": ("delete_columns", 1),
}
_PRIVATE: Final = frozenset({"?J", "?K", "?h", "?l", "?n", "?$p"})


def resolve(
    screen: Terminal, prefix: str, parameters: str, intermediates: str, final: str
) -> Action:
    """The bound method that performs a control sequence, and its arguments."""
    if len(prefix) + len(parameters) + len(intermediates) > MAX_SEQUENCE:
        return screen.ignore, ()
    key = f"{prefix}{intermediates}{final}"
    if key == "m":
        return screen.apply_sgr, (f"\x1b[{parameters}m",)
    name, arity = CSI_FUNCTIONS.get(key, ("ignore", 0))
    arguments = values(parameters)[:arity]
    method = getattr(screen, name)
    if key in _PRIVATE:
        return partial(method, private=True), arguments
    return method, arguments


def _in_turn(actions: list[Action]) -> None:
    for method, arguments in actions:
        method(*arguments)


_MALFORMED: Final[Action] = (_in_turn, ([],))
"""Nothing happens. A combining character behind it still joins the one before it."""


# The parser's state machine, which takes any input, one character at a time.


MAX_STRING: Final = 1 << 20
"""Characters kept of an OSC, DCS, APC, PM or SOS; one that is longer has no effect."""

_ACTION_LIMIT: Final = 1 << 13


class Machine:
    """The position of the parser in a sequence, and what each control function does.

    Args:
        screen: the terminal that performs what is parsed.
    """

    def __init__(self, screen: Terminal) -> None:
        self.screen = screen
        self._actions: dict[str, Action] = {}
        self._void: set[str] = set()
        self._state = GROUND
        self._kept = ""
        self._body: list[str] = []
        self._body_length = 0
        self._overlong = False
        self._dcs_body = False

    def _learn(self, control: str) -> Action:
        """The action of a complete control function; those that come again are cached."""
        function = f"\x1b[{control[1:]}" if control[0] == "\x9b" else control
        introducer = function[:2]
        action: Action
        if function[-1] > "\x9f":
            action = _MALFORMED
        elif introducer == "\x1b[":
            action = self._control_function(function[2:])
        elif function[-1] in "\x18\x1a":
            action = self.screen.ignore, ()  # alone, or it aborts the rest
        elif introducer in _STRINGS:
            return self._string_function(function)
        elif function[0] == "\x1b":
            action = self.screen.escape, (function[1:-1], function[-1])
        else:
            name = C0_FUNCTIONS.get(function) or C1_FUNCTIONS.get(function, "ignore")
            action = getattr(self.screen, name), ()
        if len(control) <= MAX_SEQUENCE and not (
            action[0] == self.screen.apply_sgr and function == control
        ):
            self._cache(control, action)
        return action

    def _cache(self, control: str, action: Action) -> None:
        if len(self._actions) + len(self._void) >= _ACTION_LIMIT:
            self._actions.clear()
            self._void.clear()
        if action is _MALFORMED:
            self._void.add(control)
        else:
            self._actions[control] = action

    def _control_function(self, sequence: str) -> Action:
        """The action of a control sequence, or of several SGR, without the first introducer."""
        match = CONTROL.fullmatch(sequence)
        if match is not None:
            return resolve(self.screen, *match.groups())
        if "\x1b" in sequence:
            return self.screen.apply_sgr, (f"\x1b[{sequence}",)
        found = [char for char in WITHIN.findall(sequence) if char != "\x7f"]
        actions = [self._actions.get(char) or self._learn(char) for char in found]
        kept = WITHIN.sub("", sequence)
        match = CONTROL.fullmatch(kept) if len(kept) <= MAX_SEQUENCE + 1 else None
        if match is not None:
            actions.append(resolve(self.screen, *match.groups()))
        return (_in_turn, (actions,)) if actions else _MALFORMED

    def _string_function(self, function: str) -> Action:
        """The action of a string function with its introducer and its end."""
        if function[1] == "]":
            body = function[2:].rstrip("\x07").removesuffix("\x1b\\")
            return self.screen.operating_system_command, (body,)
        if function[1] == "P":
            return self._device_control, (function[2:-2],)
        return self.screen.application_command, (function[1], function[2:-2])

    def _machine(
        self, text: str, at: int, stop: int, began: int | None, *, whole: bool
    ) -> tuple[int, int | None]:
        """Parse from ``at`` until the ground state is reached, or (``whole``) up to ``stop``.

        Returns:
            Where parsing goes on, and where the sequence that is still open
            began (``None`` if before this text).
        """
        while at < stop:
            if self._state in {OSC, STRING} or (self._state == DCS and self._dcs_body):
                at = self._string(text, at, stop)
            elif self._state == GROUND and (run := PRINTABLE.match(text, at, stop)):
                self._draw(run.group(), at)
                at = run.end()
            else:
                self._step(text[at])
                at += 1
            if self._state == GROUND:
                began = None
                if not whole:
                    break
            elif text[at - 1] in STARTERS:
                began = at - 1
        return at, began

    def _draw(self, text: str, at: int) -> None:  # noqa: ARG002 - a traced parser needs it
        """Paint text from offset ``at`` of the data that is being parsed."""
        self.screen.draw(text)

    def _enter(self, state: int) -> None:
        self._state = state
        self._kept = ""
        self._body.clear()
        self._body_length = 0
        self._overlong = False
        self._dcs_body = False

    def _step(self, char: str) -> None:
        """One character outside of a string's body."""
        state = self._state
        if char == "\x1b":
            self._enter(ESCAPE)
        elif "\x80" <= char <= "\x9f" or char in "\x18\x1a":
            self._c1(char)
        elif char < " ":
            if state == DCS:
                return
            self._perform(char)
        elif char == "\x7f":
            return
        elif state == ESCAPE:
            self._escape(char)
        else:
            self._control_sequence(char)

    def _c1(self, char: str) -> None:
        """A C1 control, CAN or SUB: each ends an open sequence."""
        if char in "\x98\x9e\x9f":
            self._enter(STRING)
            self._kept = {"\x98": "X", "\x9e": "^", "\x9f": "_"}[char]
        elif char == "\x9b":
            self._enter(CSI)
        elif char == "\x9d":
            self._enter(OSC)
        elif char == "\x90":
            self._enter(DCS)
        else:
            self._enter(GROUND)
            if char != "\x9c":
                self._perform(char)

    def _perform(self, control: str) -> None:
        action = self._actions.get(control) or self._learn(control)
        action[0](*action[1])
        self.screen.kind = NO_JOIN

    def _escape(self, char: str) -> None:
        if " " <= char <= "/":
            if len(self._kept) < MAX_SEQUENCE:
                self._kept += char
            return
        kept = self._kept
        if not kept and char in "[]PX^_":
            self._enter({"[": CSI, "]": OSC, "P": DCS}.get(char, STRING))
            if self._state == STRING:
                self._kept = char
            return
        self._enter(GROUND)
        if char <= "~":
            self.screen.escape(kept, char)
            self.screen.kind = NO_JOIN

    def _control_sequence(self, char: str) -> None:
        """A character of a CSI or of the head of a DCS."""
        in_csi = self._state == CSI
        if char > "~":
            # Not a character of a control sequence: it aborts one, unless it is ignored anyway.
            if CONTROL_SO_FAR.fullmatch(self._kept):
                self._enter(GROUND)
            return
        if char < "@":
            if len(self._kept) < MAX_SEQUENCE:
                self._kept += char
            else:
                self._kept = f"{self._kept[:-1]}?"
            return
        match = CONTROL.fullmatch(self._kept + char)
        if in_csi:
            self._enter(GROUND)
            if match is not None:
                action = resolve(self.screen, *match.groups())
                action[0](*action[1])
                self.screen.kind = NO_JOIN
        else:
            self._dcs_body = True
            self._kept += char
            self._overlong = match is None

    def _string(self, text: str, at: int, stop: int) -> int:
        """Collect a string's body up to its end; return where parsing continues."""
        match = STRING_END.search(text, at, stop)
        end = match.start() if match else stop
        if self._state == STRING and (found := NOT_ASCII.search(text, at, end)):
            # xterm.js, to the letter: such a string ends at a character beyond ASCII.
            self._enter(GROUND)
            return found.end()
        self._keep(text[at:end])
        if match is None:
            return end
        char = match.group()
        if char == "\x07" and self._state != OSC:
            return end + 1
        if char in "\x1b\x9c\x07":
            self._finish()
            self.screen.kind = NO_JOIN
            self._enter(ESCAPE if char == "\x1b" else GROUND)
        elif char in "\x18\x1a":
            self._enter(GROUND)
            self.screen.kind = NO_JOIN
        else:
            self._c1(char)
        return end + 1

    def _keep(self, text: str) -> None:
        if self._overlong or not text:
            return
        if self._state == OSC:
            text = C0.sub("", text)
        if len(self._kept) + self._body_length + len(text) > MAX_STRING:
            self._overlong = True
            self._kept = ""
            self._body.clear()
            return
        # In pieces until it is complete: a string that grows byte by byte must not be copied
        # each time.
        self._body.append(text)
        self._body_length += len(text)

    def _finish(self) -> None:
        if self._overlong:
            return
        kept = self._kept + "".join(self._body)
        if self._state == OSC:
            self.screen.operating_system_command(kept)
        elif self._state == DCS:
            self._device_control(kept)
        else:
            self.screen.application_command(kept[0], kept[1:])

    def _device_control(self, body: str) -> None:
        match = CONTROL.match(body)
        if match is not None and match.end() <= MAX_SEQUENCE + 1:
            prefix, _, intermediates, final = match.groups()
            self.screen.device_control(f"{prefix}{intermediates}{final}", body[match.end() :])


# Bytes into calls: text to paint, control functions to perform.


_BLOCK: Final = 1 << 14
_SLOW_LIMIT: Final = 8


class Parser(Machine):
    """Feeds one terminal.

    Args:
        screen: the terminal that performs what is parsed.
    """

    def __init__(self, screen: Terminal) -> None:
        super().__init__(screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._sequence_bytes = 0
        self._held = b""
        # What was painted last, if nothing came after it: a character, or one and a BS.
        self._painted = ""
        # The chunk with ``STRIKE`` in it, if it has any, and whether the block is made of it.
        self._struck: str | None = None
        self._marked = False

    @property
    def pending(self) -> int:
        """How many bytes at the end of the input are an incomplete character or sequence."""
        return self._sequence_bytes + len(self._held)

    @property
    def in_sequence(self) -> bool:
        """Whether a control function is open, be it an escape sequence or a string."""
        return self._state != GROUND

    def feed(self, data: bytes) -> None:
        """Parse bytes. Never raises."""
        if not data:
            return
        text = self._decoder.decode(data)
        if BOM in text:
            text = text.replace(BOM, "")
        before = self._held
        self._held = self._decoder.getstate()[0]
        self._struck = None
        if "\x08" in text or self._painted[1:]:
            self._mark(text if len(text) == len(before + data) else before + data)
        began = self._run(text)
        if not self._painted.encode().endswith(data[-len(self._painted) :]):
            self._painted = ""
        if self._state == GROUND:
            self._sequence_bytes = 0
        else:
            decoded = (before + data)[: len(before) + len(data) - len(self._held)]
            if began is None:
                self._sequence_bytes += len(decoded)
            else:
                # The last one, because a new sequence ends the one before it.
                start = decoded.rfind(text[began].encode())
                self._sequence_bytes = len(decoded) - start

    def _mark(self, text: str | bytes) -> None:
        """Mark where characters of the chunk are struck over."""
        if isinstance(text, bytes):  # the dropped part of it also comes between
            text = text.decode("utf-8", "surrogateescape")
        marked = STRUCK.sub(STRIKE, self._painted + text)
        if STRIKE in marked:
            self.screen.struck = len(self._painted) > 1 and marked[1] == STRIKE
            self._struck = DROPPED.sub("", marked[len(self._painted) :])

    def state(self) -> ParserState:
        """The parser's state, for a checkpoint."""
        return ParserState(
            self._state,
            self._kept + "".join(self._body),
            self._overlong,
            self._dcs_body,
            self._sequence_bytes,
            self._held,
        )

    def restore(self, state: ParserState) -> None:
        """Take the state that ``state`` returned.

        Raises:
            ValueError: it is not a state of a parser.
        """
        if not GROUND <= state.state <= STRING or len(state.kept) > MAX_STRING:
            raise ValueError("not the state of a parser")
        if len(state.held) > 3 or state.sequence_bytes < 0:
            raise ValueError("not the state of a parser")
        self._state = state.state
        self._kept = state.kept
        self._body.clear()
        self._body_length = 0
        self._overlong = state.overlong
        self._dcs_body = state.dcs_body
        self._sequence_bytes = state.sequence_bytes
        self._held = state.held
        self._painted = ""
        self._decoder.setstate((state.held, 0))

    def _run(self, text: str) -> int | None:
        """Parse text; return the start of a sequence that is open at its end, if in this text."""
        began: int | None = None
        at, length = 0, len(text)
        while at < length:
            stop = min(at + _BLOCK, length)
            slow = 0
            while at < stop:
                if self._state == GROUND and slow < _SLOW_LIMIT:
                    at += self._fast(text, at, stop)
                    if at == stop:
                        break
                    slow += 1
                    began = at
                self._painted = ""
                at, began = self._machine(text, at, stop, began, whole=slow >= _SLOW_LIMIT)
        return began

    def _parts(self, text: str, at: int, stop: int) -> list[str]:
        """Text and control functions in turn; the first and the last part are text."""
        if self._struck is not None:
            parts = SPLIT.split(self._struck[at:stop])
            self._marked = STRIKE not in "".join(parts[1::2])
            if self._marked:
                return parts
        self._marked = False
        return SPLIT.split(text[at:stop])

    def _note_painted(self, parts: list[str]) -> None:
        """Note the end of a block, for a BS or a character at the start of the next one."""
        if parts[-1]:
            self._painted = parts[-1][-1]
        elif len(parts) > 1 and parts[-2] == "\x08":
            before = parts[-3][-1:] or (self._painted if len(parts) == 3 else "")
            self._painted = f"{before}\x08" if len(before) == 1 else ""
        else:
            self._painted = ""

    def _fast(self, text: str, at: int, stop: int) -> int:
        """Perform the complete functions of a block; returns how many characters they are.

        A block that ends in the middle of a sequence hands the rest to the
        machine, which goes on in the next block.
        """
        screen = self.screen
        known = self._actions.get
        parts = self._parts(text, at, stop)
        draw = screen.draw_struck if self._marked else screen.draw
        rest = iter(parts)
        for shown, control in zip(rest, rest, strict=False):
            if shown:
                draw(shown)
            pen = screen.pen.next.get(control)
            if pen is not None:
                screen.pen = pen
                screen.kind = NO_JOIN
                continue
            action = known(control)
            if action is None:
                if control in STARTERS:
                    self._painted = ""
                    return stop - at - len(control) - sum(map(len, rest))
                if control in "\x7f\x9c" or control in self._void:
                    continue
                action = self._learn(control)
                if action is _MALFORMED:
                    continue
            function, arguments = action
            function(*arguments)
            screen.kind = NO_JOIN
        if parts[-1]:
            draw(parts[-1])
        self._note_painted(parts)
        return stop - at


EMULATOR_NAME: Final = "pyte"

PYTE_VERSION: Final = "0.8.2"
"""The pyte whose API this is. Not asked of the installed one: none of its code decides a result."""

REVISION: Final = 1
"""Goes up with every change after which the same bytes may give another screen."""


class PyteEmulator:
    """The default emulator. ``ptycassette.model.ports.Emulator`` has the contract of each method.

    Args:
        size: the size to start with; brought into 1x2 to 1000x1000.
        width: ``cluster`` or ``codepoint``; see ``ptycassette.terminal.widths``.
        scrollback: rows kept after they scrolled off the top.
        profile: which queries are answered, and how.
    """

    def __init__(
        self,
        size: Size,
        *,
        width: WidthModeName = "cluster",
        scrollback: int = DEFAULT_SCROLLBACK,
        profile: QueryProfile = XTERM,
    ) -> None:
        size = bounded(size)
        self.terminal = Terminal(
            size.cols, size.rows, width_mode=width_mode(width), scrollback=scrollback
        )
        self.terminal.profile = profile
        self._parser = Parser(self.terminal)
        self._modes: tuple[frozenset[int], frozenset[str]] = (frozenset(), frozenset())
        self._scrollback = scrollback

    @property
    def identity(self) -> EmulatorId:
        """``pyte`` and ``0.8.2+ptycassette.N;width=MODE``, as pinned in manifests."""
        options = f";width={self.terminal.width_mode.name}"
        if self._scrollback != DEFAULT_SCROLLBACK:
            options += f";scrollback={self._scrollback}"
        return EmulatorId(EMULATOR_NAME, f"{PYTE_VERSION}+ptycassette.{REVISION}{options}")

    @property
    def size(self) -> Size:
        """The current size."""
        return Size(self.terminal.lines, self.terminal.columns)

    @property
    def parser(self) -> Parser:
        """The parser in front of ``terminal``."""
        return self._parser

    @property
    def pending(self) -> int:
        """How many bytes at the end of the input are an incomplete sequence or character."""
        return self._parser.pending

    @property
    def synchronized(self) -> bool:
        """Whether a synchronised update is open (DEC private mode 2026)."""
        return self.terminal.synchronized

    def feed(self, data: bytes) -> None:
        """Consume output of the program. Never raises, whatever the bytes."""
        self._parser.feed(data)

    def resize(self, size: Size) -> None:
        """Take another size; brought into 1x2 to 1000x1000."""
        size = bounded(size)
        self.terminal.resize(size.rows, size.cols)

    def snapshot(self) -> Screen:
        """The current screen."""
        terminal = self.terminal
        cols, buf = terminal.columns, terminal.buf
        rendered = [row.render(cols) for row in buf.rows]
        texts, styles = zip(*rendered, strict=True)
        if terminal.mode != self._modes[0]:
            self._modes = (frozenset(terminal.mode), frozenset(map(mode_name, terminal.mode)))
        return Screen(
            size=Size(terminal.lines, cols),
            rows=texts,
            styles=styles,
            cursor=Cursor(buf.y, buf.x if buf.x < cols else cols - 1, DECTCEM in terminal.mode),
            title=terminal.title,
            alt_screen=terminal.alt is not None,
            modes=self._modes[1],
        )

    def text(self) -> list[str]:
        """The rows' text alone, right-trimmed."""
        return self.terminal.display

    def cells(self) -> list[list[str]]:
        """The text of every cell; ``""`` is the right half of a wide one."""
        cols = self.terminal.columns
        return [
            [" " if char == BLANK else char for char in row.chars[:cols]]
            for row in self.terminal.buf.rows
        ]

    def answers(self) -> bytes:
        """Take the terminal's answers since the last call."""
        replies = self.terminal.replies
        if not replies:
            return b""
        taken = "".join(replies).encode()
        replies.clear()
        return taken

    def signals(self) -> tuple[Signal, ...]:
        """Take the signals since the last call."""
        return self.terminal.signals.take()

    def scrollback(self) -> tuple[str, ...]:
        """The text of the rows that scrolled off the top of the main screen, oldest first."""
        return tuple(row.text(len(row.chars)) for row in self.terminal.main.history)

    def main_lines(self) -> tuple[str, ...]:
        """The text of the scrollback and of the main screen, oldest first, as copying it gives.

        Rows that continue the previous one are joined to it. The main screen counts while the
        program is on the alternate one, too.
        """
        main = self.terminal.main
        lines: list[list[str]] = []
        for row in (*main.history, *main.rows):
            text = "".join(row.chars).replace(BLANK, " ")
            if row.wrapped and lines:
                lines[-1].append(text)
            else:
                lines.append([text])
        return tuple("".join(parts).rstrip(" ") for parts in lines)

    def forget_scrollback(self) -> None:
        """Drop the rows that scrolled off the top. They only matter for later resizes."""
        self.terminal.main.history.clear()


def default_emulator(size: Size, *, profile: QueryProfile = XTERM) -> PyteEmulator:
    """The emulator that renders frames by default."""
    return PyteEmulator(size, profile=profile)


# Emulators by name: the default one, and whatever is installed beside it.


ENTRY_POINT_GROUP: Final = "ptycassette.emulators"


def _found() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to load, seldom needed

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def available_backends() -> tuple[str, ...]:
    """The names of all registered backends, the default one first.

    A registered backend may lack its library; loading it raises then.
    """
    return (EMULATOR_NAME, *sorted(name for name in _found() if name != EMULATOR_NAME))


def backend(name: str) -> EmulatorFactory:
    """The factory of a backend.

    Raises:
        UsageError: there is no backend of that name, or its library is not installed.
    """
    if name == EMULATOR_NAME:
        return default_emulator
    entry = _found().get(name)
    if entry is None:
        raise UsageError(
            f"no emulator named {name!r}", hint=f"there are: {', '.join(available_backends())}"
        )
    try:
        return cast("EmulatorFactory", entry.load())
    except (ImportError, AttributeError, OSError) as error:
        raise UsageError(
            f"the emulator {name!r} cannot be loaded: {error}",
            hint=f"install what it needs, for example: pip install 'ptycassette[{name}]'",
        ) from error


def answering(factory: EmulatorFactory, profile: QueryProfile) -> EmulatorFactory:
    """A factory of emulators that answer queries from ``profile``.

    Raises:
        UsageError: these emulators take no profile.
    """
    if "profile" not in signature(factory).parameters:
        raise UsageError(
            "this emulator answers as it likes and takes no profile",
            hint="leave the profile out, or use another emulator",
        )
    unchecked: Any = factory
    return cast("EmulatorFactory", partial(unchecked, profile=profile))
