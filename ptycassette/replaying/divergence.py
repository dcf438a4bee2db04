"""Divergences: differences between what the driver did and the recording.

A divergence has a kind, the expected and the actual input (bytes and text), the place in the
recording, the screen at that moment, the most similar recorded input, and advice what to
do next. This module does not know how it is shown or where it is written.
"""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import Any, Literal

import msgspec

from ptycassette.cassette.timeline.match import (
    DEFAULT_THRESHOLD,
    Scorer,
    read_entries,
    semantic_match,
)
from ptycassette.errors import DivergenceError
from ptycassette.model.records import (
    Event,
    FinalRecord,
    FrameRecord,
    InputRecord,
    Manifest,
    OutputRecord,
    same_version,
    streams_of,
)
from ptycassette.model.visible_text import printable, visible, visible_bytes

# Compares two texts character by character, or two lists item by item. Pure.


MOST_STEPS = 2_000_000
"""Half a second, for ``aligned``: as many as 1400 equal items on each side take."""

_COMPARED = 400
"""The time that a diff takes grows with the square; of longer texts the ends are compared."""
_MARKED = 200
FOLD_AT = 3
"""So many blank rows, one below the other, are shown as one."""


class TextChange(msgspec.Struct, frozen=True):
    """A part of both texts: equal, or ``expected`` was replaced by ``got``."""

    expected: str
    got: str

    @property
    def equal(self) -> bool:
        """Whether both texts have it."""
        return self.expected == self.got


class _Bounded(SequenceMatcher[Hashable]):
    """A matcher with a limited number of steps, which finds nothing more after them."""

    def __init__(self, old: Sequence[Hashable], new: Sequence[Hashable], steps: int) -> None:
        super().__init__(None, old, new, autojunk=False)
        places: dict[Hashable, int] = {}
        for item in new:
            places[item] = places.get(item, 0) + 1
        self._left = steps
        self._costs = [*accumulate((1 + places.get(item, 0) for item in old), initial=0)]

    @property
    def fits(self) -> bool:
        """Whether one pass over all items stays within the remaining steps."""
        return self._costs[-1] <= self._left

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        """See ``difflib``: a pass takes a step for each pair of equal items."""
        end = len(self._costs) - 1 if ahi is None else ahi
        self._left -= self._costs[end] - self._costs[alo]
        if self._left < 0:
            return Match(alo, blo, 0)
        return super().find_longest_match(alo, ahi, blo, bhi)


def aligned(
    old: Sequence[Hashable], new: Sequence[Hashable], *, steps: int = MOST_STEPS
) -> Sequence[tuple[str, int, int, int, int]]:
    """How ``old`` becomes ``new``: as ``difflib.SequenceMatcher.get_opcodes``, but bounded.

    Where the comparison would take more than so many ``steps``, the common beginning and end are
    set aside, and what is not found to be equal by then counts as replaced.
    """
    matcher = _Bounded(old, new, steps)
    if matcher.fits:
        return matcher.get_opcodes()
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    a, b = len(old) - end, len(new) - end
    middle = _Bounded(old[start:a], new[start:b], steps).get_opcodes()
    found: list[tuple[str, int, int, int, int]] = [("equal", 0, start, 0, start)]
    found += [(tag, start + i, start + j, start + k, start + m) for tag, i, j, k, m in middle]
    found.append(("equal", a, len(old), b, len(new)))
    return [one for one in found if one[1] < one[2] or one[3] < one[4]]


def changes_of(expected: str, got: str) -> tuple[TextChange, ...]:
    """Both texts, split into parts: the parts of each side joined are its text."""
    start = _common(expected, got)
    end = _common(expected[start:][::-1], got[start:][::-1])
    middle = expected[start : len(expected) - end], got[start : len(got) - end]
    found = [TextChange(expected[:start], got[:start])]
    if max(map(len, middle)) <= _COMPARED:
        diff = SequenceMatcher(None, *middle, autojunk=False)
        found += [
            TextChange(middle[0][a:b], middle[1][c:d]) for _, a, b, c, d in diff.get_opcodes()
        ]
    else:
        found.append(TextChange(*middle))
    found.append(TextChange(expected[len(expected) - end :], got[len(got) - end :]))
    return tuple(change for change in found if change.expected or change.got)


