"""Explains output bytes: hex, escaped, and each control sequence with its meaning.

Sources: ECMA-48 for the C1 functions and their parameters, xterm's "Control
Sequences" for the private modes and OSC, the synchronised-output and kitty
keyboard proposals for mode 2026 and ``CSI u``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ptycassette.viewing import visible_bytes

_TOKEN = re.compile(
    rb"\x1b\[(?P<csi>[\x30-\x3f]*)(?P<between>[\x20-\x2f]*)(?P<final>[\x40-\x7e])"
    rb"|\x1b\](?P<osc>[^\x07\x1b]{0,4096})(?:\x07|\x1b\\)"
    rb"|\x1b(?P<string>[PX^_])(?P<body>[^\x1b]{0,4096})\x1b\\"
    rb"|\x1b(?P<set>[()*+])(?P<charset>.)"
    rb"|\x1b(?P<esc>[\x20-\x2f]+[\x30-\x7e]|[\x30-\x4f\x51-\x57\x59\x5a\x5c\x60-\x7e])"
    rb"|(?P<c0>[\x00-\x1f\x7f])"
    rb"|(?P<text>[^\x00-\x1f\x7f]+)",
    re.DOTALL,
)
_C0 = {
    0x00: "NUL: nothing",
    0x07: "BEL: ring the bell",
    0x08: "BS: cursor left",
    0x09: "HT: to the next tab stop",
    0x0A: "LF: cursor down, scrolls at the bottom",
    0x0B: "VT: as LF",
    0x0C: "FF: as LF",
    0x0D: "CR: to the first column",
    0x0E: "SO: character set G1",
    0x0F: "SI: character set G0",
    0x1B: "ESC: start of a sequence that ends elsewhere",
    0x7F: "DEL: nothing",
}
_ESC = {
    "7": "DECSC: save the cursor",
    "8": "DECRC: restore the cursor",
    "c": "RIS: reset the terminal",
    "D": "IND: cursor down, scrolls at the bottom",
    "E": "NEL: to the start of the next line",
    "H": "HTS: set a tab stop here",
    "M": "RI: cursor up, scrolls at the top",
    "=": "DECKPAM: keypad sends application codes",
    ">": "DECKPNM: keypad sends numbers",
    "\\": "ST: end of a string",
    "#8": "DECALN: fill the screen with E",
}
_CSI = {
    "@": "ICH: insert {n} blank cells",
    "A": "CUU: cursor up {n}",
    "B": "CUD: cursor down {n}",
    "C": "CUF: cursor right {n}",
    "D": "CUB: cursor left {n}",
    "E": "CNL: to the start of the line {n} down",
    "F": "CPL: to the start of the line {n} up",
    "G": "CHA: to column {n}",
    "d": "VPA: to row {n}",
    "H": "CUP: to row {n}, column {m}",
    "f": "HVP: to row {n}, column {m}",
    "L": "IL: insert {n} lines",
    "M": "DL: delete {n} lines",
    "P": "DCH: delete {n} cells",
    "X": "ECH: erase {n} cells",
    "S": "SU: scroll up {n}",
    "T": "SD: scroll down {n}",
    "b": "REP: repeat the last character {n} times",
    "r": "DECSTBM: scroll between rows {n} and {m}",
    "s": "SCOSC: save the cursor",
    "u": "SCORC: restore the cursor",
    "c": "DA1: ask what the terminal is",
    "t": "XTWINOPS: window operation {n}",
    "Z": "CBT: back {n} tab stops",
    "g": "TBC: clear tab stops",
    " q": "DECSCUSR: cursor shape {n}",
    "!p": "DECSTR: soft reset",
}
_ERASE = {
    "0": "from the cursor to the end of",
    "1": "from the cursor back to the start of",
    "2": "all of",
}
_MODES = {
    "1": "cursor keys send application codes",
    "5": "reverse video",
    "6": "origin at the margins",
    "7": "wrap at the right margin",
    "12": "cursor blinks",
    "25": "cursor is shown",
    "47": "alternate screen",
    "1000": "report mouse buttons",
    "1002": "report mouse drags",
    "1003": "report all mouse movement",
    "1004": "report focus",
    "1006": "mouse reports in SGR form",
    "1007": "wheel sends arrows on the alternate screen",
    "1047": "alternate screen",
    "1048": "save the cursor",
    "1049": "alternate screen, cursor saved",
    "2004": "bracketed paste",
    "2026": "synchronised update",
    "2027": "widths by grapheme cluster",
    "2031": "report changes of colour scheme",
}
_SGR = {
    "0": "plain",
    "1": "bold",
    "2": "dim",
    "3": "italic",
    "4": "underlined",
    "5": "blinking",
    "7": "reverse",
    "8": "hidden",
    "9": "struck out",
    "21": "doubly underlined",
    "22": "neither bold nor dim",
    "23": "not italic",
    "24": "not underlined",
    "25": "not blinking",
    "27": "not reverse",
    "28": "not hidden",
    "29": "not struck out",
    "39": "default text colour",
    "49": "default background",
    "53": "overlined",
    "55": "not overlined",
    "59": "default underline colour",
}
_COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_OSC = {
    "0": "title and icon name",
    "1": "icon name",
    "2": "title",
    "4": "palette colour",
    "7": "working directory",
    "8": "link",
    "9": "notification or progress",
    "10": "text colour",
    "11": "background colour",
    "12": "cursor colour",
    "52": "clipboard",
    "133": "prompt mark",
    "777": "notification",
}


class Piece(msgspec.Struct, frozen=True):
    """A piece of output: its offset, its bytes escaped, and its meaning."""

    offset: int
    shown: str
    meaning: str


def explain(data: bytes, *, limit: int = 400) -> Iterator[Piece]:
    """The pieces of ``data``, at most ``limit`` of them, safe to show."""
    at = 0
    for _ in range(limit):
        if at >= len(data):
            return
        match = _TOKEN.match(data, at)
        if match is None:
            yield Piece(at, visible_bytes(data[at : at + 60]), "a sequence that ends elsewhere")
            return
        yield Piece(at, visible_bytes(match.group(), limit=60), _meaning(match))
        at = match.end()
    yield Piece(at, "", f"{len(data) - at} more bytes")


def _meaning(match: re.Match[bytes]) -> str:  # noqa: PLR0911 - one per kind of token
    group = match.groupdict()
    if group["final"] is not None:
        parameters = group["csi"].decode("ascii")
        return csi_meaning(parameters, (group["between"] + group["final"]).decode("ascii"))
    if group["osc"] is not None:
        number = group["osc"].partition(b";")[0].decode("latin-1")
        return f"OSC: {_OSC.get(number, 'operating system command')}"
    if group["string"] is not None:
        names = {b"P": "DCS: device control string", b"_": "APC: application command"}
        return names.get(group["string"], "a string of no consequence")
    if group["set"] is not None:
        return "SCS: choose a character set"
    if group["esc"] is not None:
        return _ESC.get(group["esc"].decode("ascii"), "an escape sequence of no known meaning")
    if group["c0"] is not None:
        return _C0.get(group["c0"][0], "a control character")
    return "text"


def csi_meaning(parameters: str, final: str) -> str:  # noqa: PLR0911 - one per family
    """The meaning of ``CSI parameters final``."""
    if final == "m" and not parameters.startswith((">", "?", "<")):
        return "SGR: " + _sgr(parameters)
    if final in {"h", "l"}:
        return _mode(parameters, on=final == "h")
    if final in {"J", "K"}:
        what = "the screen" if final == "J" else "the line"
        name = "ED" if final == "J" else "EL"
        number = parameters.lstrip("?") or "0"
        if number == "3":
            return f"{name}: erase the scrollback"
        return f"{name}: erase {_ERASE.get(number, '?')} {what}"
    if parameters[:1] in {"?", ">", "=", "<"}:
        return _private(parameters, final)
    if final == "n":
        return "DSR: ask where the cursor is" if parameters == "6" else "DSR: ask for a status"
    words = _CSI.get(final)
    if words is None:
        return "a control sequence of no known meaning"
    numbers = [part or "1" for part in parameters.split(";")]
    first = numbers[0]
    second = numbers[1] if len(numbers) > 1 else "1"
    return words.format(n=first, m=second)


def _private(parameters: str, final: str) -> str:
    known = {
        (">", "c"): "DA2: ask for the terminal's version",
        (">", "q"): "XTVERSION: ask for the terminal's name",
        ("?", "u"): "ask for the keyboard protocol",
        (">", "u"): "push a keyboard protocol",
        ("<", "u"): "pop a keyboard protocol",
        ("=", "u"): "set the keyboard protocol",
        (">", "m"): "XTMODKEYS: how modified keys are sent",
        ("?", "m"): "XTQMODKEYS: ask how modified keys are sent",
        ("?", "$p"): "DECRQM: ask for a mode",
        ("?", "n"): "DSR: ask for a private status",
    }
    return known.get((parameters[:1], final), "a private control sequence")


def _mode(parameters: str, *, on: bool) -> str:
    word = "on" if on else "off"
    if not parameters.startswith("?"):
        return f"{'SM' if on else 'RM'}: {word}: mode {parameters}"
    names = [_MODES.get(number, f"mode {number}") for number in parameters[1:].split(";")]
    return f"{'DECSET' if on else 'DECRST'}: {word}: {', '.join(names)}"


def _sgr(parameters: str) -> str:
    codes = iter(parameters.split(";"))
    words = []
    for code in codes:
        base = code.partition(":")[0] or "0"
        if base in {"38", "48", "58"}:
            words.append(_color(base, code, codes))
        elif base == "4" and ":" in code:
            kinds = ("not underlined", "underlined", "doubly", "curly", "dotted", "dashed")
            kind = code.partition(":")[2]
            words.append(kinds[int(kind)] if kind.isdigit() and int(kind) < 6 else "underlined")
        elif base.isdigit() and int(base) // 10 in {3, 4, 9, 10} and int(base) % 10 < 8:
            bright = "bright " if int(base) >= 90 else ""
            on = "on " if int(base) // 10 in {4, 10} else ""
            words.append(f"{on}{bright}{_COLORS[int(base) % 10]}")
        else:
            words.append(_SGR.get(base, f"attribute {base}"))
    return ", ".join(words)


def _color(base: str, code: str, codes: Iterator[str]) -> str:
    what = {"38": "text", "48": "background", "58": "underline"}[base]
    parts = code.split(":")[1:] if ":" in code else [next(codes, "")]
    if parts[0] == "5":
        return f"{what} colour {parts[1] if len(parts) > 1 else next(codes, '?')}"
    if parts[0] == "2":
        rgb = parts[-3:] if len(parts) > 3 else [next(codes, "?") for _ in range(3)]
        return f"{what} rgb({','.join(rgb)})"
    return f"{what} colour"


def hex_lines(data: bytes, *, start: int = 0, per_line: int = 16) -> Iterator[str]:
    """``data`` as hex lines: offset, hex, printable ASCII."""
    for at in range(0, len(data), per_line):
        part = data[at : at + per_line]
        numbers = " ".join(f"{byte:02x}" for byte in part)
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        yield f"{start + at:08x}  {numbers:<{3 * per_line - 1}}  {text}"
