"""``ptycassette frames CASSETTE``: the rendered screens, listed, one whole, or what changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import (
    TIME,
    allow_unscrubbed_option,
    cassette_argument,
    json_option,
    opened,
)
from ptycassette.cli._present import check_stdout_takes, json_text, write_lines
from ptycassette.errors import NotFoundError
from ptycassette.formats.export.registry import exports_of
from ptycassette.model.records import moment_us
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.cli._reports import FrameDiff, FrameLine
    from ptycassette.model.records import FrameRecord


# The changes from frame to frame, as text and as JSON.


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


FORMATS = ("text", "json", *(one.name for one in exports_of("screen") if one.name != "text"))
LINE_LIMIT = 60


@click.command("frames")
@cassette_argument
@click.option("--at", type=TIME, metavar="TIME", help="Show the last frame at or before TIME.")
@click.option(
    "--seq",
    metavar="SEQ",
    type=click.IntRange(min=1),
    help="Show the last frame at or before this seq.",
)
@click.option("--last", is_flag=True, help="Show the last frame.")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Write one frame in this format.",
)
@click.option(
    "--diff", is_flag=True, help="Show the changes between frames instead of whole frames."
)
@click.option(
    "--render",
    is_flag=True,
    help="Render the screen at exactly --at or --seq, instead of a stored frame.",
)
@json_option
@allow_unscrubbed_option
def command(
    cassette: str,
    at: float | None,
    seq: int | None,
    last: bool,
    form: str,
    diff: bool,
    render: bool,
    as_json: bool,
    allow_unscrubbed: bool,
) -> None:
    """Show the rendered screens of CASSETTE.

    By default it lists all frames. With --at, --seq or --last it writes one screen,
    as JSON or in a format of export: text, text with colours (ansi), a picture
    (svg, png) or a page (html). The output holds only text and colours, whatever
    was recorded.

    Example: ptycassette frames hello.cassette --at 2.5 --format ansi
    """
    from ptycassette.replaying.io.replayer import seconds_to_us

    one = sum((at is not None, seq is not None, last))
    if one > 1:
        raise click.UsageError("give one of --at, --seq and --last")
    if render and (at is None and seq is None):
        raise click.UsageError("--render needs --at or --seq")
    if render and diff:
        raise click.UsageError("--diff compares stored frames, it does not go with --render")
    if not one and form != "text":
        raise click.UsageError(
            f"--format {form} writes one frame: choose it with --at, --seq or --last"
        )
    as_json = as_json or form == "json"
    with opened(cassette, allow_unscrubbed=allow_unscrubbed, shown=True) as source:
        if not one:
            _write_all(source, diff=diff, as_json=as_json)
            return
        before, frame, count = _chosen(source, seconds_to_us(at), seq)
        if render:
            before, frame = None, _rendered(source, seconds_to_us(at), seq)
        if frame is None:
            raise NotFoundError(
                f"no frame at or before that moment; there are {count} frames",
                where=cassette,
                hint="list them with `ptycassette frames`, or render one with --render",
            )
        if diff:
            _write_diff(source, before, frame, count, as_json=as_json)
        else:
            _write_one(source, frame, count, form="json" if as_json else form)


def _chosen(
    source: Cassette, at_us: int | None, seq: int | None
) -> tuple[FrameRecord | None, FrameRecord | None, int]:
    """The previous frame, the frame, and the number of frames."""
    before: FrameRecord | None = None
    found: FrameRecord | None = None
    count = 0
    for frame in source.frames():
        count += 1
        late = (at_us is not None and moment_us(frame) > at_us) or (
            seq is not None and frame.seq > seq
        )
        if not late:
            before, found = found, frame
    return before, found, count


def _rendered(source: Cassette, at_us: int | None, seq: int | None) -> FrameRecord:
    """The screen at that exact moment, from the output before it."""
    from ptycassette.model.records import FrameRecord
    from ptycassette.model.screen import Size
    from ptycassette.replaying.io.replayer import feed_event
    from ptycassette.terminal.emulator import default_emulator

    terminal = source.manifest.terminal
    emulator = default_emulator(Size(rows=terminal.initial_rows, cols=terminal.initial_cols))
    fed = last_seq = last_us = 0
    for event in source.events():
        if (at_us is not None and event.t_us > at_us) or (seq is not None and event.seq > seq):
            break
        feed_event(emulator, event)
        last_seq, last_us = event.seq, event.t_us
        fed += len(event.data) if event.kind == "output" else 0
    screen = emulator.snapshot()
    return FrameRecord(
        seq=last_seq,
        t_ms=last_us // 1000,
        t_us=last_us,
        size=screen.size,
        text=screen.rows,
        cursor=screen.cursor,
        title=screen.title,
        raw_start=0,
        raw_end=fed,
        parser_offset=fed - emulator.pending,
        styles=screen.styles or None,
        alt_screen=screen.alt_screen,
    )


def _write_one(source: Cassette, frame: FrameRecord, count: int, *, form: str) -> None:
    from ptycassette.cli._reports import FramesReport
    from ptycassette.formats.export.registry import export_named
    from ptycassette.model.stored_screen import screen_of

    if form == "json":
        report = FramesReport(path=str(source.path), count=count, frame=frame)
        write_lines([json_text(report)])
    else:
        chosen = export_named(form)
        check_stdout_takes(form, is_binary=chosen.is_binary)
        click.echo(chosen.screen(screen_of(frame)), nl=False)


def _write_all(source: Cassette, *, diff: bool, as_json: bool) -> None:
    from ptycassette.cli._reports import FramesReport

    if not as_json:
        write_lines(all_diff_lines(source) if diff else _list_lines(source))
        return
    path = str(source.path)
    if diff:
        diffs = tuple(all_diffs(source))
        write_lines([json_text(FramesReport(path=path, count=len(diffs), diffs=diffs))])
    else:
        frames = tuple(_frame_line(n, frame) for n, frame in enumerate(source.frames(), 1))
        write_lines([json_text(FramesReport(path=path, count=len(frames), frames=frames))])


def _frame_line(number: int, frame: FrameRecord) -> FrameLine:
    from ptycassette.cli._reports import FrameLine

    return FrameLine(
        number=number,
        seq=frame.seq,
        t_us=moment_us(frame),
        size=frame.size,
        cursor=frame.cursor,
        title=frame.title,
        alt_screen=frame.alt_screen,
        first_line=next((row for row in frame.text if row.strip()), ""),
    )


def _list_lines(source: Cassette) -> Iterator[str]:
    yield f"{'frame':>6} {'seq':>7} {'time':>11} {'size':>9} {'cursor':>8}  first line"
    for number, frame in enumerate(source.frames(), 1):
        line = _frame_line(number, frame)
        size = str(line.size)
        cursor = f"{line.cursor.row},{line.cursor.col}"
        time_s = seconds_text(line.t_us)
        yield (
            f"{number:>6} {line.seq:>7} {time_s:>11} {size:>9} {cursor:>8}"
            f"  {visible(line.first_line, limit=LINE_LIMIT)}"
        ).rstrip()


def _write_diff(
    source: Cassette, before: FrameRecord | None, frame: FrameRecord, count: int, *, as_json: bool
) -> None:
    from ptycassette.cli._reports import FramesReport

    found = diff_of(before, frame)
    if as_json:
        report = FramesReport(path=str(source.path), count=count, diffs=(found,))
        write_lines([json_text(report)])
    else:
        write_lines(diff_lines(found, frame))