def marks_of(expected: str, got: str) -> str:
    """A line to print below ``got``: ``^`` where it differs. Empty where that does not help.

    It does not help if all is different, nothing is, or characters are not one column wide.
    """
    if not (got.isascii() and got.isprintable()) or len(got) > _MARKED:
        return ""
    changes = changes_of(expected, got)
    if not any(change.equal for change in changes) or all(change.equal for change in changes):
        return ""
    marks = [" "] * (len(got) + 1)
    at = 0
    for change in changes:
        if not change.equal:
            for place in range(at, at + max(1, len(change.got))):
                marks[place] = "^"
        at += len(change.got)
    return "".join(marks).rstrip()


def folded_rows(rows: Sequence[str]) -> Iterator[str | int]:
    """The rows; three or more consecutive blank ones become a count. None at the end."""
    blank = 0
    for row in rows:
        if not row.strip():
            blank += 1
            continue
        yield from ([blank] if blank >= FOLD_AT else [""] * blank)
        blank = 0
        yield row


def _common(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))


# The table of the kinds of divergence: name, condition, message, advice.


class DivergenceKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of divergence.

    ``when`` is the condition, for the docs. ``says`` is the message; its ``{names}`` are filled in
    when a divergence is found. ``hint`` is the advice for the next step.
    """

    name: str
    when: str
    says: str
    hint: str


INPUT_CHANGED = DivergenceKind(
    name="input-changed",
    when="other input than was recorded",
    says="input {number} is not what was recorded (compared as '{strategy}')",
    hint="if the new input is meant, record again (mode rerecord shows what else changes)",
)
_LOOSER = {
    "exact": "if other keys may type the same line, compare it with 'prompt'",
    "prompt": "if only white space differs, compare it with 'normalised'; if any input will do, "
    "with 'any'",
    "normalised": "if other words will do, compare it with 'semantic' or 'any'",
    "semantic": "if it means the same, lower the threshold; if any input will do, compare it "
    "with 'any'",
}
"""What else can be done about ``input-changed``, by the comparison in use."""


COMPARED_BY_TEXT = frozenset({INPUT_CHANGED.name})
"""Where expected and actual text are worth a look character by character."""


def changed_hint(strategy: str) -> str:
    """The hint of ``input-changed``, for the comparison in use."""
    looser = _LOOSER.get(strategy)
    return f"{INPUT_CHANGED.hint}; {looser}" if looser else INPUT_CHANGED.hint


SECRET_CHANGED = msgspec.structs.replace(
    INPUT_CHANGED,
    says="input {number} differs only in its secret from what was recorded "
    "(compared as '{strategy}')",
    hint="send the secret that was recorded, or the masks as the recording shows them; where "
    "another secret will do, set PTYCASSETTE_SECRETS=any (or --secrets any, "
    "Matching(secrets='any'))",
)
"""How ``input-changed`` is worded where all but a secret is as recorded."""
STDIN_CHANGED = msgspec.structs.replace(
    INPUT_CHANGED,
    says="stdin is not what was recorded, from byte {offset} on (compared as '{strategy}')",
)
"""How ``input-changed`` is worded of a stdin that is not a terminal."""
INPUT_EXTRA = DivergenceKind(
    name="input-extra",
    when="input, or a signal, where the recording has none left",
    says="the driver sent input where the recording has none left",
    hint="the recording has no input here; send less, wait for the screen before "
    "sending, or record again",
)
SIGNAL_EXTRA = msgspec.structs.replace(
    INPUT_EXTRA, says="the driver sent signal {signal}, which was not recorded"
)
"""How ``input-extra`` is worded of a signal."""
INPUT_MISSING = DivergenceKind(
    name="input-missing",
    when="the driver closed its terminal, or did nothing for `--input-timeout` (60 s; 0 waits "
    "for ever)",
    says="the driver {did} where the recording has input",
    hint="send the recorded input, or record again; where the rest is not needed, allow it to "
    "stay unplayed; where the driver is slow, raise the input timeout",
)
RESIZE_CHANGED = DivergenceKind(
    name="resize-changed",
    when="another size, or a resize where none was recorded",
    says="the driver resized the terminal differently",
    hint="give the terminal the recorded sizes at the recorded places, or record again",
)
SIZE_MISMATCH = DivergenceKind(
    name="size-mismatch",
    when="the terminal has not the recorded size (`--ignore-size`)",
    says="the terminal has not the size of the recording",
    hint="start the terminal at the recorded size, or record at the size you use",
)
TIMING = DivergenceKind(
    name="timing",
    when="a pause before input differs by more than `--timing-tolerance` ms (with `--speed`)",
    says="the pause before this input is not the recorded one",
    hint="widen the timing tolerance, or leave timing unchecked (the default)",
)
EXIT_CHANGED = DivergenceKind(
    name="exit-changed",
    when="the program ends differently (recordings compared, mode `rerecord`)",
    says="the program ends differently",
    hint="if the new exit status is meant, record again",
)
EMULATOR_CHANGED = DivergenceKind(
    name="emulator-changed",
    when="another emulator made the frames (recordings compared)",
    says="another emulator made the frames",
    hint="derive the frames again with this emulator, or require the recorded one",
)
BINARY_CHANGED = DivergenceKind(
    name="binary-changed",
    when="another binary was run (recordings compared)",
    says="another binary was run",
    hint="the program was updated since; record again to test against the new version",
)
CALL_CHANGED = DivergenceKind(
    name="call-changed",
    when="a call of a model or a tool that the recording does not have (`use_tape`)",
    says="{what} is not in the recording",
    hint="if the new call is meant, record again (mode rerecord shows what else changes)",
)
CALL_MISSING = DivergenceKind(
    name="call-missing",
    when="a recorded call of a model or a tool that was never made (`use_tape`)",
    says="{what} was recorded and never made",
    hint="make the recorded calls, record again, or allow calls to be left out "
    "(allow_unplayed=True)",
)
CALL_ORDER = DivergenceKind(
    name="call-order",
    when="a call that came before one that had ended before it in the recording (`use_tape`)",
    says="{what} came too early",
    hint="make the calls in the recorded order, record again, or compare no order (order='loose')",
)
TOOL_CHANGED = DivergenceKind(
    name="tool-changed",
    when="a tool that ran again with another result (`use_tape`)",
    says="tool {what} has another result than in the recording",
    hint="if the new result is meant, record again; where it varies, serve the recorded one "
    "(replay='serve')",
)

KINDS = (
    INPUT_CHANGED,
    INPUT_EXTRA,
    INPUT_MISSING,
    RESIZE_CHANGED,
    SIZE_MISMATCH,
    TIMING,
    EXIT_CHANGED,
    EMULATOR_CHANGED,
    BINARY_CHANGED,
    CALL_CHANGED,
    CALL_MISSING,
    CALL_ORDER,
    TOOL_CHANGED,
)


def kind_named(name: str) -> DivergenceKind:
    """The kind of that name.

    Raises:
        ValueError: no kind has that name.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise ValueError(f"no kind of divergence: {name}")


