"""Record tool calls of an agent in this process: a decorator, and a context manager.

Outside of a block of ``use_tape`` both only run the tool.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, get_args, get_type_hints, overload

import msgspec

from ptycassette.agents.inprocess.active import active_tape
from ptycassette.agents.inprocess.calls import ToolOutcome, as_json, outcome_of
from ptycassette.model.resolved_types import resolved

F = TypeVar("F", bound=Callable[..., Any])
Replay = Literal["run", "serve"]


@overload
def tape_tool(function: F) -> F: ...
@overload
def tape_tool(
    function: None = None,
    *,
    name: str | None = None,
    replay: Replay = "run",
    raises: tuple[type[BaseException], ...] = (),
) -> Callable[[F], F]: ...
def tape_tool(
    function: Any = None,
    *,
    name: str | None = None,
    replay: Replay = "run",
    raises: tuple[type[BaseException], ...] = (),
) -> Any:
    """Record the calls of a function as tool calls; a decorator, for coroutine functions too.

    Args:
        function: given by Python if the decorator has no arguments.
        name: the name of the tool; the function's own when None.
        replay: in mode replay, ``run``: the tool runs, and its result is compared with the
            recorded one; ``serve``: it does not run, and gives its recorded result or raises its
            recorded exception.
        raises: the exceptions that a served tool may raise again, besides builtin ones. Others
            become ``ToolError``.

    Raises:
        ValueError: ``replay`` is neither.
    """
    if replay not in get_args(Replay):
        raise ValueError(f"replay is one of {', '.join(get_args(Replay))}, not {replay!r}")
    if function is None:
        return functools.partial(_decorated, name=name, replay=replay, raises=raises)
    return _decorated(function, name=name, replay=replay, raises=raises)


def _decorated(
    function: Callable[..., Any],
    *,
    name: str | None,
    replay: Replay,
    raises: tuple[type[BaseException], ...],
) -> Callable[..., Any]:
    tool = name or function.__name__
    signature = inspect.signature(function)

    def arguments(args: Any, kwargs: Any) -> tuple[dict[str, Any], frozenset[str]]:
        """The arguments by name, and the names of those that were not given."""
        bound = signature.bind(*args, **kwargs)
        named = set(bound.arguments)
        bound.apply_defaults()
        defaults = frozenset(bound.arguments) - named
        given = {one: value for one, value in bound.arguments.items() if one not in {"self", "cls"}}
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD and parameter.name in given:
                given |= given.pop(parameter.name)
        return given, defaults

    def served(outcome: ToolOutcome) -> Any:
        if outcome.error:
            raise outcome.exception(raises)
        return _typed(function, outcome.output)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            if active_tape() is None:
                return await function(*args, **kwargs)
            with _tool_call(tool, *arguments(args, kwargs), serve=replay == "serve") as call:
                if call.recorded is None:
                    call.result = await function(*args, **kwargs)
            return call.result if call.recorded is None else served(call.recorded)

        return coroutine

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        if active_tape() is None:
            return function(*args, **kwargs)
        with _tool_call(tool, *arguments(args, kwargs), serve=replay == "serve") as call:
            if call.recorded is None:
                call.result = function(*args, **kwargs)
        return call.result if call.recorded is None else served(call.recorded)

    return plain


class ToolCall:
    """A tool call that is under way; set ``result`` before the block ends.

    ``recorded`` is the recorded outcome if it is served.
    """

    def __init__(self, recorded: ToolOutcome | None = None) -> None:
        self.result: Any = None
        self.recorded = recorded


@contextmanager
def tool_call(name: str, arguments: Mapping[str, Any] | None = None) -> Iterator[ToolCall]:
    """Record a block as a tool call. In replay it runs, and its result is compared.

    ::

        with tool_call("search", {"query": "milk"}) as call:
            call.result = search("milk")

    An exception that leaves the block is the outcome of the tool.
    """
    with _tool_call(name, dict(arguments or {}), frozenset(), serve=False) as call:
        yield call
    if call.recorded is not None:  # a fork has changed it
        call.result = call.recorded.output


@contextmanager
def _tool_call(
    name: str, arguments: dict[str, Any], defaults: frozenset[str], *, serve: bool
) -> Iterator[ToolCall]:
    tape = active_tape()
    if tape is None:
        yield ToolCall()
        return
    given = as_json(arguments, f"an argument of tool {name}")
    tool = tape.begin_tool(name, given, serve=serve, defaults=defaults)
    if tool.recorded is not None and (serve or tool.changed):
        tool.end(tool.recorded)
        yield ToolCall(tool.recorded)
        return
    call = ToolCall()
    try:
        yield call
    except Exception as exc:
        tool.end(outcome_of(name, error=exc))
        raise
    tool.end(outcome_of(name, call.result))


def _typed(function: Callable[..., Any], output: Any) -> Any:
    """A recorded result in the declared type, if msgspec or pydantic can convert it."""
    try:
        hint = get_type_hints(function).get("return", Any)
    except Exception:  # noqa: BLE001 - a name that exists for type checkers alone
        return output
    validate = getattr(hint, "model_validate", None)  # pydantic
    if callable(validate):
        return validate(output)
    try:
        return msgspec.convert(output, resolved(hint))
    except (TypeError, msgspec.MsgspecError):
        return output
