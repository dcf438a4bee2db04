"""``ptycassette export CASSETTE OUT``: a cassette as something else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from ptycassette.cli.options import (
    TIME,
    allow_unscrubbed_option,
    cassette_argument,
    opened,
)
from ptycassette.errors import UsageError

if TYPE_CHECKING:
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.model import Screen

__all__ = ["command"]

FORMATS = {".svg": "svg", ".cast": "asciicast", ".txt": "text"}


@click.command("export")
@cassette_argument
@click.argument("out", metavar="OUT", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "-f",
    "--format",
    "kind",
    type=click.Choice(["svg", "asciicast", "asciicast-v3", "text"]),
    help="What to write; by default the ending of OUT decides (.svg, .cast, .txt).",
)
@click.option("-t", "--title", help="A title for the picture or the file.")
@click.option(
    "-i", "--idle-limit", type=TIME, help="Shorten pauses to this (svg: 2 s unless given)."
)
@click.option(
    "--theme",
    type=click.Choice(["dark", "light"]),
    default="dark",
    show_default=True,
    help="svg: the colours.",
)
@click.option("--still", is_flag=True, help="svg: the last frame alone, no animation.")
@click.option("--with-input", is_flag=True, help="asciicast: also what was typed.")
@click.option(
    "--scrollback",
    type=click.IntRange(0, 1_000_000),
    metavar="ROWS",
    help="text: instead of the frames the last screen, and above it up to so many rows that"
    " scrolled off.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file at OUT.")
@allow_unscrubbed_option
def command(
    cassette: str,
    out: str,
    kind: str | None,
    title: str | None,
    idle_limit: float | None,
    theme: str,
    still: bool,
    with_input: bool,
    scrollback: int | None,
    overwrite: bool,
    allow_unscrubbed: bool,
) -> None:
    """Write CASSETTE as an animated SVG, an asciicast, or the text of its screens.

    OUT appears whole or not at all, and replaces nothing; `-` is stdout.

    Example: ptycassette export hello.cassette hello.svg

    Example: ptycassette export hello.cassette hello.cast --idle-limit 1
    """
    chosen = kind or _kind_by_ending(out)
    with opened(cassette, allow_unscrubbed=allow_unscrubbed) as source:
        if chosen == "svg":
            parts = _svg(source, title=title, idle_s=idle_limit, theme=theme, still=still)
        elif chosen == "text":
            parts = _text(source) if scrollback is None else _scrolled(source, scrollback)
        else:
            parts = _asciicast(
                source,
                version=3 if chosen == "asciicast-v3" else 2,
                title=title,
                idle_s=idle_limit,
                with_input=with_input,
            )
        _write(out, parts, overwrite=overwrite)


def _kind_by_ending(out: str) -> str:
    for ending, kind in FORMATS.items():
        if out.endswith(ending):
            return kind
    raise UsageError(
        "the ending of OUT does not tell the format",
        where=out,
        hint="end it in .svg, .cast or .txt, or say --format",
    )


def _write(out: str, parts: Iterable[bytes], *, overwrite: bool) -> None:
    if out == "-":
        sys.stdout.buffer.writelines(parts)
        sys.stdout.buffer.flush()
        return
    from ptycassette.system.files.whole_file import write_whole

    write_whole(out, parts, overwrite=overwrite)


def _screens(source: Cassette) -> Iterator[tuple[int, Screen]]:
    """The stored frames as screens: ``(t_us, screen)``."""
    from ptycassette.model import Screen

    for frame in source.frames():
        yield (
            frame.t_ms * 1000 if frame.t_us is None else frame.t_us,
            Screen(
                size=frame.size,
                rows=frame.text,
                styles=frame.styles or (),
                cursor=frame.cursor,
                title=frame.title,
                alt_screen=frame.alt_screen,
            ),
        )


def _svg(
    source: Cassette, *, title: str | None, idle_s: float | None, theme: str, still: bool
) -> Iterator[bytes]:
    from ptycassette.export.colors import DARK, LIGHT
    from ptycassette.export.svg import SvgOptions, animated_svg

    options = SvgOptions(
        theme=LIGHT if theme == "light" else DARK,
        title=title or "",
        idle_limit_us=round((2.0 if idle_s is None else idle_s) * 1_000_000),
    )
    frames = list(_screens(source))
    if not frames:
        raise UsageError(
            "no frames to draw",
            where=str(source.path),
            hint="the program showed nothing; ptycassette cat writes the raw output",
        )
    yield animated_svg(frames[-1:] if still else frames, options=options)


def _text(source: Cassette) -> Iterator[bytes]:
    from ptycassette.model.visible import visible

    for t_us, screen in _screens(source):
        yield f"--- {t_us / 1_000_000:.3f} s\n".encode()
        for row in screen.text.split("\n"):
            yield visible(row).encode() + b"\n"


def _scrolled(source: Cassette, scrollback: int) -> Iterator[bytes]:
    """The rows that scrolled off the main screen, and the screen at the end."""
    from ptycassette.model import Size
    from ptycassette.model.visible import visible
    from ptycassette.replaying.io.player_views import feed_event
    from ptycassette.terminal import PyteEmulator

    terminal = source.manifest.terminal
    size = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
    emulator = PyteEmulator(size, scrollback=scrollback)
    for event in source.events():
        feed_event(emulator, event)
    rows = [*emulator.scrollback(), *emulator.snapshot().rows]
    while rows and not rows[-1]:
        rows.pop()
    for row in rows:
        yield visible(row).encode() + b"\n"


def _asciicast(
    source: Cassette, *, version: int, title: str | None, idle_s: float | None, with_input: bool
) -> Iterator[bytes]:
    from ptycassette.export.asciicast import AsciicastOptions, asciicast

    options = AsciicastOptions(
        version=3 if version == 3 else 2, title=title, idle_limit_s=idle_s, with_input=with_input
    )
    return asciicast(source.manifest, source.events(), options=options)
