"""Note the calls of a block while it is recorded, or answer them from a cassette.

Both sides take the same calls. ``CallLog`` keeps them as items of a tape and as service events, so
that the saver makes an ordinary cassette of them. ``ServedCalls`` finds them again: model calls
through the tape's matcher, tool calls by name and arguments, first in first out. Threads and tasks
of one block share one of these objects, so each method takes its lock.
"""

from __future__ import annotations

import builtins
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from contextvars import ContextVar
from functools import lru_cache
from math import inf
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ptycassette.agents.inprocess.active import MOST_KEYS, Work, current_owner, is_key_name
from ptycassette.agents.rerun.report import TapeDesk
from ptycassette.cassette.io.reader import Cassette
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.cassette.tape_lines import tape_facts
from ptycassette.cassette.timeline.match import LEAST_BITS, digest_of, guessing_bits
from ptycassette.errors import CassetteError, TapeError, UsageError
from ptycassette.model.records import (
    NOT_JSON,
    JournalEvent,
    Noted,
    ServiceEventRecord,
    decoded_json,
    storable,
    storable_text,
)
from ptycassette.model.resolved_types import resolved
from ptycassette.model.tape import ExchangeOutcome, TapeEntry
from ptycassette.model.visible_text import visible
from ptycassette.replaying.divergence import (
    CALL_CHANGED,
    CALL_MISSING,
    CALL_ORDER,
    TOOL_CHANGED,
    Divergence,
    DivergenceSide,
)
from ptycassette.replaying.io.faults import FAULT_VARIABLE, note_met
from ptycassette.system.clock import MonotonicClock, monotonic_s
from ptycassette.tape.draws import Draw, Draws, RecordedDraws, ServedDraws, draw_event, drawn_in
from ptycassette.tape.io.draw_log import MachineDraws
from ptycassette.tape.io.recorded_answers import load_matching_rules
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    ExchangeEnded,
    RequestBegun,
    RequestComplete,
    RequestData,
    TapeItem,
    kept_target,
)
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import MOST_DIGESTS, Question
from ptycassette.tape.routing import (
    MADE_UP_KEY,
    host_and_port,
    key_variables,
    known_providers,
    place_variables,
)
from ptycassette.tape.unpacking import unpacked_body

if TYPE_CHECKING:
    from ptycassette.scrub.session import SessionScrubber

Headers = tuple[tuple[str, str], ...]
Order = Literal["strict", "loose"]
FORK_VARIABLE = "PTYCASSETTE_FORK"
"""The variable with the path of another process's ``ForkOrder``."""
IN_PROCESS_OPTION = "in_process"
_MOST_SHOWN = 300
_MASKS = re.compile(r"<[a-z][a-z0-9-]*>|\$(?:HOME|PWD)|x{3,}|8{3,}")
MISS_STATUS = 404
"""The same status that ``rerun`` uses for a question that is not on its tape: SDKs do not retry."""
MISS_HEADERS = (("content-type", "application/json"), ("x-should-retry", "false"))
_OF_THE_CONNECTION = frozenset(
    {"connection", "content-encoding", "keep-alive", "transfer-encoding"}
)
_RETRIED = frozenset({408, 409, 429, *range(500, 600)})
"""The statuses after which SDKs of OpenAI and Anthropic ask again."""
_LONGEST_RETRY_S = 120.0
"""OpenAI's SDK does not ask again if it would have to wait longer (``MAX_RETRY_AFTER_DELAY``)."""
_TAIL_BYTES = 32  # longer than the last line of a stream
CANCELLED = "cancelled"
"""The detail of an answer whose reader was cancelled, by a timeout for example."""
_UNREACHABLE = ("Connect", "ClientConnector", "NameResolution", "NewConnection")
"""Prefixes of exceptions that httpx, aiohttp and urllib3 raise before a request is sent."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request as a client sends it: header names in lower case, the body still packed."""

    method: str
    upstream: str
    target: str
    headers: Headers
    body: bytes


class ToolError(CassetteError):
    """A recorded tool failed with an exception that cannot be raised again.

    Builtin exceptions are raised as themselves, and so are those in ``tape_tool(raises=...)``.
    ``type`` is the name of the recorded class.
    """

    def __init__(self, type_: str, message: str) -> None:
        super().__init__(f"{visible(type_, limit=100)}: {message}")
        self.type = type_


class ToolOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of a tool call: ``output`` as JSON, or the name and the text of an exception.

    ``args`` are the arguments of the exception, if all are plain values.
    """

    output: Any = None
    error: str = ""
    message: str = ""
    args: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """The outcome on one line, for people."""
        if self.error:
            return f"{self.error}: {self.message}"
        return msgspec.json.encode(self.output).decode()

    def exception(self, raises: tuple[type[BaseException], ...]) -> BaseException:
        """The exception to raise again; nothing that a cassette names is imported for it."""
        known = {one.__qualname__: one for one in raises}
        found = known.get(self.error) or getattr(builtins, self.error, None)
        if isinstance(found, type) and issubclass(found, Exception):
            try:
                return found(*(self.args or (self.message,)))
            except (TypeError, ValueError):  # it takes other arguments
                pass
        return ToolError(self.error, self.message)


def outcome_of(name: str, result: Any = None, error: BaseException | None = None) -> ToolOutcome:
    """The outcome of a tool in its recorded form.

    Raises:
        UsageError: the result has no form in JSON.
    """
    if error is not None:
        plain = all(isinstance(one, str | int | float | bool | None) for one in error.args)
        return ToolOutcome(
            error=type(error).__qualname__,
            message=storable_text(str(error)),
            args=tuple(storable(list(error.args))) if plain else (),
        )
    return ToolOutcome(output=as_json(result, f"the result of tool {name}", root="result"))


def as_json(value: Any, what: str, *, root: str) -> Any:
    """Convert a value to JSON's types, the same ones in each run.

    Dataclasses, structs and pydantic models become objects. Sets are sorted. Paths, times,
    patterns, functions and types become text, and arrays become lists.

    Args:
        value: the value.
        what: a name for messages.
        root: the name of the value in the place of one of its parts: ``result['a'][0]``.

    Raises:
        UsageError: it has no form in JSON. The message names the part of the value.
    """
    try:
        return _json_form(value)
    except _NO_FORM as exc:
        place, kind, reason = _without_form(value, exc)
        raise UsageError(
            f"{what} cannot be recorded: {root}{place} is of type {kind}: {reason}",
            hint="use text, numbers, lists, dicts, dataclasses or models, or record the call with"
            " tool_call(name, arguments) and only what matters",
        ) from exc


_NO_FORM = (*NOT_JSON, TypeError, OverflowError)


def _json_form(value: Any) -> Any:
    built = _builtins(value)
    msgspec.msgpack.encode(built)  # a cassette has integers of 64 bits
    return storable(msgspec.json.decode(msgspec.json.encode(built)))


def _builtins(value: Any) -> Any:
    built = msgspec.to_builtins(value, enc_hook=_encoded, str_keys=True)
    try:
        ordered = msgspec.to_builtins(
            value, enc_hook=_encoded, str_keys=True, order="deterministic"
        )
    except TypeError:  # a set of different types has no order
        return built
    return _in_order_of(built, ordered)


def _in_order_of(given: Any, ordered: Any) -> Any:
    """``ordered``, in which sets and objects are sorted, with the objects ordered as given."""
    match given, ordered:
        case dict(), dict() if given.keys() == ordered.keys():
            return {name: _in_order_of(one, ordered[name]) for name, one in given.items()}
        case ((list() | tuple()), (list() | tuple())):
            return list(map(_in_order_of, given, ordered))
    return ordered


_TEXT_MODULES = frozenset({"fractions", "ipaddress", "zoneinfo"})


def is_text_type(kind: type) -> bool:
    """Whether the text of a value of this type makes an equal value again."""
    return issubclass(kind, PurePath | complex) or kind.__module__ in _TEXT_MODULES


_FORMS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str.__str__),  # of subclasses; msgspec knows the builtin types
    (int, int.__int__),
    (float, float.__float__),
    (bytes, bytes),
    (re.Pattern, lambda one: one.pattern),
    (type | FunctionType | BuiltinFunctionType, lambda one: f"{one.__module__}.{one.__qualname__}"),
    (Mapping, dict),
    (AbstractSet | Sequence, list),
)


def _encoded(value: Any) -> Any:
    """A value of a type that msgspec does not know, in types that it knows."""
    for name, arguments in (("model_dump", {"mode": "json"}), ("tolist", {})):  # pydantic, arrays
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return method(**arguments)
    if is_text_type(type(value)):
        return str(value)
    for kinds, form in _FORMS:
        if isinstance(value, kinds):
            return form(value)
    raise TypeError("it has no form in JSON")


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a container or an object with fields, each with its place (``[0]``, ``.a``)."""
    fields = getattr(type(value), "__dataclass_fields__", None) or getattr(
        value, "__struct_fields__", None
    )
    if fields is None and callable(getattr(value, "model_dump", None)):
        fields = vars(value)
    if fields is not None:
        yield from ((f".{name}", getattr(value, name, None)) for name in fields)
    elif isinstance(value, Mapping):
        yield from ((f"[{name!r}]", one) for name, one in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"[{number}]", one) for number, one in enumerate(value))


def _without_form(value: Any, error: Exception) -> tuple[str, str, Exception]:
    """The place of the first part that has no form in JSON, its type, and the reason."""
    for place, part in () if isinstance(error, RecursionError) else parts_of(value):
        try:
            _json_form(part)
        except _NO_FORM as exc:
            rest, kind, reason = _without_form(part, exc)
            return place + rest, kind, reason
    return "", type(value).__qualname__, error


def miss_body(miss: Miss) -> bytes:
    """The body of the answer to a question that is not on the tape."""
    error = {"type": "not_found_error", "code": "not_on_the_tape", "message": miss.text()}
    return msgspec.json.encode({"type": "error", "error": error})


# -- recording ----------------------------------------------------------------------------


class Strand:
    """The calls of one task, thread or ``Work``, one after another.

    Attributes:
        owner: that task, thread or work.
        tips: the calls directly before its next call; earlier ones are left out.
        begun: how many calls it has begun.
        born_with: its tips at the beginning.
        born_at: how many calls its parent had begun then.
        children: strands that began since its last call.
        joined: the tips of finished children.
    """

    def __init__(self, owner: Any, tips: frozenset[str], born_at: int) -> None:
        self.owner, self.tips, self.begun = owner, tips, 0
        self.children: list[Strand] = []
        self.joined: frozenset[str] = frozenset()
        self.born_with, self.born_at = tips, born_at

    def join(self) -> None:
        """Note the finished children, except for those that ran beside calls of this one."""
        left: list[Strand] = []
        for child in self.children:
            if child.born_at != self.begun:
                continue
            if not child.is_over:
                left.append(child)
                continue
            child.join()
            tips = child.tips | child.joined
            if tips != child.born_with:
                self.joined = (self.joined - child.born_with) | tips
        self.children = left

    @property
    def is_over(self) -> bool:
        """Whether no more calls come."""
        if isinstance(self.owner, threading.Thread):
            return self.owner.ident is not None and not self.owner.is_alive()
        if (coroutine := getattr(self.owner, "coro", None)) is not None:  # a task of trio
            return getattr(coroutine, "cr_frame", None) is None
        return bool(self.owner.done())


