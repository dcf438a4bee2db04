r"""Turn keys into bytes: the bytes that an xterm sends for a key, and for a paste.

Names are ``[modifier-]...key``, the modifiers ``ctrl``, ``alt`` and ``shift`` in any
order, with ``-`` or ``+`` between; a key is a named one (``enter``, ``up``, ``f5``) or
one character. Case matters only for single characters. The names of tmux also work
(``C-c``, ``M-x``, ``PPage``).

Rules, from xterm's "Control Sequences" (PC-style function keys) and the terminfo
entry xterm-256color:

- arrows, Home and End are ``CSI x``, or ``SS3 x`` while DECCKM is set;
- F1-F4 are ``SS3 P`` to ``SS3 S``, the others and the editing keys ``CSI n ~``;
- modifiers on these add a parameter, 1 + shift + 2 alt + 4 ctrl: ``CSI 1 ; 5 A``;
- F13-F24 are terminfo's kf13-kf24: F1-F12 with shift;
- alt puts ESC in front of everything else;
- ctrl makes control characters of ``@`` to ``_``, of letters, of space, ``?``, ``/`` and 2-8.

Keys that xterm cannot tell from the plain key (ctrl-enter, shift-enter, ctrl-1, ...) are refused
rather than sent as another key.

A program that has switched kitty's keyboard protocol on gets the bytes of that protocol
(https://sw.kovidgoyal.net/kitty/keyboard-protocol/): with flag 1, or 8 for all keys, a key is
``CSI code ; modifiers u``, and all of the above are different. Flag 4 adds the shifted code, 16 the
text. Releases (flag 2) are neither sent nor confirmed.
"""

from __future__ import annotations

import re

PASTE_START = b"\x1b[200~"
PASTE_END = b"\x1b[201~"

_SHIFT, _ALT, _CTRL = 1, 2, 4
_MODIFIERS = {
    "ctrl": _CTRL,
    "control": _CTRL,
    "alt": _ALT,
    "meta": _ALT,
    "option": _ALT,
    "shift": _SHIFT,
    "c": _CTRL,  # these three as tmux and Emacs write them
    "m": _ALT,
    "s": _SHIFT,
}
_PLAIN = {"enter": b"\r", "tab": b"\t", "escape": b"\x1b", "backspace": b"\x7f", "space": b" "}
_CURSOR = {"up": b"A", "down": b"B", "right": b"C", "left": b"D", "end": b"F", "home": b"H"}
_SS3_FUNCTION = {"f1": b"P", "f2": b"Q", "f3": b"R", "f4": b"S"}
_TILDE = {
    "insert": 2,
    "delete": 3,
    "pageup": 5,
    "pagedown": 6,
    "f5": 15,
    "f6": 17,
    "f7": 18,
    "f8": 19,
    "f9": 20,
    "f10": 21,
    "f11": 23,
    "f12": 24,
}
_ALIASES = {
    "return": "enter",
    "esc": "escape",
    "bs": "backspace",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "page-up": "pageup",
    "page_up": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "page-down": "pagedown",
    "page_down": "pagedown",
    "bspace": "backspace",  # from here on as tmux send-keys has them
    "dc": "delete",
    "ic": "insert",
    "ppage": "pageup",
    "npage": "pagedown",
}
_CONTROL_DIGITS = {"2": 0x00, "3": 0x1B, "4": 0x1C, "5": 0x1D, "6": 0x1E, "7": 0x1F, "8": 0x7F}
_DISAMBIGUATE, _RELEASES, _ALTERNATES, _ALL_KEYS, _TEXTS = 1, 2, 4, 8, 16
_KITTY_F13 = 57376
_MAX_KEYBOARD = 16
_SEPARATED = re.compile(r"([A-Za-z]+)[-+](?=.)", re.DOTALL)


