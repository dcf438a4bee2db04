"""Whether a run may replace the cassette that is there (docs/decisions/0154)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import CassetteError
from ptycassette.model.events import ExitStatus


def reason_to_keep(
    target: Path, status: ExitStatus | None, *, showed_output: Callable[[], bool]
) -> str | None:
    """Why the cassette at ``target`` must be kept; None if this run may replace it.

    A run that failed without any output must not replace a recording that has some.

    Args:
        target: the path of the cassette, which need not exist.
        status: how the program ended.
        showed_output: whether this run had output; asked only where that matters.
    """
    if status is None or (status.exited and status.code == 0) or not _has_output(target):
        return None
    if showed_output():
        return None
    how = f"by a signal ({status.signal})" if status.signaled else f"with status {status.code}"
    return f"the program ended {how} and showed nothing; the cassette that is there was kept"


def _has_output(target: Path) -> bool:
    try:
        with open_cassette(target, check="manifest", allow_unscrubbed=True) as cassette:
            return cassette.output_size > 0
    except CassetteError:
        return False
