"""Searches for text in screens, output, inputs, service events and signals.

The screen is searched after each event; for this the recording is played from the start. A
hit counts where it appears, not in each state in which it is still shown.
Output is searched without its control sequences, across the borders of chunks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal

import msgspec
import regex

from ptycassette import Size
from ptycassette.viewing import (
    Event,
    InputRecord,
    ServiceEventRecord,
    default_emulator,
    painted_bytes,
    visible,
)

from .session.session import ROUTINE, signal_text

# Search patterns: plain text or regular expressions, with a time limit.


MAX_QUERY = 1_000
"""More characters than this are no query."""
_TIMEOUT_S = 0.05
_CHARACTERS_PER_S = 2_000_000


class TooSlowError(Exception):
    """The search was stopped: the expression takes too long on this text."""


class Query(msgspec.Struct, frozen=True):
    """A search. With ``regex`` False the text is literal."""

    text: str
    regex: bool = False
    case: bool = False


class Pattern:
    """A compiled query. Made by ``compiled``.

    Args:
        expression: compiled.
        timeout_s: how long a search through a short text may take.
    """

    def __init__(self, expression: Any, *, timeout_s: float = _TIMEOUT_S) -> None:
        self._expression = expression
        self._timeout_s = timeout_s

    def hurried(self, timeout_s: float) -> Pattern:
        """The same pattern with a shorter time limit."""
        return Pattern(self._expression, timeout_s=timeout_s)

    def found(self, text: str) -> bool:
        """Whether it is in ``text``.

        Raises:
            TooSlowError: the search took too long.
        """
        return next(self.spans(text), None) is not None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The matches in ``text``: start and end of each, from left to right.

        Raises:
            TooSlowError: the remaining matches are unknown.
        """
        timeout_s = self._timeout_s + len(text) / _CHARACTERS_PER_S
        try:
            for match in self._expression.finditer(text, timeout=timeout_s):
                yield match.span()
        except TimeoutError as exc:
            raise TooSlowError from exc


def parsed(answer: str) -> Query:
    r"""Parse a query: ``text``, ``/expression/``, with ``\C`` in front for case-sensitive."""
    case = answer.startswith("\\C")
    text = answer[2:] if case else answer
    is_regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
    return Query(text[1:-1] if is_regex else text, is_regex, case)


def compiled(query: Query) -> Pattern:
    """The pattern of a query.

    Raises:
        ValueError: it is not a regular expression, or too long.
    """
    if len(query.text) > MAX_QUERY:
        raise ValueError(f"a query has at most {MAX_QUERY} characters")
    flags = 0 if query.case else regex.IGNORECASE
    text = query.text if query.regex else regex.escape(query.text, literal_spaces=True)
    try:
        return Pattern(regex.compile(text, flags))
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {error}") from error


MAX_HITS = 10_000
_CARRY = 400
_FEED_BYTES = 16_384
_MAX_SLOW = 20
_MAX_REMEMBERED = 20_000
_HITS_PER_CHUNK = 100
_MOVES = re.compile(r"\x1b\[[0-9;]*[A-HSTdf`]|\x1b[DEM]|\r(?!\n)")
"""Sequences behind which text goes on elsewhere; what is on both sides is not one word."""
_RIGHT = re.compile(r"\x1b\[(\d{0,3})C|\t")
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b[ -/]*[0-~]|[\x00-\x09\x0b-\x1f\x7f]"
)
_READ_AS = {"\\n": " ", "\\r": " ", "\\t": " ", '\\"': '"', "\\\\": "\\"}
"""How to show what JSON escapes."""
_ESCAPED = re.compile(r"\\[nrt\"\\]")
_OPEN = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,4096}\x1b?|[PX^_][^\x1b]{0,4096}\x1b?)?\Z"
)

Where = Literal["screen", "output", "input", "service-event", "terminal-signal"]


class Hit(msgspec.Struct, frozen=True):
    """A hit at event ``seq``; ``shown`` is a line about it, safe to show."""

    seq: int
    t_us: int
    where: Where
    shown: str


