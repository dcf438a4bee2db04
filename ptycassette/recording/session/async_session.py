"""``AsyncSession``: a program under a PTY, driven from an event loop.

The same core and the same pump as ``Session``; a wait is a future of the loop: it can be
cancelled at any moment and blocks no thread.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from ptycassette.errors import SessionClosedError, UsageError
from ptycassette.model.records import ExitStatus
from ptycassette.model.screen import Screen, Size
from ptycassette.recording.session.base import (
    CLOSE_GRACE_S,
    DEFAULT_TIMEOUT_S,
    ScriptPump,
    SessionBase,
    Source,
)
from ptycassette.recording.session.core import Input
from ptycassette.recording.session.session import (
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
from ptycassette.recording.session.steps import step
from ptycassette.system.clock import is_frozen

if TYPE_CHECKING:
    from concurrent.futures import Future


def require_asyncio() -> None:
    """Refuse other event loops.

    Raises:
        UsageError: the running coroutine is not driven by asyncio.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise UsageError(
            "asynchronous sessions need the event loop of asyncio, and another one runs here",
            hint="run it with asyncio (anyio: backend='asyncio'), or use the synchronous form in a"
            " thread (trio.to_thread.run_sync)",
        ) from None


class AsyncSession(SessionBase):
    """A program under a PTY, driven by coroutines. Made and named as ``Session`` is.

    Making one starts the program (a few milliseconds, in the loop's thread);
    ``async with`` closes it.
    """

    async def __aenter__(self) -> Self:
        try:
            require_asyncio()
        except UsageError:
            self._pty.request_end(0)
            self._pump.join()
            self._pty.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- input: each returns when the terminal took it -----------------------------------

    @step
    async def send(
        self, data: bytes, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Give bytes to the terminal. Raises as ``Session.send``."""
        await self._deliver(self._bytes(data, source), timeout_s)

    @step
    async def send_key(
        self, name: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Press a key: ``enter``, ``ctrl-c``, ``alt-f``, ``shift-tab``, ``f5``, ``x``."""
        await self._deliver(self._key(name, source), timeout_s)

    @step
    async def type(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Type text; a newline in it is the Enter key."""
        await self._deliver(self._text(text, source), timeout_s)

    @step
    async def focus(self, *, gained: bool = True, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Give the terminal the focus, or take it away; see ``Session.focus``."""
        report = self._focus(gained=gained)
        if report is not None:
            await self._deliver(report, timeout_s)

    @step
    async def paste(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Paste text, bracketed if the program requested that (DECSET 2004)."""
        await self._deliver(self._paste(text, source), timeout_s)

    @step
    async def submit(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Paste or type text, pause, and press Enter, as agent CLIs need it."""
        await self._deliver(self._without_enter(text, source), timeout_s)
        await self._rest(self._submit_pause_s)
        await self.send_key("enter", source=source, timeout_s=timeout_s)

    @step
    async def send_secret(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """Type text that is secret; see ``Session.send_secret``."""
        await self._deliver(self._text(text, source, secret=True), timeout_s)

    @step
    async def submit_secret(
        self, text: str, *, source: Source = "driver", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """As ``submit``, of text that is secret as in ``send_secret``."""
        await self._deliver(self._without_enter(text, source, secret=True), timeout_s)
        await self._rest(self._submit_pause_s)
        await self._deliver(self._key("enter", source, secret=True), timeout_s)

    @step
    async def resize(self, size: Size) -> None:
        """Give the terminal another size; the program gets SIGWINCH."""
        await self._await(self._core.resize(size), DEFAULT_TIMEOUT_S)
        self._size = size

    @step
    async def signal(self, which: str | int) -> None:
        """Signal the foreground process group: ``int``, ``SIGTERM``, 15."""
        await self._await(self._core.signal(which), DEFAULT_TIMEOUT_S)

    @step
    async def note(self, payload: Any) -> None:
        """Record a service event (any JSON value) now."""
        await self._await(self._core.note(self._noted(payload)), DEFAULT_TIMEOUT_S)

    # --- waiting: as in ``Session``, and cancellable ---------------------------------------

    @step
    async def screen(self) -> Screen:
        """The screen now, with everything that the program wrote so far."""
        await self._await(self._core.screen(), DEFAULT_TIMEOUT_S)
        return self._core.view().screen

    @step
    async def wait_for_text(self, text: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Screen:
        """Wait until the screen shows ``text``. Returns and raises as ``Session.wait_for_text``."""
        return await self.wait_for(contains(text), timeout_s=timeout_s)

    @step
    async def wait_for_regex(
        self, pattern: str | re.Pattern[str], *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> Screen:
        """Wait until ``pattern`` is found in the rows of the screen, joined by newlines."""
        return await self.wait_for(matches(pattern), timeout_s=timeout_s)

    @step
    async def wait_for_predicate(
        self,
        predicate: Callable[[Screen], bool],
        *,
        what: str = "a predicate",
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Screen:
        """Wait until ``predicate`` is true; ``what`` names it in the error."""
        return await self.wait_for(Satisfies(predicate, what), timeout_s=timeout_s)

    @step
    async def wait_for_cursor(
        self,
        row: int | None = None,
        col: int | None = None,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Screen:
        """Wait for the cursor's position, counted from 0; None for any row or column."""
        return await self.wait_for(CursorAt(row, col), timeout_s=timeout_s)

    @step
    async def wait_stable(
        self, quiet_ms: float = 200, *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> Screen:
        """Wait until nothing on the screen has changed for ``quiet_ms``."""
        return await self.wait_for(Stable(quiet_ms), timeout_s=timeout_s)

    @step
    async def wait_idle(
        self, quiet_ms: float = 500, *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> Screen:
        """Wait until it is the driver's turn; see ``Session.wait_idle``."""
        return await self.wait_for(Idle(quiet_ms), timeout_s=timeout_s)

    @step
    async def wait_exit(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> ExitStatus:
        """Wait for the end: of the program, of what it started, and of their output."""
        await self.wait_for(Exited(), timeout_s=timeout_s)
        return self._status()

    @step
    async def wait_for(
        self, wait: WaitCondition, *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> Screen:
        """Wait for any condition on the session's view."""
        core, changed = self._core, _LoopEvent()
        stop = core.watch(changed.set, screen=not isinstance(wait, Exited | LineRead))
        try:
            deadline_us = core.now_us() + round(timeout_s * 1e6)
            if not isinstance(wait, LineRead):
                await self._await(core.screen(), timeout_s)
            while True:
                changed.clear()
                view, now_us = core.view(), core.now_us()
                self._raise_failure()
                if wait.met(view, now_us):
                    return view.screen
                if view.finished or now_us >= deadline_us:
                    if not view.finished:
                        await self._await(core.screen(), DEFAULT_TIMEOUT_S)
                        view = core.view()
                    raise broken_off(wait, view, timeout_s)
                due_us = wait.due_us(view)
                until_us = deadline_us if due_us is None else min(deadline_us, due_us)
                await self._block(changed, max(0, until_us - now_us) / 1e6)
        finally:
            stop()

    # --- over pipes ----------------------------------------------------------------------

    @step
    async def close_stdin(self) -> None:
        """Close the program's stdin after all input was sent; see ``Session.close_stdin``."""
        await self._await(self._with_pipes().close_stdin(), DEFAULT_TIMEOUT_S)

    @step
    async def read_line(
        self, *, stream: str = "stdout", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> bytes:
        """The next line of ``stdout`` or ``stderr``; see ``Session.read_line``."""
        core = self._with_pipes()
        await self.wait_for(LineRead(core, stream), timeout_s=timeout_s)
        return core.take_line(stream)

    @step
    async def communicate(
        self, data: bytes | str = b"", *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> tuple[bytes, bytes]:
        """Send ``data``, end stdin, and wait for the program's end; see ``Session.communicate``."""
        given = self._all_input(data)
        with suppress(SessionClosedError):  # a program need not read its input
            await self._deliver(given, timeout_s)
        await self.close_stdin()
        await self.wait_exit(timeout_s=timeout_s)
        return self.stdout, self.stderr

    # --- the end -----------------------------------------------------------------------

    @step
    async def terminate(self, *, grace_s: float = CLOSE_GRACE_S) -> ExitStatus:
        """End the program and all it started; recorded and raising as ``Session.terminate``."""
        if not self._core.finished:
            asked = self._core.end(grace_s)
            await self._ended()
            self._raise_failure()
            if asked.done():
                asked.result()
        self._raise_failure()
        return self._status()

    @step
    async def kill(self) -> ExitStatus:
        """End the program and all it started with SIGKILL; see ``Session.kill``."""
        return await self.terminate(grace_s=0)

    @step
    async def close(self) -> None:
        """End the running processes and release everything. Raises as ``Session.close``.

        Idempotent. A cancellation while it waits ends the program at once.
        """
        if self._closed or not self._core.owner.here:
            return
        self._closed = True
        try:
            if not self._core.finished:
                self._pty.request_end(CLOSE_GRACE_S)
            await self._ended()
        finally:
            if not self._core.finished:
                self._pty.request_end(0)
            self._pump.join()
            self._pty.close()
        self._raise_failure()

    async def _ended(self) -> None:
        changed = _LoopEvent()
        stop = self._core.watch(changed.set, screen=False)
        try:
            while not self._core.finished:
                changed.clear()
                if not self._core.finished:
                    await self._block(changed, 3600.0)
        finally:
            stop()

    async def _rest(self, seconds: float) -> None:
        """Pause: in the loop, or in the script's time."""
        if isinstance(self._pump, ScriptPump):
            self._pump.rest(seconds)
        else:
            await self._async_sleeper.sleep(seconds)

    async def _block(self, changed: _LoopEvent, timeout_s: float) -> None:
        """Let other tasks run until something changed, or ``timeout_s`` passed."""
        if isinstance(self._pump, ScriptPump):
            self._pump.block(changed.flag, timeout_s)
            await asyncio.sleep(0)
            return
        if is_frozen():  # the loop's own clock does not advance
            alarm = threading.Timer(timeout_s, changed.set)
            alarm.daemon = True
            alarm.start()
            try:
                await changed.wait()
            finally:
                alarm.cancel()
            return
        with suppress(TimeoutError):
            # Not wait_for: before Python 3.12 it may swallow a cancellation.
            async with asyncio.timeout(timeout_s):
                await changed.wait()

    async def _deliver(self, what: Input, timeout_s: float) -> None:
        await self._await(self._core.send(what), timeout_s)

    async def _await(self, done: Future[None], timeout_s: float) -> None:
        """Wait for a request to the pump; a cancellation withdraws it if possible."""
        settled = _LoopEvent()
        done.add_done_callback(lambda _: settled.set())
        deadline_us = self._core.now_us() + round(timeout_s * 1e6)
        try:
            while not done.done():
                settled.clear()
                left_us = deadline_us - self._core.now_us()
                if left_us <= 0 and done.cancel():
                    raise unread(self._core.view(), timeout_s)
                if not done.done():
                    await self._block(settled, max(0, left_us) / 1e6)
        except asyncio.CancelledError:
            done.cancel()
            raise
        done.result()


class _LoopEvent:
    """An event that any thread may set and the running loop waits for."""

    def __init__(self) -> None:
        self.flag = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def set(self) -> None:
        """Wake the loop, unless it is closed."""
        self.flag.set()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._event.set)

    def clear(self) -> None:
        self.flag.clear()
        self._event.clear()

    async def wait(self) -> None:
        if not self.flag.is_set():
            await self._event.wait()
