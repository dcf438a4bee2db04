"""Screens as text: a session, all its frames, or one screen with its colours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from ptycassette.errors import UsageError
from ptycassette.export.registry import ExportSource
from ptycassette.export.shown_lines import shown_lines
from ptycassette.model.events import FrameRecord, InputRecord
from ptycassette.model.geometry import Size
from ptycassette.model.screen import Screen
from ptycassette.model.stored_screen import screen_of
from ptycassette.model.streams import painted_bytes
from ptycassette.model.visible_text import printable
from ptycassette.replaying.cells import cells_of_row
from ptycassette.replaying.paint import ansi_lines
from ptycassette.terminal.emulator import PyteEmulator

SCROLLBACK_ROWS = 10_000
MAX_VISITS = 100
"""Of so many full-screen programs the last screen is kept; each costs a look at all lines."""
_MOST_UNFED = 1 << 16

_TO_ALTERNATE = re.compile(rb"\x1b\[\?(?:\d+;)*(?:47|1047|1049)(?:;\d+)*h")


def recording_text(
    source: ExportSource,
    *,
    scrollback: int | None = None,
    frames: bool = False,
    all: bool = False,  # noqa: A002 - the name of the option
) -> Iterator[bytes]:
    """The session as text, as copied from a terminal at its end, or every line or frame.

    Args:
        source: the recording.
        scrollback: how many rows that scrolled off the main screen are kept; 10000 when None.
        frames: each frame below its time, instead.
        all: every line that was ever shown, once (``shown_lines``), instead.

    Raises:
        UsageError: two of ``scrollback``, ``frames`` and ``all``.
    """
    asked = {"--scrollback": scrollback is not None, "--frames": frames, "--all": all}
    given = [flag for flag, is_given in asked.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} do not go together", hint="leave one out")
    if all:
        return map(_line, shown_lines(source))
    if frames:
        return _frames(source)
    return _session(source, SCROLLBACK_ROWS if scrollback is None else scrollback)


def _frames(source: ExportSource) -> Iterator[bytes]:
    for frame in source.frames():
        yield f"--- {_t_us(frame) / 1_000_000:.3f} s\n".encode()
        for row in screen_of(frame).text.split("\n"):
            yield _line(row)


class _Visit(msgspec.Struct):
    """A stay on the alternate screen: after which line, its last screen and time."""

    line: int
    rows: tuple[str, ...] = ()
    t_us: int = 0


def _session(source: ExportSource, scrollback: int) -> Iterator[bytes]:
    """The main screen and its scrollback, with the last screens of full-screen programs in between.

    These are stored frames: there is one for each pause of the program, and before each key, also
    before the one that ended it.
    """
    terminal = source.manifest.terminal
    size = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
    emulator = PyteEmulator(size, scrollback=scrollback)
    visits: list[_Visit] = []
    unfed = bytearray()  # one long piece costs a fraction of what many short ones do

    def feed() -> None:
        emulator.feed(bytes(unfed))
        unfed.clear()

    for event in source.events():
        match event.record:
            case InputRecord(kind="resize", size=now) if now is not None:
                feed()
                emulator.resize(now)
            case FrameRecord(alt_screen=True) as frame if any(frame.text) and visits:
                visits[-1].rows, visits[-1].t_us = frame.text, _t_us(frame)
            case _ if event.kind == "output":
                if len(visits) < MAX_VISITS and _TO_ALTERNATE.search(event.data):
                    feed()
                    visits.append(_Visit(len(_trimmed(emulator.main_lines()))))
                unfed += painted_bytes(event)
                if len(unfed) >= _MOST_UNFED:
                    feed()
    feed()
    lines = _trimmed(emulator.main_lines())
    at = 0
    for visit in visits:
        if visit.rows:
            yield from map(_line, lines[at : visit.line])
            at = max(at, visit.line)
            yield f"--- full screen, {visit.t_us / 1_000_000:.3f} s\n".encode()
            yield from map(_line, _trimmed(visit.rows))
            yield b"---\n"
    yield from map(_line, lines[at:])


def _trimmed(rows: Sequence[str]) -> list[str]:
    """Without the empty rows at the end."""
    kept = list(rows)
    while kept and not kept[-1]:
        kept.pop()
    return kept


def _line(row: str) -> bytes:
    return printable(row, limit=len(row)).encode() + b"\n"


def _t_us(frame: FrameRecord) -> int:
    return frame.t_ms * 1000 if frame.t_us is None else frame.t_us


def screen_text(screen: Screen) -> bytes:
    """All rows of a screen, UTF-8, each with its newline."""
    rows = (cells_of_row(screen, row) for row in range(screen.size.rows))
    return b"".join(_line("".join(cell.text for cell in row).rstrip()) for row in rows)


def screen_ansi(screen: Screen) -> bytes:
    """All rows of a screen with SGR sequences, UTF-8, each with its newline."""
    return b"".join(f"{line}\n".encode("utf-8", "replace") for line in ansi_lines(screen))
