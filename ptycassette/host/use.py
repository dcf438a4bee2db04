"""``use``: one session object, replayed, recorded or live, as the mode says.

::

    with use("tests/cassettes/hello.cassette", ["claude"]) as session:
        session.wait_for_text("> ")
        session.submit("hello")

As a decorator it hands the session to functions, coroutines, generators and async
generators: by the name ``session`` where there is such a parameter, else first.
Every call and every ``with`` has its own session; contexts, threads and tasks share
nothing.
"""

from __future__ import annotations

import functools
import inspect
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import (
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.errors import (
    DivergenceError,
    NotFoundError,
    RefusedError,
    SessionError,
    UsageError,
)
from ptycassette.host.async_session import AsyncSession
from ptycassette.host.cassette_reader import Cassette, open_cassette
from ptycassette.host.modes import Action, action_of, resolve_mode
from ptycassette.host.recorder import arecord, record
from ptycassette.host.replay_pty import LogicalClock, LogicalSleeper, ReplayPty
from ptycassette.host.session import Session
from ptycassette.host.session_options import DEFAULT_SIZE
from ptycassette.model import Size
from ptycassette.replay.divergence import Divergence, divergence_error
from ptycassette.replay.drift import Drift, Side, drift
from ptycassette.replay.standin_decisions import StandinOptions, Unplayed
from ptycassette.timeline.match import Matching

__all__ = ["Use", "UseResult", "use"]


class UseResult(msgspec.Struct, kw_only=True):
    """What became of a use: filled as it goes, whole when the block is left.

    ``action`` is what the mode came to. ``drift`` is set by ``rerecord``.
    """

    action: Action
    cassette: str
    divergences: tuple[Divergence, ...] = ()
    unplayed: Unplayed = Unplayed()
    notes: tuple[str, ...] = ()
    drift: Drift | None = None


class Use:
    """See ``use``, which makes it. A context manager, an async one, and a decorator.

    Attributes:
        result: of the last block that was entered in this context.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        argv: Sequence[str] | None,
        *,
        mode: str | None,
        matching: Matching,
        size: Size | None,
        lenient: bool,
        allow_unplayed: bool,
        options: Mapping[str, Any],
    ) -> None:
        self.path = Path(path)
        self._argv = argv
        self._mode = mode
        self._matching = matching
        self._size = size
        self._lenient = lenient
        self._allow_unplayed = allow_unplayed
        self._options = dict(options)
        self._stack: ContextVar[tuple[Any, ...]] = ContextVar("use", default=())
        self._result: ContextVar[UseResult | None] = ContextVar("result", default=None)
        resolve_mode(("mode", mode), env=os.environ)  # complain about a typo now

    @property
    def result(self) -> UseResult:
        """What became of it.

        Raises:
            RuntimeError: it was not entered in this context.
        """
        found = self._result.get()
        if found is None:
            raise RuntimeError("nothing was used in this context yet")
        return found

    # -- with, async with, @ -------------------------------------------------------

    def __enter__(self) -> Session:
        stack = ExitStack()
        session = stack.enter_context(self._session())
        self._stack.set((*self._stack.get(), stack))
        return session

    def __exit__(self, *details: object) -> bool | None:
        *others, stack = self._stack.get()
        self._stack.set(tuple(others))
        done: bool | None = stack.__exit__(*details)
        return done

    async def __aenter__(self) -> AsyncSession:
        stack = AsyncExitStack()
        session = await stack.enter_async_context(self._async_session())
        self._stack.set((*self._stack.get(), stack))
        return session

    async def __aexit__(self, *details: object) -> bool | None:
        *others, stack = self._stack.get()
        self._stack.set(tuple(others))
        done: bool | None = await stack.__aexit__(*details)
        return done

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give ``function`` a session each time it is called."""
        signature = inspect.signature(function)
        named = "session" in signature.parameters

        def arguments(session: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
            if named:
                return args, {**kwargs, "session": session}
            return (session, *args), kwargs

        wrapped = self._wrapped(function, arguments)
        names = list(signature.parameters)
        taken = "session" if named else names[0] if names else None
        left = [entry for name, entry in signature.parameters.items() if name != taken]
        wrapped.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return wrapped

    def _wrapped(
        self, function: Callable[..., Any], arguments: Callable[[Any, Any, Any], tuple[Any, Any]]
    ) -> Callable[..., Any]:
        if inspect.isasyncgenfunction(function):

            @functools.wraps(function)
            async def async_generator(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
                async with self._async_session() as session:
                    args, kwargs = arguments(session, args, kwargs)
                    async for item in function(*args, **kwargs):
                        yield item

            return async_generator
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                async with self._async_session() as session:
                    args, kwargs = arguments(session, args, kwargs)
                    return await function(*args, **kwargs)

            return coroutine
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
                with self._session() as session:
                    args, kwargs = arguments(session, args, kwargs)
                    return (yield from function(*args, **kwargs))

            return generator

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            with self._session() as session:
                args, kwargs = arguments(session, args, kwargs)
                return function(*args, **kwargs)

        return plain

    # -- the four actions ----------------------------------------------------------

    def _begin(self) -> UseResult:
        mode = resolve_mode(("mode", self._mode), env=os.environ)
        action = action_of(mode, exists=self.path.exists(), env=os.environ)
        result = UseResult(action=action, cassette=str(self.path))
        self._result.set(result)
        return result

    @contextmanager
    def _session(self) -> Iterator[Session]:
        result = self._begin()
        match result.action:
            case "replay":
                with self._open() as cassette:
                    pty, clock, size = self._replayed(cassette)
                    session = Session.over(pty, size=size, clock=clock, sleeper=clock)
                    with self._judged(result, pty, cassette):
                        yield session
                    session.close()
            case "live":
                with Session(self._program(), size=self._size or DEFAULT_SIZE) as session:
                    yield session
            case "record":
                shown = _Shown()
                options = self._recording(overwrite=True, show=shown)
                with record(self._program(), self.path, **options) as recording:
                    yield recording
                    recording.close()
                    shown.refuse_nothing(self.path)
            case "rerecord":
                with tempfile.TemporaryDirectory(prefix="ptycassette-") as place:
                    new = Path(place) / "new.cassette"
                    with record(self._program(), new, **self._recording()) as recording:
                        yield recording
                    result.drift = drift(_side(self.path), _side(new))

    @asynccontextmanager
    async def _async_session(self) -> AsyncIterator[AsyncSession]:
        result = self._begin()
        match result.action:
            case "replay":
                with self._open() as cassette:
                    pty, clock, size = self._replayed(cassette)
                    session = AsyncSession.over(
                        pty, size=size, clock=clock, sleeper=clock,
                        async_sleeper=LogicalSleeper(clock),
                    )  # fmt: skip
                    with self._judged(result, pty, cassette):
                        yield session
                    await session.close()
            case "live":
                async with AsyncSession(
                    self._program(), size=self._size or DEFAULT_SIZE
                ) as session:
                    yield session
            case "record":
                shown = _Shown()
                options = self._recording(overwrite=True, show=shown)
                async with arecord(self._program(), self.path, **options) as recording:
                    yield recording
                    await recording.close()
                    shown.refuse_nothing(self.path)
            case "rerecord":
                with tempfile.TemporaryDirectory(prefix="ptycassette-") as place:
                    new = Path(place) / "new.cassette"
                    async with arecord(self._program(), new, **self._recording()) as recording:
                        yield recording
                    result.drift = drift(_side(self.path), _side(new))

    # -- replay ----------------------------------------------------------------------

    def _open(self) -> Cassette:
        try:
            return open_cassette(self.path)
        except NotFoundError as exc:
            raise NotFoundError(
                "there is no such cassette, and the mode is replay", where=str(self.path),
                hint="record it: PTYCASSETTE_MODE=auto (or mode='auto'), where the program is",
            ) from exc  # fmt: skip

    def _replayed(self, cassette: Cassette) -> tuple[ReplayPty, LogicalClock, Size]:
        terminal = cassette.manifest.terminal
        recorded = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
        size = self._size or recorded
        clock = LogicalClock()
        # In recorded time, on a clock that costs none: what is shown for a moment
        # only can be waited for, as in a live session.
        options = StandinOptions(
            mode="realtime",
            lenient=self._lenient,
            recorded_size=recorded,
            input_timeout_us=None,
        )
        pty = ReplayPty(cassette, clock, matching=self._matching, options=options, size=size)
        return pty, clock, size

    @contextmanager
    def _judged(self, result: UseResult, pty: ReplayPty, cassette: Cassette) -> Iterator[None]:
        """Fill ``result``, and raise what diverged when the block is left."""
        engine = pty.engine
        try:
            yield
            if not self._allow_unplayed:
                pty.run_out()
        except DivergenceError:
            raise
        except SessionError as exc:
            if engine.diverged and not self._lenient:
                raise divergence_error(engine.divergences[0], where=str(cassette.path)) from exc
            raise
        finally:
            result.divergences = tuple(engine.divergences)
            result.notes = tuple(engine.notes)
            result.unplayed = engine.unplayed()
        if engine.diverged and not self._lenient:
            raise divergence_error(engine.divergences[0], where=str(cassette.path))

    # -- recording -------------------------------------------------------------------

    def _program(self) -> Sequence[str]:
        if self._argv:
            return self._argv
        if self.path.exists():
            with open_cassette(self.path, check="manifest") as cassette:
                recorded = cassette.manifest.command.argv
            if recorded:
                return recorded
        raise UsageError(
            "which program? This mode runs it for real", where=str(self.path),
            hint="give argv: use(path, ['claude'])",
        )  # fmt: skip

    def _recording(self, **more: Any) -> Any:
        if "show" in more:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        return {"size": self._size or DEFAULT_SIZE, **self._options, **more}


class _Shown:
    """Counts the output of a recording."""

    def __init__(self) -> None:
        self._bytes = 0

    def __call__(self, data: bytes) -> None:
        self._bytes += len(data)

    def refuse_nothing(self, path: Path) -> None:
        """A recording without output is a mistake, and would replay as one for ever."""
        if not self._bytes:
            raise RefusedError(
                "nothing was shown: an empty recording is not kept",
                where=str(path),
                hint="wait for the screen in the block (session.wait_for_text)",
            )


def _side(path: Path) -> Side:
    with open_cassette(path) as cassette:
        return Side(cassette.manifest, list(cassette.events()))


def use(
    path: str | os.PathLike[str],
    argv: Sequence[str] | None = None,
    *,
    mode: str | None = None,
    match: str | Matching = "prompt",
    size: Size | None = None,
    lenient: bool = False,
    allow_unplayed: bool = False,
    **record_options: Any,
) -> Use:
    """Use a cassette: a session that is replayed from it, recorded into it, or live.

    Args:
        path: the cassette.
        argv: the program, for the modes that run it; the recorded one when None.
        mode: ``replay`` (the default), ``auto``, ``record``, ``rerecord`` or
            ``live``; the environment's PTYCASSETTE_MODE when None.
        match: how input is compared in replay: a strategy's name, or a ``Matching``.
        size: of the terminal; the recorded one, or 24 by 80.
        lenient: go on after a divergence; ``result.divergences`` holds it.
        allow_unplayed: do not mind when the block ends before the recording does.
        **record_options: for the modes that record; see ``record``.

    Raises:
        UsageError: the mode is none.
        ValueError: the strategy is none.

    Entering raises what opening a cassette, or starting a program, raises. Leaving
    raises ``DivergenceError`` when the block did not do what was recorded.
    """
    matching = match if isinstance(match, Matching) else Matching(match)
    return Use(
        path,
        argv,
        mode=mode,
        matching=matching,
        size=size,
        lenient=lenient,
        allow_unplayed=allow_unplayed,
        options=record_options,
    )
