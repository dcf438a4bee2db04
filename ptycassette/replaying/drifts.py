"""Changes between two recordings of the same thing: exchanges, screens, the end, the binary.

Pure: two lists of events and their manifests in, a ``Drift`` out. Exchanges are
aligned by their input, so that an added one does not make all later ones differ. Streams that
are not a terminal are compared separately and without screens, because the order in which two
pipes are read is random.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from ptycassette.model.events import Event, FinalRecord, FrameRecord, InputRecord, OutputRecord
from ptycassette.model.manifest import Manifest, same_version
from ptycassette.model.streams import streams_of
from ptycassette.model.visible_text import printable, visible
from ptycassette.replaying.differences import aligned
from ptycassette.replaying.divergence import Divergence, DivergenceSide
from ptycassette.replaying.divergence_kinds import (
    BINARY_CHANGED,
    EMULATOR_CHANGED,
    EXIT_CHANGED,
)
from ptycassette.timeline.match_entries import read_entries
from ptycassette.timeline.match_text import DEFAULT_THRESHOLD, Scorer, semantic_match

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
    """An exchange that changed. Numbers count from 1; 0 where the side has none.

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
    """All changes; false if there are none.

    ``exchanges`` are changes of input and output, ``screens`` of the last frame of an
    exchange; ``divergences`` hold the end, the emulator and the binary.
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
