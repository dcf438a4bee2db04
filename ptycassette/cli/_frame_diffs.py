"""The changes from frame to frame, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ptycassette.model.events import moment_us
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.cli._reports import FrameDiff
    from ptycassette.model.events import FrameRecord

NO_LIMIT = 10**9


def seconds_text(t_us: int) -> str:
    """Microseconds as seconds with three decimals."""
    return f"{t_us // 1_000_000}.{t_us // 1000 % 1000:03}"


def all_diffs(source: Cassette) -> Iterator[FrameDiff]:
    """The changes of each frame, including the first one."""
    before: FrameRecord | None = None
    for frame in source.frames():
        yield diff_of(before, frame)
        before = frame


def diff_of(before: FrameRecord | None, frame: FrameRecord) -> FrameDiff:
    """The changes from one frame to the next; ``before=None`` is a blank screen."""
    from ptycassette.cli._reports import FrameDiff, RowChange
    from ptycassette.replaying.stored import changed_rows, restyled_rows

    rows = tuple(
        RowChange(row=change.row, before=change.before, after=change.after)
        for change in changed_rows(before, frame)
    )
    return FrameDiff(
        before_seq=before.seq if before else None,
        after_seq=frame.seq,
        rows=rows,
        cursor_before=before.cursor if before else None,
        cursor_after=frame.cursor,
        size_before=before.size if before else None,
        size_after=frame.size,
        title_before=before.title if before else None,
        title_after=frame.title,
        styles_changed=tuple(restyled_rows(before, frame)),
    )


def all_diff_lines(source: Cassette) -> Iterator[str]:
    """``all_diffs`` as lines of text."""
    before: FrameRecord | None = None
    for frame in source.frames():
        yield from diff_lines(diff_of(before, frame), frame)
        before = frame


def diff_lines(found: FrameDiff, frame: FrameRecord) -> Iterator[str]:
    """One difference as lines of text, with invisible characters escaped."""
    since = f"since seq {found.before_seq}" if found.before_seq else "the first"
    t_us = moment_us(frame)
    yield f"@@ frame at seq {found.after_seq}, {seconds_text(t_us)} s, {since}"
    if found.size_before is not None and found.size_before != found.size_after:
        yield f"   size {_pair(found.size_before)} -> {_pair(found.size_after)}"
    if found.title_before is not None and found.title_before != found.title_after:
        yield f"   title {visible(found.title_before)} -> {visible(found.title_after)}"
    for row in found.rows:
        if row.before:
            yield f"-{row.row:>3} {visible(row.before, limit=NO_LIMIT)}"
        if row.after:
            yield f"+{row.row:>3} {visible(row.after, limit=NO_LIMIT)}"
    text_rows = {row.row for row in found.rows}
    if only := [str(row) for row in found.styles_changed if row not in text_rows]:
        yield f"   colours changed in row {', '.join(only)}"


def _pair(size: object) -> str:
    return f"{getattr(size, 'cols', '?')}x{getattr(size, 'rows', '?')}"