DIVERGENCE_KINDS = tuple(kind.name for kind in KINDS)
"""The names of all kinds, as reports write them."""


class DivergenceSide(msgspec.Struct, frozen=True):
    """One side of a divergence: as text, and as bytes where there are any."""

    text: str
    data: bytes = b""


class Nearest(msgspec.Struct, frozen=True):
    """The recorded input most similar to the actual one. ``similarity`` is between 0 and 1."""

    exchange: int
    seq: int
    t_ms: int
    text: str
    similarity: float


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """One divergence. ``kind`` is a name of ``divergence_kinds.KINDS``; another is a ValueError.

    ``seq`` and ``t_ms`` are the place in the recording; ``exchange`` is the number
    of the input entry, from 1, or 0 if no input is concerned. ``screen`` has the
    rows shown at that moment.
    """

    kind: str
    message: str
    seq: int
    t_ms: int
    exchange: int = 0
    expected: DivergenceSide | None = None
    got: DivergenceSide | None = None
    screen: tuple[str, ...] = ()
    nearest: Nearest | None = None
    hint: str = ""

    def __post_init__(self) -> None:
        """Check the kind."""
        kind_named(self.kind)

    @property
    def advice(self) -> str:
        """The advice for the next step: the hint given, or the hint of the kind."""
        return self.hint or kind_named(self.kind).hint


