"""Compare two recordings of calls: align their turns, and compare them exactly or by meaning."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from ptycassette.agents.inprocess.calls import recorded_tools
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.timeline.match import DEFAULT_THRESHOLD, Scorer, semantic_match
from ptycassette.errors import CassetteError
from ptycassette.formats.export.trajectory.from_tape import read_tape
from ptycassette.model.records import (
    STREAMS_KEY,
    Event,
    FrameRecord,
    OutputRecord,
    ServiceEventRecord,
)
from ptycassette.model.screen import Size
from ptycassette.model.visible_text import visible
from ptycassette.replaying.divergence import Drift, DriftChange, aligned
from ptycassette.replaying.io.sides import screen_drift, semantic_screen_drift
from ptycassette.tape.matching.misses import upload_parts
from ptycassette.terminal.emulator import default_emulator

if TYPE_CHECKING:
    from ptycassette.replaying.io.sides import Comparable


class Turn(msgspec.Struct, frozen=True, order=True):
    """A call and its answer.

    Attributes:
        seq: its place in the recording.
        what: ``model``, or ``tool`` and its name.
        asked: the new part of the question, or the arguments.
        said: the answer: text and tool calls, or the result; its status if it has no text.
        end_seq: the place of the end of the answer; None if it never ended.
        failed: whether it is an error.
    """

    seq: int
    what: str
    asked: str
    said: str
    end_seq: int | None = None
    failed: bool = False


def turns_of(path: str | os.PathLike[str]) -> list[Turn]:
    """The turns of a cassette.

    Raises:
        CassetteError: it cannot be opened.
    """
    with open_cassette(path, allow_unscrubbed=True) as cassette:
        return turns_in(cassette)


def turns_in(cassette: Cassette) -> list[Turn]:
    """The turns of an open cassette, in order."""
    tools = [
        Turn(
            tool.seq,
            f"tool {tool.name}",
            msgspec.json.encode(tool.arguments, order="deterministic").decode(),
            "" if tool.outcome is None else tool.outcome.text,
            tool.end_seq,
            tool.outcome is not None and bool(tool.outcome.error),
        )
        for tool in recorded_tools(list(cassette.service_events()))
    ]
    return sorted([*tools, *(_models(cassette) if cassette.has_tape else ())])


def turns_if_valid(path: str | os.PathLike[str]) -> list[Turn] | None:
    """The turns of a cassette that is to be replaced; None if there is no valid one."""
    try:
        return turns_of(path)
    except CassetteError:  # a broken cassette is recorded again, too
        return None


def _models(cassette: Cassette) -> Iterator[Turn]:
    read = read_tape(cassette.tape(), cassette.events())
    conversations = {one.entry.entry: one for one in read.inferences}
    for exchange in cassette.tape():
        entry = exchange.entry
        found = conversations.get(entry.entry)
        if found is None:
            status = entry.outcome if entry.answer is None else f"status {entry.answer.status}"
            body, said = exchange.question(), _text(exchange.answer())
            places = ((one.offset, one.length, one.type) for one in entry.tokens if not one.where)
            parts = [f"{place}: {text}" for place, text in upload_parts(body, places).items()]
            asked = "\n".join(parts) if parts else _text(body)
            asked = f"{entry.method} {entry.target}\n{asked}"
            failed = entry.answer is None or (entry.answer.status or 0) >= HTTPStatus.BAD_REQUEST
            yield Turn(entry.seq, "model", asked, f"{status}\n{said}", entry.end_seq, failed)
            continue
        new: list[str] = []
        for message in found.asked.messages:
            if message.role == "assistant":
                new.clear()
            else:
                new += [message.text, *(result.text for result in message.results)]
        calls = [
            f"{call.name} {msgspec.json.encode(call.arguments).decode()}"
            for call in found.said.calls
        ]
        said = "\n".join(filter(None, (found.said.text, *calls)))
        yield Turn(entry.seq, "model", "\n".join(filter(None, new)), said, entry.end_seq)


def _text(body: bytes) -> str:
    return body.decode("utf-8", "backslashreplace")


def has_turns(cassette: Cassette) -> bool:
    """Whether the recording consists of turns alone: no program, or one that showed nothing."""
    optional = cassette.manifest.optional or {}
    is_known = "in_process" in optional or ("imported" in optional and cassette.has_tape)
    return is_known and not cassette.output_size


def drift(old: Comparable, new: Comparable) -> Drift:
    """The changes between two recordings: byte by byte, or turn by turn if there is no screen.

    Args:
        old: the path of a cassette, the result of ``open_cassette`` or ``use``, or a ``Side``.
            After ``rerecord`` a use is the new recording.
        new: another one.

    Raises:
        CassetteError: one cannot be opened.
    """
    turns = _turns_of_both(old, new)
    return screen_drift(old, new) if turns is None else drift_of_turns(*turns)


def semantic_drift(
    old: Comparable,
    new: Comparable,
    threshold: float = DEFAULT_THRESHOLD,
    scorer: Scorer | None = None,
) -> Drift:
    """The changes in meaning: as ``drift``, but ``scorer`` compares screens or turns, not bytes.

    Raises:
        CassetteError: one cannot be opened.
        ValueError: the threshold is out of range.
    """
    turns = _turns_of_both(old, new)
    if turns is None:
        return semantic_screen_drift(old, new, threshold, scorer)
    return drift_of_turns(*turns, threshold=threshold, scorer=scorer)


def _turns_of_both(old: Comparable, new: Comparable) -> tuple[list[Turn], list[Turn]] | None:
    """The turns of two recordings; None unless one of them consists of turns alone."""
    with ExitStack() as stack:
        opened: list[Cassette] = []
        for one in (old, new):
            if isinstance(one, Cassette):
                opened.append(one)
            elif isinstance(one, str | os.PathLike):
                opened.append(stack.enter_context(open_cassette(one)))
            else:
                return None
        if not any(map(has_turns, opened)):
            return None
        before, after = map(turns_in, opened)
        return before, after


def drift_of_turns(
    old: Sequence[Turn],
    new: Sequence[Turn],
    *,
    threshold: float | None = None,
    scorer: Scorer | None = None,
) -> Drift:
    """The changes from one recording to another. Numbers of turns count from 1.

    Args:
        old: the turns of the recording.
        new: the turns of the new run.
        threshold: answers with a lower similarity (0 to 1) count as changed; None to compare
            exactly.
        scorer: gives the similarity of two texts; that of ``semantic_match`` when None.

    Raises:
        ValueError: the threshold is out of range.
    """
    if threshold is not None:
        semantic_match("a", "a", threshold)  # complain about it in any case
    changes: list[DriftChange] = []
    before = [(turn.what, turn.asked) for turn in old]
    after = [(turn.what, turn.asked) for turn in new]
    for kind, i, i_end, j, j_end in aligned(before, after):
        pairs = min(i_end - i, j_end - j) if kind != "equal" else i_end - i
        for one in range(pairs):
            change = _change(old, new, (i + one, j + one), threshold, scorer)
            changes += [] if change is None else [change]
        changes += [
            DriftChange(kind="removed", what=old[at].what, old=at + 1, expected=_shown(old[at]))
            for at in range(i + pairs, i_end)
        ]
        changes += [
            DriftChange(kind="added", what=new[at].what, new=at + 1, got=_shown(new[at]))
            for at in range(j + pairs, j_end)
        ]
    return Drift(exchanges=tuple(changes))


def _change(
    old: Sequence[Turn],
    new: Sequence[Turn],
    places: tuple[int, int],
    threshold: float | None,
    scorer: Scorer | None,
) -> DriftChange | None:
    i, j = places
    left, right = old[i], new[j]
    if (left.what, left.asked, left.said) == (right.what, right.asked, right.said):
        return None
    score = None
    if threshold is not None and left.what == right.what:
        texts = _shown(left), _shown(right)
        score = semantic_match(texts[1], texts[0], threshold, scorer).score
        if score >= threshold:
            return None
    same = left.what == right.what and left.asked == right.asked
    return DriftChange(
        kind="changed",
        what=left.what if left.what == right.what else f"{left.what}, now {right.what}",
        old=i + 1,
        new=j + 1,
        expected=left.said if same else _shown(left),
        got=right.said if same else _shown(right),
        score=score,
    )


def _shown(turn: Turn) -> str:
    return f"{turn.asked}\n{turn.said}"


# The visible form of a recording without a screen: its turns, as a terminal would print them.


_MOST_LINES = 400
_MOST_LINE = 2_000
_BOLD, _RED, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[0m"


def with_turns(cassette: Cassette) -> Cassette:
    """The cassette in the form that people see.

    A cassette with a screen or output is returned unchanged. Otherwise the result is a view on the
    same open files in which turns are output. The code that opened the cassette closes it.
    """
    return _ShownTurns(cassette) if has_turns(cassette) else cassette


class _ShownTurns(Cassette):
    def __init__(self, source: Cassette) -> None:
        vars(self).update(vars(source))
        optional = source.manifest.optional or {}
        self._source = source
        self.manifest = msgspec.structs.replace(
            source.manifest,
            optional={name: value for name, value in optional.items() if name != STREAMS_KEY},
        )

    @property
    def output_size(self) -> int:
        return len(self._output)

    @cached_property
    def _texts(self) -> dict[int, bytes]:
        """The text to print after the event with each ``seq``."""
        found: dict[int, bytes] = {}
        for number, turn in enumerate(turns_in(self._source), 1):
            for seq, text in (
                (turn.seq, _lines(f"{number} > ", _asked(turn), style=_BOLD)),
                (turn.end_seq, _lines(f"{number} < ", turn.said, style=_RED * turn.failed)),
            ):
                if seq is not None:
                    found[seq] = found.get(seq, b"") + text
        return found

    @cached_property
    def _printed(self) -> list[tuple[OutputRecord, int]]:
        """The output, and its time in microseconds."""
        found: list[tuple[OutputRecord, int]] = []
        offset = 0
        for event in self._source.events():
            data = self._texts.get(event.seq)
            if data and isinstance(event.record, ServiceEventRecord):
                record = OutputRecord(
                    seq=event.seq,
                    t_ms=event.record.t_ms,
                    t_us=event.t_us,
                    offset=offset,
                    length=len(data),
                )
                offset += len(data)
                found.append((record, event.t_us))
        return found

    @cached_property
    def _output(self) -> bytes:
        return b"".join(self._texts[record.seq] for record, _ in self._printed)

    def outputs(self) -> Iterator[OutputRecord]:
        return (record for record, _ in self._printed)

    def output_bytes(self, record: OutputRecord) -> bytes:
        return self._output[record.offset : record.offset + record.length]

    def raw(self, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        yield self._output[offset : None if length is None else offset + length]

    def events(self) -> Iterator[Event]:
        printed = {record.seq: record for record, _ in self._printed}
        for event in self._source.events():
            yield event
            record = printed.get(event.seq)
            if record is not None:
                yield Event(event.seq, event.t_us, "output", record, self.output_bytes(record))

    def frames(self) -> Iterator[FrameRecord]:
        terminal = self.manifest.terminal
        emulator = default_emulator(Size(rows=terminal.initial_rows, cols=terminal.initial_cols))
        for record, t_us in self._printed:
            emulator.feed(self.output_bytes(record))
            screen = emulator.snapshot()
            yield FrameRecord(
                seq=record.seq,
                t_ms=record.t_ms,
                t_us=t_us,
                size=screen.size,
                text=screen.rows,
                cursor=screen.cursor,
                title=screen.title,
                raw_start=record.offset,
                raw_end=record.offset + record.length,
                parser_offset=record.offset + record.length,
                styles=screen.styles or None,
                alt_screen=screen.alt_screen,
            )

    def frame_at(self, t_us: int) -> FrameRecord | None:
        found = None
        for frame in self.frames():
            if (frame.t_us or 0) > t_us:
                break
            found = frame
        return found


def _asked(turn: Turn) -> str:
    return turn.asked if turn.what == "model" else f"{turn.what} {turn.asked}"


def _lines(label: str, text: str, *, style: str = "") -> bytes:
    """The lines of a text, each ended by CR LF, the first one after a label."""
    rows = [visible(row, limit=_MOST_LINE) for row in text.rstrip().split("\n")]
    if len(rows) > _MOST_LINES:
        rows[_MOST_LINES:] = [f"({len(rows) - _MOST_LINES} more lines)"]
    rows = [f"{label}{rows[0]}", *(f"{' ' * len(label)}{row}" for row in rows[1:])]
    plain = _PLAIN if style else ""
    return "".join(f"{style}{row.rstrip()}{plain}\r\n" for row in rows).encode()