def encode_key(name: str, *, application_cursor: bool = False, keyboard_flags: int = 0) -> bytes:
    """The bytes that a terminal sends for a key.

    Args:
        name: for example ``enter``, ``ctrl-c``, ``alt-f``, ``shift-tab``, ``f24``, ``x``.
        application_cursor: whether the application has set DECCKM.
        keyboard_flags: the active flags of kitty's keyboard protocol; 0 for an xterm.

    Raises:
        ValueError: the key does not exist, or xterm cannot tell it from another.
    """
    modifiers, key = _parse(name)
    if keyboard_flags & (_DISAMBIGUATE | _ALL_KEYS):
        return _encode_kitty(key, modifiers, keyboard_flags)
    if key in _CURSOR:
        final = _CURSOR[key]
        if modifiers:
            return b"\x1b[1;%d%s" % (modifiers + 1, final)
        return (b"\x1bO" if application_cursor else b"\x1b[") + final
    if re.fullmatch(r"f1[3-9]|f2[0-4]", key):
        if modifiers & _SHIFT:
            raise ValueError(f"no such key: {name!r}; F13 to F24 are F1 to F12 with shift already")
        key, modifiers = f"f{int(key[1:]) - 12}", modifiers | _SHIFT
    if key in _SS3_FUNCTION:
        final = _SS3_FUNCTION[key]
        return b"\x1b[1;%d%s" % (modifiers + 1, final) if modifiers else b"\x1bO" + final
    if key in _TILDE:
        parameter = b";%d" % (modifiers + 1) if modifiers else b""
        return b"\x1b[%d%s~" % (_TILDE[key], parameter)
    prefix = b"\x1b" if modifiers & _ALT else b""
    return prefix + _encode_character(name, key, modifiers & ~_ALT)


def encode_text(text: str, *, keyboard_flags: int = 0) -> bytes:
    """The bytes that a terminal sends for typed text; a newline in it is the Enter key.

    Args:
        text: what is typed.
        keyboard_flags: as for ``encode_key``: flag 8 makes a sequence of each character.
    """
    typed = text.replace("\r\n", "\r").replace("\n", "\r")
    if not keyboard_flags & _ALL_KEYS:
        return typed.encode("utf-8", "surrogateescape")
    names = {"\r": "enter", "\t": "tab", "\x1b": "escape", "\x7f": "backspace"}
    return b"".join(
        char.encode("utf-8", "surrogateescape")
        if not char.isprintable() and char not in names
        else encode_key(names.get(char, char), keyboard_flags=keyboard_flags)
        for char in typed
    )


class Keyboard:
    """Kitty's keyboard protocol in a terminal: each of the two screens has a stack of flags.

    Attributes:
        shown: the stack of the screen that is shown; the last flags are in force, none without any.
        hidden: that of the other screen, main or alternate.
    """

    def __init__(self) -> None:
        self.shown: list[int] = []
        self.hidden: list[int] = []

    @property
    def flags(self) -> int:
        """The flags in force, as the terminal confirms them.

        Without flag 2: no release of a key is ever sent, and a program that was promised one could
        wait for it.
        """
        return self.shown[-1] & ~_RELEASES if self.shown else 0

    def change(self, kind: str, *numbers: int) -> None:
        """Obey a sequence of the program.

        Args:
            kind: ``>``: ``CSI > flags u`` pushes; ``<``: ``CSI < count u`` pops; ``=``:
                ``CSI = flags ; how u`` sets (1), adds (2) or removes (3).
            numbers: the parameters.
        """
        stack, first = self.shown, numbers[0] if numbers else 0
        if kind == ">":
            self.shown = [*stack[-(_MAX_KEYBOARD - 1) :], first & 31]
            return
        if kind == "<":
            self.shown = stack[: max(len(stack) - max(first, 1), 0)]
            return
        now, how, flags = (stack or [0])[-1], (*numbers[1:2], 1)[0], first & 31
        self.shown = [*stack[:-1], {2: now | flags, 3: now & ~flags}.get(how, flags)]

    def switch(self) -> None:
        """Show the other screen. Each keeps its stack, as in kitty."""
        self.shown, self.hidden = self.hidden, self.shown


def canonical_key(name: str) -> str:
    """The one spelling of a key's name, as journals and cassettes hold it: ``ctrl-c``.

    Raises:
        ValueError: there is no such key.
    """
    modifiers, key = _parse(name)
    words = [word for word in ("ctrl", "alt", "shift") if modifiers & _MODIFIERS[word]]
    return "-".join([*words, key])


def encode_paste(text: str, *, bracketed: bool) -> bytes:
    """The bytes that a terminal sends for a paste.

    Newlines become carriage returns, as xterm pastes them. Bracketed text is between ``CSI 200 ~``
    and ``CSI 201 ~``. End marks inside the text are removed,
    nested ones as well: pasted text must not end its own bracket.
    """
    data = text.replace("\r\n", "\r").replace("\n", "\r").encode("utf-8", "surrogateescape")
    if not bracketed:
        return data
    while PASTE_END in data:
        data = data.replace(PASTE_END, b"")
    return PASTE_START + data + PASTE_END


