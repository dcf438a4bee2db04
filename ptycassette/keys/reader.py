"""Bytes that a terminal sends, read as keys: text, pastes, editing keys, actions, answers.

``KeyReader`` splits and names them, ``typed_keys`` finds the places that name each character.

Rules: what a driver sends is a byte stream that the system may split and merge
at will, so a sequence is read across chunks, and what could still become a
longer sequence stays pending until more bytes or ``flush`` decide it. ``ESC``
followed by a printable character is two keys, because the bytes of "Escape, then i"
and of "Alt-i" are the same. A reader with ``alt`` takes them as Alt-i, as programs do
if no pause was between them.

Sources: ECMA-48 5.4 (control sequences), xterm's ctlseqs (PC-style function keys,
bracketed paste, SS3, modifyOtherKeys), the kitty keyboard protocol (``CSI u``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from ptycassette.keys.names import PASTE_END, PASTE_START
from ptycassette.model.answers import is_answer
from ptycassette.model.re2_engine import lazy_pattern

KeyKind = Literal["text", "paste", "key", "answer", "focus"]

ESC = 0x1B
MAX_SEQUENCE_BYTES = 65_536
"""A control string longer than this is not an answer of any terminal; it is taken as it is."""
_MAX_CSI_BYTES = 4096
"""A control sequence longer than this is not a key; those of terminals have some ten bytes."""
_MOST_DIGITS = 9
_PARAMETERS = re.compile(rb"[\x20-\x3f]*")

REMOVING = frozenset("\x7f\x08\x15\x17")
"""Rubout, ctrl-u and ctrl-w as typed text: what line disciplines obey."""
Place = tuple[int, str]
"""Offset of a character's byte, and ""; or of the number that names it, and its digits."""

_CODED = lazy_pattern(
    r"\x1b\[(?P<codes>[\d:]{0,32})(?:;(?P<modifiers>[\d:]{0,16})(?:;(?P<text>[\d:]{0,256}))?)?u"
    r"|\x1b\[27;(?P<modifiers2>\d+);(?P<codes2>\d{1,7})~"  # xterm modifyOtherKeys
)
_CODE = lazy_pattern(r"\d+")
_SHIFT, _CTRL, _CAPS_LOCK = 1, 4, 64
_RELEASE = "3"
_FUNCTIONAL = range(57344, 63744)  # codes of keys that type nothing
_CONTROLS = {
    0x00: "ctrl-space",
    0x08: "backspace",
    0x09: "tab",
    0x0A: "enter",
    0x0D: "enter",
    0x1B: "escape",
    0x1C: "ctrl-\\",
    0x1D: "ctrl-]",
    0x1E: "ctrl-^",
    0x1F: "ctrl-_",
    0x7F: "backspace",
}
_FINALS = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "E": "begin",
    "F": "end",
    "H": "home",
    "P": "f1",
    "Q": "f2",
    "R": "f3",
    "S": "f4",
}
_TILDES = {
    1: "home",
    2: "insert",
    3: "delete",
    4: "end",
    5: "pageup",
    6: "pagedown",
    7: "home",
    8: "end",
    11: "f1",
    12: "f2",
    13: "f3",
    14: "f4",
    15: "f5",
    17: "f6",
    18: "f7",
    19: "f8",
    20: "f9",
    21: "f10",
    23: "f11",
    24: "f12",
}


class Key(msgspec.Struct, frozen=True):
    """One key, pasted text, or answer of the terminal.

    ``raw`` are its bytes. ``text`` is what a ``text`` or ``paste`` inserts.
    ``name`` names a ``key`` (``enter``, ``ctrl-c``, ``shift-up``). ``cooked``:
    the bytes passed a line discipline that turns CR into LF.
    """

    kind: KeyKind
    raw: bytes
    text: str = ""
    name: str = ""
    cooked: bool = False


