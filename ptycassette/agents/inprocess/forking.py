"""Fork a block: replay its calls up to a place, change one thing there, and record the rest.

The engine is that of ``ptycassette fork``: a branch, its change, its tail. Here the code of the
block is the program, and nothing is typed. ``ForkedCalls`` answers the calls and notes all traffic,
so that the child is recorded like any block. Another process orders a fork by a file that
``PTYCASSETTE_FORK`` names: the first block that uses this very cassette is forked.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ptycassette.agents.faults.registry import parse_fault
from ptycassette.agents.fork.io.branch import AnswerSource, Branch
from ptycassette.agents.fork.io.live import ForkOptions, LiveTail, LiveTerms
from ptycassette.agents.fork.io.reading_lineage import manifest_sha256
from ptycassette.agents.fork.io.tails import MadeTail, check_request, other_answer, tail_of, wire
from ptycassette.agents.fork.places import Change, Cut, ForkPlace, Tail
from ptycassette.agents.fork.report import FORK, ForkRecord, ForkReport, ParentOf, PrefixProof
from ptycassette.agents.inprocess import using_tape as saving
from ptycassette.agents.inprocess.active import below
from ptycassette.agents.inprocess.calls import (
    FORK_VARIABLE,
    MISS_HEADERS,
    MISS_STATUS,
    Asked,
    CallLog,
    RecordedTool,
    ServedCalls,
    ToolOutcome,
    miss_body,
    recorded_tools,
)
from ptycassette.agents.rerun.gates import Gates
from ptycassette.agents.rerun.report import RequestMiss
from ptycassette.cassette.io.reader import Cassette
from ptycassette.cassette.io.staging import check_target
from ptycassette.errors import CassetteError, DivergenceError, NotFoundError, UsageError
from ptycassette.model.records import NOT_JSON, decoded_json
from ptycassette.model.resolved_types import resolved
from ptycassette.model.tape import TapeEntry
from ptycassette.model.visible_text import visible
from ptycassette.replaying.divergence import divergence_lines
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.files.state_dirs import current_dir
from ptycassette.system.files.whole_file import read_plain
from ptycassette.tape.draws import Draw, draw_event
from ptycassette.tape.io.draw_log import MachineDraws
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question

T = TypeVar("T")
_CHANGES = frozenset(("response", "swap", "tool-result", "model", "fault", "none", "ask"))
_PACKING = "content-encoding"
_MOST_ORDER = 8 << 20
_NO_CHILD = "up to the fork the calls must be the recorded ones; there is no child"
_NO_FAILURES = (KeyboardInterrupt, SystemExit, GeneratorExit)


class TapeFork(msgspec.Struct, frozen=True, kw_only=True):
    """A fork of a block of ``use_tape``: the place, the change, and the source of later answers.

    Attributes:
        at: ``tape:2``, a request; ``tool:1``, a tool call; or ``3``, the third call of both kinds.
            ``ptycassette fork --places CASSETTE`` lists them. Empty if ``fault`` has the place.
        change: ``response=TEXT``, ``response=@FILE``, ``tool-result=TEXT``, ``swap=tape:N``,
            ``model=NAME``, ``ask``, or ``none`` (docs/fork.md).
        fault: instead of ``change``, a fault of the provider: ``truncated@2``.
        tail: the source of answers after the change: ``scripted``, ``held``, ``fake`` or ``live``.
        script: for ``scripted``: answers to use instead of the recorded ones
            (docs/fake-provider.md).
        child: the new cassette. A relative path is beside the parent. None to write none.
        overwrite: replace a cassette that is there.
        live: for ``live``: the provider, and what may be sent to it.
    """

    at: str = ""
    change: str | Change = "none"
    fault: str = ""
    tail: Tail = "scripted"
    script: str | os.PathLike[str] | None = None
    child: str | os.PathLike[str] | None = None
    overwrite: bool = False
    live: LiveTerms = LiveTerms()

    def options(self) -> ForkOptions:
        """The options for the engine.

        Raises:
            UsageError: the place, the change or the fault is wrong.
        """
        change = self.change if isinstance(self.change, Change) else Change.parse(self.change)
        at = self.at
        if self.fault:
            fault = parse_fault(self.fault)
            if change.kind != "none" or (fault.at is None) == (not at):
                raise UsageError(
                    f"fault={visible(self.fault, limit=40)} is the one change, at one place",
                    hint="write TapeFork(fault='NAME@2') for tape:2, or TapeFork(at='tape:2', ...)",
                )
            change, at = Change.of(fault), at or f"tape:{fault.at}"
        if not at:
            raise UsageError("TapeFork needs a place", hint="at='tape:2', or at='tool:1'")
        if change.kind not in _CHANGES:
            raise UsageError(
                f"{change.kind} cannot be changed in the code of use_tape: it has no terminal",
                hint=f"one of {', '.join(sorted(_CHANGES))}",
            )
        if self.script is not None and self.tail != "scripted":
            raise UsageError("a script goes with tail='scripted' only")
        return ForkOptions(
            at=ForkPlace.parse(at),
            change=change,
            tail=self.tail,
            script=None if self.script is None else Path(self.script),
            live=self.live,
            overwrite=self.overwrite,
        )


class ForkOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A fork that another process orders.

    Attributes:
        manifest_sha256: the digest of the cassette's manifest.
        at, change, tail, script, live: as in ``TapeFork``.
        child: the new cassette.
        result: the file that the block writes ``ForkResult`` to.
    """

    manifest_sha256: str
    at: str
    change: Change
    tail: Tail
    script: str | None
    live: LiveTerms
    child: str
    overwrite: bool
    result: str

    @property
    def fork(self) -> TapeFork:
        """The fork itself."""
        return TapeFork(
            at=self.at,
            change=self.change,
            tail=self.tail,
            script=self.script,
            child=self.child,
            overwrite=self.overwrite,
            live=self.live,
        )


class ForkResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an ordered fork: a report, or an error by its class, message and hint."""

    report: ForkReport | None = None
    error: tuple[str, str, str] | None = None


def ordered_fork(path: Path, environment: Mapping[str, str]) -> ForkOrder | None:
    """The order for this cassette; None without one.

    Raises:
        CassetteError: the order cannot be read.
        UsageError: it was already carried out, so two blocks use this cassette.
    """
    place = environment.get(FORK_VARIABLE)
    if not place:
        return None
    data = read_plain(Path(place), max_bytes=_MOST_ORDER)
    try:
        order = msgspec.json.decode(data, type=resolved(ForkOrder))
    except NOT_JSON as wrong:
        raise UsageError(f"{FORK_VARIABLE} names no order of a fork: {wrong}") from wrong
    if order.manifest_sha256 != manifest_sha256(path):
        return None
    if Path(order.result).exists():
        raise UsageError(
            "two blocks of use_tape use this cassette, so it is not known which one to fork",
            where=str(path),
            hint="name one test: pytest test_x.py::test_y",
        )
    return order


def place_of(place: ForkPlace, entries: Sequence[TapeEntry], tools: Sequence[RecordedTool]) -> Any:
    """The entry or the tool call at a place.

    Raises:
        NotFoundError: there is no such call.
    """
    calls: Sequence[TapeEntry | RecordedTool]
    match place.kind:
        case "tape":
            calls = [one for one in entries if one.entry == place.number]
            found, what, count = next(iter(calls), None), "requests", len(entries)
        case "tool":
            found, what, count = _at(tools, place.number), "tool calls", len(tools)
        case "exchange":
            calls = sorted([*entries, *tools], key=lambda one: one.seq)
            found, what, count = _at(calls, place.number), "calls", len(calls)
    if found is None:
        raise NotFoundError(
            f"there is no {place}: the recording has {count} {what}",
            hint="ptycassette fork --places CASSETTE lists them",
        )
    return found


def _at(calls: Sequence[T], number: int) -> T | None:
    return calls[number - 1] if number <= len(calls) else None


def checked_options(cassette: Cassette, options: ForkOptions) -> ForkOptions:
    """The options with the place as a request or a tool call; nothing is started.

    Raises:
        NotFoundError: there is no such call.
        UsageError: the change cannot apply there.
    """
    exchanges = list(cassette.tape()) if cassette.has_tape else []
    tools = recorded_tools(list(cassette.service_events()))
    found = place_of(options.at, [one.entry for one in exchanges], tools)
    if isinstance(found, TapeEntry):
        place = ForkPlace("tape", found.entry)
    else:
        place = ForkPlace("tool", tools.index(found) + 1)
    options.change.check(place, options.tail, script=options.script is not None)
    if place.kind == "tape":
        check_request(cassette, place.number, options.change)
    if options.tail == "live" and not exchanges and not options.live.provider:
        raise UsageError("the provider to ask is not known", hint="name the provider in LiveTerms")
    return msgspec.structs.replace(options, at=place)


class _ForkedTool(RecordedTool, kw_only=True):
    """A tool call of a forked block. ``original`` is the recorded call to compare with."""

    begun: tuple[str, int]
    original: RecordedTool | None = None


class ForkedCalls(ServedCalls):
    """Answers the calls of a block from a cassette up to a place, and from a tail after it.

    Args:
        cassette: the parent; open.
        options: the place, the change and the tail.
        head: the head of the child.
        child: the new cassette; None to write none.
        served: as for ``ServedCalls``, except ``fault``.

    Raises:
        NotFoundError, UsageError: as ``checked_options``.
        ExistsError: the child is there, and may not be replaced.
        ApprovalNeededError: a live tail would send something without an approval.
    """

    def __init__(
        self, cassette: Cassette, options: ForkOptions, child: Path | None, **served: Any
    ) -> None:
        super().__init__(cassette, fault=None, **served)
        self.options = checked_options(cassette, options)
        if child is not None:
            check_target(child, overwrite=options.overwrite)
        self._child, self._head = child, saving.head_of(child or cassette.path, keys=self.keys)
        self._parent = ParentOf(
            id=cassette.manifest.id, manifest_sha256=manifest_sha256(cassette.path)
        )
        self.log = CallLog()
        self.origin: ForkRecord | None = None
        self._unrecorded: list[str] = []
        place, change = self.options.at, self.options.change
        self._tool = self._tools[place.number - 1] if place.kind == "tool" else None
        at = place.number if place.kind == "tape" else None
        self._branch = Branch(_Desk(self), _cut(self._entries, at), patience_s=0.0, at_once=True)
        self._stack = ExitStack()
        try:
            self._wire(cassette, change)
        except BaseException:
            self._stack.close()
            raise

    def _wire(self, cassette: Cassette, change: Change) -> None:
        """Connect the branch to the change and the tail."""
        clock = MonotonicClock()
        places = {"cwd": str(current_dir()), "home": os.environ.get("HOME", "")}
        options = self.options
        if not cassette.has_tape and options.tail == "held":  # there is nothing to hold
            options = msgspec.structs.replace(options, tail="scripted")
        self._tail = self._stack.enter_context(
            tail_of(
                options, cassette, self._branch, Gates([]), profile=None, places=places, wait_s=0.0
            )
        )
        live = isinstance(self._tail, LiveTail)
        self._made = wire(
            self._branch,
            change,
            _in_a_loop(self._tail) if live and self._tail is not None else self._tail,
            clock,
            places,
            other=other_answer(cassette, change),
        )
        self.waits = live
        here = self._branch.here

        async def changed(question: Question, recorded: Hit) -> Hit | Miss:
            self._note_fork()
            assert here is not None  # noqa: S101 - wired above
            return await here(question, recorded)

        self._branch.here = changed

    def close(self) -> None:
        """End the tail."""
        self._stack.close()

    # -- calls ----------------------------------------------------------------------------

    def ask_question(self, question: Question) -> Hit | Miss:
        """See ``ServedCalls.ask_question``; the traffic is noted."""
        if question.kind != "http":
            return Miss(asked="a WebSocket", reason="a fork of use_tape has none")
        number = self.log.ask(self._noted(question))
        if self.divergences and self.origin is None:
            answer = super().ask_question(question)
        else:
            answer = _now(self._branch.answer(question))
        self._note_answer(number, answer)
        return answer

    def from_parent(self, question: Question) -> Hit | Miss:
        """The recorded answer. A difference before the change is a divergence."""
        if self.origin is None:
            return super().ask_question(question)
        with self._lock:
            meant = self._meant(question.upstream)
            answer = self.desk.ask(msgspec.structs.replace(question, upstream=meant))
            if isinstance(answer, Hit):
                self._asked.add(answer.entry.entry)
            return answer

    def tool(
        self, name: str, arguments: Any, *, serve: bool = False, defaults: Collection[str] = ()
    ) -> RecordedTool | None:
        """See ``ServedCalls.tool``. After the change nothing is a divergence."""
        begun = self.log.begin_tool(name, arguments)
        if self.origin is None:
            found = super().tool(name, arguments, defaults=defaults)
            if found is None:
                return None
            if found is not self._tool or self.divergences:
                return _forked_tool(found, begun, original=found)
            self._branch.fork()
            self._note_fork()
            change = self.options.change
            if change.kind != "tool-result":
                return _forked_tool(found, begun)
            given = _changed_outcome(found.outcome, change.value)
            return _forked_tool(found, begun, outcome=given, changed=True)
        with self._lock:
            left = self._tools_left(name)
            found = self._equal_tool(left, arguments, defaults)
            if found is None and left and serve and self.options.tail == "held":
                found = left[0]
            if found is not None:
                found.asked = True
                return _forked_tool(found, begun)
            outcome: ToolOutcome | None = None
            if serve and self.options.tail != "live":
                said = f"tool {name} was not recorded with these arguments, and does not run"
                self._unrecorded.append(said)
                outcome = ToolOutcome(error="NotRecordedError", message=said)
            return _ForkedTool(
                call_id=begun[0], name=name, arguments=arguments, seq=0, t_ms=0, outcome=outcome,
                begun=begun,
            )  # fmt: skip

    def compare_tool(self, recorded: RecordedTool, outcome: ToolOutcome) -> None:
        """Note the end of a tool; before the change its result is compared."""
        assert isinstance(recorded, _ForkedTool)  # noqa: S101 - made by ``tool``
        self.log.end_tool(recorded.begun, outcome)
        if recorded.original is not None:
            super().compare_tool(recorded.original, outcome)

    def _keep_draw(self, draw: Draw) -> None:
        super()._keep_draw(draw)
        self.log.note(draw_event(draw))

    def _note_fork(self) -> None:
        """Mark everything that was noted so far as the verified prefix."""
        with self._lock:
            options = self.options
            self.origin = ForkRecord(
                parent=self._parent,
                at=str(options.at),
                change=options.change.kind,
                value=options.change.value,
                tail=options.tail,
                prefix=PrefixProof(
                    entries=tuple(sorted(self._branch.served)),
                    fingerprint=self.desk.fingerprint(self._drawn) if self._entries else "",
                ),
            )
            self._beyond = MachineDraws()
            self.log.note(msgspec.to_builtins(self.origin))

    def _noted(self, question: Question) -> Asked:
        """A question in the child's form: sent to the recorded provider."""
        upstream = self._meant(question.upstream) or self.desk.upstream(question.target)
        return Asked(
            method=question.method,
            upstream=upstream or question.upstream,
            target=question.target,
            headers=tuple(one for one in question.headers if one[0] != _PACKING),
            body=question.body,
        )

    def _note_answer(self, number: int, answer: Hit | Miss) -> None:
        if isinstance(answer, Miss):
            self.log.begin_answer(number, MISS_STATUS, "", MISS_HEADERS)
            self.log.data(number, miss_body(answer))
            self.log.end(number, "complete")
            return
        if answer.status:
            self.log.begin_answer(number, answer.status, "", answer.headers)
            for _, data in answer.pieces:
                self.log.data(number, data)
        self.log.end(number, answer.entry.outcome, answer.entry.detail)

    # -- the end --------------------------------------------------------------------------

    def finished(self, raised: BaseException | None) -> ForkReport:
        """Publish the child, and report.

        Args:
            raised: the exception that left the block, if any.

        Raises:
            DivergenceError: the calls were not the recorded ones, or ended before the place.
            CassetteError: the child cannot be published.
        """
        place = self.options.at
        if self.divergences:
            said = "\n".join(divergence_lines(self.divergences[0]))
            raise DivergenceError(f"no fork: before {place}: {said}", hint=_NO_CHILD)
        if self.origin is None:
            why = "" if raised is None else f" ({type(raised).__qualname__}: {raised})"
            raise DivergenceError(
                f"no fork: {place} was not reached: the block ended before it{visible(why)}",
                hint=_NO_CHILD,
            )
        if self._child is not None:
            said_last = {FORK: msgspec.to_builtins(self.origin)}
            saving.publish(self._head, self.log, self._child, hidden={}, metadata=said_last)
        tail, branch = self._tail, self._branch
        problems = (*self._made(), *(tail.problems if isinstance(tail, MadeTail) else ()))
        return ForkReport(
            child="" if self._child is None else str(self._child),
            argv=(),
            guard="a tail that is live asks through a proxy"
            if self.waits
            else "no model call of the block opens a connection",
            origin=self.origin,
            requests=branch.later,
            unanswered=(*branch.unanswered, *self._unrecorded, *problems),
            refused=tuple(tail.reports) if isinstance(tail, LiveTail) else (),
            raised="" if raised is None else type(raised).__qualname__,
        )


