"""``use``: one session object that is replayed, recorded or live, depending on the mode.

::

    with use("tests/cassettes/hello.cassette", ["claude"]) as session:
        session.wait_for_text("> ")
        session.submit("hello")

As a decorator it hands the session to functions, coroutines, generators and async
generators: as the parameter ``session`` if they have one, else as the first argument.
Every call and every ``with`` has its own session; contexts, threads and tasks share
nothing.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptycassette.cassette.timeline.match import Matching
from ptycassette.model.screen import Size
from ptycassette.recording.io.options import RecordOptions
from ptycassette.recording.session.base import StreamChoice, kinds_named, size_given, words_given
from ptycassette.recording.session.session import Session
from ptycassette.replaying.divergence import Side
from ptycassette.replaying.io._use_program import Plan, found_plan
from ptycassette.replaying.io._use_session import (
    UseResult,
    async_session_of,
    begin,
    session_of,
)
from ptycassette.replaying.io.modes import comparison_in_force, mode_in_force, resolve_secrets
from ptycassette.replaying.io.places import folders_of_callers
from ptycassette.replaying.io.sides import side_of
from ptycassette.replaying.io.watched_uses import announce_use
from ptycassette.scrub.io.conceal import concealed
from ptycassette.system.ownership import owned_async_context, owned_context

if TYPE_CHECKING:
    from ptycassette.recording.session.async_session import AsyncSession

__all__ = ["Use", "UseResult", "use"]


class Use:
    """See ``use``, which makes it. A context manager, an async one, and a decorator.

    Attributes:
        result: of the last block that was entered in this context.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._entered: ContextVar[tuple[Any, ...]] = ContextVar("use", default=())
        self._open: list[Any] = []  # entered and not left, in any context
        self._result: ContextVar[UseResult | None] = ContextVar("result", default=None)
        mode_in_force(plan.mode, env=os.environ)  # complain about a typo now

    @property
    def path(self) -> Path:
        """The cassette: the given path, or the place where it was found or will be recorded."""
        return found_plan(self._plan).path

    @property
    def result(self) -> UseResult:
        """The result of the last block.

        Raises:
            RuntimeError: it was not entered in this context.
        """
        found = self._result.get()
        if found is None:
            raise RuntimeError("nothing was used in this context yet")
        return found

    def side(self) -> Side:
        """The recording of the last block, or the cassette if nothing was recorded; see ``drift``.

        Raises:
            CassetteError: it cannot be opened.
        """
        found = self._result.get()
        return side_of(self.path) if found is None else found.side()

    # -- with, async with, @ -------------------------------------------------------

    def __enter__(self) -> Session:
        stack = ExitStack()
        session = stack.enter_context(self._session())
        self._enter(stack)
        return session

    def __exit__(self, *details: object) -> bool | None:
        done: bool | None = self._leave().__exit__(*details)
        return done

    async def __aenter__(self) -> AsyncSession:
        stack = AsyncExitStack()
        session = await stack.enter_async_context(self._async_session())
        self._enter(stack)
        return session

    async def __aexit__(self, *details: object) -> bool | None:
        done: bool | None = await self._leave().__aexit__(*details)
        return done

    def _enter(self, stack: Any) -> None:
        self._open.append(stack)
        self._entered.set((*self._entered.get(), stack))

    def _leave(self) -> Any:
        """The block that ends: the last one of this context, or the only one of another.

        Fixtures enter a block in one task, or thread, and leave it in another.
        """
        mine = [stack for stack in self._entered.get() if stack in self._open]
        if not mine and len(self._open) != 1:
            raise RuntimeError(
                f"use() has {len(self._open)} open blocks, none of them entered in this task or"
                " thread: call use() once for each block"
            )
        stack = (mine or self._open)[-1]
        self._open.remove(stack)
        self._entered.set(tuple(mine[:-1]))
        return stack

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

    def _begin(self) -> tuple[Plan, UseResult]:
        plan = found_plan(self._plan)
        result = begin(plan)
        self._result.set(result)
        return plan, result

    @owned_context
    def _session(self) -> Iterator[Session]:
        plan, result = self._begin()
        try:
            with session_of(plan, result) as session:
                announce_use(result, session)
                yield session
        finally:
            result.over = True

    @owned_async_context
    async def _async_session(self) -> AsyncIterator[AsyncSession]:
        plan, result = self._begin()
        try:
            async with async_session_of(plan, result) as session:
                announce_use(result, session)
                yield session
        finally:
            result.over = True


