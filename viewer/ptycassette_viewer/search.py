"""Looking for text in screens, output, inputs and service events, a hit at a time.

Screens are the stored frames: a hit counts where it appears, not in each frame
in which it still stands. Output is searched without its control sequences, over
the borders of chunks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from ptycassette import Cassette, Event, FrameRecord, InputRecord, ServiceEventRecord, visible

__all__ = ["MAX_HITS", "Hit", "Query", "compiled", "search"]

MAX_HITS = 10_000
_CARRY = 400
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b[ -/]*[0-~]|[\x00-\x09\x0b-\x1f\x7f]"
)
_OPEN = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,4096}\x1b?|[PX^_][^\x1b]{0,4096}\x1b?)?\Z"
)

Where = Literal["screen", "output", "input", "service-event"]


class Query(msgspec.Struct, frozen=True):
    """What is looked for. ``regex`` False takes the text as it is."""

    text: str
    regex: bool = False
    case: bool = False


class Hit(msgspec.Struct, frozen=True):
    """Found at event ``seq``; ``shown`` is a line about it, safe to show."""

    seq: int
    t_us: int
    where: Where
    shown: str


def compiled(query: Query) -> re.Pattern[str]:
    """The pattern of a query.

    Raises:
        ValueError: it is no regular expression.
    """
    try:
        return re.compile(
            query.text if query.regex else re.escape(query.text),
            re.NOFLAG if query.case else re.IGNORECASE,
        )
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error


def search(
    cassette: Cassette, pattern: re.Pattern[str], stop: Callable[[], bool] = lambda: False
) -> Iterator[Hit]:
    """All hits in order of time, at most ``MAX_HITS``.

    Args:
        cassette: where to look.
        pattern: see ``compiled``.
        stop: asked now and then; the search ends when it says so.
    """
    count = 0
    screens, output = _Screens(pattern), _Output(pattern)
    for event in cassette.events():
        if event.seq % 64 == 0 and stop():
            return
        for where, line in _hits(event, pattern, screens, output):
            yield Hit(event.seq, event.t_us, where, visible(line, limit=100))
            count += 1
            if count >= MAX_HITS:
                return


def _hits(
    event: Event, pattern: re.Pattern[str], screens: _Screens, output: _Output
) -> Iterator[tuple[Where, str]]:
    record = event.record
    if isinstance(record, FrameRecord):
        for line in screens.new(record):
            yield "screen", line
    elif event.kind == "output":
        for line in output.new(event.data):
            yield "output", line
    elif isinstance(record, InputRecord):
        text = event.data.decode("utf-8", "replace") + (f" {record.key}" if record.key else "")
        if pattern.search(text):
            yield "input", text
    elif isinstance(record, ServiceEventRecord):
        text = json.dumps(record.payload, ensure_ascii=False)
        match = pattern.search(text)
        if match:
            yield "service-event", _around(text, match)


class _Screens:
    """Frames: the rows with a hit that the frame before did not have."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._before: frozenset[str] = frozenset()

    def new(self, frame: FrameRecord) -> list[str]:
        rows = [row for row in frame.text if self._pattern.search(row)]
        fresh = [row for row in rows if row not in self._before]
        self._before = frozenset(rows)
        return fresh


class _Output:
    """Output without control sequences, matched over the borders of chunks."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._open = ""
        self._bytes = b""
        self._carry = ""

    def new(self, data: bytes) -> list[str]:
        data = self._bytes + data
        end = len(data)
        while end and end > len(data) - 4 and data[end - 1] & 0xC0 == 0x80:
            end -= 1
        if end and data[end - 1] >= 0xC0:
            end -= 1  # a character that may go on in the next chunk
        else:
            end = len(data)
        self._bytes = data[end:]
        raw = self._open + data[:end].decode("utf-8", "replace")
        cut = _OPEN.search(raw)
        self._open = raw[cut.start() :] if cut else ""
        fresh = _CONTROL.sub("", raw[: cut.start()] if cut else raw)
        text = self._carry + fresh
        found = [
            _around(text, match)
            for match in self._pattern.finditer(text)
            if match.end() > len(self._carry)
        ]
        self._carry = text.rpartition("\n")[2][-_CARRY:]
        return found[:100]


def _around(text: str, match: re.Match[str]) -> str:
    """The line of a match, cut to what is near."""
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - 40)
    end = text.find("\n", match.end())
    return text[start : end if 0 <= end < match.end() + 60 else match.end() + 60]
