"""``ptycassette play CASSETTE``: show a recording in the terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import (
    TIME,
    allow_unscrubbed_option,
    cassette_argument,
    opened,
)

if TYPE_CHECKING:
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.model.screen import Screen, Size
    from ptycassette.replaying.io.replayer import PlayOptions
    from ptycassette.replaying.scheduler import ReplayMode


@click.command("play")
@cassette_argument
@click.option(
    "-s",
    "--speed",
    type=click.FloatRange(min=0.01, max=100),
    metavar="FACTOR",
    help="Play this many times faster than recorded.",
)
@click.option(
    "-i",
    "--idle-limit",
    type=TIME,
    metavar="TIME",
    help="Shorten longer pauses to TIME. Default: the limit in the recording.",
)
@click.option("-l", "--loop", is_flag=True, help="Start again at the end, until q or ctrl-c.")
@click.option(
    "-m",
    "--mode",
    type=click.Choice(["realtime", "scaled", "collapsed"]),
    help="Play in realtime (default on a terminal) or without waiting (collapsed, default"
    " elsewhere).",
)
@click.option("--start", type=TIME, metavar="TIME", help="Start at TIME (12.5, 250ms, 1:02).")
@click.option("--end", type=TIME, metavar="TIME", help="End at TIME.")
@click.option(
    "--raw",
    is_flag=True,
    help="Write the recorded bytes unfiltered; they can change your terminal.",
)
@allow_unscrubbed_option
def command(
    cassette: str,
    speed: float | None,
    idle_limit: float | None,
    loop: bool,
    mode: ReplayMode | None,
    start: float | None,
    end: float | None,
    raw: bool,
    allow_unscrubbed: bool,
) -> int:
    """Play CASSETTE in the terminal.

    Only text, colours and the cursor reach your terminal, so a recording cannot
    change its settings. If stdout is not a terminal, the text of the session is
    written instead.

    \b
    Keys: space        pause, continue
          + - > <      faster, slower
          .            next output, then pause
          left right   5 seconds back, forward
          [ ]          previous, next input
          0 .. 9       to 0 .. 90 percent
          q ctrl-c     quit

    Example: ptycassette play hello.cassette --speed 2 --idle-limit 1
    """  # noqa: D301 - \b keeps click from wrapping the list of keys
    if start is not None and end is not None and end < start:
        raise click.UsageError("--end is before --start")
    if speed is not None and mode not in {None, "scaled"}:
        raise click.UsageError(f"--speed is for mode scaled, not for {mode}")
    on_terminal = sys.stdout.isatty()
    if loop and not on_terminal:
        raise click.UsageError("--loop needs a terminal on stdout")
    from ptycassette.replaying.io.replayer import PlayOptions

    fallback: ReplayMode = "realtime" if on_terminal else "collapsed"
    with opened(cassette, allow_unscrubbed=allow_unscrubbed, shown=True) as source:
        options = PlayOptions(
            mode=mode or ("scaled" if speed is not None else fallback),
            speed=1.0 if speed is None else speed,
            start=start,
            end=end,
            idle_limit=source.manifest.idle_limit_s if idle_limit is None else idle_limit,
            loop=loop,
        )
        if not on_terminal:
            return _play_elsewhere(source, options, raw=raw)
        return _play_here(source, options, raw=raw)


def _size(source: Cassette) -> Size:
    from ptycassette.model.screen import Size

    terminal = source.manifest.terminal
    return Size(rows=terminal.initial_rows, cols=terminal.initial_cols)


def _play_here(source: Cassette, options: PlayOptions, *, raw: bool) -> int:
    """Play on the user's terminal, and leave the last screen in its scrollback."""
    from ptycassette.cli.entry import direct_writes
    from ptycassette.replaying.io.player_terminal import Interrupted, PlayerTerminal
    from ptycassette.replaying.io.replayer import Checkpoints, PaintedView, Player, RawView
    from ptycassette.terminal.emulator import default_emulator
    from ptycassette.terminal.state import load_emulator, save_emulator

    colors = not os.environ.get("NO_COLOR")
    keys = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
    terminal = PlayerTerminal(sys.stdout.fileno(), keys, raw=raw)
    painted = PaintedView(
        terminal,
        default_emulator,
        _size(source),
        colors=colors,
        checkpoints=Checkpoints(save_emulator, load_emulator),
    )
    view = RawView(terminal) if raw else painted
    try:
        with direct_writes(), terminal:
            Player(source, terminal, view, options=options).run()
    except Interrupted as signal:
        return signal.status
    finally:
        terminal.close()
    if not raw:
        _leave_behind(painted.screen, colors=colors)
    return 0


def _leave_behind(screen: Screen, *, colors: bool) -> None:
    from ptycassette.cli._present import write_lines
    from ptycassette.replaying.paint import ansi_lines

    lines = list(ansi_lines(screen, colors=colors))
    while lines and not lines[-1]:
        lines.pop()
    write_lines(lines)


def _play_elsewhere(source: Cassette, options: PlayOptions, *, raw: bool) -> int:
    """Write text (or, on demand, the bytes) to a pipe or file, paced if a mode is given."""
    from ptycassette.cassette.io.raw_output import write_all, write_raw
    from ptycassette.cli.entry import direct_writes
    from ptycassette.formats.export.text import TextStream
    from ptycassette.replaying.io.replayer import replay

    sys.stdout.flush()
    out = sys.stdout.fileno()
    if raw and options.mode == "collapsed" and options.start is None and options.end is None:
        with direct_writes():
            write_raw(source, out)  # the same bytes, without looking at events
        return 0
    text = TextStream()
    events = replay(
        source,
        mode=options.mode,
        scale=1 / options.speed,
        start=options.start,
        end=options.end,
        idle_limit=options.idle_limit,
    )
    for event in events:
        if event.kind == "output":
            data = event.data if raw else text.feed(event.data).encode()
            if data:
                with direct_writes():
                    write_all(out, data)
    if not raw:
        with direct_writes():
            write_all(out, text.finish().encode())
    return 0