class CallOrder:
    """The order that calls must have if one task or thread made both, or waited for the other.

    Calls of concurrent tasks and threads come in another order in each run. A call has the text of
    its number as its name, and ``run-N`` if it is a tool call. Takes the lock of its log.
    """

    def __init__(self) -> None:
        self._root = Strand(Work(), frozenset(), 0)
        self._now: ContextVar[tuple[Strand, frozenset[str], int] | None] = ContextVar(
            "ptycassette-strand", default=None
        )
        self._forked: dict[Any, Strand] = {}
        self._numbers: dict[str, int] = {}
        self._strands: dict[str, Strand] = {}
        self._before: dict[str, int] = {}
        self._ended = 0
        self._after: dict[str, list[str]] = {}
        self._is_concurrent = False

    def begin(self, call: str) -> None:
        """Note that a call begins here and now."""
        strand = self._strand()
        strand.join()
        tips = strand.tips | strand.joined
        strand.tips, strand.joined, strand.children = tips, frozenset(), []
        strand.begun += 1
        self._now.set((strand, tips, strand.begun))
        self._strands[call], self._after[call] = strand, sorted(tips)
        before = 0  # a bit for each call
        for one in tips:
            before |= self._before[one] | 1 << self._numbers[one]
        self._numbers[call], self._before[call] = len(self._numbers), before
        self._is_concurrent = self._is_concurrent or bool(self._ended & ~before)

    def end(self, call: str) -> None:
        """Note the end of a call; code that waits for it may call next."""
        strand = self._strands.pop(call, None)
        if strand is None:
            return
        self._ended |= 1 << self._numbers[call]
        strand.tips = strand.tips.difference(self._after[call]) | {call}
        now = self._now.get()
        if now is not None and now[0] is strand:
            self._now.set((strand, strand.tips, strand.begun))

    def fork(self, owner: Any) -> Callable[[], None]:
        """Note that the code begins a task, a thread or a ``Work``.

        A thread may by chance have ended before the next one begins, so the next one need not come
        after it. A ``Work`` is over when the code has waited for its result.

        Returns:
            A function that a new thread or work calls first, because it has no copy of the context.
        """
        parent = self._strand()
        strand = self._child(parent, owner, after_siblings=not isinstance(owner, threading.Thread))
        self._forked[owner] = strand

        def entered() -> None:
            self._now.set((strand, strand.tips, 0))

        return entered

    def _strand(self) -> Strand:
        owner, now = current_owner(), self._now.get()
        parent, tips, begun = (self._root, frozenset[str](), 0) if now is None else now
        if parent.owner is owner:
            return parent
        if owner in self._forked:  # it has a copy of the context in which it was begun
            return self._forked[owner]
        found = next((one for one in parent.children if one.owner is owner), None)
        # A task of trio is first seen when it calls: others may have ended since it began.
        after = not hasattr(owner, "coro")
        return found or self._child(parent, owner, (tips, begun), after_siblings=after)

    @staticmethod
    def _child(
        parent: Strand,
        owner: Any,
        began: tuple[frozenset[str], int] | None = None,
        *,
        after_siblings: bool = True,
    ) -> Strand:
        parent.join()
        tips, begun = began or (parent.tips, parent.begun)
        if after_siblings and begun == parent.begun:
            tips |= parent.joined
        child = Strand(owner, tips, begun)
        parent.children.append(child)
        return child

    @property
    def after(self) -> dict[str, list[str]]:
        """For each call the calls that it came after; empty if all came one after another."""
        return self._after if self._is_concurrent else {}


def calls_before(after: Any) -> Callable[[str, str], bool]:
    """Whether one recorded call had to come before another one, from ``CallOrder.after``.

    True for all if nothing is known about the later one. ``after`` comes from a cassette, so it may
    be any value.
    """
    known = (
        {call: set(_texts(names)) for call, names in after.items()}
        if isinstance(after, dict)
        else {}
    )

    @lru_cache(maxsize=1)  # one call reads it repeatedly; noting each time would be too much
    def before(call: str) -> set[str]:
        seen: set[str] = set()
        left = [call]
        while left:
            more = known.get(left.pop(), set()) - seen
            seen |= more
            left += more
        return seen

    return lambda first, later: later not in known or first in before(later)