def use(  # noqa: PLR0913 - one for each thing that a user may say
    path: str | os.PathLike[str],
    argv: Sequence[str] | None = None,
    *,
    mode: str | None = None,
    match: str | Matching | Callable[[str, str], bool] | None = None,
    order: str | None = None,
    secrets: str | None = None,
    size: Size | None = None,
    streams: StreamChoice | None = None,
    lenient: bool = False,
    allow_unplayed: bool = False,
    follow_links: bool | None = None,
    **record_options: Any,
) -> Use:
    """Use a cassette: a session that is replayed from it, recorded into it, or live.

    Args:
        path: the cassette. A relative path is searched in the folder of the test file, or of the
            file that calls ``use``, and then in the current folder. In a test, a new one is
            recorded beside the test file, elsewhere in the current folder.
        argv: the program, for the modes that run it; the recorded one when None.
        mode: ``replay`` (the default), ``auto``, ``record``, ``rewrite``, ``rerecord``,
            ``live`` or ``rerun``; the environment's PTYCASSETTE_MODE when None. In a test run
            the option ``--ptycassette-mode`` is stronger than both.
        match: how input is compared in replay: a strategy's name, a ``Matching``, or a function
            that decides whether a text matches a recorded one. When None, from the project file
            (``compare``), else ``prompt``.
        order: in replay, ``strict`` (the default), or ``loose``: exchanges may come in
            another order than the recorded one.
        secrets: in replay, ``same``: a typed secret must be the recorded one, if the recording
            holds its digest; ``any``: another one will do. When None, the environment's
            PTYCASSETTE_SECRETS, else ``same``.
        size: of the terminal; the recorded one, or the project file's, or 24 by 80.
        streams: ``pipes`` for a program whose stdin, stdout and stderr are pipes, ``terminal``,
            or the kind of each; when None, as recorded, or ``terminal``.
        lenient: continue after a divergence; ``result.divergences`` lists them.
        allow_unplayed: allow the block to end before the recording does.
        follow_links: in replay, whether the cassette or its files may be links; when None, whether
            PTYCASSETTE_FOLLOW_LINKS is 1.
        **record_options: for the modes that run the program; see ``record``. Mode ``live`` takes
            only those about the start: ``cwd``, ``env``, ``base_env``, ``clean_env``, ``term``,
                ``timeout_s``. Mode ``rerun`` takes only ``cwd``, ``env``, ``term`` and
                ``timeout_s``.

    Raises:
        TypeError: ``record`` has no such option; ``argv`` is a single string; ``size`` is not a
            Size.
        UsageError: the mode or the value of PTYCASSETTE_SECRETS is unknown.
        ValueError: the strategy, the order or the value of ``secrets`` or ``streams`` is unknown.

    Entering raises what opening a cassette, or starting a program, raises. Leaving
    raises ``DivergenceError`` when the block did not follow the recording.
    """
    if streams is not None:
        kinds_named(streams)  # complain about a typo now
    if size is not None:
        size_given(size)
    if unknown := sorted(set(record_options) - set(RecordOptions.__annotations__)):
        raise TypeError(f"use() and record() take no option {', '.join(unknown)}")
    if match is None:
        match = comparison_in_force(None)
    if not isinstance(match, str | Matching):
        match = Matching(same=match, order=order or "strict", secrets=secrets)
        order = secrets = None
    if isinstance(match, Matching):
        for name, value in (("order", order), ("secrets", secrets)):
            if value is not None:
                raise ValueError(f"pass it to the Matching: Matching(..., {name}={value!r})")
        matching = match
    else:
        matching = Matching(match, order=order or "strict", secrets=secrets)
    if matching.conceal is None:
        matching.conceal = concealed
    if matching.secrets is None:
        matching.secrets = resolve_secrets(os.environ)
    folders, in_test = folders_of_callers()
    return Use(
        Plan(
            path=Path(path),
            folders=folders,
            in_test=in_test,
            argv=None if argv is None else words_given(argv),
            mode=mode,
            matching=matching,
            size=size,
            streams=streams,
            lenient=lenient,
            allow_unplayed=allow_unplayed,
            follow_links=follow_links,
            options=record_options,
        )
    )