class ForkedBlock:
    """The end of a forked block: its child, its report, and the result for the ordering process.

    Args:
        calls: the calls of the block.
        order: the order of another process; None if the code itself forks.
    """

    def __init__(self, make: Callable[[], ForkedCalls], order: ForkOrder | None) -> None:
        self._order = order
        with self._telling():
            self.calls = make()

    def finished(self, raised: BaseException | None) -> ForkReport:
        """As ``ForkedCalls.finished``."""
        with self._telling():
            report = self.calls.finished(raised)
        self._tell(ForkResult(report=report))
        return report

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Write an error for the ordering process before it is raised further."""
        try:
            yield
        except CassetteError as exc:
            said = (type(exc).__name__, exc.message, exc.hint or "")
            self._tell(ForkResult(error=said))
            raise

    def _tell(self, result: ForkResult) -> None:
        if self._order is not None:
            place = Path(self._order.result)
            made = place.with_suffix(".new")
            made.write_bytes(msgspec.json.encode(result))
            made.rename(place)


class _Desk:
    """The parent's tape, with the interface that ``Branch`` uses."""

    def __init__(self, calls: ForkedCalls) -> None:
        self._calls = calls
        self.misses: list[RequestMiss] = []

    def ask(self, question: Question) -> Hit | Miss:
        return self._calls.from_parent(question)

    def fingerprint(self) -> str:
        """Empty: the calls compute it when they note the fork."""
        return ""


