"""``Session``: a program under a PTY or over pipes, driven by calls that block."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, Self

from ptycassette.errors import CassetteError, SessionClosedError, WaitTimeoutError
from ptycassette.keys.quantities import time_text
from ptycassette.model.records import ExitStatus
from ptycassette.model.screen import Cursor, Screen, Size
from ptycassette.model.visible_text import printable
from ptycassette.recording.session.base import (
    CLOSE_GRACE_S,
    DEFAULT_TIMEOUT_S,
    SessionBase,
    Source,
)
from ptycassette.recording.session.core import Input, PipedCore, SessionView, describe_exit
from ptycassette.recording.session.steps import step

if TYPE_CHECKING:
    from concurrent.futures import Future


# Wait conditions, as questions about a ``SessionView``. Pure: no waiting, no clock.


_HINT = "wait for something that appears, or give it more time (timeout_s)"


class WaitCondition(Protocol):
    """A condition on views."""

    @property
    def what(self) -> str:
        """The condition in words."""
        ...

    def met(self, view: SessionView, now_us: int) -> bool:
        """Whether it is met, ``now_us`` after the start of the session."""
        ...

    def due_us(self, view: SessionView) -> int | None:
        """When it will be met if nothing happens; None for never."""
        ...


class Satisfies:
    """A predicate over the screen."""

    def __init__(self, predicate: Callable[[Screen], bool], what: str) -> None:
        self.what = what
        self._predicate = predicate

    def met(self, view: SessionView, now_us: int) -> bool:  # noqa: ARG002 - the protocol's
        """Whether the predicate is true."""
        return self._predicate(view.screen)

    def due_us(self, view: SessionView) -> int | None:  # noqa: ARG002 - the protocol's
        """Never by itself."""
        return None


def contains(text: str) -> Satisfies:
    """The screen shows ``text``; a newline in it continues in the next row.

    Blanks at the end of a row count, as on a screen: ``"$ "`` finds an empty prompt.
    """
    *inner, last = text.split("\n")
    pattern = re.compile(
        "".join(f"{re.escape(line.rstrip())} *\n" for line in inner) + re.escape(last)
    )

    def shown(screen: Screen) -> bool:
        rows = "\n".join(row.ljust(screen.size.cols) for row in screen.rows)
        return pattern.search(rows) is not None

    return Satisfies(shown, f"the text '{printable(text)}'")


def matches(pattern: str | re.Pattern[str]) -> Satisfies:
    """``pattern`` is found in the rows joined by newlines; ``^`` and ``$`` match at rows."""
    compiled = re.compile(pattern, re.MULTILINE) if isinstance(pattern, str) else pattern
    what = f"a match of '{printable(compiled.pattern)}'"
    return Satisfies(lambda screen: compiled.search(screen.text) is not None, what)


def matches_in_file(source: str) -> Satisfies:
    """As ``matches``, for a pattern from a file: RE2 searches in linear time.

    Raises:
        PatternError: it is not a regular expression that files may have.
    """
    # Imported here, so that patterns of Python code do not load RE2.
    from ptycassette.model.re2_engine import file_pattern  # noqa: PLC0415

    pattern = file_pattern(source, multiline=True)
    what = f"a match of '{printable(source)}'"
    return Satisfies(lambda screen: pattern.found(screen.text), what)


class CursorAt(Satisfies):
    """The cursor is at a position; None for any row or column."""

    def __init__(self, row: int | None, col: int | None) -> None:
        def there(cursor: Cursor) -> bool:
            return row in {None, cursor.row} and col in {None, cursor.col}

        super().__init__(lambda screen: there(screen.cursor), f"the cursor at ({row}, {col})")


class Stable:
    """Nothing on the screen changed for ``quiet_ms``."""

    def __init__(self, quiet_ms: float) -> None:
        self.what = f"a screen that is stable for {quiet_ms:g} ms"
        self._quiet_us = round(quiet_ms * 1000)

    def met(self, view: SessionView, now_us: int) -> bool:
        """Whether the last change is long enough ago; at once when the program ended."""
        return view.finished or now_us >= view.changed_us + self._quiet_us

    def due_us(self, view: SessionView) -> int | None:
        """When it is long enough ago."""
        return view.changed_us + self._quiet_us


class Idle:
    """It is the driver's turn: the program reports so, or shows nothing more.

    The reports of a program (OSC 7501, OSC 133) decide: it is not idle while it reports
    that it works, however quiet it is, and idle as soon as it reports the end of its turn
    after the last input. Without a report since the last input it is idle when neither
    screen nor input changed for ``quiet_ms``.
    """

    def __init__(self, quiet_ms: float) -> None:
        self.what = f"an idle program (or a screen that is stable for {quiet_ms:g} ms)"
        self._quiet_us = round(quiet_ms * 1000)

    def met(self, view: SessionView, now_us: int) -> bool:
        """Whether it is idle; at once when it ended."""
        if view.finished:
            return True
        if view.turn == "working":
            return False
        reported_idle = view.turn == "idle" and view.turn_us > view.input_us
        return reported_idle or now_us >= self._quiet_at(view)

    def due_us(self, view: SessionView) -> int | None:
        """When it has been quiet for long enough; None while it works."""
        return None if view.turn == "working" else self._quiet_at(view)

    def _quiet_at(self, view: SessionView) -> int:
        return max(view.changed_us, view.input_us) + self._quiet_us


class LineRead:
    """A stream has another line, or has ended; see ``PipedCore.has_line``."""

    hint = (
        "many programs keep back what they write to a pipe until it is a lot, or they end: run"
        " them unbuffered (python -u, stdbuf -oL), end their stdin (close_stdin), or give them"
        " more time (timeout_s)"
    )

    def __init__(self, core: PipedCore, stream: str) -> None:
        if stream not in core.outputs:
            raise ValueError(f"stream is {stream!r}, and must be stdout or stderr")
        self.what = f"a line on {stream}"
        self._core, self._stream = core, stream

    def met(self, view: SessionView, now_us: int) -> bool:  # noqa: ARG002 - the protocol's
        """Whether a line can be taken."""
        return self._core.has_line(self._stream)

    def due_us(self, view: SessionView) -> int | None:  # noqa: ARG002 - the protocol's
        """Never by itself."""
        return None


class Exited:
    """The program and all processes below it have ended, and all their output was read."""

    what = "the end of the program"

    def met(self, view: SessionView, now_us: int) -> bool:  # noqa: ARG002 - the protocol's
        """Whether the session is over."""
        return view.finished

    def due_us(self, view: SessionView) -> int | None:  # noqa: ARG002 - the protocol's
        """Never by itself."""
        return None


def broken_off(wait: WaitCondition, view: SessionView, timeout_s: float) -> CassetteError:
    """The error of a wait that failed, with the scrubbed screen: timeout, or the program ended."""
    # Imported here, so that a recorder does not load the scrubber while a program waits.
    from ptycassette.scrub.io.conceal import concealed_screen  # noqa: PLC0415

    what, rows = concealed_screen(wait.what, tuple(view.screen.text.split("\n")))
    rows = tuple(map(printable, rows))
    if not view.finished:
        return WaitTimeoutError(
            f"waited {time_text(timeout_s)} for {what}",
            screen=rows,
            hint=getattr(wait, "hint", _HINT),
        )
    shown = "\n".join(f"  | {row}" for row in rows)
    return SessionClosedError(
        f"waited for {what}, but {describe_exit(view.exit)}; the screen at its end:\n{shown}"
    )


def unread(view: SessionView, timeout_s: float) -> WaitTimeoutError:
    """The error when the program did not read input in time, with the scrubbed screen."""
    from ptycassette.scrub.io.conceal import concealed_screen  # noqa: PLC0415 - as above

    message, rows = concealed_screen(
        f"waited {time_text(timeout_s)} for the program to read its input", view.screen.rows
    )
    return WaitTimeoutError(
        message,
        screen=rows,
        hint="it is busy or stopped; wait for its prompt before sending more",
    )


class Session(SessionBase):
    """A program driven by calls that block; a context manager that closes it.

    See ``SessionBase`` for its arguments. Calls may come from several threads.
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
            TypeError: they are not bytes.
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

        A program that requested reports (DECSET 1004) gets one.
        """
        report = self._focus(gained=gained)
        if report is not None:
            self._deliver(report, timeout_s)

    @step
    def paste(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Paste text, bracketed if the program requested that (DECSET 2004)."""
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
        """Close the program's stdin after all input was sent. Idempotent.

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
        with suppress(SessionClosedError):  # a program need not read its input
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
        """End the processes that still run, and release everything. Idempotent.

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
        """Wait until the pump has completed ``done``."""
        settled = threading.Event()
        done.add_done_callback(lambda _: settled.set())
        deadline_us = self._core.now_us() + round(timeout_s * 1e6)
        while not done.done():
            left_us = deadline_us - self._core.now_us()
            if left_us <= 0 and done.cancel():
                raise unread(self._core.view(), timeout_s)
            self._pump.block(settled, max(0, left_us) / 1e6)
        done.result()
