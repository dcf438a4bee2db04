"""Whether a run may replace the cassette that is there (docs/decisions/0154)."""

from __future__ import annotations

from pathlib import Path

from ptycassette.cassette.io import open_cassette
from ptycassette.errors import CassetteError
from ptycassette.model import ExitStatus, Output
from ptycassette.recording.io._journal_source import JournalSource

__all__ = ["reason_to_keep"]


def reason_to_keep(target: Path, journal: Path, status: ExitStatus | None) -> str | None:
    """Why the cassette at ``target`` must be kept; None if this run may replace it.

    A run that failed without any output must not replace a recording that has some.

    Args:
        target: the path of the cassette, which need not exist.
        journal: of the run, complete.
        status: how the program ended.
    """
    if status is None or (status.exited and status.code == 0) or not _shows_something(target):
        return None
    if any(isinstance(event, Output) and event.data for event in JournalSource(journal)()):
        return None
    how = f"by a signal ({status.signal})" if status.signaled else f"with status {status.code}"
    return f"the program ended {how} and showed nothing; the cassette that is there was kept"


def _shows_something(target: Path) -> bool:
    try:
        with open_cassette(target, check="manifest", allow_unscrubbed=True) as cassette:
            return cassette.output_size > 0
    except CassetteError:
        return False
