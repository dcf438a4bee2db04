"""The steps of the code that drives a session: each call, from which line, and its result.

They are noted only while something collects them, as the pytest plugin does for the traces of
tests. A call from within this package is part of another step, and no step itself. The plugin
loads this in every run, so it loads no session and no terminal.
"""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ParamSpec, TypeVar, cast

import msgspec

from ptycassette.model.screen import Screen, Size
from ptycassette.model.visible_text import visible, visible_bytes

P = ParamSpec("P")
R = TypeVar("R")

MOST_STEPS = 1000
_PACKAGE = f"{__name__.partition('.')[0]}."
_RUNNERS = ("_pytest.", "pluggy.", "unittest.")
_ASYNC = ("asyncio.", "contextlib")
_DETAIL = 300
_UNSEEN = frozenset({"send_secret", "submit_secret"})


class SessionStep(msgspec.Struct, kw_only=True):
    """One call on a session.

    ``places`` are file and line of the call, then of each caller up to the test. ``seq`` and
    ``start_seq`` are the recorded events that replay played last, after and before the call. Times
    are microseconds of the session. ``screen`` is the screen after the call, ``error`` the reason
    why the call failed.
    """

    name: str
    detail: str
    session: int
    places: tuple[tuple[str, int], ...]
    start_us: int = 0
    end_us: int = 0
    start_seq: int | None = None
    seq: int | None = None
    error: str = ""
    error_id: int = 0
    screen: Screen | None = None


class StepLog:
    """Steps in the order in which they began.

    Attributes:
        steps: the first ``MOST_STEPS`` of them.
        dropped: how many more there were.
    """

    def __init__(self) -> None:
        self.steps: list[SessionStep] = []
        self.dropped = 0
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def number_of(self, session: object) -> int:
        """The number of a session, from 1, in the order in which they are seen."""
        return self._numbers.setdefault(session, len(self._numbers) + 1)

    def add(self, step: SessionStep) -> None:
        """Append a step."""
        if len(self.steps) < MOST_STEPS:
            self.steps.append(step)
        else:
            self.dropped += 1


_log: StepLog | None = None


@contextmanager
def collect_steps(log: StepLog | None) -> Iterator[None]:
    """Collect the steps of all sessions of this process in ``log``; None collects none."""
    global _log  # noqa: PLW0603 - threads of a test do not inherit its context variables
    before, _log = _log, log
    try:
        yield
    finally:
        _log = before


def step(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a sync or async method of a session, so that its calls are steps."""
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def noted_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            begun = _begun(method.__name__, args, kwargs)
            if begun is None:
                return await method(*args, **kwargs)
            with _ended(begun, args[0]):
                return await method(*args, **kwargs)

        return cast("Callable[P, R]", noted_async)

    @functools.wraps(method)
    def noted(*args: P.args, **kwargs: P.kwargs) -> R:
        begun = _begun(method.__name__, args, kwargs)
        if begun is None:
            return method(*args, **kwargs)
        with _ended(begun, args[0]):
            return method(*args, **kwargs)

    return noted


def _begun(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> SessionStep | None:
    """Begin a step; None if no collector is active, or if the step is part of another one."""
    log = _log
    caller = sys._getframe(2)  # noqa: SLF001 - the frame of whoever called the session
    if log is None or caller.f_globals.get("__name__", "").startswith(_PACKAGE):
        return None
    session = args[0]
    unseen = name in _UNSEEN or (_hides_input(session) and name in {"send", "submit", "type"})
    given = [*args[1:], *(value for key, value in kwargs.items() if not key.endswith("_s"))]
    begun = SessionStep(
        name=name,
        detail="typed unseen" if unseen else ", ".join(map(_shown, given))[:_DETAIL],
        session=log.number_of(session),
        places=tuple(_places(caller)),
        start_us=session.elapsed_us,
        start_seq=session.position,
    )
    log.add(begun)
    return begun


@contextmanager
def _ended(begun: SessionStep, session: Any) -> Iterator[None]:
    try:
        yield
    except BaseException as exc:
        begun.error, begun.error_id = f"{type(exc).__name__}: {exc}", id(exc)
        raise
    finally:
        begun.end_us = session.elapsed_us
        begun.seq = session.position
        begun.screen = session.last_screen


def _hides_input(session: Any) -> bool:
    return bool(session.hides_input)


def _shown(value: Any) -> str:
    match value:
        case str():
            return repr(visible(value, limit=_DETAIL))
        case bytes():
            return visible_bytes(value, limit=_DETAIL)
        case Size():
            return f"{value.rows} rows x {value.cols} columns"
        case _:
            what = getattr(value, "what", None)
            return visible(what if isinstance(what, str) else repr(value), limit=_DETAIL)


def _places(frame: FrameType | None) -> Iterator[tuple[str, int]]:
    """File and line of the call and of its callers, up to the test runner."""
    for _ in range(20):
        if frame is None:
            return
        module = frame.f_globals.get("__name__", "")
        if module.startswith(_RUNNERS):
            return
        if not module.startswith((*_ASYNC, _PACKAGE)):
            yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
