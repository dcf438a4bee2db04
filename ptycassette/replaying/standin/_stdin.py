"""Compares a stdin that is not a terminal with what the recorded program read there.

Such input has neither keys nor edited lines: it is one text, up to its end. Rules:

- Under ``exact`` and ``prompt`` the bytes are the same. Where the recording has masks, the
  driver's bytes are scrubbed before they are compared. A secret that the program read in pieces
  is compared at its last piece, because a part of it does not look like a secret.
- Under ``normalised`` and ``semantic`` each stretch is compared as text, in whole lines: what was
  read up to the middle of a line is compared with the rest of the line.
- What the program did not read was not recorded, and is not compared.
- Where the program read the end of its stdin, the driver must end it, and send no more.
- A difference that nothing can mend any more is reported at once, also if the text is shorter than
  the recorded one. Behind a mask it waits for the end of the line, because half a secret cannot be
  scrubbed from the report.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable, Sequence

from ptycassette.model.events import Event, InputRecord
from ptycassette.replaying.divergence import DivergenceSide
from ptycassette.replaying.standin._state import RunState
from ptycassette.timeline.match import Matching
from ptycassette.timeline.match_entries import Entry

_MASKED = re.compile(rb"x{3,}|[^\x00-\x7f]{3,}")
_MASK_PART = re.compile(rb"[xX]{2,}|[^\x00-\x7f]+|e?Hh4?|78|88|120|00+")
"""What masks of all forms are made of (see ``scrub/_mask.py``); much other text is, too."""
_MASK_REACH = 6
_LONGEST_NORMALISED = 1 << 16
_SHOWN_BYTES = 200
_WIDE_SPACES = "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What ``str.split`` takes for white space and UTF-8 writes in several bytes."""
_END = "no more bytes"


