"""What a session tells in pieces, put together for the verification, which does it in its own way.

Lines of JSON are decoded one by one, and what each place of them says is joined. Keys
are read field by field, as the kitty keyboard protocol names them, released ones too,
and so are the names that a recorder gave them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from json import JSONDecodeError, JSONDecoder

from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.structured import Joined
from ptycassette.scrub.views import View

__all__ = ["KeysTold", "LinesTold", "Told"]

Told = tuple[str, Callable[[int], int]]
"""A text, and when the character at a position was there, in microseconds."""

_STEERING = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\].*?(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]|\r")
_DECODER = JSONDecoder(strict=False)
_BATCH = 32768
_LONGEST = 1 << 18
_MOST_TIMES = 1 << 17
_KEPT = 64


class LinesTold:
    """The messages that JSON in lines of output says together."""

    def __init__(self) -> None:
        self._parts: list[tuple[bytes, int]] = []
        self._length = 0
        self._open: list[str] = []
        self._open_length = 0
        self._joined = Joined(several=True)
        self._offsets: list[int] = []
        self._times: list[int] = []

    def feed(self, data: bytes, t_us: int) -> Iterator[Told]:
        """Take output; texts that became long enough to be searched."""
        self._parts.append((data, t_us))
        self._length += len(data)
        if self._length >= (_BATCH if b"\n" in data else _LONGEST):
            yield from self._read(last=False)

    def rest(self) -> Iterator[Told]:
        """What is left at the end."""
        yield from self._read(last=True)
        yield from map(self._told, self._joined.rest())

    def _read(self, *, last: bool) -> Iterator[Told]:
        raw = b"".join(data for data, _ in self._parts)
        starts, times, length = [], [], 0
        for data, t_us in self._parts:
            starts.append(length)
            times.append(t_us)
            length += len(data)
        whole = len(raw) if last else raw.rfind(b"\n") + 1
        at = 0
        for line in raw[:whole].split(b"\n"):
            if self._open or b"{" in line:
                t_us = times[max(0, bisect_right(starts, at) - 1)]
                yield from self._line(
                    _STEERING.sub("", line.decode("utf-8", "surrogateescape")), t_us
                )
            at += len(line) + 1
        left = raw[whole:] if len(raw) - whole < _BATCH else b""
        self._parts, self._length = [(left, times[-1])] if left else [], len(left)

    def _line(self, line: str, t_us: int) -> Iterator[Told]:
        """One line, which may be a whole object, or the first, the last or any line of one."""
        if self._open and line[:1] not in " \t}]":
            self._open.clear()
        if not self._open:
            at = line.find("{")
            if at < 0:
                return
            line, self._open_length = line[at:], 0
        self._open.append(line)
        self._open_length += len(line)
        if self._open_length > _LONGEST:
            self._open.clear()
        elif "}" in line:
            yield from self._object("\n".join(self._open), t_us)

    def _object(self, text: str, t_us: int) -> Iterator[Told]:
        try:
            value, _ = _DECODER.raw_decode(text)
        except JSONDecodeError as exc:
            if exc.pos < len(text):
                self._open.clear()
            return
        except (ValueError, RecursionError):
            self._open.clear()
            return
        self._open.clear()
        if len(self._times) >= _MOST_TIMES:
            del self._times[: _MOST_TIMES // 2], self._offsets[: _MOST_TIMES // 2]
        self._offsets.append(self._joined.offset)
        self._times.append(t_us)
        yield from map(self._told, self._joined.add(value))

    def _told(self, view: View) -> Told:
        return view.text, lambda at: self._time(view.offset(at, at + 1))

    def _time(self, offset: int | None) -> int:
        return self._times[max(0, bisect_right(self._offsets, offset or 0) - 1)]


_SEQUENCE_KEY = re.compile(r"\x1b\[([\d:]*)(?:;(\d{0,4}):?(\d*)[\d:]*)?(?:;([\d:]*))?u")


class KeysTold:
    """What the fields of key sequences spell, each by itself, and the names of keys."""

    def __init__(self) -> None:
        self._held = b""
        self._texts: dict[str, list[tuple[str, int]]] = {}

    def feed(self, data: bytes, key: str | None, t_us: int) -> Iterator[Told]:
        """Take one input; texts that became long enough to be searched."""
        if key is not None:
            yield from self._add("name", key if len(key) == 1 else "\n", t_us)
        if b"\x1b" not in data and not self._held:
            return
        raw = self._held + data
        end = 0
        for match in _SEQUENCE_KEY.finditer(raw.decode("latin-1")):
            codes, modifiers, event, text = match.groups()
            kind = "up" if event == "3" else "down"
            shift = bool(int(modifiers or 1) - 1 & 1)
            for number, code in enumerate(codes.split(":")):
                char = _character(code)
                char = char.upper() if shift else char.lower()
                yield from self._add(f"{kind} {number}", char, t_us)
            for code in (text or "").split(":"):
                yield from self._add("text", _character(code), t_us)
            end = match.end()
        begins = raw.rfind(b"\x1b", end)
        self._held = raw[begins:] if 0 <= len(raw) - begins < _KEPT and begins >= 0 else b""

    def rest(self) -> Iterator[Told]:
        """What is left at the end."""
        for name in list(self._texts):
            yield self._text(name)

    def _add(self, name: str, char: str, t_us: int) -> Iterator[Told]:
        if not char:
            return
        chars = self._texts.setdefault(name, [])
        chars += [(part, t_us) for part in canonical(char)]
        if len(chars) >= _BATCH:
            yield self._text(name)
            del chars[: _BATCH // 2]

    def _text(self, name: str) -> Told:
        chars = list(self._texts[name])
        return "".join(char for char, _ in chars), lambda at: chars[at][1]


def _character(code: str) -> str:
    """The character of a code in decimal digits; "" for none."""
    number = int(code) if 0 < len(code) < 8 else 0
    return chr(number) if 0 < number < 0x110000 else ""