class Search:
    """One search.

    Args:
        pattern: what is looked for.
        size: of the terminal at the start.
        stop: called regularly; the search ends when it returns true.
        body: the text of the tape that belongs to a service event; empty where there is none.

    Attributes:
        t_us: how far it is.
    """

    def __init__(
        self,
        pattern: Pattern,
        size: Size,
        stop: Callable[[], bool] = lambda: False,
        body: Callable[[int], str] = lambda _seq: "",
    ) -> None:
        self.t_us = 0
        self._slow = 0
        self._stop = stop
        self._body = body
        self._pattern = pattern
        self._screens = _Screens(pattern, size)
        self._output = _Output(pattern)
        self._left = MAX_HITS

    @property
    def slow(self) -> int:
        """The number of texts on which the expression took too long."""
        return self._slow + self._screens.slow

    @property
    def given_up(self) -> bool:
        """Whether the expression took too long too often."""
        return self.slow >= _MAX_SLOW

    def hits(self, events: Iterable[Event]) -> Iterator[Hit]:
        """All hits in order of time, at most ``MAX_HITS``."""
        return (hit for hit in self.steps(events) if hit is not None)

    def steps(self, events: Iterable[Event]) -> Iterator[Hit | None]:
        """The hits, and None after each event, so that the caller can report progress."""
        for event in events:
            self.t_us = event.t_us
            # The screen first, because its rows are as people saw them.
            looks = (self._in_record, self._in_screen, self._in_output, self._in_signals)
            for look in looks:
                try:
                    for where, line in look(event):
                        yield Hit(event.seq, event.t_us, where, visible(line, limit=100))
                        self._left -= 1
                except TooSlowError:
                    self._slow += 1
            yield None
            if self._left <= 0 or self.given_up or self._stop():
                return

    def _in_screen(self, event: Event) -> Iterator[tuple[Where, str]]:
        record = event.record
        if event.kind == "output":
            data = painted_bytes(event)
            for at in range(0, len(data), _FEED_BYTES):
                if self._stop():
                    return
                self._screens.feed(data[at : at + _FEED_BYTES])
        elif isinstance(record, InputRecord) and record.size is not None:
            self._screens.resize(record.size)
        else:
            return
        for line in self._screens.new():
            yield "screen", line

    def _in_signals(self, event: Event) -> Iterator[tuple[Where, str]]:  # noqa: ARG002 - as all looks
        for line in self._screens.signals():
            if self._pattern.found(line):
                yield "terminal-signal", line

    def _in_output(self, event: Event) -> Iterator[tuple[Where, str]]:
        if event.kind == "output":
            for line in self._output.new(event.data):
                yield "output", line

    def _in_record(self, event: Event) -> Iterator[tuple[Where, str]]:
        record = event.record
        if isinstance(record, InputRecord):
            text = event.data.decode("utf-8", "replace") + (f" {record.key}" if record.key else "")
            if self._pattern.found(text):
                yield "input", " ".join(_CONTROL.sub(" ", text).split()) or text
        elif isinstance(record, ServiceEventRecord):
            for text in (json.dumps(record.payload, ensure_ascii=False), self._body(record.seq)):
                for start, end in islice(self._pattern.spans(text), 1):
                    shown = _ESCAPED.sub(
                        lambda found: _READ_AS[found.group()], _around(text, start, end)
                    )
                    yield "service-event", shown
                    return


class _Screens:
    """Finds rows with a new hit, and signals."""

    def __init__(self, pattern: Pattern, size: Size) -> None:
        self._pattern = pattern
        self._emulator = default_emulator(size)
        self._known: dict[str, bool] = {}
        self._before: frozenset[str] = frozenset()
        self._signals: list[str] = []
        self.slow = 0

    def feed(self, data: bytes) -> None:
        self._emulator.feed(data)
        self._emulator.answers()
        signals = self._emulator.signals()
        self._signals += [signal_text(s.name, s.data) for s in signals if s.name not in ROUTINE]

    def signals(self) -> list[str]:
        """The notable signals since the last call."""
        signals, self._signals = self._signals, []
        return signals

    def resize(self, size: Size) -> None:
        self._emulator.resize(size)

    def new(self) -> list[str]:
        found = frozenset(row for row in self._emulator.text() if self._has(row))
        fresh = [row for row in found if row not in self._before]
        self._before = found
        return fresh

    def _has(self, row: str) -> bool:
        found = self._known.get(row)
        if found is None:
            if len(self._known) >= _MAX_REMEMBERED:
                self._known.clear()
            found = self._known[row] = self.slow < _MAX_SLOW and self._look(row)
        return found

    def _look(self, row: str) -> bool:
        try:
            return self._pattern.found(row)
        except TooSlowError:
            self.slow += 1
            return False


class _Output:
    """Output without control sequences, matched over the borders of chunks."""

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._open = ""
        self._bytes = b""
        self._carry = ""

    def new(self, data: bytes) -> list[str]:
        text = self._carry + self._fresh(data)
        carried, self._carry = len(self._carry), text.rpartition("\n")[2][-_CARRY:]
        spans = (span for span in self._pattern.spans(text) if span[1] > carried)
        return [_around(text, *span) for span in islice(spans, _HITS_PER_CHUNK)]

    def _fresh(self, data: bytes) -> str:
        """The text in ``data``, up to an incomplete character or sequence."""
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
        whole = raw[: cut.start()] if cut else raw
        apart = _MOVES.sub("\n", _RIGHT.sub(_blanks, whole))
        return _CONTROL.sub("", apart)


def _blanks(right: re.Match[str]) -> str:
    return " " * min(max(1, int(right.group(1) or 1)), 200)


def _around(text: str, start: int, end: int) -> str:
    """The line of a match, shortened around it."""
    first = max(text.rfind("\n", 0, start) + 1, start - 20)
    last = text.find("\n", end)
    return text[first : last if 0 <= last < end + 60 else end + 60]
