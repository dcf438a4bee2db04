"""``Session``: a program under a PTY or over pipes, driven by calls that block."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from ptycassette.errors import SessionClosedError
from ptycassette.model.events import ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.model.screen import Screen
from ptycassette.session.base import (
    CLOSE_GRACE_S,
    DEFAULT_TIMEOUT_S,
    SessionBase,
    Source,
)
from ptycassette.session.core import Input
from ptycassette.session.steps import step
from ptycassette.session.waits import (
    CursorAt,
    Exited,
    Idle,
    LineRead,
    Satisfies,
    Stable,
    WaitCondition,
    broken_off,
    contains,
    matches,
    unread,
)

if TYPE_CHECKING:
    from concurrent.futures import Future


class Session(SessionBase):
    """A program driven by calls that block; a context manager that closes it.

    See ``SessionBase`` for what it is made from. Calls may come from several threads.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- input: each returns when the terminal took it -----------------------------------

    @step
    def send(
        self, data: bytes, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Give bytes to the terminal, or to the pipe; ``type`` takes text.

        Raises:
            TypeError: they are no bytes.
            InputRefusedError: a line that the kernel would cut; nothing was sent.
            SessionClosedError: the program ended.
            WaitTimeoutError: the program does not read; a part may have been sent.
        """
        self._deliver(self._bytes(data, source), timeout_s)

    @step
    def send_key(
        self, name: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Press a key: ``enter``, ``ctrl-c``, ``alt-f``, ``shift-tab``, ``f5``, ``x``.

        Raises:
            ValueError: no such key (``ptycassette.keys`` lists them).
        """
        self._deliver(self._key(name, source), timeout_s)

    @step
    def type(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Type text; a newline in it is the Enter key."""
        self._deliver(self._text(text, source), timeout_s)

    @step
    def focus(self, *, gained: bool = True, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Give the terminal the focus, or take it away.

        A program that asked for it (DECSET 1004) gets a report.
        """
        report = self._focus(gained=gained)
        if report is not None:
            self._deliver(report, timeout_s)

    @step
    def paste(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Paste text, bracketed if the program asked for that (DECSET 2004)."""
        self._deliver(self._paste(text, source), timeout_s)

    @step
    def submit(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Paste or type text, pause, and press Enter, as agent CLIs need it."""
        self._deliver(self._without_enter(text, source), timeout_s)
        self._pump.rest(self._submit_pause_s)
        self.send_key("enter", source=source, timeout_s=timeout_s)

    @step
    def send_secret(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Type text that is secret: a recording shows asterisks, and the scrubber knows it.

        Needed where the program echoes it, or paints its own fields. Prompts that do not
        echo are recognised without it. A newline in it is the Enter key.
        """
        self._deliver(self._text(text, source, secret=True), timeout_s)

    @step
    def submit_secret(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """As ``submit``, of text that is secret as in ``send_secret``."""
        self._deliver(self._without_enter(text, source, secret=True), timeout_s)
        self._pump.rest(self._submit_pause_s)
        self._deliver(self._key("enter", source, secret=True), timeout_s)

    @step
    def resize(self, size: Size) -> None:
        """Give the terminal another size; the program gets SIGWINCH."""
        self._await(self._core.resize(size), DEFAULT_TIMEOUT_S)
        self._size = size

    @step
    def signal(self, which: str | int) -> None:
        """Signal the foreground process group: ``int``, ``SIGTERM``, 15."""
        self._await(self._core.signal(which), DEFAULT_TIMEOUT_S)

    @step
    def note(self, payload: Any) -> None:
        """Record a service event (any JSON value) now."""
        self._await(self._core.note(self._noted(payload)), DEFAULT_TIMEOUT_S)

    # --- waiting -----------------------------------------------------------------------

    @step
    def screen(self) -> Screen:
        """The screen now, with everything that the program wrote so far."""
        self._await(self._core.screen(), DEFAULT_TIMEOUT_S)
        return self._core.view().screen

    @step
    def wait_for_text(self, text: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Screen:
        """Wait until the screen shows ``text``; a newline in it continues in the next row.

        Returns:
            The screen that did.

        Raises:
            WaitTimeoutError: it did not, within ``timeout_s``; shows the screen.
            SessionClosedError: the program ended without; shows the screen.
        """
        return self.wait_for(contains(text), timeout_s=timeout_s)

    @step
    def wait_for_regex(
        self, pattern: str | re.Pattern[str], *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> Screen:
        """Wait until ``pattern`` is found in the rows of the screen, joined by newlines."""
        return self.wait_for(matches(pattern), timeout_s=timeout_s)

    @step
    def wait_for_predicate(
        self,
        predicate: Callable[[Screen], bool],
        *,
        what: str = "a predicate",
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Screen:
        """Wait until ``predicate`` is true; ``what`` names it in the error."""
        return self.wait_for(Satisfies(predicate, what), timeout_s=timeout_s)

    @step
    def wait_for_cursor(
        self,
        row: int | None = None,
        col: int | None = None,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Screen:
        """Wait for the cursor's position, counted from 0; None for any row or column."""
        return self.wait_for(CursorAt(row, col), timeout_s=timeout_s)

    @step
    def wait_stable(self, quiet_ms: float = 200, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Screen:
        """Wait until nothing on the screen has changed for ``quiet_ms``."""
        return self.wait_for(Stable(quiet_ms), timeout_s=timeout_s)

    @step
    def wait_idle(self, quiet_ms: float = 500, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Screen:
        """Wait until it is the driver's turn: the program reports it, or it is idle.

        Codex and others report to their terminal when they work and when they are done
        (OSC 7501); shells with integration mark their prompts (OSC 133). Without such reports,
        a program is idle when its screen has not changed for ``quiet_ms`` since the last input.
        """
        return self.wait_for(Idle(quiet_ms), timeout_s=timeout_s)

    @step
    def wait_exit(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> ExitStatus:
        """Wait for the end: of the program, of what it started, and of their output."""
        self.wait_for(Exited(), timeout_s=timeout_s)
        return self._status()

    @step
    def wait_for(self, wait: WaitCondition, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Screen:
        """Wait for any condition on the session's view."""
        core, changed = self._core, threading.Event()
        stop = core.watch(changed.set, screen=not isinstance(wait, Exited | LineRead))
        try:
            deadline_us = core.now_us() + round(timeout_s * 1e6)
            if not isinstance(wait, LineRead):
                self._await(core.screen(), timeout_s)
            while True:
                changed.clear()
                view, now_us = core.view(), core.now_us()
                self._raise_failure()
                if wait.met(view, now_us):
                    return view.screen
                if view.finished or now_us >= deadline_us:
                    if not view.finished:
                        self._await(core.screen(), DEFAULT_TIMEOUT_S)
                        view = core.view()
                    raise broken_off(wait, view, timeout_s)
                due_us = wait.due_us(view)
                until_us = deadline_us if due_us is None else min(deadline_us, due_us)
                self._pump.block(changed, max(0, until_us - now_us) / 1e6)
        finally:
            stop()

    # --- over pipes ----------------------------------------------------------------------

    @step
    def close_stdin(self) -> None:
        """Close the program's stdin after all that was sent. Idempotent.

        Raises:
            ValueError: it is at a terminal.
        """
        self._await(self._with_pipes().close_stdin(), DEFAULT_TIMEOUT_S)

    @step
    def read_line(self, *, stream: str = "stdout", timeout_s: float = DEFAULT_TIMEOUT_S) -> bytes:
        """The next line of ``stdout`` or ``stderr``, with its newline; empty at the end.

        Raises:
            ValueError: the program is at a terminal, or there is no such stream.
            WaitTimeoutError: no whole line came within ``timeout_s``.
        """
        core = self._with_pipes()
        self.wait_for(LineRead(core, stream), timeout_s=timeout_s)
        return core.take_line(stream)

    @step
    def communicate(
        self, data: bytes | str = b"", *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> tuple[bytes, bytes]:
        """Send ``data``, end stdin, and wait for the program's end, as ``Popen.communicate``.

        Returns:
            All of its stdout, and all of its stderr.

        Raises:
            ValueError: the program is at a terminal.
            WaitTimeoutError: it has not ended within ``timeout_s``.
        """
        given = self._all_input(data)
        with suppress(SessionClosedError):  # a program need not read what it is sent
            self._deliver(given, timeout_s)
        self.close_stdin()
        self.wait_exit(timeout_s=timeout_s)
        return self.stdout, self.stderr

    # --- the end -----------------------------------------------------------------------

    @step
    def terminate(self, *, grace_s: float = CLOSE_GRACE_S) -> ExitStatus:
        """End the program and all it started: SIGTERM, SIGKILL after ``grace_s``. Idempotent.

        A recording holds it as the signal ``term`` (``kill`` where ``grace_s`` is 0), unless the
        program had ended already.

        Returns:
            How the program ended; in replay, as recorded.

        Raises:
            DivergenceError: in replay, where the recording has no such signal.
        """
        if not self._core.finished:
            asked = self._core.end(grace_s)
            self._pump.join()
            self._raise_failure()
            if asked.done():
                asked.result()
        self._raise_failure()
        return self._status()

    @step
    def kill(self) -> ExitStatus:
        """End the program and all it started with SIGKILL. Idempotent.

        As ``terminate``, recorded as the signal ``kill``.
        """
        return self.terminate(grace_s=0)

    def request_end(self) -> None:
        """Ask the program, and all processes that it started, to end; return at once.

        ``wait_exit`` waits for that. May be called from a signal handler.
        """
        if not self._core.finished:
            self._pty.request_end(CLOSE_GRACE_S)

    @step
    def close(self) -> None:
        """End what still runs and release everything. Idempotent.

        Raises:
            CassetteError: the tap failed while the session ran, and this was not raised yet.
        """
        if self._closed or not self._core.owner.here:
            return
        self._closed = True
        try:
            self.request_end()
            self._pump.join()
        finally:
            self._pty.close()
        self._raise_failure()

    def _deliver(self, what: Input, timeout_s: float) -> None:
        self._await(self._core.send(what), timeout_s)

    def _await(self, done: Future[None], timeout_s: float) -> None:
        """Wait for the pump to have done something."""
        settled = threading.Event()
        done.add_done_callback(lambda _: settled.set())
        deadline_us = self._core.now_us() + round(timeout_s * 1e6)
        while not done.done():
            left_us = deadline_us - self._core.now_us()
            if left_us <= 0 and done.cancel():
                raise unread(self._core.view(), timeout_s)
            self._pump.block(settled, max(0, left_us) / 1e6)
        done.result()