class KeyReader:
    """Reads keys from a byte stream, however it is split.

    ``feed`` returns complete keys; ``pending`` are the bytes left over; ``flush`` turns
    these into keys, when no more bytes are expected soon.

    Args:
        alt: whether ESC and the character after it are one key.
    """

    def __init__(self, *, alt: bool = False) -> None:
        self._alt = alt
        self._buffer = bytearray()
        self._searches: dict[bytes, _Search] = {}
        self._cooked = False

    @property
    def pending(self) -> bytes:
        """Bytes that could still become a longer sequence or character."""
        return bytes(self._buffer)

    @property
    def waits(self) -> bool:
        """Whether any are pending; costs nothing, however many."""
        return bool(self._buffer)

    def feed(self, data: bytes, *, cooked: bool = False) -> list[Key]:
        """Take bytes and return the keys that they complete."""
        self._cooked = cooked
        self._buffer += data
        return self._take(final=False)

    @property
    def ambiguous(self) -> bool:
        """Whether the pending bytes may be keys of their own: an Escape, not half a character."""
        pending = self._buffer
        return pending[:1] == b"\x1b" and not pending.startswith(PASTE_START)

    def settle(self) -> list[Key]:
        """Turn pending ambiguous bytes into keys, since no more bytes came for a while."""
        return self.flush() if self.ambiguous else []

    def flush(self) -> list[Key]:
        """Make keys of what is pending: a lone ``ESC`` is the Escape key."""
        return self._take(final=True)

    def _take(self, *, final: bool) -> list[Key]:
        keys: list[Key] = []
        data, at = self._buffer, 0
        while at < len(data):
            length = self._length(at, final=final)
            if length == 0:
                break
            keys.append(_key(bytes(data[at : at + length]), cooked=self._cooked))
            at += length
        del data[:at]
        self._searches = {mark: search.moved(at) for mark, search in self._searches.items() if data}
        return keys

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where each sequence of a complete byte string begins and ends, and the text in between.

        A paste is its marks and its text. For a reader without bytes.
        """
        self._buffer += data
        at = 0
        while at < len(data):
            if data[at] != ESC:
                found = data.find(b"\x1b", at)
                end = found if found >= 0 else len(data)
            elif data.startswith(PASTE_START, at):
                end = at + len(PASTE_START)
            else:
                end = at + self._length(at, final=True)
                if end - at > _MAX_CSI_BYTES:  # typed text after Alt-], rather than an answer
                    end = at + 2
            yield at, end
            at = end
        self._buffer.clear()
        self._searches = {}

    def _length(self, at: int, *, final: bool) -> int:
        data = self._buffer
        length = _length(data, at, self._find, final=final)
        if self._alt and length == 1 and data[at] == ESC:  # the Alt of the character after it
            return 2 if 0x20 <= (*data[at + 1 : at + 2], 0)[0] < 0x7F else 1
        return length

    def _find(self, mark: bytes, at: int) -> int:
        """As ``bytes.find`` in the buffer, for starts that never go back: reads each byte once."""
        search = self._searches.get(mark) or _Search(-1, 0)
        if search.found < at:
            found = self._buffer.find(mark, max(at, search.reached))
            reached = len(self._buffer) - len(mark) + 1 if found < 0 else found
            search = self._searches[mark] = _Search(found, max(0, reached))
        return search.found


class _Search(NamedTuple):
    """A remembered search: where the mark is (-1: not found), and how far was searched."""

    found: int
    reached: int

    def moved(self, by: int) -> _Search:
        """The same after so many bytes were removed from the front."""
        return _Search(self.found - by if self.found >= by else -1, max(0, self.reached - by))


_Find = Callable[[bytes, int], int]


def read_keys(data: bytes) -> tuple[Key, ...]:
    """All keys of a complete byte string."""
    reader = KeyReader()
    return (*reader.feed(data), *reader.flush())


def _length(data: bytearray, at: int, find: _Find, *, final: bool) -> int:
    """The bytes of the key at ``at``; 0 if more bytes are needed to decide."""
    first = data[at]
    if first == ESC:
        return _escape_length(data, at, find, final=final)
    if first < 0xC2 or first > 0xF4:
        return 1
    need = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    tail = data[at + 1 : at + need]
    good = 0
    for byte in tail:
        if byte & 0xC0 != 0x80:
            return 1
        good += 1
    if good == need - 1:
        return need
    return 1 if final else 0


def _escape_length(  # noqa: PLR0911 - one per shape
    data: bytearray, at: int, find: _Find, *, final: bool
) -> int:
    if at + 1 >= len(data):
        return 1 if final else 0
    second = data[at + 1]
    if second == 0x5B:  # CSI
        return _csi_length(data, at, find, final=final)
    if second == 0x4F:  # SS3, one character
        if at + 2 >= len(data):
            return 1 if final else 0
        return 3 if 0x40 <= data[at + 2] <= 0x7E else 1
    if second in b"]P_":  # OSC, DCS, APC: the forms of terminals' answers
        return _string_length(data, at, find, final=final)
    if second in b"\x7f\x08":
        return 2  # Alt-Backspace
    return 1


def _csi_length(data: bytearray, at: int, find: _Find, *, final: bool) -> int:
    if data.startswith(PASTE_START, at):
        end = find(PASTE_END, at)
        if end >= 0:
            return end + len(PASTE_END) - at
        return len(data) - at if final else 0
    if data.startswith(b"\x1b[M", at):  # X10 mouse: three more bytes
        return 6 if len(data) - at >= 6 else (1 if final else 0)
    parameters = _PARAMETERS.match(data, at + 2, at + _MAX_CSI_BYTES)
    end = parameters.end() if parameters else at + 2
    if end < len(data):
        # Not a control sequence after all: Escape, then the rest.
        return end + 1 - at if 0x40 <= data[end] <= 0x7E else 1
    return 1 if final else 0


def _string_length(data: bytearray, at: int, find: _Find, *, final: bool) -> int:
    """Up to ST, or for OSC up to BEL. With another ESC inside it is Alt and a character instead."""
    escape = find(b"\x1b", at + 2)
    bell = find(b"\x07", at + 2) if data[at + 1] == 0x5D else -1
    if bell >= 0 and not 0 <= escape < bell:
        return bell + 1 - at
    if escape >= 0 and (escape + 1 < len(data) or final):
        return escape + 2 - at if data[escape + 1 : escape + 2] == b"\\" else 1
    return 1 if final or len(data) - at > MAX_SEQUENCE_BYTES else 0


def _key(raw: bytes, *, cooked: bool) -> Key:  # noqa: PLR0911 - one per kind
    first = raw[0]
    if first != ESC:
        if first < 0x20 or first == 0x7F:
            name = _CONTROLS.get(first) or f"ctrl-{chr(first + 0x60)}"
            return Key("key", raw, name=name, cooked=cooked)
        return Key("text", raw, text=raw.decode("utf-8", "surrogateescape"), cooked=cooked)
    if len(raw) == 1:
        return Key("key", raw, name="escape")
    if raw.startswith(PASTE_START):
        inner = raw[len(PASTE_START) :].removesuffix(PASTE_END)
        text = inner.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
        return Key("paste", raw, text=text)
    if raw in {b"\x1b[I", b"\x1b[O"}:
        return Key("focus", raw, name="focus-in" if raw[2] == 0x49 else "focus-out")
    if len(raw) > 2 and is_answer(raw):
        return Key("answer", raw)
    return _function_key(raw)


@lru_cache(maxsize=256)
def _function_key(raw: bytes) -> Key:  # noqa: PLR0911 - one per encoding
    """A key that is sent as an escape sequence; unknown ones are named by their bytes."""
    if len(raw) == 2:
        name = "backspace" if raw[1] in b"\x7f\x08" else chr(raw[1])
        return Key("key", raw, name=f"alt-{name}")
    body = raw[2:].decode("latin-1")
    if raw[1] == 0x4F:
        name = "enter" if body == "M" else _FINALS.get(body, f"ss3-{body}")
        return Key("key", raw, name=name)
    if body == "Z":
        return Key("key", raw, name="shift-tab")
    unknown = Key("key", raw, name=f"csi-{body}")
    # Between kitty's colons, the first number is the key, or its modifiers; 3 is a release.
    parts = [part.partition(":")[0] for part in body[:-1].split(";")]
    if re.search(r"^[^;]*;\d*:3", body):
        return unknown
    if not all((part.isdecimal() and len(part) <= _MOST_DIGITS) or not part for part in parts):
        return unknown
    numbers = [int(part or "1") for part in parts]
    modifiers = numbers[1] if len(numbers) > 1 else 1
    if body[-1] == "~":
        if numbers[0] == 27 and len(numbers) == 3:  # modifyOtherKeys
            return _unicode_key(raw, numbers[2], modifiers)
        named = _TILDES.get(numbers[0])
    elif body[-1] == "u":  # kitty
        return _unicode_key(raw, numbers[0], modifiers)
    else:
        named = _FINALS.get(body[-1])
    return Key("key", raw, name=_modified(named, modifiers)) if named else unknown


def _modified(name: str, modifiers: int) -> str:
    """``name`` with the modifiers that xterm and kitty number from 1 as a bit mask."""
    mask = modifiers - 1
    words = [word for bit, word in ((4, "ctrl"), (2, "alt"), (1, "shift")) if mask & bit]
    return "-".join([*words, name])


def _unicode_key(raw: bytes, code: int, modifiers: int) -> Key:
    """A key given by its code point, as its plain bytes where it has any."""
    if code in _CONTROLS:
        name = _CONTROLS[code]
        return Key("key", raw, name=_modified(name, modifiers))
    if not 0x20 <= code <= 0x10FFFF or 0xD800 <= code <= 0xF8FF:  # surrogates, private use
        return Key("key", raw, name=f"unicode-{code}")
    if modifiers in {1, 2}:
        char = chr(code)
        return Key("text", raw, text=char.upper() if modifiers == 2 else char)
    return Key("key", raw, name=_modified(chr(code), modifiers))


@lru_cache(maxsize=256)
def key_name(text: str) -> str:
    """The name of the key that sends ``text`` (characters 0 to 255); "" for text and answers."""
    return _key(text.encode("latin-1"), cooked=False).name


def typed_keys(raw: str, *, base: int) -> Iterator[tuple[str, list[Place]]]:
    """The text that each key of ``raw`` types, and the places that encode it.

    In kitty's protocol (``CSI code:shifted:base ; modifiers:event ; text u``) a sequence names its
    character up to four times, and once more when the key is released. All of these places belong
    to the one character that was typed.

    Args:
        raw: bytes, each as a character; so is the typed text.
        base: the offset of the first one.

    Yields:
        A byte of text and its places; the return key types a line feed. For a sequence that types
        nothing: itself, and no places.
    """
    pressed: dict[int, list[Place]] = {}
    for start, end in KeyReader(alt=True).spans(raw.encode("latin-1")):
        if raw[start] != "\x1b":
            for at in range(start, end):
                yield _pressed_byte(raw[at], base + at, pressed)
        elif coded := _CODED.fullmatch(raw, start, end):
            yield from _coded_key(coded, base, pressed)
        else:
            yield raw[start:end], []


def _pressed_byte(
    char: str, offset: int, pressed: dict[int, list[Place]]
) -> tuple[str, list[Place]]:
    places = [(offset, "")]
    code = ord(char)
    pressed[code] = pressed[_small(code)] = pressed[0] = places
    return "\n" if char == "\r" else char, places


def _coded_key(
    match: re.Match[str], base: int, pressed: dict[int, list[Place]]
) -> Iterator[tuple[str, list[Place]]]:
    """The characters that a key types which is sent by its code, with the places that encode each.

    ``pressed`` keeps the places of the keys that may be released later, by their codes.
    """
    name = "codes" if match["codes"] or match["text"] else "codes2"
    if match[name] is None:
        yield match.group(), []
        return
    named = [(int(digits), (base + at, digits)) for digits, at in _numbers(match, name)]
    modifiers, _, event = (match["modifiers"] or match["modifiers2"] or "1").partition(":")
    places = [place for code, place in named if _types(code)]
    codes = [code for code, _ in named if _types(code)]
    if event == _RELEASE:
        known = (pressed[code] for code in codes if code in pressed)
        key = next(known, pressed.get(0))
        if key is not None:
            key += places
        return
    typed = [(int(digits), (base + at, digits)) for digits, at in _numbers(match, "text")]
    texts = [(chr(code), place) for code, place in typed if _types(code)]
    if texts:
        places += [place for _, place in texts[:1]]
        yield _as_bytes(texts[0][0]), places
        yield from ((_as_bytes(char), [place]) for char, place in texts[1:])
    elif codes:
        shifted = (*match[name].split(":"), "")[1]
        char = _character(codes[0], int(shifted or 0), held=int(modifiers or 1) - 1)
        yield "\n" if char in "\r\n" else _as_bytes(char), places
    for code in codes:
        pressed[code] = pressed[_small(code)] = pressed[0] = places


def _numbers(match: re.Match[str], name: str) -> Iterator[tuple[str, int]]:
    """The numbers of one field, and their positions."""
    if match[name]:
        for number in _CODE.finditer(match.string, *match.span(name)):
            yield number.group(), number.start()


def _types(code: int) -> bool:
    """Whether a key with this code types a character."""
    return 0 < code <= sys.maxunicode and code not in _FUNCTIONAL


def _small(code: int) -> int:
    """The code of a letter's key, without modifiers."""
    return code + 32 if 65 <= code <= 90 else code


def _character(code: int, shifted: int, *, held: int) -> str:
    """The character of a key whose sequence has no text field."""
    if held & _CTRL and 97 <= code <= 122:
        return chr(code - 96)
    if held & _SHIFT and _types(shifted):
        return chr(shifted)
    if bool(held & _SHIFT) != bool(held & _CAPS_LOCK):
        upper = chr(code).upper()
        return upper if len(upper) == 1 else chr(code)
    return chr(code)


def _as_bytes(char: str) -> str:
    """The bytes of a character, each as one character."""
    return char.encode("utf-8", "surrogatepass").decode("latin-1")
