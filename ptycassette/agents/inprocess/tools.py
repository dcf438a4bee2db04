"""Record tool calls of an agent in this process: a decorator, and a context manager.

Outside of a block of ``use_tape`` both only run the tool.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
)
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeVar, get_args, get_type_hints, overload

import msgspec

from ptycassette.agents.inprocess.active import active_tape
from ptycassette.agents.inprocess.calls import (
    ToolOutcome,
    as_json,
    is_text_type,
    outcome_of,
    parts_of,
)
from ptycassette.errors import UsageError
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
        UsageError: the function is a generator, or no function.

    While a block is recorded, a call raises ``UsageError`` if its arguments or its result have no
    form in JSON, or if ``serve`` could not give back an equal result. The block then fails, too.
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
    tool: str = name or str(getattr(function, "__name__", type(function).__qualname__))
    if not callable(function):
        raise UsageError(
            f"tape_tool decorates functions, and this is a {tool}",
            hint="put @tape_tool below @staticmethod and @classmethod",
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(
            f"tape_tool records functions that return a value, and {tool} is a generator",
            hint="return a list of its items, and decorate the function that does so",
        )
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
        return _typed(declared()[0], outcome.output)

    def check(returned: Any, outcome: ToolOutcome) -> None:
        """Refuse to record a result that replay would not give back as it was."""
        hint, unresolved = declared()
        changed = _difference(returned, _typed(hint, outcome.output))
        if not changed:
            return
        if unresolved:
            advice = f"declare a type that Python can resolve ({unresolved})"
        elif hint is Any:
            advice = f"declare the type that {tool} returns"
        else:
            advice = "declare a more exact type, or return another one"
        raise UsageError(
            f"tool {tool} cannot be served in replay: {changed}",
            hint=f'{advice}, or run the tool in replay: @tape_tool(replay="run")',
        )

    declared = functools.cache(lambda: _declared(function))
    serves = check if replay == "serve" else None
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            if active_tape() is None:
                return await function(*args, **kwargs)
            with _tool_call(tool, *arguments(args, kwargs), serves=serves) as call:
                if call.recorded is None:
                    call.result = await function(*args, **kwargs)
            return call.result if call.recorded is None else served(call.recorded)

        return coroutine

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        if active_tape() is None:
            return function(*args, **kwargs)
        with _tool_call(tool, *arguments(args, kwargs), serves=serves) as call:
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
    with _tool_call(name, dict(arguments or {}), frozenset()) as call:
        yield call
    if call.recorded is not None:  # a fork has changed it
        call.result = call.recorded.output


@contextmanager
def _tool_call(
    name: str,
    arguments: dict[str, Any],
    defaults: frozenset[str],
    *,
    serves: Callable[[Any, ToolOutcome], None] | None = None,
) -> Iterator[ToolCall]:
    """``serves`` checks the result of a tool that does not run in replay, when it is recorded."""
    tape = active_tape()
    if tape is None or tape.passes:
        yield ToolCall()
        return
    try:
        given = as_json(arguments, f"a call of tool {name}", root="arguments")
        tool = tape.begin_tool(name, given, serve=serves is not None, defaults=defaults)
    except UsageError as exc:
        tape.refuse(exc)
        raise
    if tool.recorded is not None and (serves is not None or tool.changed):
        tool.end(tool.recorded)
        yield ToolCall(tool.recorded)
        return
    call = ToolCall()
    try:
        yield call
    except Exception as exc:
        tool.end(outcome_of(name, error=exc))
        raise
    except BaseException:
        tool.abandon()
        raise
    try:
        outcome = outcome_of(name, call.result)
        if serves is not None and tape.records:
            serves(call.result, outcome)
    except UsageError as exc:
        tape.refuse(exc)
        raise
    tool.end(outcome)


def _declared(function: Callable[..., Any]) -> tuple[Any, str]:
    """The declared type of the result, and why Python cannot resolve it, if it cannot."""
    try:
        return get_type_hints(function).get("return", Any), ""
    except Exception as exc:  # noqa: BLE001 - a name that exists for type checkers alone
        return Any, str(exc)


def _typed(hint: Any, output: Any) -> Any:
    """A recorded result in the declared type, if msgspec or pydantic can convert it."""
    typed = output
    try:
        typed = msgspec.convert(output, resolved(hint), dec_hook=_decoded, str_keys=True)
    except (TypeError, ValueError):
        pydantic = sys.modules.get("pydantic")  # it converts more types, and unions of models
        if pydantic is not None:
            with suppress(pydantic.PydanticUserError, TypeError, ValueError):
                typed = pydantic.TypeAdapter(hint).validate_json(msgspec.json.encode(output))
    return _with_numbers_of(output, typed)


def _with_numbers_of(output: Any, typed: Any) -> Any:
    """``typed`` with the numbers as recorded: a part that is declared ``float`` may be an int.

    The code may send these numbers to a model, so 1 must not become 1.0.
    """
    if isinstance(output, int | float) and type(typed) in {int, float} and typed == output:
        return output
    if isinstance(output, dict) and isinstance(typed, MutableMapping):
        for name, one in zip(list(typed), output.values(), strict=False):
            typed[name] = _with_numbers_of(one, typed[name])
    elif isinstance(output, list) and isinstance(typed, MutableSequence):
        for number, one in enumerate(output[: len(typed)]):
            typed[number] = _with_numbers_of(one, typed[number])
    elif isinstance(output, list) and isinstance(typed, tuple):
        make = getattr(typed, "_make", type(typed))  # a named tuple
        return make(map(_with_numbers_of, output, typed))
    else:
        for field, one in _fields_of(output, typed):
            _set_field(typed, field, one)
    return typed


def _fields_of(output: Any, typed: Any) -> Iterator[tuple[str, Any]]:
    """The names of the fields of an object, each with its recorded value."""
    if isinstance(output, dict):
        fields = [place[1:] for place, _ in parts_of(typed) if place.startswith(".")]
        encoded = getattr(typed, "__struct_encode_fields__", fields)
        names = dict(zip(fields, encoded, strict=True))
        yield from ((field, output[name]) for field, name in names.items() if name in output)
    elif isinstance(output, list) and isinstance(typed, msgspec.Struct):  # an array in JSON
        values = output if typed.__struct_config__.tag is None else output[1:]
        yield from zip(typed.__struct_fields__, values, strict=False)


def _set_field(typed: Any, field: str, output: Any) -> None:
    """Give a field of a served object its numbers as recorded; the object may be frozen."""
    before = getattr(typed, field)
    after = _with_numbers_of(output, before)
    if after is not before:
        force = msgspec.structs.force_setattr if isinstance(typed, msgspec.Struct) else None
        (force or object.__setattr__)(typed, field, after)


def _decoded(kind: type, value: Any) -> Any:
    """A value of a declared type that msgspec does not know."""
    validate = getattr(kind, "model_validate", None)  # pydantic
    if callable(validate):
        return validate(value)
    known = isinstance(value, str) and (is_text_type(kind) or issubclass(kind, str))
    if known or kind.__module__ == "collections":
        return kind(value)
    raise TypeError(f"{kind} is unknown")


def _difference(returned: Any, served: Any, place: str = "result") -> str:
    """The first difference between a result and the one that replay gives; empty if none."""
    kind, other = _kinds([returned]), _kinds([served])
    if isinstance(returned, float) and not math.isfinite(returned):
        return f"{place} is {returned}, which JSON does not have"
    if {type(returned), type(served)} == {int, float} and returned == served:
        return ""  # pydantic makes a float of an int in a field that is a float
    if type(returned) is not type(served):
        return f"{place} is of type {kind}, and replay would give {other}"
    parts, others = dict(parts_of(returned)), dict(parts_of(served))
    if parts.keys() != others.keys():
        keys = " with keys of type " + _kinds(returned) if isinstance(returned, Mapping) else ""
        return f"{place} is of type {kind}{keys}, and replay would give other keys or parts"
    differences = (_difference(part, others[name], place + name) for name, part in parts.items())
    found = next(filter(None, differences), "")
    if not found and not parts and returned != served:
        found = f"{place} is of type {kind}, and replay would give another value"
    return found


def _kinds(values: Iterable[Any]) -> str:
    return ", ".join(sorted({type(one).__qualname__ for one in values}))