def divergence_lines(divergence: Divergence) -> Iterator[str]:
    """The divergence as lines of text, with control characters escaped."""
    where = f"seq {divergence.seq}, {divergence.t_ms} ms"
    if divergence.exchange:
        where += f", input {divergence.exchange}"
    yield f"{divergence.kind} at {where}: {printable(divergence.message)}"
    for name, said in (("expected", divergence.expected), ("got", divergence.got)):
        if said is not None:
            yield f"  {name + ':':<10}{visible(said.text)}"
            if marks := _marks(name, divergence):
                yield f"  {'':<10}{marks}"
            if said.data:
                yield f"  {'':<10}bytes {visible_bytes(said.data, limit=200)}"
    near = divergence.nearest
    if near is not None:
        where = (
            f"input {near.exchange} (seq {near.seq}, {near.t_ms} ms), {near.similarity:.0%} alike"
        )
        here = near.exchange == divergence.exchange
        shown = "the one expected here" if here else visible(near.text, limit=200)
        yield f"  nearest:  {where}: {shown}"
    if divergence.screen:
        yield "  the screen at that moment:"
        yield from screen_lines(divergence.screen)
    yield f"  hint: {printable(divergence.advice)}"


def screen_lines(rows: Sequence[str]) -> Iterator[str]:
    """The rows of a screen as lines of text, with blank rows folded."""
    for row in folded_rows(rows):
        yield f"  : {row} blank rows" if isinstance(row, int) else f"  | {visible(row)}"


def _marks(side: str, divergence: Divergence) -> str:
    """The line below the actual input that marks the differences."""
    if side != "got" or divergence.expected is None or divergence.got is None:
        return ""
    if divergence.kind not in COMPARED_BY_TEXT:
        return ""
    return marks_of(visible(divergence.expected.text), visible(divergence.got.text))


def divergence_object(divergence: Divergence) -> dict[str, Any]:
    """The divergence as the JSON object of reports."""
    return {
        "kind": divergence.kind,
        "message": divergence.message,
        "seq": divergence.seq,
        "t_ms": divergence.t_ms,
        "exchange": divergence.exchange,
        "expected": _said_object(divergence.expected),
        "got": _said_object(divergence.got),
        "screen": list(divergence.screen),
        "nearest": msgspec.to_builtins(divergence.nearest),
        "hint": divergence.advice,
    }


def divergence_error(divergence: Divergence, *, where: str | None = None) -> DivergenceError:
    """The divergence as an exception."""
    first, *rest = divergence_lines(divergence)
    lines = [line for line in rest if not line.startswith("  hint: ")]
    return DivergenceError("\n".join([first, *lines]), where=where, hint=divergence.advice)


def _said_object(said: DivergenceSide | None) -> dict[str, str] | None:
    if said is None:
        return None
    text = said.text.encode("utf-8", "backslashreplace").decode("utf-8")
    return {"text": text, "bytes": base64.b64encode(said.data).decode("ascii")}


# Changes between two recordings of the same thing: exchanges, screens, the end, the binary.


NO_DRIFT = "no drift"
"""What the report of a shim notes where two recordings are the same."""

ChangeKind = Literal["added", "removed", "changed", "reordered"]


class Side(msgspec.Struct, frozen=True):
    """One of the two recordings."""

    manifest: Manifest
    events: Sequence[Event]

    def __repr__(self) -> str:
        return f"Side(id={self.manifest.id!r}, {len(self.events)} events)"


class DriftChange(msgspec.Struct, frozen=True, kw_only=True):
    """An exchange that changed. Numbers count from 1; 0 if the side has no such exchange.

    ``what`` is ``model``, or ``tool`` and a name, where the numbers are those of turns.
    """

    kind: ChangeKind
    what: str
    old: int = 0
    new: int = 0
    expected: str = ""
    got: str = ""
    score: float | None = None

    @property
    def of_turn(self) -> bool:
        """Whether it is about a call of a model or a tool."""
        return self.what.startswith(("model", "tool "))


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """All changes; false without any.

    ``exchanges`` are changes of input and output, ``screens`` are changes of the last frame of an
    exchange; ``divergences`` are those of the end, the emulator and the binary.
    """

    exchanges: tuple[DriftChange, ...] = ()
    screens: tuple[DriftChange, ...] = ()
    divergences: tuple[Divergence, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.exchanges or self.screens or self.divergences)


_NO_OUTPUT = bytearray()


class _Exchange(msgspec.Struct):
    number: int
    sent: str
    outputs: dict[str, bytearray] = msgspec.field(default_factory=dict)
    screen: tuple[str, ...] = ()