class CallLog:
    """Notes the calls of a block while they happen. Times count from its creation.

    Attributes:
        items: items of the tape.
        notes: service events.
        order: the order of calls.
        draws: draws from the machine; each is noted before the code gets it.
        origin_us: the moment of the monotonic clock at which times are 0.
        refused: the error of the first call that cannot be recorded.
    """

    def __init__(self) -> None:
        self.items: list[TapeItem] = []
        self.notes: list[JournalEvent] = []
        self._lock = threading.RLock()  # a finalizer may begin a task while it is held
        self.draws: Draws = RecordedDraws(
            MachineDraws(), keep=lambda draw: self.note(draw_event(draw))
        )
        self._origin_s = monotonic_s()
        self.origin_us = round(self._origin_s * 1_000_000)
        self._exchanges = self._tools = 0
        self.order = CallOrder()
        self.refused: UsageError | None = None
        self._waiting: dict[int | str, str] = {}

    @property
    def waiting(self) -> list[str]:
        """The calls without an answer or a result."""
        with self._lock:
            return list(self._waiting.values())

    def refuse(self, error: UsageError) -> None:
        """Note a call that cannot be recorded, because the code may swallow its error."""
        self.refused = self.refused or error

    def headers(self) -> Iterator[tuple[str, str]]:
        """The headers of all requests."""
        for item in self.items:
            if isinstance(item, RequestBegun):
                yield from item.headers

    def fork(self, owner: Any) -> Callable[[], None]:
        """See ``CallOrder.fork``."""
        with self._lock:
            return self.order.fork(owner)

    @property
    def t_us(self) -> int:
        """Microseconds since the block began."""
        return max(0, round((monotonic_s() - self._origin_s) * 1_000_000))

    @property
    def is_empty(self) -> bool:
        """Whether there was neither a call nor a draw."""
        return not self._exchanges and not self.notes

    def ask(self, asked: Asked) -> int:
        """Note a request; return its number."""
        with self._lock:
            number = self._exchanges = self._exchanges + 1
            t_us = self.t_us
            self.order.begin(str(number))
            self._waiting[number] = visible(f"{asked.method} {asked.target}", limit=100)
            self.items.append(
                RequestBegun(
                    t_us=t_us,
                    exchange=number,
                    connection=number,
                    kind="http",
                    method=asked.method,
                    upstream=asked.upstream,
                    target=asked.target,
                    headers=asked.headers,
                )
            )
            if asked.body:
                self.items.append(RequestData(t_us=t_us, exchange=number, data=asked.body))
            self.items.append(RequestComplete(t_us=t_us, exchange=number))
            return number

    def begin_answer(self, number: int, status: int, reason: str, headers: Headers) -> None:
        """Note the head of an answer."""
        with self._lock:
            self._waiting.pop(number, None)
            self.items.append(
                AnswerBegun(
                    t_us=self.t_us, exchange=number, status=status, reason=reason, headers=headers
                )
            )

    def data(self, number: int, data: bytes) -> None:
        """Note a piece of the body of an answer, as received."""
        with self._lock:
            self.items.append(AnswerData(t_us=self.t_us, exchange=number, data=data))

    def end(self, number: int, outcome: ExchangeOutcome, detail: str = "") -> None:
        """Note the end of an exchange."""
        with self._lock:
            self.items.append(
                ExchangeEnded(t_us=self.t_us, exchange=number, outcome=outcome, detail=detail)
            )
            self._waiting.pop(number, None)
            self.order.end(str(number))

    def add_items(self, items: list[TapeItem]) -> None:
        """Add items that another proxy has noted; their times count from the same moment."""
        with self._lock:
            first = self._exchanges
            for item in items:
                number = first + item.exchange
                self._exchanges = max(self._exchanges, number)
                more = (
                    {"connection": first + item.connection}
                    if isinstance(item, RequestBegun)
                    else {}
                )
                self.items.append(msgspec.structs.replace(item, exchange=number, **more))
            self.items.sort(key=lambda item: item.t_us)

    def begin_tool(self, name: str, arguments: Any) -> tuple[str, int]:
        """Note a tool call; return its id and its beginning in microseconds."""
        with self._lock:
            self._tools += 1
            call_id, t_us = f"run-{self._tools}", self.t_us
            self.order.begin(call_id)
            self._waiting[call_id] = f"tool {visible(name, limit=100)}"
            call = {"type": "tool-call", "call_id": call_id, "name": name, "arguments": arguments}
            self.notes.append(Noted(t_us, call))
            return call_id, t_us

    def end_tool(self, begun: tuple[str, int], outcome: ToolOutcome) -> None:
        """Note the outcome of a tool call."""
        call_id, begun_us = begun
        with self._lock:
            t_us = self.t_us
            said: dict[str, Any] = {"type": "tool-result", "call_id": call_id}
            if outcome.error:
                said["error"] = {
                    "type": outcome.error,
                    "message": outcome.message,
                    "args": outcome.args,
                }
            else:
                said["output"] = outcome.output
            self.notes.append(Noted(t_us, {**said, "duration_ms": (t_us - begun_us) // 1000}))
            self._waiting.pop(call_id, None)
            self.order.end(call_id)

    def abandon_tool(self, begun: tuple[str, int]) -> None:
        """Note that a tool was cancelled: it has no outcome."""
        with self._lock:
            self._waiting.pop(begun[0], None)
            self.order.end(begun[0])

    def note(self, payload: Any) -> None:
        """Note another service event."""
        with self._lock:
            self.notes.append(Noted(self.t_us, payload))


def failure_of(exc: BaseException) -> tuple[ExchangeOutcome, str]:
    """The outcome of an exchange that raised. The replay needs the name of the class."""
    name = type(exc).__name__
    if not isinstance(exc, Exception):  # a cancelled task, Ctrl-C
        return "client-gone", ""
    unreachable = name.startswith(_UNREACHABLE) and not name.startswith("ConnectionReset")
    return ("unreachable" if unreachable else "provider-gone"), f"{name}: {exc}"


class AnswerBody:
    """The body of an answer while it is recorded. It ends once.

    Args:
        log: the log of the block.
        number: the exchange in it.
        length: the ``content-length`` of the answer, if it has one.
    """

    def __init__(self, log: CallLog, number: int, length: str = "") -> None:
        self._log, self._number = log, number
        self._left = int(length) if length.isdecimal() else None
        self._ended = False
        self._tail = b""

    def data(self, data: bytes) -> None:
        """Note a piece."""
        if not data or self._ended:
            return
        self._log.data(self._number, data)
        self._tail = (self._tail + data)[-_TAIL_BYTES:]
        if self._left is not None:
            self._left -= len(data)

    def end(self, outcome: ExchangeOutcome, detail: str = "") -> None:
        """Note the outcome."""
        if not self._ended:
            self._ended = True
            self._log.end(self._number, outcome, detail)

    def closed(self) -> None:
        """Note that the client reads no further; the answer may still be complete."""
        from ptycassette.tape.providers.sse import LAST_LINE  # noqa: PLC0415 - not for a replay

        whole = self._left == 0 or self._tail.rstrip().endswith(LAST_LINE)
        self.end("complete" if whole else "client-gone")


class ItemsInMemory:
    """The items of a log, with the interface of the proxy's journal reader."""

    head = None

    def __init__(self, items: list[TapeItem]) -> None:
        self._left = deque(items)

    def poll(self) -> Iterator[TapeItem]:
        """The items that were not returned yet."""
        while self._left:
            yield self._left.popleft()

    def close(self) -> None:
        """Do nothing."""


# -- replaying ----------------------------------------------------------------------------


_OF_ERRORS = frozenset({"type", "message", "args"})
_SOME_ERROR = "Exception"
"""The class of an exception if a trace has only its message."""


class RecordedTool(msgspec.Struct, kw_only=True):
    """A recorded tool call; ``outcome`` is None if it never ended.

    ``digests`` are the digests of its masked arguments (``SecretsOfCalls``), with a ``salt`` of
    their own if the call comes from another recording that was joined to this one. ``changed``: a
    fork has replaced the outcome, so the tool does not run. ``known`` are the known facts about its
    exception: a trace may have only the type or only the message.
    """

    call_id: str
    name: str
    arguments: Any
    seq: int
    t_ms: int
    outcome: ToolOutcome | None = None
    known: frozenset[str] = _OF_ERRORS
    end_seq: int | None = None
    digests: tuple[str, ...] = ()
    salt: str = ""
    asked: bool = False
    changed: bool = False


class SecretsOfCalls:
    """Digests of masked values in tool arguments, which distinguish calls.

    As for questions of a tape, a value that could be guessed has an empty text instead of a digest.

    Args:
        salt: the salt of the cassette.
        scrubber: makes a fresh scrubber.
    """

    def __init__(self, salt: str, scrubber: Callable[[], SessionScrubber]) -> None:
        self._salt, self._scrubber = salt, scrubber
        self._known: dict[tuple[str, str], str] = {}

    def of(self, arguments: Any, *, salt: str = "") -> tuple[str, ...]:
        """One digest for each masked text, in order; empty if nothing is masked.

        Args:
            arguments: the arguments of the call.
            salt: a salt to use instead of the cassette's.
        """
        secrets = self._scrubber().secrets(arguments)
        return tuple(self._digest(salt or self._salt, one) for one in secrets)

    def _digest(self, salt: str, secret: str) -> str:
        of_this = salt, secret
        if of_this not in self._known and len(self._known) < MOST_DIGESTS:
            if guessing_bits(secret) < LEAST_BITS:
                return ""
            self._known[of_this] = digest_of(salt, secret)
        return self._known.get(of_this, "")


class CallFault:
    """A fault of the provider, which strikes once.

    Args:
        text: its name, and its place: ``rate-limit``, ``stalled:5@2``.

    Raises:
        UsageError: there is no such fault, or a recorded answer cannot have it.
    """

    def __init__(self, text: str) -> None:
        from ptycassette.agents.faults.registry import answer_fault, parse_fault  # noqa: PLC0415 - see below

        self.spec = parse_fault(text)
        self._fault = answer_fault(self.spec)
        self._clock = MonotonicClock()

    def entry_of(self, exchanges: list[RecordedExchange]) -> int | None:
        """The entry at which it strikes; None if no recorded answer can have it.

        Raises:
            NotFoundError: the recording has no such entry.
            UsageError: that entry cannot have it.
        """
        from ptycassette.agents.fork.io.held import struck_entry  # noqa: PLC0415 - few runs have a fault

        return struck_entry(exchanges, self.spec, self._fault, self._clock)

    def answer(self, question: Question, recorded: Hit) -> Hit:
        """The answer to give instead of the recorded one. The fault then counts as met."""
        note_met(os.environ)
        return self._fault.answer(question, recorded, self._clock)


def fault_of_environment(environment: Mapping[str, str]) -> CallFault | None:
    """The fault that a test run requests for this process; faults of the terminal are ignored.

    Raises:
        UsageError: there is no such fault, or a recorded answer cannot have it.
    """
    text = environment.get(FAULT_VARIABLE, "")
    if not text:
        return None
    from ptycassette.agents.faults.registry import TERMINAL_FAULTS, parse_fault  # noqa: PLC0415 - few runs have one

    return None if parse_fault(text).name in TERMINAL_FAULTS else CallFault(text)


class ServedCalls:
    """Answers the calls of a block from a cassette.

    Attributes:
        divergences: the differences, in order; it only grows.
        draws: the draws of the recording, in order.
        waits: whether an answer may take time, because a live provider gives it.
        desk: answers model calls; ask it through ``ask_question``.
        keys: the variables with keys that were set while the block was recorded.

    Raises:
        TapeError: the tape was changed.

    Args:
        cassette: open; its bodies are read while the block runs.
        declared: the values of this run that may differ: ``cwd``, ``home``, ``tmp``.
        order: ``strict``: a call that came after the end of another one in the recording may not
            come before it.
        compare_secrets: masked values must be the recorded ones, if the tape has their digests.
        fault: a fault in one answer of the provider.
        scrubbed: masks a JSON value as the recording was masked.
        scrubber: makes a fresh scrubber, as for ``TapeDesk``.
    """

    waits = False

    def __init__(
        self,
        cassette: Cassette,
        *,
        declared: Mapping[str, str],
        order: Order,
        compare_secrets: bool,
        fault: CallFault | None,
        scrubbed: Callable[[Any], Any],
        scrubber: Callable[[], SessionScrubber],
    ) -> None:
        self.divergences: list[Divergence] = []
        self._lock = threading.RLock()
        self._strict = order == "strict"
        self._scrubbed = scrubbed
        exchanges = list(cassette.tape()) if cassette.has_tape else []
        self._entries = [exchange.entry for exchange in exchanges]
        rules = load_matching_rules((), tape=tape_facts(cassette.manifest))
        drawn = drawn_in(event.payload for event in cassette.service_events())
        self._drawn: list[Draw] = []
        self._beyond: MachineDraws | None = None
        self.draws = ServedDraws(
            drawn.draws,
            self._keep_draw,
            lambda said: self.add(CALL_CHANGED.name, said),
            beyond=lambda: self._beyond,
        )
        self.desk = TapeDesk(
            exchanges,
            rules,
            key=bytes.fromhex(cassette.tape().key) if exchanges else bytes(32),
            declared=declared,
            facts=tape_facts(cassette.manifest),
            draws=drawn.draws,
            compare_secrets=compare_secrets,
            scrubber=scrubber,
        )
        if self.desk.damage:
            raise TapeError(
                f"the tape was changed: {self.desk.damage[0]}", where=visible(str(cassette.path))
            )
        self._compares = compare_secrets
        self._uncompared: list[str] = []
        said = (cassette.manifest.optional or {}).get(IN_PROCESS_OPTION)
        said = said if isinstance(said, dict) else {}
        self._came_before = calls_before(said.get("after"))
        self.keys = [one for one in _texts(said.get("keys")) if is_key_name(one)][:MOST_KEYS]
        salt = said.get("salt")
        self._secrets = SecretsOfCalls(str(salt or cassette.manifest.id), scrubber)
        self._fault = fault
        self._struck_entry = None if fault is None else fault.entry_of(exchanges)
        self._struck: Question | None = None
        self._held: Hit | None = None
        self._asked: set[int] = set()
        self._tools = recorded_tools(list(cassette.service_events()))
        self._imported = "imported" in (cassette.manifest.optional or {})
        self._upstreams = {entry.upstream for entry in self._entries}
        self._mark_changed_tool(cassette)

    def _mark_changed_tool(self, cassette: Cassette) -> None:
        """In a child of a fork a result may not come from a tool: that tool does not run."""
        if "fork" not in (cassette.final.metadata or {}):
            return
        from ptycassette.agents.fork.places import ForkPlace  # noqa: PLC0415 - few are children
        from ptycassette.agents.fork.report import fork_of  # noqa: PLC0415 - few are children

        origin = fork_of(cassette.final.metadata)
        if origin is None or origin.change != "tool-result" or not origin.at.startswith("tool:"):
            return
        with suppress(UsageError):  # a cassette may contain any value
            number = ForkPlace.parse(origin.at).number
            for tool in self._tools[number - 1 : number]:
                tool.changed = True

    def _keep_draw(self, draw: Draw) -> None:
        self._drawn.append(draw)

    def missing_variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The variables that SDKs need to repeat the recording, if they are not set.

        Keys are made up; the region of AWS and the address of Azure are those of the recording.
        Code may choose its provider by the keys that it has. So these are the variables that were
        set while the block was recorded, and those of recorded APIs for which there was none.
        """
        names = dict.fromkeys(self.keys)
        usual = known_providers().keys
        bearer = usual["authorization"]
        other = {name for one in usual.values() if one != bearer for name in one}
        for alternatives in key_variables(self._entries):
            if alternatives == bearer and not other.issuperset(self.keys):
                continue  # the key of another provider with this API
            if not any(name in names or environment.get(name) for name in alternatives):
                names |= dict.fromkeys(alternatives)
        made = {name: MADE_UP_KEY for name in names if not environment.get(name)}
        return made | place_variables(self._entries, names, environment)

    # -- models ---------------------------------------------------------------------------

    def ask(self, asked: Asked) -> Hit | Miss:
        """The recorded answer to a request; a miss is a divergence."""
        packed = dict(asked.headers).get("content-encoding", "")
        question = Question(
            kind="http",
            method=asked.method,
            upstream=asked.upstream,
            target=kept_target(asked.target)[0],
            headers=asked.headers,
            body=unpacked_body(asked.body, packed),
        )
        return self.ask_question(question)

    def ask_question(self, question: Question) -> Hit | Miss:
        """As ``ask``, for a question that another server has received."""
        meant = self._meant(question.upstream)
        with self._lock:
            answer = self.desk.ask(msgspec.structs.replace(question, upstream=meant))
            if isinstance(answer, Miss):
                if self._struck is None:
                    self._report_miss(question, answer)
                elif self._held is not None and _same(question, self._struck):
                    answer, self._held = self._held, None  # the client asks once more
                return answer
            self._asked.add(answer.entry.entry)
            entry = answer.entry
            self._check_order(str(entry.connection), _asked_text(entry), entry.seq, entry.t_us)
            if self._fault is not None and answer.entry.entry == self._struck_entry:
                self._struck, self._held = question, answer
                return self._fault.answer(question, answer)
            return answer

    def _meant(self, upstream: str) -> str:
        """The recorded provider; one on this machine may have another port in each run.

        For an imported trace without addresses it stands for any provider.
        """
        if upstream in self._upstreams or host_and_port(upstream)[0] not in _LOOPBACK:
            return upstream
        local = any(host_and_port(one)[0] in _LOOPBACK for one in self._upstreams)
        return "" if local or self._imported else upstream

    def _report_miss(self, asked: Question, miss: Miss) -> None:
        near = next((one for one in self._entries if one.entry == miss.nearest), None)
        what = f"request {asked.method} {self.desk.shown_target(asked)}"
        text = "\n".join(
            [
                what,
                *(f"  {one}" for one in miss.differences),
                *([f"  and {miss.more} more differences"] if miss.more else []),
            ]
        )
        self._add(
            CALL_CHANGED.name,
            f"{what} is not in the recording: {miss.reason}",
            seq=0 if near is None else near.seq,
            t_ms=0 if near is None else near.t_us // 1000,
            expected=None if near is None else f"the nearest is entry {near.entry}",
            got=text,
        )

    # -- tools ----------------------------------------------------------------------------

    @property
    def knows_tools(self) -> bool:
        """Whether tool calls are compared. A trace with only model calls has none."""
        return bool(self._tools) or not self._imported

    def tool(
        self, name: str, arguments: Any, *, serve: bool = False, defaults: Collection[str] = ()
    ) -> RecordedTool | None:
        """The first recorded call of that tool with these arguments that is left.

        None, and a divergence, if the recording does not have it. With ``serve`` the tool does not
        run again. ``defaults`` are arguments that the caller did not give: a trace has only given
        ones.
        """
        del serve
        with self._lock:
            left = self._tools_left(name)
            found = self._equal_tool(left, arguments, defaults)
            if found is None:
                near = left[0] if left else None
                shown = self._scrubbed(name)
                self._add(
                    CALL_CHANGED.name,
                    f"tool {shown} is not in the recording with these masked values"
                    " (PTYCASSETTE_SECRETS=any accepts any)"
                    if self._alike(left, arguments)
                    else f"tool {shown} is not in the recording with these arguments",
                    seq=0 if near is None else near.seq,
                    t_ms=0 if near is None else near.t_ms,
                    expected=None if near is None else _json_text(near.arguments),
                    got=_json_text(self._scrubbed(arguments)),
                )
                return None
            found.asked = True
            self._check_order(found.call_id, f"tool {found.name}", found.seq, found.t_ms * 1000)
            return found

    def _tools_left(self, name: str) -> list[RecordedTool]:
        left = [one for one in self._tools if not one.asked]
        names = {name, self._scrubbed(name)} if any(one.name != name for one in left) else {name}
        return [one for one in left if one.name in names]

    def _equal_tool(
        self, left: list[RecordedTool], arguments: Any, defaults: Collection[str]
    ) -> RecordedTool | None:
        found = next((one for one in left if self._fits(one, arguments, defaults)), None)
        if found is None and left:
            found = self._of_these_secrets(self._alike(left, arguments, defaults), arguments)
        return found

    def _fits(self, recorded: RecordedTool, arguments: Any, defaults: Collection[str]) -> bool:
        old = recorded.arguments
        return old == arguments or (self._imported and _was_given(old, arguments, defaults))

    def _alike(
        self, left: list[RecordedTool], arguments: Any, defaults: Collection[str] = ()
    ) -> list[RecordedTool]:
        """The calls whose arguments are equal except for masked parts."""
        masked = self._scrubbed(arguments)
        return [one for one in left if self._fits(one, masked, defaults)] or [
            one
            for one in left
            if is_masked_form(one.arguments, arguments) or is_masked_form(one.arguments, masked)
        ]

    def _of_these_secrets(self, alike: list[RecordedTool], arguments: Any) -> RecordedTool | None:
        """The first of these calls whose masked values match the arguments."""
        if not alike:
            return None
        for one in alike:
            digests = self._secrets.of(arguments, salt=one.salt) if one.digests else ()
            known = [*zip(one.digests, digests, strict=False)]
            same = len(known) == len(one.digests) == len(digests)
            same = same and all(old in {"", new} for old, new in known)
            if not self._compares or not one.digests or same:
                if not (self._compares and one.digests and all(one.digests)):
                    self._uncompared.append(one.name)
                return one
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """The values that could not be compared, and the result of this run's fault."""
        tools = ", ".join(visible(name, limit=40) for name in dict.fromkeys(self._uncompared))
        of_tools = f"masked values in calls of {tools} could not be compared" if tools else ""
        return tuple(filter(None, (*self.desk.notes(), of_tools, self.fault_note)))

    def compare_tool(self, recorded: RecordedTool, outcome: ToolOutcome) -> None:
        """Compare the outcome of a tool that ran again."""
        with self._lock:
            old = recorded.outcome
            if old is None or self._same_outcome(recorded, old, outcome):
                return
            built = msgspec.to_builtins(outcome)
            scrubbed = self._scrubbed(built)
            masked = msgspec.convert(scrubbed, resolved(ToolOutcome), strict=False)
            if self._same_outcome(recorded, old, masked):
                return
            recorded_form = msgspec.to_builtins(old)
            if any(is_masked_form(recorded_form, form) for form in (built, scrubbed)):
                self._uncompared.append(recorded.name)
                return
            self._add(
                TOOL_CHANGED.name,
                TOOL_CHANGED.says.format(what=recorded.name),
                seq=recorded.end_seq or recorded.seq,
                t_ms=recorded.t_ms,
                expected=old.text,
                got=masked.text,
            )

    def _same_outcome(self, tool: RecordedTool, old: ToolOutcome, new: ToolOutcome) -> bool:
        if not (old.error and new.error):
            same = _parsed(old.output) == _parsed(new.output) if self._imported else old == new
            return same and bool(old.error) == bool(new.error)
        return all(
            {
                "type": old.error == new.error
                or (self._imported and old.error == new.error.rpartition(".")[2]),
                "message": old.message == new.message,
                "args": old.args == new.args,
            }[name]
            for name in tool.known
        )

    @property
    def fault_note(self) -> str:
        """The result of this run's fault; empty without one."""
        if self._fault is None:
            return ""
        if self._struck is None:
            return f"{self._fault.spec} was not met"
        return f"{self._fault.spec} struck at entry {self._struck_entry}; nothing is compared then"

    @property
    def fingerprints(self) -> tuple[str, str]:
        """The fingerprints of this run and of the recording."""
        with self._lock:
            return self.desk.fingerprint(self._drawn), self.desk.expected_fingerprint

    # -- the whole ------------------------------------------------------------------------

    def add(self, kind: str, message: str) -> None:
        """Add a divergence that does not belong to a recorded call."""
        with self._lock:
            self._add(kind, message, seq=0, t_ms=0)

    def finish(self) -> None:
        """Report recorded calls that were never made. After a fault nothing is compared."""
        with self._lock:
            if self._struck is not None:
                return
            for what, seq, t_us in self._left():
                message = CALL_MISSING.says.format(what=what)
                self._add(CALL_MISSING.name, message, seq=seq, t_ms=t_us // 1000)
            if left := self.draws.left:
                message = f"{len(left)} recorded draws were never made; the next is {left[0].kind}"
                self._add(CALL_MISSING.name, message, seq=0, t_ms=0)

    def _left(self) -> list[tuple[str, int, int]]:
        left = [
            (_asked_text(entry), entry.seq, entry.t_us)
            for entry in self._entries
            if entry.entry not in self._asked
        ]
        left += [
            (f"tool {one.name}", one.seq, one.t_ms * 1000) for one in self._tools if not one.asked
        ]
        return sorted(left, key=lambda one: one[1])

    def _check_order(self, call: str, what: str, seq: int, t_us: int) -> None:
        """Report a call that came before another one which had ended before it in the recording."""
        if not self._strict or self._struck is not None:
            return
        ends = [
            (entry.end_seq, str(entry.connection), _asked_text(entry))
            for entry in self._entries
            if entry.entry not in self._asked and entry.end_seq is not None
        ]
        ends += [
            (one.end_seq, one.call_id, f"tool {one.name}")
            for one in self._tools
            if not one.asked and one.end_seq is not None
        ]
        first = min(
            (
                (end, text)
                for end, other, text in ends
                if end < seq and self._came_before(other, call)
            ),
            default=None,
        )
        if first is not None:
            self._add(
                CALL_ORDER.name,
                f"{what} came before {first[1]}, which had ended before it in the recording",
                seq=seq,
                t_ms=t_us // 1000,
                expected=first[1],
                got=what,
            )

    def _add(
        self,
        kind: str,
        message: str,
        *,
        seq: int,
        t_ms: int,
        expected: str | None = None,
        got: str | None = None,
    ) -> None:
        self.divergences.append(
            Divergence(
                kind=kind,
                message=message,
                seq=seq,
                t_ms=t_ms,
                expected=None if expected is None else DivergenceSide(expected),
                got=None if got is None else DivergenceSide(got),
            )
        )


def served_headers(answer: Hit, *, waits: bool) -> list[tuple[str, str]]:
    """The headers of a recorded answer, whose body is unpacked.

    SDKs wait before they ask again: as long as ``retry-after`` demands, else for half a second and
    longer. They read ``retry-after-ms`` first. So it is 1, unless the answer ``waits`` for a
    live provider, or demands so long a time that SDKs do not ask again. ``retry-after`` stays.
    """
    kept = [pair for pair in answer.headers if pair[0] not in _OF_THE_CONNECTION]
    if waits or answer.status not in _RETRIED or _demanded_s(dict(kept)) > _LONGEST_RETRY_S:
        return kept
    return [*(pair for pair in kept if pair[0] != "retry-after-ms"), ("retry-after-ms", "1")]


def _demanded_s(headers: Mapping[str, str]) -> float:
    """How long an answer demands to wait; 0 if it demands nothing."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            return float(headers.get(name, "")) * unit_s
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few answers have a date

    try:
        then, at = (parsedate_to_datetime(headers[name]) for name in ("retry-after", "date"))
        return (then - at).total_seconds()
    except KeyError:  # without the date of the answer nothing is known
        return inf if "retry-after" in headers else 0.0
    except (TypeError, ValueError, OverflowError):  # it is no date, so SDKs ignore it
        return 0.0


def is_held(answer: Hit) -> bool:
    """Whether the client waits behind the recorded pieces, until it is cancelled again."""
    return answer.entry.outcome == "client-gone" and answer.entry.detail == CANCELLED


def broken_answer(answer: Hit) -> tuple[str, str]:
    """The name and the text of the recorded client's exception; both may be empty."""
    name, _, text = answer.entry.detail.partition(": ")
    return (name, text) if name.isidentifier() else ("", answer.entry.detail)


def recorded_tools(events: list[ServiceEventRecord]) -> list[RecordedTool]:
    """The tool calls that the program made, in order.

    A tape also has an event for each call that a model asked for; such an event names its entry.
    """
    tools: list[RecordedTool] = []
    open_: dict[str, RecordedTool] = {}
    for event in events:
        match event.payload:
            case {"entry": _}:
                continue
            case {"type": "tool-call", "call_id": str(call_id), "name": str(name), **more}:
                tool = open_[call_id] = RecordedTool(
                    call_id=call_id,
                    name=name,
                    arguments=more.get("arguments"),
                    digests=_texts(more.get("digests")),
                    salt=salt if isinstance(salt := more.get("salt"), str) else "",
                    seq=event.seq,
                    t_ms=event.t_ms,
                )
                tools.append(tool)
            case {"type": "tool-result", "call_id": str(call_id), **more} if call_id in open_:
                tool = open_.pop(call_id)
                tool.end_seq = event.seq
                match more.get("error"):
                    case dict() as error:
                        args = error.get("args")
                        tool.known = _OF_ERRORS & error.keys()
                        tool.outcome = ToolOutcome(
                            error=str(error.get("type") or _SOME_ERROR),
                            message=str(error.get("message") or ""),
                            args=tuple(args) if isinstance(args, list) else (),
                        )
                    case _:
                        tool.outcome = ToolOutcome(output=more.get("output"))
    return tools


def _was_given(recorded: Any, asked: Any, defaults: Collection[str]) -> bool:
    """Whether a trace has these arguments, by name or in order, without the defaults."""
    if recorded is None:  # they are not in it
        return True
    if not isinstance(asked, dict):
        return False
    if isinstance(recorded, list):
        recorded = dict(zip(asked, recorded, strict=False)) if len(recorded) <= len(asked) else None
    if not isinstance(recorded, dict) or recorded.keys() - asked.keys():
        return False
    return all(
        _parsed(recorded[name]) == _parsed(value) if name in recorded else name in defaults
        for name, value in asked.items()
    )


def _parsed(value: Any) -> Any:
    """A value that a trace may have as it is, or as JSON in a text."""
    found = decoded_json(value) if isinstance(value, str) else None
    return value if found is None else found


def is_masked_form(recorded: Any, live: Any) -> bool:
    """Whether a recorded JSON value is a live one with masks in place of some of its text.

    The recorder may have masked values that only another call of the session reveals.
    """
    match recorded, live:
        case str(), str():
            return recorded == live or _is_masked_text(recorded, live)
        case dict(), dict():
            return len(recorded) == len(live) and all(
                is_masked_form(old, new)
                for old, new in zip(recorded.items(), live.items(), strict=True)
            )
        case ((list() | tuple()), (list() | tuple())):
            return len(recorded) == len(live) and all(map(is_masked_form, recorded, live))
        case int(), int() if not isinstance(live, bool):
            return recorded == live or _is_masked_text(str(recorded), str(live))
    return bool(recorded == live and type(recorded) is type(live))


def _is_masked_text(recorded: str, live: str) -> bool:
    """Each mask matches the shortest text that fits, so that this takes linear time."""
    literals = _MASKS.split(recorded)
    if len(literals) == 1 or not live.startswith(literals[0]):
        return False
    at = len(literals[0])
    for literal in literals[1:-1]:
        at = live.find(literal, at + 1)
        if at < 0:
            return False
        at += len(literal)
    return live.endswith(literals[-1]) and len(live) - len(literals[-1]) > at


def _texts(value: Any) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else []
    return tuple(one for one in texts if isinstance(one, str))


def _same(one: Question, other: Question) -> bool:
    return (one.method, one.target, one.body) == (other.method, other.target, other.body)


def _asked_text(entry: TapeEntry) -> str:
    return f"entry {entry.entry} ({entry.method} {visible(entry.target, limit=100)})"


def _json_text(value: Any) -> str:
    return visible(msgspec.json.encode(value).decode(), limit=_MOST_SHOWN)