class StdinComparison:
    """Compares stdin. Its interface is that of ``InputComparison``, without entries.

    Attributes:
        most_bytes: how many bytes of stdin to read at most; None for all.
    """

    preferred = None
    current = None
    wanted = None

    def __init__(self, state: RunState, inputs: Sequence[InputRecord]) -> None:
        self.upcoming: deque[Entry] = deque()
        self._state = state
        self._want = b"".join(record.bytes or b"" for record in inputs if record.kind == "input")
        self._ends: dict[int, int] = {}
        at = 0
        for record in inputs:
            if record.kind == "input":
                at += len(record.bytes or b"")
                self._ends[record.seq] = at
        self._lines: dict[int, int] = {}  # where a part that ends inside of a line is compared
        for end in () if self._exact else reversed(self._ends.values()):
            at = end if self._want.endswith(b"\n", 0, end) else at
            self._lines[end] = at
        recorded_end = any(record.eof for record in inputs)
        self.most_bytes = None if recorded_end or not self._exact else len(self._want)
        self._masks = [match.span() for match in _MASKED.finditer(self._want)]
        self._got = bytearray()
        self._awaited = 0
        self._awaits_end = False
        self._ended = False
        self._since = 0  # up to here it was compared, in what was recorded
        self._got_since = 0  # and in what came
        self._alike = 0  # of what came since, no difference is certain in so many bytes

    @property
    def _exact(self) -> bool:
        return self._state.matching.strategy in {"exact", "prompt"}

    def feed(self, data: bytes) -> None:
        """Take input."""
        self._got += data

    def pipe_ended(self) -> None:
        """The driver has ended the stream."""
        self._ended = True

    def allow_other_order(self, movable: frozenset[int]) -> None:
        """Do nothing: a stream has one order."""

    def give_up(self) -> None:
        """Stop waiting for the next bytes; compare what follows from here."""
        self._go_on(self._awaited, len(self._got))

    def settled(self, now_us: int) -> bool:
        """Whether the bytes that came are all: never, as a stream has an end of its own."""
        del now_us
        return False

    def _go_on(self, since: int, got_since: int) -> None:
        """Compare from here on."""
        self._since, self._got_since, self._alike = since, got_since, 0

    def arrived(self, event: Event, now_us: int) -> tuple[bool, int | None]:
        """Whether the bytes of ``event`` were sent."""
        del now_us
        record = event.record
        assert isinstance(record, InputRecord)  # noqa: S101 - the engine asks for inputs only
        end = self._awaited = self._ends[event.seq]
        self._awaits_end = record.eof
        came = self._came(end, eof=record.eof)
        if came is None:
            return False, None
        if any(start < end < stop for start, stop in self._masks):
            return True, None
        if end < self._compared_at(end):
            if not self._differs():
                return True, None
            end, came = self._compared_at(end), len(self._got)
        end = max(end, self._since)
        want, got = self._want[self._since : end], bytes(self._got[self._got_since : came])
        self._go_on(end, came)
        if not (self._same(got, want) or self._same_to(end, came)):
            self._report(event, want, got)
            self._got_since = len(self._got)
            if self._state.finished is not None:
                return False, None
        return True, None

    def _came(self, end: int, *, eof: bool) -> int | None:
        """The end of the input for the recorded bytes up to ``end``; None while more may come."""
        over = len(self._got) if self._ended or self._differs() else None
        if eof:
            return over
        if self._exact:
            due = self._got_since + end - self._since
            return due if len(self._got) >= due else over
        lines, at = self._want[self._since : end], self._got_since
        for _ in range(lines.count(b"\n")):
            at = self._got.find(b"\n", at) + 1
            if at == 0:
                return over
        if lines.endswith(b"\n") or not lines:
            return at
        if len(self._got) > at and self._goes_on(lines):
            return over
        return len(self._got) if len(self._got) > at else over

    def _goes_on(self, last: bytes) -> bool:
        """Whether the input has begun the end of what the program read, which has no line end."""
        got = bytes(self._got[self._got_since :])
        matching, awaited = self._state.matching, self._awaited
        if awaited < self._compared_at(awaited) or matching.strategy != "normalised":
            return False
        return not self._same(got, last) and _may_begin(matching, got, _text(last))

    def _compared_at(self, end: int) -> int:
        """Where the text that was read up to ``end`` is compared: there, or at its line's end."""
        return self._lines.get(end, end)

    def _differs(self) -> bool:
        """Whether the input can no longer become the recorded one."""
        if not self._exact:
            want = self._want[self._since : self._compared_at(self._awaited)]
            got = bytes(self._got[self._got_since :])
            if self._masks or len(got) > _LONGEST_NORMALISED:
                return False
            lines = want.count(b"\n") if want.endswith(b"\n") and not self._awaits_end else None
            if lines is not None and got.count(b"\n") >= lines:
                return False  # all of it is here, and is compared at its place
            return not _may_begin(self._state.matching, got, _text(want))
        if self._masks:
            return self._differs_outside_masks()
        begun = self._want[self._since : self._since + len(self._got) - self._got_since]
        if self.most_bytes is None:
            return begun != self._got[self._got_since :]
        return not self._got.startswith(begun, self._got_since)

    def _differs_outside_masks(self) -> bool:
        """Whether a byte differs where no mask can be: a mask is as long as what it stands for."""
        want, got, at = self._want, self._got, self._alike
        end = min(len(got) - self._got_since, len(want) - self._since)
        if want[self._since + at : self._since + end] == got[self._got_since + at :][: end - at]:
            self._alike = max(0, end - _MASK_REACH)
            return False
        for place in range(self._since + at, self._since + end):
            byte = got[self._got_since + place - self._since]
            if want[place] == byte or want[place] in b"0xX" or _in_mask(want, place):
                continue
            line = want.rfind(b"\n", 0, place) + 1
            masked = _MASK_PART.search(want, line, place)
            return masked is None or b"\n" in got[self._got_since + place - self._since :]
        self._alike = max(0, end - _MASK_REACH)
        return False

    def _same(self, got: bytes, want: bytes) -> bool:
        if got == want:
            return True
        matching = self._state.matching
        same: Callable[[str, str], bool] = matching.sameness
        shown, recorded = _text(got), _text(want)
        if same(shown, recorded):
            return True
        if matching.conceal is None or not self._masks:
            return False
        return same(matching.conceal(shown), recorded)

    def _same_to(self, end: int, came: int) -> bool:
        """Whether all is the same up to here; a secret may be recognised only with its context."""
        conceal = self._state.matching.conceal
        if conceal is None or not self._masks:
            return False
        recorded = _text(self._want[:end])
        return self._state.matching.sameness(conceal(_text(bytes(self._got[:came]))), recorded)

    def _report(self, event: Event, want: bytes, got: bytes) -> None:
        """Report both texts from shortly before the first difference, the driver's scrubbed."""
        matching = self._state.matching
        if matching.conceal is not None:
            got = matching.conceal(_text(got)).encode("utf-8", "surrogateescape")
        differing = (n for n, (a, b) in enumerate(zip(want, got, strict=False)) if a != b)
        at = next(differing, min(len(want), len(got)))
        shown = slice(max(0, at - _SHOWN_BYTES // 4), at + _SHOWN_BYTES)
        self._state.findings.stdin(
            event,
            expected=DivergenceSide(_text(want[shown]) or _END),
            got=DivergenceSide(_text(got[shown]) or _END),
            offset=self._since - len(want) + at,
            strategy=matching.strategy,
        )
        self._state.stop_if_strict()


def _in_mask(data: bytes, place: int) -> bool:
    """Whether the byte at ``place`` may be a part of a mask."""
    near = _MASK_PART.finditer(data, max(0, place - _MASK_REACH), place + _MASK_REACH + 1)
    return any(match.start() <= place < match.end() for match in near)


def _may_begin(matching: Matching, got: bytes, want: str) -> bool:
    """Whether ``got`` may be the beginning of a text that matches ``want``.

    A character at its end that has only begun may become any that begins so, or stay what it is.
    """
    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    whole = decoder.decode(got)
    begun = decoder.getstate()[0]
    if not begun:
        return matching.may_begin(whole, want)
    chars = {char for char in {*want, *_WIDE_SPACES} if _bytes(char).startswith(begun)}
    return any(matching.may_begin(whole + char, want) for char in {*chars, _text(begun)})


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