def drift_of_sides(old: Side, new: Side) -> Drift:
    """The changes between two recordings, byte by byte."""
    return _drift(old, new, None, DEFAULT_THRESHOLD)


def semantic_drift_of_sides(
    old: Side, new: Side, threshold: float = DEFAULT_THRESHOLD, scorer: Scorer | None = None
) -> Drift:
    """The changes in meaning: ``scorer`` compares screens; bytes are ignored.

    Raises:
        ValueError: the threshold is out of range.
    """

    def alike(got: str, want: str) -> float:
        if not want.strip():
            return 1.0 if not got.strip() else 0.0
        return semantic_match(got, want, threshold, scorer).score

    semantic_match("a", "a", threshold)  # complain about the threshold in any case
    return _drift(old, new, alike, threshold)


def _drift(old: Side, new: Side, alike: Scorer | None, threshold: float) -> Drift:
    before, after = _exchanges(old.events), _exchanges(new.events)
    exchanges: list[DriftChange] = []
    screens: list[DriftChange] = []
    pairs = list(_aligned(before, after, exchanges))
    at_terminal = any(streams_of(side.manifest).with_terminal for side in (old, new))
    for left, right in pairs:
        if alike is None:
            exchanges.extend(_output_change(left, right))
            screens.extend(_screen_change(left, right) if at_terminal else ())
        else:
            screens.extend(_meaning_change(left, right, alike, threshold))
    return Drift(
        exchanges=tuple(exchanges),
        screens=tuple(screens),
        divergences=tuple(_divergences(old, new)),
    )


def _exchanges(events: Sequence[Event]) -> list[_Exchange]:
    """Split events into exchanges. Number 0 is the output before any input."""
    records = [event.record for event in events if isinstance(event.record, InputRecord)]
    entries = read_entries(records)
    found = [_Exchange(0, "")]
    found += [
        _Exchange(entry.number, "masked" if entry.masked else entry.shown) for entry in entries
    ]
    at = 0
    for event in events:
        while at < len(entries) and event.seq >= entries[at].seq:
            at += 1
        if isinstance(event.record, OutputRecord):
            outputs, name = found[at].outputs, event.record.stream or "output"
            outputs.setdefault(name, bytearray()).extend(event.data)
        elif isinstance(event.record, FrameRecord):
            found[at].screen = event.record.text
    return found


def _aligned(
    before: list[_Exchange], after: list[_Exchange], changes: list[DriftChange]
) -> Iterator[tuple[_Exchange, _Exchange]]:
    """Pairs of exchanges with the same input, in order; all others are added to ``changes``."""
    yield before[0], after[0]
    left, right = before[1:], after[1:]
    was, now = [item.sent for item in left], [item.sent for item in right]
    old_inputs, new_inputs = set(was), set(now)
    removed: list[_Exchange] = []
    added: list[_Exchange] = []
    for tag, i1, i2, j1, j2 in aligned(was, now):
        if tag == "equal":
            yield from zip(left[i1:i2], right[j1:j2], strict=True)
            continue
        if tag == "replace" and i2 - i1 == j2 - j1:
            for one, other in zip(left[i1:i2], right[j1:j2], strict=True):
                if one.sent not in new_inputs and other.sent not in old_inputs:
                    changes.append(_change("changed", "input", one, other))
                else:
                    removed.append(one)
                    added.append(other)
            continue
        removed += left[i1:i2]
        added += right[j1:j2]
    by_input: dict[str, deque[_Exchange]] = {}
    for other in added:
        by_input.setdefault(other.sent, deque()).append(other)
    for one in removed:
        if moved := by_input.get(one.sent):
            changes.append(_change("reordered", "input", one, moved[0]))
            yield one, moved.popleft()
        else:
            changes.append(_change("removed", "input", one, None))
    left_over = {other.number for others in by_input.values() for other in others}
    changes.extend(
        _change("added", "input", None, other) for other in added if other.number in left_over
    )


def _change(
    kind: ChangeKind, what: str, old: _Exchange | None, new: _Exchange | None
) -> DriftChange:
    return DriftChange(
        kind=kind,
        what=what,
        old=old.number if old else 0,
        new=new.number if new else 0,
        expected=old.sent if old else "",
        got=new.sent if new else "",
    )