def is_failure(raised: BaseException) -> bool:
    """Whether a run that ended with this exception counts: it failed, and was not interrupted."""
    return not isinstance(raised, _NO_FAILURES)


def _cut(entries: Sequence[TapeEntry], at: int | None) -> Cut:
    """A recording without inputs, cut at a request, or at no place."""
    return Cut(
        prefix=(), here=(), rest=(), before=frozenset(), entry=at, last_us=0,
        end_us=max((one.t_us for one in entries), default=0),
    )  # fmt: skip


def _forked_tool(
    found: RecordedTool,
    begun: tuple[str, int],
    *,
    original: RecordedTool | None = None,
    outcome: ToolOutcome | None = None,
    changed: bool = False,
) -> _ForkedTool:
    return _ForkedTool(
        call_id=found.call_id,
        name=found.name,
        arguments=found.arguments,
        seq=found.seq,
        t_ms=found.t_ms,
        outcome=found.outcome if outcome is None else outcome,
        end_seq=found.end_seq,
        changed=changed,
        begun=begun,
        original=original,
    )


def _changed_outcome(recorded: ToolOutcome | None, value: str) -> ToolOutcome:
    """A tool's changed result: a text if the recorded one is a text, else JSON if it parses."""
    old = None if recorded is None else recorded.output
    if isinstance(old, str):
        return ToolOutcome(output=value)
    if not value:
        return ToolOutcome(output=None)
    given = decoded_json(value.encode())
    return ToolOutcome(output=value if given is None and value != "null" else given)


def _now(answer: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        answer.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    answer.close()
    raise RuntimeError("an answer of a fork waits, although nothing is to wait for")


def _in_a_loop(source: AnswerSource) -> AnswerSource:
    """A source that runs in an event loop of its own; the caller waits."""

    async def ask(question: Question) -> Hit | Miss:
        async def asked() -> Hit | Miss:
            with below():  # the client that asks is not one of the block
                return await source(question)

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, asked()).result()

    return ask
