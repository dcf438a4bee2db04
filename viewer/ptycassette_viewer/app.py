"""The Textual app: opens a cassette, or lists those of a directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ptycassette import CassetteError, open_cassette
from ptycassette.viewing import (
    ForkBetween,
    ReportedDivergence,
    fork_between,
    read_reports,
    reported_divergences,
    with_turns,
)
from ptycassette_viewer.cache import Cache
from ptycassette_viewer.dialogs import ErrorDialog
from ptycassette_viewer.session.session import DEFAULT_MEMORY
from ptycassette_viewer.traces.trace_screen import TraceScreen

from .comparison.differing import Differing
from .dialogs import BrowseScreen, HelpScreen, is_library
from .keys import COMPARING_HELP, COMPARING_KEYS, COMPARING_LEGEND, HELP, KEYS, LEGEND
from .recording.finding import Finding
from .recording.playhead import Moving, Noting, Paneling
from .session.session import ViewerSession
from .session.source import CassetteSource, LiveSource
from .traces.trace_screen import TraceListScreen, read_trace

# Two recordings, side by side or overlaid; what differs is marked.


class CompareScreen(Differing):
    """Two recordings. See ``PairScreen`` for the arguments."""

    BINDINGS: ClassVar[list[BindingType]] = [*COMPARING_KEYS]

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen(COMPARING_HELP, COMPARING_LEGEND))


# The main screen: one recording, its timeline, and the panels.


class RecordingScreen(Moving, Finding, Paneling, Noting):
    """One recording. See ``PlayheadScreen`` for the arguments."""

    BINDINGS: ClassVar[list[BindingType]] = [*KEYS]

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen(HELP, LEGEND))


_NOT_OURS = ("app.", "screen.copy_text")
"""Actions that every Textual app has."""


class ViewerApp(App[int]):
    """The viewer.

    Args:
        path: a cassette, or a directory of cassettes.
        other: a cassette to show beside it.
        live: ``path`` is the journal of a recording in progress.
        memory: bytes that the process may take.
        allow_unscrubbed: also open what was recorded without scrubbing.
        start_us: where to start; None for the first readable screen.
        report: of stand-ins, a file or a directory: its divergences are shown in recordings.
        clock: monotonic seconds, for playing.
        now: the wall clock, for the ages of recordings.
        cache: stores the index and checkpoints of recordings; None for no cache.
        traces: of tests, to be shown instead of ``path``; the newest first.
    """

    TITLE = "ptycassette"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q,ctrl+c", "quit", "Quit", show=False)]

    def __init__(  # noqa: PLR0913 - what the command line may say
        self,
        path: Path,
        *,
        other: Path | None = None,
        live: bool = False,
        memory: int = DEFAULT_MEMORY,
        allow_unscrubbed: bool = False,
        start_us: int | None = None,
        report: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        cache: Cache | None = None,
        traces: Sequence[Path] = (),
    ) -> None:
        super().__init__()
        self._path = path
        self._other = other
        self._live = live
        self._memory = memory
        self._allow_unscrubbed = allow_unscrubbed
        self._start_us = start_us
        self._report = report
        self._clock = clock
        self._now = now
        self._cache = cache
        self._traces = traces

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Commands for all keys of the screen, besides those of every Textual app."""
        known = set()
        for command in super().get_system_commands(screen):
            known.add(command.title)
            yield command
        for _, binding, enabled, _ in screen.active_bindings.values():
            if enabled and binding.description and not binding.action.startswith(_NOT_OURS):
                if binding.description in known:
                    continue  # the first of several keys, or what every app has
                known.add(binding.description)
                act = partial(screen.run_action, binding.action)
                yield SystemCommand(binding.description, f"key: {binding.key}", act)

    def on_mount(self) -> None:
        """Open the first screen."""
        if self._live:
            self.watch_live(self._path)
        elif len(self._traces) == 1:
            self.open_trace(self._traces[0])
        elif self._traces:
            self.push_screen(TraceListScreen(self._traces, self.open_trace, now=self._now))
        elif self._other is not None:
            self.compare(self._path, self._other)
        elif is_library(self._path):
            self.push_screen(BrowseScreen(self._path, self.open, now=self._now))
        else:
            self.open(self._path, quit_after=True)

    def open(self, path: Path, *, quit_after: bool = False) -> None:
        """Show a cassette. An error is shown in a dialog; then the app ends or continues."""
        session = self._session(path, quit_after=quit_after)
        if session is None:
            return
        problem, divergences = self._divergences(session)
        screen = RecordingScreen(
            session, start_us=self._start_us, divergences=divergences, clock=self._clock
        )
        self.push_screen(screen)
        if problem is not None:
            self.push_screen(ErrorDialog(problem, title="No divergences can be shown"))

    def _divergences(
        self, session: ViewerSession
    ) -> tuple[CassetteError | None, tuple[ReportedDivergence, ...]]:
        """The divergences of this recording in the report, or why there are none."""
        source = session.source
        if self._report is None or not isinstance(source, CassetteSource):
            return None, ()
        try:
            reports = read_reports(self._report)
            cassette_id = source.cassette.manifest.id
            return None, reported_divergences(reports, cassette_id, where=str(self._report))
        except CassetteError as problem:
            return problem, ()

    def open_trace(self, path: Path) -> None:
        """Show a trace of a test. An error is shown in a dialog."""
        try:
            trace = read_trace(path)
        except CassetteError as problem:
            status = problem.exit_status
            alone = len(self._traces) == 1
            after = (lambda _: self.exit(status)) if alone else None
            self.push_screen(ErrorDialog(problem, title="This cannot be opened"), after)
            return
        self.push_screen(TraceScreen(trace, path, self._open_at))

    def _open_at(self, path: Path, seq: int) -> None:
        """Show a cassette right after event ``seq``."""
        session = self._session(path, quit_after=False)
        if session is not None:
            self.push_screen(RecordingScreen(session, start_seq=seq, clock=self._clock))

    def watch_live(self, path: Path) -> None:
        """Follow a recording in progress."""
        try:
            source = LiveSource(path)
        except CassetteError as problem:
            status = problem.exit_status
            self.push_screen(ErrorDialog(problem), lambda _: self.exit(status))
            return
        self.push_screen(
            RecordingScreen(ViewerSession(source, memory=self._memory), clock=self._clock)
        )

    def compare(self, path: Path, other: Path) -> None:
        """Show two cassettes side by side."""
        first = self._session(path, quit_after=True, share=2)
        second = self._session(other, quit_after=True, share=2) if first is not None else None
        if first is not None and second is not None:
            forked = _forked(path, other)
            start_us = self._start_us
            if start_us is None and forked is not None:
                start_us = forked.t_us
            self.push_screen(
                CompareScreen(first, second, start_us=start_us, forked=forked, clock=self._clock)
            )
        elif first is not None:
            first.close()

    def _session(self, path: Path, *, quit_after: bool, share: int = 1) -> ViewerSession | None:
        """A session on a cassette; None, with a dialog, when it cannot be opened.

        ``share`` is how many sessions share the memory.
        """
        try:
            cassette = with_turns(
                open_cassette(path, check="manifest", allow_unscrubbed=self._allow_unscrubbed)
            )
        except CassetteError as problem:
            status = problem.exit_status
            after = (lambda _: self.exit(status)) if quit_after else None
            self.push_screen(ErrorDialog(problem, title="This cannot be opened"), after)
            return None
        source = CassetteSource(cassette)
        return ViewerSession(source, memory=self._memory, sessions=share, cache=self._cache)


def _forked(path: Path, other: Path) -> ForkBetween | None:
    """Where one was forked of the other; None if it was not, or cannot be read."""
    try:
        return fork_between(path, other)
    except CassetteError:  # the sessions say what is wrong with it
        return None
