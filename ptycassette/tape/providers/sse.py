"""Server-sent events and JSON lines, as the APIs frame their streams: written, and split.

Source: the WHATWG HTML standard, "Server-sent events": fields on lines of their
own, an empty line at the end. Line ends are LF; Google's are CRLF.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

CONTENT_TYPE = "text/event-stream"
LINE_TYPES = (CONTENT_TYPE, "application/x-ndjson", "application/jsonl")
"""The types of streams that are read line by line."""
DONE = b"[DONE]"
LAST_LINE = b"data: " + DONE
"""The last event of OpenAI's streams: its SDK reads no further, though the body has an end."""

_MOST_LINE = 8 << 20
_LINE_END = re.compile(rb"\r\n|\n|\r")


def framed(value: Any, *, name: str = "", line_end: bytes = b"\n") -> bytes:
    """One event whose data is ``value`` as JSON; it has a name if the API names its events."""
    head = b"event: %s%s" % (name.encode(), line_end) if name else b""
    return b"%sdata: %s%s" % (head, msgspec.json.encode(value), 2 * line_end)


def data_of(line: bytes) -> bytes:
    """The data of a line; a line of another kind is returned as it is."""
    return line[5:].removeprefix(b" ") if line[:5] == b"data:" else line


def is_stream(text: str) -> bool:
    """Whether a text without a type looks like server-sent events."""
    return text.startswith(("data:", "event:"))


def data_lines(body: bytes) -> list[bytes]:
    """The data of each ``data:`` line of a body; the four APIs write an event's data on one."""
    return [data_of(line) for line in body.splitlines() if line[:5] == b"data:"]


def readings(body: bytes) -> list[bytes]:
    """Each text of a body that some client could decode: all of it, its lines, its events."""
    lines = _LINE_END.split(body.removeprefix(b"\xef\xbb\xbf"))
    texts, event = [body, *lines], list[bytes]()
    for line in (*lines, b""):
        if line.startswith(b"data:"):
            event.append(data_of(line))
        elif not line and event:
            texts += [*event, b"\n".join(event)]
            event = []
    return texts


class Lines:
    """Splits a stream into lines as it comes. A line of more than 8 MiB is left out."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take a piece; return the lines that it ends, without their line feeds."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._held += line
            if not self._skipping:
                yield bytes(self._held)
            self._held.clear()
            self._skipping = False
        self._held += rest
        if len(self._held) > _MOST_LINE:
            self._held.clear()
            self._skipping = True

    def end(self) -> bytes:
        """Return the last line, which has no line feed."""
        line = bytes(self._held)
        self._held.clear()
        return line