def _parse(name: str) -> tuple[int, str]:
    modifiers, rest = 0, name
    while match := _SEPARATED.match(rest):
        modifier = _MODIFIERS.get(match.group(1).lower())
        if modifier is None:
            break
        modifiers |= modifier
        rest = rest[match.end() :]
    key = rest if len(rest) == 1 else _ALIASES.get(rest.lower(), rest.lower())
    if key == " ":
        key = "space"
    known = key in _PLAIN or key in _CURSOR or key in _TILDE
    if len(key) == 1 or known or re.fullmatch(r"f(?:[1-9]|1\d|2[0-4])", key):
        return modifiers, key
    raise ValueError(f"no such key: {name!r}; for example enter, ctrl-c, alt-f, shift-tab, f5, x")


def _encode_character(name: str, key: str, modifiers: int) -> bytes:
    """A key that is a character, with or without ctrl and shift."""
    if modifiers == _SHIFT and key == "tab":
        return b"\x1b[Z"
    if key in _PLAIN and not (modifiers and key in {"enter", "tab"}):
        if not modifiers & _CTRL:
            return _PLAIN[key]
        control = {"backspace": 0x08, "space": 0x00, "escape": 0x1B}[key]
        return bytes([control])
    if len(key) == 1:
        if not modifiers & _CTRL:
            return (key.upper() if modifiers & _SHIFT else key).encode()
        control_character = _control(key)
        if control_character is not None:
            return control_character
    raise ValueError(
        f"xterm sends nothing of its own for {name!r};"
        " for a new line inside of a prompt, alt-enter or ctrl-j is what CLIs understand"
    )


def _encode_kitty(key: str, modifiers: int, flags: int) -> bytes:  # noqa: PLR0911 - one per kind
    """A key in kitty's protocol, with flag 1 or 8."""
    parameter = b";%d" % (modifiers + 1) if modifiers else b""
    if key in _CURSOR:
        final = _CURSOR[key]
        return b"\x1b[1%s%s" % (parameter, final) if modifiers else b"\x1b[" + final
    if key in _TILDE:
        return b"\x1b[%d%s~" % (_TILDE[key], parameter)
    if key == "f3":  # its SS3 form is that of a report of the cursor
        return b"\x1b[13%s~" % parameter
    if key in _SS3_FUNCTION:
        final = _SS3_FUNCTION[key]
        return b"\x1b[1%s%s" % (parameter, final) if modifiers else b"\x1b[" + final
    if len(key) > 1 and key[0] == "f":
        return b"\x1b[%d%su" % (_KITTY_F13 + int(key[1:]) - 13, parameter)
    if not flags & _ALL_KEYS:
        if key in {"enter", "tab", "backspace"} and not modifiers:
            return _PLAIN[key]  # so that a shell is usable after a program that crashed
        if (len(key) == 1 or key == "space") and not modifiers & ~_SHIFT:
            return _encode_character(key, key, modifiers)
    if len(key) == 1 and key.isupper():
        modifiers |= _SHIFT
    code = ord(_PLAIN[key]) if key in _PLAIN else ord(key.lower()[:1])
    text = (key.upper() if modifiers & _SHIFT else key) if len(key) == 1 else ""
    text = " " if key == "space" else text
    codes = b"%d" % code
    if flags & _ALTERNATES and modifiers & _SHIFT and len(text) == 1 and ord(text) != code:
        codes += b":%d" % ord(text)
    numbers = [codes]
    with_text = flags & _ALL_KEYS and flags & _TEXTS and text and not modifiers & ~_SHIFT
    if modifiers or with_text:
        numbers.append(b"%d" % (modifiers + 1) if modifiers else b"")
    if with_text:
        numbers.append(b":".join(b"%d" % ord(char) for char in text))
    return b"\x1b[" + b";".join(numbers) + b"u"


def _control(character: str) -> bytes | None:
    """The control character of ctrl and a character (ECMA-48, C0; xterm for digits and slash)."""
    if character in _CONTROL_DIGITS:
        return bytes([_CONTROL_DIGITS[character]])
    if character in {"?", "/"}:
        return b"\x7f" if character == "?" else b"\x1f"
    if "@" <= character.upper() <= "_":
        return bytes([ord(character.upper()) - 0x40])
    return None
