"""A process acts only on what it started, wrote or locked itself; a fork of it must not.

A fork copies every object. Python closes the generators of threads that a fork does not have,
an exception in the fork leaves the blocks of its parent, and ``atexit`` runs there as well. So
code that ends programs or removes files first checks that it runs in the process that made them.
"""

from __future__ import annotations

import atexit
import functools
import os
import select
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from types import FrameType, TracebackType
from typing import ParamSpec, Self, TypeVar

from ptycassette.system.clock import monotonic_s

_P = ParamSpec("_P")
_T = TypeVar("_T")
_ENTERED: set[object] = set()
"""Keeps the generators of entered blocks, so that a fork does not close them."""


class Owner:
    """The process in which this object was made."""

    def __init__(self) -> None:
        self.pid = os.getpid()

    @property
    def here(self) -> bool:
        """Whether this is that process, and not a fork of it."""
        return os.getpid() == self.pid


class _Owned(AbstractContextManager[_T]):
    def __init__(self, inner: AbstractContextManager[_T]) -> None:
        self._inner = inner
        self._owner = Owner()

    def __enter__(self) -> _T:
        entered = self._inner.__enter__()
        _ENTERED.add(self)
        return entered

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if not self._owner.here:
            return None
        _ENTERED.discard(self)
        return self._inner.__exit__(kind, exc, trace)


class _OwnedAsync(AbstractAsyncContextManager[_T]):
    def __init__(self, inner: AbstractAsyncContextManager[_T]) -> None:
        self._inner = inner
        self._owner = Owner()

    async def __aenter__(self) -> _T:
        entered = await self._inner.__aenter__()
        _ENTERED.add(self)
        return entered

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if not self._owner.here:
            return None
        _ENTERED.discard(self)
        return await self._inner.__aexit__(kind, exc, trace)


def owned_context(
    function: Callable[_P, Iterator[_T]],
) -> Callable[_P, AbstractContextManager[_T]]:
    """As ``contextlib.contextmanager``; in a fork the end of the block does nothing."""
    make = contextmanager(function)

    @functools.wraps(function)
    def owned(*args: _P.args, **kwargs: _P.kwargs) -> AbstractContextManager[_T]:
        return _Owned(make(*args, **kwargs))

    return owned


def owned_async_context(
    function: Callable[_P, AsyncIterator[_T]],
) -> Callable[_P, AbstractAsyncContextManager[_T]]:
    """As ``contextlib.asynccontextmanager``; in a fork the end of the block does nothing."""
    make = asynccontextmanager(function)

    @functools.wraps(function)
    def owned(*args: _P.args, **kwargs: _P.kwargs) -> AbstractAsyncContextManager[_T]:
        return _OwnedAsync(make(*args, **kwargs))

    return owned


class Closing(ABC):
    """A context manager that returns itself and is closed at the end of the block."""

    @abstractmethod
    def close(self) -> None:
        """Close it; does nothing the second time."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


# A process that a signal ends removes what it made for itself, and still ends by that signal.
#
# By default SIGTERM ends a process where it is: temporary files and folders stay.


_ENDING = (signal.SIGTERM, signal.SIGHUP)
_WAIT_S = 0.005
_ENTERING = frozenset({"contextlib", "ptycassette.system.ownership"})
_MAKING = frozenset(
    {"tempfile", "ptycassette.system.files.locks", "ptycassette.cassette.io.staging"}
)


class _EndedError(BaseException):
    """Like ``KeyboardInterrupt``: no code on its way handles it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Unwinding:
    """Handles SIGTERM and SIGHUP meanwhile."""

    def __init__(self) -> None:
        main = threading.current_thread() is threading.main_thread()
        self._taken = [
            number for number in _ENDING if main and signal.getsignal(number) is signal.SIG_DFL
        ]
        for number in self._taken:
            signal.signal(number, self._end)

    def release(self) -> None:
        for number in self._taken:
            signal.signal(number, signal.SIG_DFL)

    def _end(self, number: int, frame: FrameType | None) -> None:
        if is_making_a_temporary(frame):
            self._send_later(number)
            return
        self.release()
        raise _EndedError(number)

    @staticmethod
    def _send_later(number: int) -> None:
        again = threading.Timer(_WAIT_S, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()


def unwound(run: Callable[[], int]) -> int:
    """Run; SIGTERM and SIGHUP unwind ``run``, then end the process. A second one ends it at once.

    Only in the main thread, and only signals that would end the process.

    Returns:
        The result of ``run``.
    """
    unwinding = _Unwinding()
    try:
        return run()
    except _EndedError as ended:
        atexit._run_exitfuncs()  # noqa: SLF001 - those of multiprocessing remove its folder
        os.kill(os.getpid(), ended.number)
        return 128 + ended.number
    finally:
        unwinding.release()


def is_making_a_temporary(frame: FrameType | None) -> bool:
    """Whether something temporary is just made or removed, which a signal must not interrupt.

    Args:
        frame: what the signal found running.
    """
    if frame is not None and frame.f_globals.get("__name__") in _ENTERING:
        return True  # a block is entered or left: the made object is handed over
    while frame is not None:
        if frame.f_globals.get("__name__") in _MAKING:
            return True
        frame = frame.f_back
    return False


class StopSignals:
    """SIGINT and SIGTERM as a request to stop; the second one raises ``KeyboardInterrupt``.

    For the main thread. The lock of a ``threading.Event`` is not reentrant, so a handler that
    sets one can wait for its own thread; and a wait for a lock that begins just behind a signal
    does not see it. A pipe is read whenever the signal came.
    """

    def __enter__(self) -> Self:
        self._asked = False
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._write_fd, False)
        self._wakeup_fd = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        self._before = {
            number: signal.signal(number, self._came) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_fd)
        os.close(self._read_fd)
        os.close(self._write_fd)

    def _came(self, *_: object) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True

    def wait(self, timeout_s: float | None = None) -> bool:
        """Whether a signal came; waits for one for ``timeout_s`` seconds, or without end."""
        end_s = None if timeout_s is None else monotonic_s() + timeout_s
        while not self._asked:
            left_s = None if end_s is None else end_s - monotonic_s()
            if left_s is not None and left_s <= 0:
                return False
            if select.select([self._read_fd], [], [], left_s)[0]:
                os.read(self._read_fd, 512)
        return True