def _output_change(left: _Exchange, right: _Exchange) -> Iterator[DriftChange]:
    for name in sorted(left.outputs.keys() | right.outputs.keys()):
        before, after = left.outputs.get(name, _NO_OUTPUT), right.outputs.get(name, _NO_OUTPUT)
        if before == after:
            continue
        pairs = enumerate(zip(before, after, strict=False))
        differing = (number for number, (one, other) in pairs if one != other)
        at = next(differing, min(len(before), len(after)))
        yield DriftChange(
            kind="changed",
            what=f"{name} from byte {at} on",
            old=left.number,
            new=right.number,
            expected=_text(before[at : at + 80]),
            got=_text(after[at : at + 80]),
        )


def _screen_change(left: _Exchange, right: _Exchange) -> Iterator[DriftChange]:
    if left.screen != right.screen:
        yield _screens(left, right, None)


def _meaning_change(
    left: _Exchange, right: _Exchange, alike: Scorer, threshold: float
) -> Iterator[DriftChange]:
    score = alike("\n".join(right.screen), "\n".join(left.screen))
    if score < threshold:
        yield _screens(left, right, round(score, 3))


def _screens(left: _Exchange, right: _Exchange, score: float | None) -> DriftChange:
    rows = max(len(left.screen), len(right.screen))
    one = left.screen + ("",) * (rows - len(left.screen))
    other = right.screen + ("",) * (rows - len(right.screen))
    differing = [number for number in range(rows) if one[number] != other[number]]
    return DriftChange(
        kind="changed",
        what="screen, rows " + ", ".join(str(number) for number in differing[:20]),
        old=left.number,
        new=right.number,
        expected="\n".join(one[number] for number in differing[:20]),
        got="\n".join(other[number] for number in differing[:20]),
        score=score,
    )


def _divergences(old: Side, new: Side) -> Iterator[Divergence]:
    seq, t_ms = (new.events[-1].seq, new.events[-1].t_us // 1000) if new.events else (0, 0)
    here: dict[str, Any] = {"seq": seq, "t_ms": t_ms}
    before, after = _exit(old.events), _exit(new.events)
    if before != after:
        yield Divergence(
            kind=EXIT_CHANGED.name, message=EXIT_CHANGED.says,
            expected=DivergenceSide(before), got=DivergenceSide(after), **here,
        )  # fmt: skip
    emulators = [side.manifest.terminal.emulator for side in (old, new)]
    if emulators[0] != emulators[1]:
        said = [DivergenceSide(f"{emulator.name} {emulator.version}") for emulator in emulators]
        yield Divergence(
            kind=EMULATOR_CHANGED.name, message=EMULATOR_CHANGED.says,
            expected=said[0], got=said[1], **here,
        )  # fmt: skip
    binaries = [
        (side.manifest.harness.binary_version, side.manifest.harness.binary_path_digest_sha256)
        for side in (old, new)
    ]
    if any(
        one and other and not same_version(one, other) for one, other in zip(*binaries, strict=True)
    ):
        said = [
            DivergenceSide(f"version {version or 'unknown'}, digest of the path {path}")
            for version, path in binaries
        ]
        yield Divergence(
            kind=BINARY_CHANGED.name, message=BINARY_CHANGED.says,
            expected=said[0], got=said[1], **here,
        )  # fmt: skip


def _exit(events: Sequence[Event]) -> str:
    last = events[-1].record if events else None
    status = last.exit if isinstance(last, FinalRecord) else None
    if status is None:
        return "no exit status"
    return f"signal {status.signal}" if status.signaled else f"status {status.code}"


def _text(data: bytearray) -> str:
    return data.decode("utf-8", "backslashreplace")


def drift_lines(found: Drift) -> Iterator[str]:
    """The drift as lines of text, with control characters escaped; none without drift."""
    for change in (*found.exchanges, *found.screens):
        number = change.old or change.new
        score = "" if change.score is None else f" ({change.score:.0%} alike)"
        what = "turn" if change.of_turn else "input"
        yield f"{what} {number} {change.kind}: {visible(change.what)}{score}"
        for name, text in (("recorded", change.expected), ("now", change.got)):
            for line in text.rstrip("\n").split("\n") if text else []:
                yield f"  {name + ':':<10}{visible(line)}"
    for divergence in found.divergences:
        yield f"{divergence.kind}: {printable(divergence.message)}"
        for name, said in (("recorded", divergence.expected), ("now", divergence.got)):
            yield f"  {name + ':':<10}{visible(said.text) if said else ''}"
