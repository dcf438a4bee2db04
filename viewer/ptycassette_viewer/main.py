"""What ``ptycassette view`` and ``watch`` start, found through the entry point group."""

from __future__ import annotations

import sys
from pathlib import Path

from ptycassette_viewer.app import ViewerApp

__all__ = ["main", "view", "watch"]


def view(
    path: str,
    *,
    other: str | None = None,
    memory_mb: int = 300,
    allow_unscrubbed: bool = False,
    start: float | None = None,
) -> int:
    """Show a cassette, or the cassettes of a directory, until the user quits.

    Args:
        path: the cassette or directory.
        other: a cassette to show beside it.
        memory_mb: megabytes that the index of a recording may take.
        allow_unscrubbed: also open what was recorded without scrubbing.
        start: seconds into the recording to start at.

    Returns:
        The exit status.
    """
    app = ViewerApp(
        Path(path),
        other=None if other is None else Path(other),
        memory=memory_mb * 1_000_000,
        allow_unscrubbed=allow_unscrubbed,
        start_us=None if start is None else round(start * 1_000_000),
    )
    status = app.run()
    return status or app.return_code or 0


def watch(path: str, *, memory_mb: int = 300) -> int:
    """Follow the recording in progress whose journal is at ``path``, until the user quits.

    Args:
        path: the journal.
        memory_mb: megabytes that the index may take.
    """
    app = ViewerApp(Path(path), live=True, memory=memory_mb * 1_000_000)
    status = app.run()
    return status or app.return_code or 0


def main() -> int:
    """``ptycassette-view``: the same as ``ptycassette view``."""
    from ptycassette.cli import main as command_line  # noqa: PLC0415 - only this program needs it

    return command_line(["view", *sys.argv[1:]])
