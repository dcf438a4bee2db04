"""Bytes that a terminal sends, read as keys, and the line that they edit.

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
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from ptycassette.keys.names import PASTE_END, PASTE_START
from ptycassette.model.re2_engine import lazy_pattern

# Tell a terminal's answers to queries from typed input.
#
# Another terminal than the recorded one answers differently, later, or not at all. No user types
# these bytes, so a recording marks them (``source: "terminal"``), a comparison leaves them out,
# and a rerun does not send them.
#
# Sources: xterm's ctlseqs (DA1-DA3, DSR, CPR, DECRPM, DECRQSS, XTVERSION, XTGETTCAP, XTQMODKEYS,
# DECREQTPARM, window reports, OSC colour reports), the kitty keyboard protocol (``CSI ? flags
# u``), in-band resize (mode 2048), ECMA-48 8.3.35 (DSR). The only shape that is also a key is
# ``CSI 1 ; m R``, Shift-F3 and its like: xterm sends it for the key, and for a cursor in the first
# row. It is an answer if the program asked for the cursor and has no answer yet.


_ANSWER = lazy_pattern(
    rb"\x1b\[(?:"
    rb"[?>=][0-9;:]*c"  # DA1, DA2, DA3
    rb"|\??[0-9]+;[0-9]+(?:;[0-9]+)?R"  # CPR, DECXCPR
    rb"|\??[0-9]+(?:;[0-9]+)*n"  # DSR
    rb"|\??[0-9]+;[0-9]+\$y"  # DECRPM
    rb"|\?[0-9]+u"  # kitty flags
    rb"|>[0-9;]+m"  # XTQMODKEYS
    rb"|(?:[1-9]|48)(?:;-?[0-9]+){0,4}t"  # window reports
    rb"|[23](?:;[0-9]+){6}x"  # DECREPTPARM
    rb"|\?[0-9;]+S"  # XTSMGRAPHICS
    rb")|\x1b[\]P_].*",  # OSC, DCS, APC: no key is sent as one
    re.DOTALL,
)
_AMBIGUOUS = lazy_pattern(rb"\x1b\[1;(?:[2-9]|1[0-6])R")
_FOCUS = frozenset({b"\x1b[I", b"\x1b[O"})
_CPR_QUERY = lazy_pattern(rb"\x1b\[\??6n")
_LONGEST_CPR = 5
_QUERY = lazy_pattern(
    rb"\x1b\[(?:[?>=]?[0-9;]*[cn]|\??[0-9;]*\$p|\?u|>[0-9]*q|1[3-9]t|2[01]t|\?[0-9;]+S)"
    rb"|\x1b\][0-9;]*;\?|\x1bP[+$]q|\x1b_G"
)
_SEQUENCE = lazy_pattern(
    rb"\x1b\[200~.*?(?:\x1b\[201~|\Z)"  # a paste, whatever is in it
    rb"|\x1b\[[<-?]?[0-9;:-]*[ -/]*[@-~]|\x1b[\]P_][^\x07\x1b]*(?:\x07|\x1b\\)",
    re.DOTALL,
)
# The ends of a read in the middle of an answer, and their result.
_BEGUN = lazy_pattern(rb"\x1b(?:\[[?>=]?[0-9;:-]*[ -/]?|[\]P_][^\x07\x1b]{0,65536}\x1b?)?\Z")
_PUT_TOGETHER = lazy_pattern(
    rb"\x1b(?:\[|\](?:[0-9]+;|[lL])|P[0-9>!]|_G).*", re.DOTALL
)  # a user may type Escape and a bracket
_MOST_PIECES = 16
LATENCY_US = 1_000_000
"""How long the rest of an answer may take; slow connections split them."""


def is_answer(raw: bytes) -> bool:
    """Whether one complete sequence is an answer that only a terminal sends."""
    return _ANSWER.fullmatch(raw) is not None and _AMBIGUOUS.fullmatch(raw) is None


class AnswerExpectation:
    """Follows the queries in the output. ``asked`` is true once there was any.

    Counts those for the cursor position, to settle the one ambiguous shape.
    """

    def __init__(self) -> None:
        self.asked = False
        self._tail = b""
        self._open = 0

    def output(self, data: bytes) -> None:
        """Look at output that was played."""
        window = self._tail + data
        self.asked = self.asked or _QUERY.search(window) is not None
        self._open += len(_CPR_QUERY.findall(window))
        # Keep a possible beginning of a query that the next chunk completes.
        cut = window.rfind(b"\x1b", max(0, len(window) - 16))
        self._tail = window[cut:] if cut >= 0 and not _CPR_QUERY.match(window, cut) else b""

    def takes(self, raw: bytes) -> bool:
        """Whether ``raw``, which looks like Shift-F3, answers a query that is open."""
        if self._open > 0 and _AMBIGUOUS.fullmatch(raw):
            self._open -= 1
            return True
        return False

    def answered(self, raw: bytes) -> None:
        """Count an answer that cannot be a key."""
        if self._open > 0 and raw.endswith(b"R"):
            self._open -= 1


class Stretch(NamedTuple):
    """A part of what was typed: an answer of the terminal (or several), or everything else."""

    data: bytes
    answer: bool


class AnswerReader:
    """Tells answers apart in typed input, however it was split.

    Call ``output`` and ``typed`` in their order, and ``take`` when ``typed`` returns False, or
    when the rest of an answer has not come within ``LATENCY_US``.

    Args:
        shown: gives the output since it was last called; asked only where a query matters. None
            where ``output`` is called.
    """

    def __init__(self, shown: Callable[[], Iterable[bytes]] | None = None) -> None:
        self._expected = AnswerExpectation()
        self._shown = shown
        self._uncounted: list[bytes] = []
        self._pieces: list[tuple[bytes, bool]] = []
        self._begun = b""
        self._output_end = False  # the last output may end in the middle of a query

    def output(self, data: bytes) -> None:
        """Look for queries in output."""
        # All of a recording's output comes through here, so most of it is not searched.
        if b"6n" in data or self._output_end or b"\x1b" in data[-_LONGEST_CPR:]:
            self._expected.output(data)
            self._output_end = b"\x1b" in data[-_LONGEST_CPR:]

    def typed(self, data: bytes, *, focus: bool) -> bool:
        """Take one piece of input; whether the next one may continue an answer.

        Args:
            data: the bytes.
            focus: reports of the focus count as answers: a terminal sent them, not a driver.
        """
        self._pieces.append((data, focus))
        begun = _BEGUN.search(self._begun + data)
        self._begun = b"" if begun is None else begun.group()
        return begun is not None and len(self._pieces) < _MOST_PIECES

    def take(self) -> list[list[Stretch]]:
        """The stretches of each piece since the last call."""
        pieces, self._pieces, self._begun = self._pieces, [], b""
        if not any(b"\x1b" in data for data, _ in pieces):
            return [[Stretch(data, answer=False)] for data, _ in pieces]
        spans = list(self._answers(pieces))
        found, at = [], 0
        for data, _ in pieces:
            found.append(_stretches(data, at, spans))
            at += len(data)
        return found

    def _answers(self, pieces: list[tuple[bytes, bool]]) -> Iterator[tuple[int, int]]:
        """The start and end of each answer in all pieces together."""
        joined = b"".join(data for data, _ in pieces)
        cuts: list[int] = []
        for data, _ in pieces[:-1]:
            cuts.append((cuts[-1] if cuts else 0) + len(data))
        focus = all(allowed for _, allowed in pieces)
        for match in _SEQUENCE.finditer(joined):
            raw = match.group()
            split = any(match.start() < cut < match.end() for cut in cuts)
            if split and _PUT_TOGETHER.fullmatch(raw) is None:
                continue
            if self._is_answer(raw) or (focus and not split and raw in _FOCUS):
                yield match.span()

    def _is_answer(self, raw: bytes) -> bool:
        certain = is_answer(raw)
        if certain:
            self._uncounted.append(raw)
        elif _AMBIGUOUS.fullmatch(raw) is None:
            return False
        if self._shown is not None:
            if certain:
                return True
            for data in self._shown():
                self._expected.output(data)
        for answer in self._uncounted:
            self._expected.answered(answer)
        self._uncounted.clear()
        return certain or self._expected.takes(raw)


def _stretches(data: bytes, at: int, spans: list[tuple[int, int]]) -> list[Stretch]:
    """One piece, which starts at ``at``, cut at the ends of answers."""
    found: list[Stretch] = []
    done = 0

    def add(end: int, *, answer: bool) -> None:
        nonlocal done
        if end <= done:
            return
        part, done = data[done:end], end
        if found and found[-1].answer == answer:
            part = found.pop().data + part
        found.append(Stretch(part, answer))

    for start, end in spans:
        add(min(start - at, len(data)), answer=False)
        add(min(end - at, len(data)), answer=True)
    add(len(data), answer=False)
    return found or [Stretch(data, answer=False)]


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


# One line editor: the text that keys leave in a line, as readline's emacs mode has it.
#
# Shells, prompts and the input boxes of agents share these keys. Two users: comparisons of input
# (``Line``), where only the line at the Enter key matters, and the search for secrets in what was
# typed (``typed_text``, ``edited_text``), where each character keeps the places of the input that
# name it. Which keys a program obeyed is not known there, so two readings are made: line
# disciplines know rubout, ctrl-u and ctrl-w (termios: VERASE, VKILL, VWERASE); line editors also
# move the cursor, so that later characters may be inserted before earlier ones, and ctrl-y brings
# back what was removed.
#
# Text is edited as UTF-8 bytes, each shown as one character (0 to 255).


Cell = tuple[str, list[Place]]
"""One byte of a line, and the places of the input that name it."""

_YANK = "ctrl-y"
_COMMANDS = {
    # A key, its target, and whether it removes the text on the way.
    "backspace": ("left", True), "delete": ("right", True), "ctrl-d": ("right", True),
    "ctrl-u": ("home", True), "ctrl-k": ("end", True), "ctrl-w": ("blank before", True),
    "alt-backspace": ("word before", True), "alt-d": ("word behind", True),
    "ctrl-delete": ("word behind", True), "alt-delete": ("word behind", True),
    **dict.fromkeys(("left", "ctrl-b"), ("left", False)),
    **dict.fromkeys(("right", "ctrl-f"), ("right", False)),
    **dict.fromkeys(("home", "ctrl-a"), ("home", False)),
    **dict.fromkeys(("end", "ctrl-e"), ("end", False)),
    **dict.fromkeys(("alt-b", "alt-left", "ctrl-left"), ("word before", False)),
    **dict.fromkeys(("alt-f", "alt-right", "ctrl-right"), ("word behind", False)),
}  # fmt: skip
_DISCIPLINE = frozenset({"backspace", "ctrl-u", "ctrl-w"})
_SINGLE = frozenset({"left", "right"})
_MOVES_BACK = lazy_pattern("[\x01\x02\x19]|\x1b(?:\\[[0-9;:]*[DHu~]|O[DH]|b)")
_LONGEST_LINE = 4096
_LONGEST_WORD = 256
_MOST_COPIED = 1 << 18


class _Editor:
    """A line with a cursor, and the text removed last.

    Args:
        longest_word: how many bytes a movement by words looks at.
    """

    def __init__(self, *, longest_word: int) -> None:
        self.cells: list[Cell] = []
        self.at = 0
        self.killed: list[Cell] = []
        self._kills = False
        self._longest_word = longest_word

    def insert(self, cells: list[Cell]) -> None:
        self.cells[self.at : self.at] = cells
        self.at += len(cells)
        self._kills = False

    def do(self, name: str) -> bool:
        """Apply a key; False if it does not edit the line."""
        if name == _YANK:
            self.insert(self.killed)
            return True
        command = _COMMANDS.get(name)
        if command is None:
            return False
        place, removes = command
        again, self._kills = self._kills, False
        to = self._place(place)
        start, end = min(self.at, to), max(self.at, to)
        self.at = start if removes else to
        if not removes or start == end:
            return True
        self.removing(end)
        if place not in _SINGLE:
            cut, kept = self.cells[start:end], self.killed if again else []
            self.killed = cut + kept if to < end else kept + cut
            self._kills = True
        del self.cells[start:end]
        return True

    def removing(self, end: int) -> None:
        """Called before the cells from the cursor to ``end`` are removed."""

    def _place(self, name: str) -> int:
        """The target of a movement, in bytes from the start of the line."""
        if name in {"home", "end"}:
            return 0 if name == "home" else len(self.cells)
        if name == "left":
            return self._start_of_character(self.at)
        if name == "right":
            past = min(self.at + 1, len(self.cells))
            is_long = self.at < past and self.cells[self.at][0] >= "\xc0"
            return self._past(_continues, past, 1) if is_long else past
        if name == "blank before":
            return self._past(_in_argument, self._past(_is_blank, self.at, -1), -1)
        by = -1 if name == "word before" else 1
        return self._past(_in_word, self._past(_between_words, self.at, by), by)

    def _past(self, belongs: Callable[[str], bool], at: int, by: int) -> int:
        """The first place from ``at`` on, in steps of ``by``, where a byte does not belong."""
        cells, before = self.cells, -1 if by < 0 else 0
        low, high = max(0, self.at - self._longest_word), self.at + self._longest_word
        low, high = (low, len(cells)) if by < 0 else (0, min(len(cells), high))
        while (at > low if by < 0 else at < high) and belongs(cells[at + before][0]):
            at += by
        return at

    def _start_of_character(self, at: int) -> int:
        start = at - 1
        while start > 0 and _continues(self.cells[start][0]):
            start -= 1
        is_whole = start >= 0 and self.cells[start][0] >= "\xc0"
        return start if is_whole else max(0, at - 1)


def _continues(char: str) -> bool:
    """Whether a byte continues a character of UTF-8."""
    return "\x80" <= char <= "\xbf"


def _in_word(char: str) -> bool:
    """Letters and digits, and every byte of a character that is not ASCII."""
    return char.isalnum() or char >= "\x80"


def _between_words(char: str) -> bool:
    return not _in_word(char)


def _is_blank(char: str) -> bool:
    return char == " "


def _in_argument(char: str) -> bool:
    return char != " "


class Line:
    """One line of text under edit. ``apply`` returns whether a key edited it.

    On an empty line an editing key is an action instead: it moves a menu, scrolls a pager or ends a
    program.
    """

    def __init__(self) -> None:
        self._editor = _Editor(longest_word=1 << 30)

    @property
    def text(self) -> str:
        """The line now."""
        return (
            "".join([char for char, _ in self._editor.cells])
            .encode("latin-1")
            .decode("utf-8", "surrogateescape")
        )

    def apply(self, key: Key) -> bool:
        """Apply one key. False when it is an action, neither text nor an edit."""
        editor = self._editor
        if key.kind in {"text", "paste"}:
            data = key.text.encode("utf-8", "surrogateescape").decode("latin-1")
            editor.insert([(char, []) for char in data])
            return True
        if key.kind != "key" or not (editor.cells or (key.name == _YANK and editor.killed)):
            return False
        if key.name == "ctrl-d" and editor.at == len(editor.cells):
            return False
        return editor.do(key.name)


class TypedText(NamedTuple):
    """Typed text as bytes (characters 0 to 255), and the input positions that encode each."""

    text: str
    sources: list[list[Place]]


def typed_text(raw: str, *, base: int = 0, editing: bool = True) -> TypedText:
    """The text typed by ``raw``; ``editing`` applies rubout and kill keys."""
    editor = _TypedLines(moves=False)
    for text, places in typed_keys(raw, base=base):
        if editing or text not in REMOVING:
            editor.key(text, places)
    return editor.typed()


def edited_text(raw: str, *, base: int = 0) -> TypedText | None:
    """The text of ``raw`` with cursor keys applied; None if they change nothing."""
    if not _MOVES_BACK.search(raw):
        return None
    editor = _TypedLines(moves=True)
    for text, places in typed_keys(raw, base=base):
        editor.key(text, places)
    typed = editor.typed()
    return typed if editor.changed else None


class _TypedLines(_Editor):
    """A line under edit, and the lines before it.

    A line that loses something in the middle is kept as it was, too.

    Args:
        moves: whether keys that move the cursor do so.

    Attributes:
        changed: whether anything was typed or removed anywhere but at the end of a line.
    """

    def __init__(self, *, moves: bool) -> None:
        super().__init__(longest_word=_LONGEST_WORD)
        self._moves = moves
        self._done: list[Cell] = []
        self._copied = 0
        self._typed = self._inside = False
        self.changed = False

    def key(self, text: str, places: list[Place]) -> None:
        """Apply one key: the text that it types, or the sequence that it sends (without places)."""
        if text == "\n" and places:
            self._enter([(text, places)])
            return
        name = key_name(text) if not places or text < " " or text == "\x7f" else ""
        if places:
            edits = self._moves or name in _DISCIPLINE
        else:  # a sequence; input boxes of agents move by one character with shift, too
            edits, name = self._moves, name.replace("shift-", "")
        if edits and self.do(name):
            return
        if places:
            self.insert([(char, places) for char in text])
        else:
            self._kills = False

    def typed(self) -> TypedText:
        self._enter([])
        chars = "".join([char for char, _ in self._done])
        return TypedText(chars, [places for _, places in self._done])

    def do(self, name: str) -> bool:
        """Apply a key; text that ctrl-y inserts is bounded."""
        if name == _YANK:
            self._copied += len(self.killed)
            if not self.killed or self._copied > _MOST_COPIED:
                return True
            self.changed = True
        return super().do(name)

    def insert(self, cells: list[Cell]) -> None:
        """Insert text at the cursor; a line that is too long ends."""
        if self.at < len(self.cells):
            self._inside = self.changed = True
        super().insert(cells)
        self._typed = True
        if len(self.cells) >= _LONGEST_LINE:
            self._enter([])

    def removing(self, end: int) -> None:
        """Keep the line as it was if it loses something in the middle."""
        if end < len(self.cells):
            self._inside = self.changed = True
        if self._inside and self._typed and self._copied <= _MOST_COPIED:
            self._copied += len(self.cells)
            self._done += [*self.cells, ("\n", [])]
            self._typed = False

    def _enter(self, end: list[Cell]) -> None:
        self._done += [*self.cells, *end]
        self.cells, self.at = [], 0
        self._typed = self._inside = False
        self._kills = False
