"""Moves a playhead in a thread of its own, to the position requested last.

A request replaces the previous one, even while that is being served. If the exact screen
takes long, a stored frame is shown first, and marked as such.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec

from ptycassette import CassetteError, Screen
from ptycassette.viewing import screen_of

from .session.session import ViewerSession

FAR_BYTES = 200_000
"""Where more must be fed than this, a stored frame is shown meanwhile."""
_WAIT_S = 0.02


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A screen to show. ``exact`` is False for a stored frame shown in its place."""

    t_us: int
    seq: int
    screen: Screen
    exact: bool


class _Wanted(msgspec.Struct, frozen=True):
    t_us: int
    seq: int | None


class Seeker:
    """One playhead and its thread.

    Args:
        session: the recording.
        deliver: called from the thread with each screen to show.
    """

    def __init__(self, session: ViewerSession, deliver: Callable[[Shown], None]) -> None:
        self._session = session
        self._deliver = deliver
        self._head = session.head()
        self._wanted: _Wanted | None = None
        self._condition = threading.Condition()
        self._closing = False
        self._busy = False
        self._thread = threading.Thread(target=self._run, name="viewer-seek", daemon=True)

    @property
    def idle(self) -> bool:
        """Whether the last request was served."""
        with self._condition:
            return self._wanted is None and not self._busy

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        with self._condition:
            self._closing = True
            self._condition.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def request(self, t_us: int, seq: int | None = None) -> None:
        """Ask for the screen at a time, or after event ``seq``."""
        with self._condition:
            self._wanted = _Wanted(t_us, seq)
            self._condition.notify()

    def _stop(self) -> bool:
        return self._wanted is not None or self._closing

    def _run(self) -> None:
        while True:
            with self._condition:
                self._busy = False
                while self._wanted is None and not self._closing:
                    self._condition.wait()
                if self._closing:
                    return
                wanted, self._wanted = self._wanted, None
                self._busy = True
            if wanted is not None:
                try:
                    self._serve(wanted)
                except (CassetteError, OSError, ValueError) as problem:
                    self._fail(problem)

    def _fail(self, problem: Exception) -> None:
        if not self._closing and self._session.problem is None:
            self._session.problem = CassetteError(f"cannot be read: {problem}")

    def _serve(self, wanted: _Wanted) -> None:
        index = self._session.index
        shown_early = False
        while not self._known(wanted):
            shown_early = shown_early or self._show_early(wanted)
            if self._waits():
                return
        seq = index.at(wanted.t_us) if wanted.seq is None else min(wanted.seq, index.count)
        while self._head.distance(seq) > FAR_BYTES:
            shown_early = shown_early or self._show_early(wanted)
            if self._session.emulated.is_set() or self._session.source.live:
                break
            if self._waits():
                return
        with self._session.foreground():
            if not self._head.move(seq, self._stop):
                return
            screen = self._head.screen
        t_us = wanted.t_us if wanted.seq is None else index.time_of(seq)
        self._deliver(Shown(t_us=t_us, seq=seq, screen=screen, exact=True))

    def _known(self, wanted: _Wanted) -> bool:
        session = self._session
        if session.indexed.is_set() or session.source.live:
            return True
        if wanted.seq is not None:
            return wanted.seq <= session.index.count
        return wanted.t_us < session.index.duration_us

    def _show_early(self, wanted: _Wanted) -> bool:
        try:
            with self._session.foreground():
                frame = self._session.source.frame_at(wanted.t_us)
        except CassetteError:  # the background comes to it, and says so
            return False
        if frame is None:
            return False
        seq = frame.seq if wanted.seq is None else wanted.seq
        self._deliver(Shown(t_us=wanted.t_us, seq=seq, screen=screen_of(frame), exact=False))
        return True

    def _waits(self) -> bool:
        """Wait a little for the background; True when there is a newer request."""
        with self._condition:
            self._condition.wait(_WAIT_S)
            return self._stop()
