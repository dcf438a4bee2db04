"""Screens as text: all frames of a recording, what scrolled by, or one screen with its colours."""

from __future__ import annotations

from collections.abc import Iterator

from ptycassette.export.registry import ExportSource
from ptycassette.model import InputRecord, Screen, Size, painted_bytes, visible
from ptycassette.replaying import screen_of
from ptycassette.terminal import PyteEmulator, render_ansi, render_text

__all__ = ["recording_text", "screen_ansi", "screen_text"]


def recording_text(source: ExportSource, *, scrollback: int | None = None) -> Iterator[bytes]:
    """The frames, each below its time, or with ``scrollback`` the rows in the order of output.

    Args:
        source: the recording.
        scrollback: instead of the frames the last screen, and above it up to so many rows that
            scrolled off the main screen.
    """
    return _frames(source) if scrollback is None else _scrolled(source, scrollback)


def _frames(source: ExportSource) -> Iterator[bytes]:
    for frame in source.frames():
        t_us = frame.t_ms * 1000 if frame.t_us is None else frame.t_us
        yield f"--- {t_us / 1_000_000:.3f} s\n".encode()
        for row in screen_of(frame).text.split("\n"):
            yield visible(row).encode() + b"\n"


def _scrolled(source: ExportSource, scrollback: int) -> Iterator[bytes]:
    terminal = source.manifest.terminal
    size = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
    emulator = PyteEmulator(size, scrollback=scrollback)
    for event in source.events():
        match event.record:
            case InputRecord(kind="resize", size=now) if now is not None:
                emulator.resize(now)
            case _ if event.kind == "output":
                emulator.feed(painted_bytes(event))
    rows = [*emulator.scrollback(), *emulator.snapshot().rows]
    while rows and not rows[-1]:
        rows.pop()
    for row in rows:
        yield visible(row).encode() + b"\n"


def screen_text(screen: Screen) -> bytes:
    """The rows of a screen, UTF-8, each with its newline."""
    return (render_text(screen) + "\n").encode("utf-8", "replace")


def screen_ansi(screen: Screen) -> bytes:
    """The rows of a screen with SGR sequences, UTF-8, each with its newline."""
    return (render_ansi(screen) + "\n").encode("utf-8", "replace")
