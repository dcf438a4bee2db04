"""Tells a test runner of every cassette that a test uses or records, and of its session.

One watcher at a time; an inner test runner replaces it until it is done.
Watching loads nothing, as most tests use no cassette.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ptycassette.agents.rerun.report import RerunReport
    from ptycassette.replaying.divergence import Divergence, Drift, Side
    from ptycassette.replaying.io.modes import Action


class WatchedResult(Protocol):
    """The result of ``use`` or ``use_tape``; see ``UseResult``."""

    action: Action
    cassette: str
    divergences: tuple[Divergence, ...]
    notes: tuple[str, ...]
    drift: Drift | None
    recorded: bool
    over: bool

    @property
    def unplayed(self) -> object:
        """The part of the recording that was not reached; false if everything was."""
        ...

    @property
    def sides(self) -> tuple[Side, Side] | None:
        """The two recordings that were compared, where both have screens."""
        ...

    @property
    def rerun(self) -> RerunReport | None:
        """The report of mode ``rerun``."""
        ...


class UseWatcher(Protocol):
    """Calls for a test runner, made from any thread."""

    def used(self, result: WatchedResult, session: object) -> None:
        """A use has begun; ``result`` is complete when its block is left."""
        ...

    def recording(self, path: Path, *, stated: bool) -> None:
        """The cassette is about to be recorded; what this raises prevents it.

        ``stated``: the code of the test itself names the mode.
        """
        ...

    def recorded(self, path: Path) -> None:
        """The cassette was recorded."""
        ...


_watcher: UseWatcher | None = None


@contextmanager
def watch_uses(watcher: UseWatcher) -> Iterator[None]:
    """Inform ``watcher`` of every use in this process while entered."""
    global _watcher  # noqa: PLW0603 - threads of a test do not inherit its context variables
    before, _watcher = _watcher, watcher
    try:
        yield
    finally:
        _watcher = before


def announce_use(result: WatchedResult, session: object) -> None:
    """Tell the watcher, if there is one."""
    if _watcher is not None:
        _watcher.used(result, session)


def announce_recording(path: Path, *, stated: bool) -> None:
    """Ask the watcher, if there is one; it may refuse."""
    if _watcher is not None:
        _watcher.recording(path, stated=stated)


def announce_recorded(path: Path) -> None:
    """Tell the watcher, if there is one."""
    if _watcher is not None:
        _watcher.recorded(path)
