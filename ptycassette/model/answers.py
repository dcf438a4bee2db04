"""Tell a terminal's answers to queries from typed input.

Another terminal than the recorded one answers differently, later, or not at all. No user types
these bytes, so a recording marks them (``source: "terminal"``), a comparison leaves them
out, and a rerun does not send them.

Sources: xterm's ctlseqs (DA1-DA3, DSR, CPR, DECRPM, DECRQSS, XTVERSION, XTGETTCAP, XTQMODKEYS,
DECREQTPARM, window reports, OSC colour reports), the kitty keyboard protocol (``CSI ? flags u``),
in-band resize (mode 2048), ECMA-48 8.3.35 (DSR). The only shape that is also a key is
``CSI 1 ; m R``, Shift-F3 and its like: xterm sends it for the key, and for a cursor in the first
row. It is an answer if the program asked for the cursor and has no answer yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ptycassette.model.re2_engine import lazy_pattern

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
