"""Export output as plain text, line by line, as in a log.

This models one line, not a screen. It applies carriage return, backspace, tab and the sequences
that edit within a line, so that a shell's line editing gives the final line. A cursor movement to
another row ends the line. Everything else is dropped, including all that a full-screen program
draws on the alternate screen.

The result contains only text, spaces and newlines, which do not act on a terminal.
(ECMA-48: CR, BS, HT, LF, CUF, CUB, CHA, EL, ECH, DCH, ICH; xterm: 47, 1047, 1049.)
"""

from __future__ import annotations

import codecs
import re
import unicodedata

MAX_COLS = 10_000
"""A longer line is ended here."""
MAX_CURSOR = 1000
"""The limit for cursor movements; no screen is wider."""
MAX_PENDING = 128
"""How many characters of an unfinished sequence are kept."""
_AT_ONCE = 1 << 16

_TOKEN = re.compile(
    "(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    "|(?:\x1b\\[|\x9b)(?P<csi>[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e])"
    "|(?:\x1b[\\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c|(?=\x1b[^\\\\]))"
    "|\x1b[\x20-\x2f]+[\x30-\x7e]"
    "|\x1b(?P<esc>[\x30-\x4f\x51-\x57\x59\x5a\\\\\x60-\x7e])"
    "|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x8f\x91-\x97\x99\x9a\x9c])"
)
_INCOMPLETE = re.compile(
    "(?:\x1b\\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*\\Z"
    "|(?:\x1b[\\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c]*\x1b?\\Z"
    "|\x1b[\x20-\x2f]*\\Z"
)
_STRING_START = re.compile("\x1b[\\]P_^X]|[\x9d\x90\x9f\x9e\x98]")
_ALTERNATE = frozenset({"47", "1047", "1049"})
_UNSEEN = frozenset({"Cf", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")


class TextStream:
    """Turns output bytes into text, however they are split."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._line: list[str] = []
        self._col = 0
        self._hidden = False  # on the alternate screen
        self._out: list[str] = []

    def feed(self, data: bytes) -> str:
        """The text completed by ``data``: whole lines, each ended by a newline."""
        for at in range(0, len(data), _AT_ONCE):  # each character is an object meanwhile
            self._take(self._decode.decode(data[at : at + _AT_ONCE]))
        return self._taken()

    def finish(self) -> str:
        """The last line, if it has text."""
        self._take(self._decode.decode(b"", final=True))
        self._pending = ""
        if self._line:
            self._end_line()
        return self._taken()

    def _taken(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    def _take(self, text: str) -> None:
        text = self._pending + text
        self._pending = ""
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                if _INCOMPLETE.match(text, at):
                    self._pending = _shortened(text[at:])
                    return
                at += 1
                continue
            at = match.end()
            self._apply(match)

    def _apply(self, match: re.Match[str]) -> None:
        kind = match.lastgroup
        if kind == "csi":
            self._sequence(match["csi"])
        elif self._hidden:
            return
        elif kind == "text":
            self._print(match["text"])
        elif kind == "control":
            self._control(match["control"])
        elif kind == "esc" and match["esc"] in "DEM":  # IND, NEL, RI
            self._to_other_row(0 if match["esc"] == "E" else self._col)

    def _print(self, text: str) -> None:
        if not text.isascii():
            text = "".join(
                char
                for char in text
                if unicodedata.category(char) not in _UNSEEN or char in _JOINERS
            )
        while text:
            room = MAX_COLS - self._col
            piece, text = text[:room], text[room:]
            self._pad()
            self._line[self._col : self._col + len(piece)] = piece
            self._col += len(piece)
            if text:
                self._end_line()
                self._col = 0

    def _pad(self) -> None:
        self._line.extend(" " * (self._col - len(self._line)))

    def _control(self, control: str) -> None:
        match control:
            case "\r":
                self._col = 0
            case "\b":
                self._col = max(0, self._col - 1)
            case "\t":
                self._col = max(self._col, min(self._col // 8 * 8 + 8, MAX_CURSOR - 1))
            case "\n" | "\v" | "\f" | "\x85":
                self._end_line()
            case _:
                pass

    def _end_line(self) -> None:
        self._out.append("".join(self._line).rstrip() + "\n")
        self._line.clear()

    def _to_other_row(self, col: int) -> None:
        """End the line, because the cursor left the row; a blank one is dropped."""
        if "".join(self._line).strip(" "):
            self._end_line()
        self._line.clear()
        self._col = min(col, MAX_CURSOR - 1)

    def _sequence(self, sequence: str) -> None:
        final, parameters = sequence[-1], sequence[:-1]
        if parameters.startswith("?"):
            if final in "hl" and _ALTERNATE.intersection(parameters[1:].split(";")):
                self._alternate(on=final == "h")
            return
        if self._hidden or not re.fullmatch("[0-9;:]*", parameters):
            return
        numbers = [int(part.split(":")[0][:6] or 0) for part in parameters.split(";")]
        self._edit(final, numbers)

    def _alternate(self, *, on: bool) -> None:
        if on and not self._hidden:
            self._to_other_row(0)
        self._hidden = on

    def _edit(self, final: str, numbers: list[int]) -> None:
        count = max(1, numbers[0])
        match final:
            case "C" | "a":
                self._col = max(self._col, min(self._col + count, MAX_CURSOR - 1))
            case "D":
                self._col = max(0, self._col - count)
            case "G" | "`":
                self._col = min(count, MAX_CURSOR) - 1
            case "A" | "B" | "d" | "e":
                self._to_other_row(self._col)
            case "E" | "F":
                self._to_other_row(0)
            case "H" | "f":
                self._to_other_row(max(1, numbers[1] if len(numbers) > 1 else 1) - 1)
            case "K" | "J":
                self._erase(numbers[0])
            case "X":
                self._pad()
                end = min(self._col + count, len(self._line))
                self._line[self._col : end] = " " * (end - self._col)
            case "P":
                del self._line[self._col : self._col + count]
            case "@":
                self._pad()
                self._line[self._col : self._col] = " " * min(count, MAX_CURSOR)
                del self._line[MAX_COLS:]

    def _erase(self, how: int) -> None:
        # No row is wider than MAX_CURSOR, however long the line is.
        if how == 0:
            del self._line[self._col :]
        elif how == 1:
            end = min(self._col + 1, len(self._line))
            start = max(0, end - MAX_CURSOR)
            self._line[start:end] = " " * (end - start)
        else:
            self._line.clear()
            self._col = min(self._col, MAX_CURSOR - 1)


def _shortened(pending: str) -> str:
    """The part of an unfinished sequence to keep; only the introducer of a string.

    Otherwise a string that never ends would be searched again with every read.
    """
    start = _STRING_START.match(pending)
    if start is None:
        return pending[:MAX_PENDING]
    return start.group() + ("\x1b" if pending.endswith("\x1b", start.end()) else "")
