"""``use_tape``: record, replay or pass on the model and tool calls of a block of code.

::

    @use_tape("run.cassette")
    def test_agent():
        assert "milk" in my_agent.run("What does note.txt say?")

It is a decorator for functions, coroutines and generators, a context manager, and an asynchronous
one. A block has its own tape: threads and tasks of other blocks never see it.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

import msgspec

from ptycassette.agents.inprocess.active import (
    MADE_UP_KEYS,
    activated,
    has_made_up_key,
    names_of_keys,
    own_environment,
    resumed,
)
from ptycassette.agents.inprocess.calls import (
    FORK_VARIABLE,
    IN_PROCESS_OPTION,
    Asked,
    CallFault,
    CallLog,
    ItemsInMemory,
    Order,
    RecordedTool,
    SecretsOfCalls,
    ServedCalls,
    ToolOutcome,
    fault_of_environment,
)
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.errors import (
    CassetteError,
    DivergenceError,
    LockedError,
    NotFoundError,
    RefusedError,
    SessionClosedError,
    StorageError,
    UsageError,
)
from ptycassette.extras import need_extra
from ptycassette.model.ports import EventSource
from ptycassette.model.records import (
    Finished,
    Harness,
    JournalEvent,
    Manifest,
    Noted,
    SessionMeta,
    StreamKinds,
)
from ptycassette.model.screen import Size
from ptycassette.model.tape import TapeEntry
from ptycassette.replaying.divergence import (
    CALL_CHANGED,
    Divergence,
    divergence_error,
    divergence_lines,
)
from ptycassette.replaying.io.modes import action_of, mode_in_force, resolve_secrets
from ptycassette.replaying.io.places import folders_of, folders_of_callers, found_path
from ptycassette.replaying.io.watched_uses import (
    announce_recorded,
    announce_recording,
    announce_use,
)
from ptycassette.seal.io.policy import require_seal
from ptycassette.system.files.locks import LockHolder, target_lock, temporary_folder
from ptycassette.system.files.state_dirs import current_dir, lock_dir
from ptycassette.system.ownership import owned_context
from ptycassette.tape.draws import Draw, Draws, RecordedDraws
from ptycassette.tape.io.draw_log import MachineDraws
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.version import __version__

if TYPE_CHECKING:
    from aiohttp import web

    from ptycassette.agents.fork.report import ForkReport  # noqa: TC004 - never decoded
    from ptycassette.agents.inprocess.forking import ForkOrder, TapeFork
    from ptycassette.cassette.timeline.match import Scorer
    from ptycassette.replaying.divergence import Drift  # noqa: TC004 - never decoded
    from ptycassette.replaying.io.modes import Action  # noqa: TC004
    from ptycassette.scrub.session import SessionScrubber
    from ptycassette.tape.matching.question import Question


__all__ = ["OpenTape", "TapeResult", "UseTape", "use_tape"]


class TapeResult(msgspec.Struct, kw_only=True):
    """The result of a block. It is filled during the block, and complete when the block is left.

    ``action`` is what was done in this mode, ``recorded`` whether that published a cassette, and
    ``over`` whether the block was left. ``rerecord`` sets ``drift``, and so does ``rewrite`` if it
    replaced a cassette. ``fork`` is the report of a fork. ``fingerprint`` is computed from the
    questions and answers of this run; a replay of the whole recording has ``expected_fingerprint``.
    """

    action: Action
    cassette: str
    divergences: tuple[Divergence, ...] = ()
    notes: tuple[str, ...] = ()
    drift: Drift | None = None
    fork: ForkReport | None = None
    fingerprint: str = ""
    expected_fingerprint: str = ""
    recorded: bool = False
    over: bool = False
    turns: Any = None

    unplayed: tuple[()] = ()
    sides: None = None
    rerun: None = None

    def semantic_drift(self, threshold: float = 0.75, scorer: Scorer | None = None) -> Drift:
        """The changes in meaning, after ``rerecord`` and ``rewrite``.

        Args:
            threshold: texts with a lower similarity (0 to 1) count as changed.
            scorer: gives the similarity of two texts; that of ``semantic_match`` when None.

        Raises:
            RuntimeError: nothing was recorded to compare.
            ValueError: the threshold is out of range.
        """
        from ptycassette.agents.inprocess.drifting import drift_of_turns  # noqa: PLC0415 - few compare

        if self.turns is None:
            raise RuntimeError("only modes rerecord and rewrite have two recordings to compare")
        return drift_of_turns(*self.turns, threshold=threshold, scorer=scorer)


class BegunTool:
    """A tool call that is under way. ``recorded`` is its recorded outcome, in replay.

    ``changed``: a fork has changed the call, so the tool does not run. ``abandon`` notes a tool
    that was cancelled.
    """

    def __init__(
        self,
        end: Callable[[ToolOutcome], None],
        recorded: ToolOutcome | None = None,
        *,
        changed: bool = False,
        abandon: Callable[[], None] = lambda: None,
    ) -> None:
        self.end = end
        self.abandon = abandon
        self.recorded = recorded
        self.changed = changed


class OpenTape:
    """The tape of a block of ``use_tape``.

    Attributes:
        path: the cassette.
        result: see ``TapeResult``.
    """

    def __init__(
        self, path: Path, result: TapeResult, *, log: CallLog | None, served: ServedCalls | None
    ) -> None:
        self.path = path
        self.result = result
        self._log, self._served = log, served
        self._over = False
        self._notes: dict[str, None] = {}
        self._programs: Programs | None = None
        self._lock = threading.Lock()

    @property
    def is_offline(self) -> bool:
        """Whether the block has no network."""
        return self._served is not None

    @property
    def passes(self) -> bool:
        """Whether calls pass as if there were no tape (mode ``live``)."""
        return self._log is None and self._served is None

    @property
    def records(self) -> bool:
        """Whether calls are noted for a recording."""
        return self._log is not None

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on calls that do not reach the tape."""
        return tuple(self._notes)

    def note(self, text: str) -> None:
        """Keep a note for the result, and for the error if the block fails; each text once."""
        if len(self._notes) < _MOST_NOTES:
            self._notes[text] = None

    def refuse(self, error: UsageError) -> None:
        """Fail the recording, even if the code swallows this error."""
        if self._log is not None:
            self._log.refuse(error)

    @property
    def made_up(self) -> dict[str, str]:
        """The variables that are not set, and get a made-up key or a place during the block.

        Empty if a live provider answers.
        """
        return (
            {}
            if self._served is None or self.waits
            else self._served.missing_variables(own_environment())
        )

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for programs that the block starts, and for clients that are not recorded.

        They point to an HTTP proxy on this machine, which starts at the first use of this property.
        In replay the proxy answers from the cassette. The variables are not needed in mode
        ``live``.

        Raises:
            UsageError: the extra ``tape`` is not installed.
        """
        if self.passes:
            return {}
        with self._lock:
            if self._over:
                raise SessionClosedError("the block of use_tape was left", where=str(self.path))
            if self._programs is None:
                if self._log is not None:
                    self._programs = RecordedPrograms(self._log, os.environ)
                elif self._served is not None:
                    self._programs = ServedPrograms(self._served)
            assert self._programs is not None  # noqa: S101 - it passes otherwise
            return dict(self._programs.environment)

    @property
    def draws(self) -> Draws:
        """The clock and random source of the block: recorded, and served in the same order.

        Use it in one thread of the block only.
        """
        side = self._log or self._served
        return RecordedDraws(MachineDraws(), keep=_keep_nothing) if side is None else side.draws

    @property
    def hidden(self) -> dict[str, Any]:
        """The secrets of the proxy for programs, for the scrubber."""
        found = self._programs
        return {} if found is None else {"secrets": list(found.secrets), "address": found.address}

    def is_own_proxy(self, netloc: str | None) -> bool:
        """Whether a client sends through the proxy of the block, which notes the calls itself."""
        found = self._programs
        return found is not None and bool(netloc) and netloc == found.address

    def ask(self, asked: Asked) -> CallLog | Hit | Miss:
        """The recorded answer to a request, or the log for its real answer.

        Raises:
            SessionClosedError: the block was left.
        """
        if self._over:
            raise SessionClosedError(
                f"{asked.method} {asked.target} was asked after its block of use_tape was left",
                where=str(self.path),
                hint="wait for the tasks and threads of the block before it ends",
            )
        if self._served is not None:
            return self._served.ask(asked)
        assert self._log is not None  # noqa: S101 - the caller asked whether it passes
        if has_made_up_key(asked.headers):
            raise UsageError(
                f"{asked.method} {asked.target} has the made-up key of a replay, and this block"
                " records",
                where=str(self.path),
                hint="make the client in the block that records, where its key is set",
            )
        return self._log

    def reading(self, asked: Asked) -> Callable[[], None]:
        """A function that is called before each piece of the answer to a request is read.

        It raises ``SessionClosedError`` after the block: the rest would be in no recording.
        """

        def check() -> None:
            if self._over:
                raise SessionClosedError(
                    f"the answer to {asked.method} {asked.target} was read on after its block of"
                    " use_tape was left",
                    where=str(self.path),
                    hint="read the whole answer in the block; a recording has only the part that"
                    " was read there",
                )

        return check

    @property
    def waits(self) -> bool:
        """Whether an answer may take time, because a fork asks a live provider."""
        return self._served is not None and self._served.waits

    def forked(self, owner: Any) -> Callable[[], None]:
        """Note a new task, thread or ``Work``; the last two first call the returned function."""
        return _nothing if self._log is None else self._log.fork(owner)

    def begin_tool(
        self, name: str, arguments: Any, *, serve: bool, defaults: Collection[str] = ()
    ) -> BegunTool:
        """Note or find a tool call; with ``serve`` the tool does not run in replay.

        ``defaults`` are arguments that the caller did not give.

        Raises:
            DivergenceError: the recording does not have it.
        """
        if self._log is not None:
            begun = self._log.begin_tool(name, arguments)
            log = self._log
            return BegunTool(
                lambda outcome: log.end_tool(begun, outcome),
                abandon=lambda: log.abandon_tool(begun),
            )
        if self._served is None or not self._served.knows_tools:
            return BegunTool(lambda outcome: None)  # noqa: ARG005 - nothing is kept or compared
        served = self._served
        found = served.tool(name, arguments, serve=serve, defaults=defaults)
        if found is None:
            raise divergence_error(served.divergences[-1], where=str(self.path))
        tool: RecordedTool = found
        return BegunTool(
            lambda outcome: served.compare_tool(tool, outcome), tool.outcome, changed=tool.changed
        )

    def report_further_reading(self, entry: TapeEntry) -> None:
        """Report a client that reads on where the recorded one stopped, so that no data is left."""
        if self._served is not None:
            self._served.add(
                CALL_CHANGED.name,
                f"entry {entry.entry} is read further than in the recording, where the client"
                " had stopped",
            )

    def close(self) -> None:
        """Leave the block: from now on nothing is answered."""
        with self._lock:
            self._over = True
        if self._programs is not None:
            self._programs.close()


class UseTape:
    """The result of ``use_tape``: a context manager, an async one, and a decorator.

    Attributes:
        result: the result of the last block that was entered in this context.
    """

    def __init__(  # noqa: PLR0913 - one for each thing that ``use_tape`` takes
        self,
        path: Path,
        folders: tuple[tuple[Path, ...], bool],
        *,
        mode: str | None,
        order: Order,
        lenient: bool,
        allow_unplayed: bool,
        follow_links: bool | None,
        fault: str | None,
        fork: TapeFork | None,
    ) -> None:
        self._path, self._mode, self._order = path, mode, order
        self._folders, self._in_test = folders
        self._lenient, self._allow_unplayed = lenient, allow_unplayed
        self._follow_links = follow_links
        self._fault = None if fault is None else CallFault(fault)  # complain about it now
        self._fork = fork
        if fork is not None:
            fork.options()  # complain about it now, too
            if fault is not None:
                raise UsageError("a fork has one change: leave out the fault")
        self._stack: ContextVar[tuple[ExitStack, ...]] = ContextVar("use-tape", default=())
        self._result: ContextVar[TapeResult | None] = ContextVar("tape-result", default=None)
        mode_in_force(mode, env=os.environ)  # complain about a typo now

    @property
    def path(self) -> Path:
        """The cassette: the given path, the found file, or the file to record."""
        return self._found()[0]

    def _found(self) -> tuple[Path, tuple[Path, ...]]:
        return found_path(self._path, self._folders, in_test=self._in_test)

    @property
    def result(self) -> TapeResult:
        """The result of the last block.

        Raises:
            RuntimeError: no block was entered in this context.
        """
        found = self._result.get()
        if found is None:
            raise RuntimeError("nothing was used in this context yet")
        return found

    # -- with, async with, @ -------------------------------------------------------

    def __enter__(self) -> OpenTape:
        stack = ExitStack()
        tape = stack.enter_context(self._block())
        self._stack.set((*self._stack.get(), stack))
        return tape

    def __exit__(self, *details: object) -> bool | None:
        *others, stack = self._stack.get()
        self._stack.set(tuple(others))
        done: bool | None = stack.__exit__(*details)  # type: ignore[arg-type]
        return done

    async def __aenter__(self) -> OpenTape:
        return self.__enter__()

    async def __aexit__(self, *details: object) -> bool | None:
        return self.__exit__(*details)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Run ``function`` in a block each time; its parameter ``tape``, if any, is the tape.

        Raises:
            UsageError: it is a class, whose tests pytest would no longer find.
        """
        if inspect.isclass(function):
            raise UsageError(
                f"use_tape decorates functions, and {function.__name__} is a class",
                hint="decorate its functions, or mark the class with pytest.mark.ptycassette_tape",
            )
        signature = inspect.signature(function)
        takes = "tape" in signature.parameters

        def given(tape: OpenTape, kwargs: dict[str, Any]) -> dict[str, Any]:
            return {**kwargs, "tape": tape} if takes else kwargs

        wrapped = self._wrapped(function, given)
        left = [one for name, one in signature.parameters.items() if name != "tape"]
        wrapped.uses_ptycassette_tape = True  # type: ignore[attr-defined]  # for the plugin
        wrapped.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return wrapped

    def _wrapped(
        self, function: Callable[..., Any], given: Callable[[OpenTape, dict[str, Any]], Any]
    ) -> Callable[..., Any]:
        if inspect.isasyncgenfunction(function):

            @functools.wraps(function)
            async def async_generator(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
                with self._block() as tape:
                    steps = function(*args, **given(tape, kwargs))
                    step, sent = steps.asend, None
                    while True:
                        try:
                            with resumed(tape):
                                item = await step(sent)
                        except StopAsyncIteration:
                            return
                        try:
                            step, sent = steps.asend, (yield item)
                        except GeneratorExit:
                            with resumed(tape):
                                await steps.aclose()
                            raise
                        except BaseException as exc:  # noqa: BLE001 - the generator gets it
                            step, sent = steps.athrow, exc

            return async_generator
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with self._block() as tape:
                    return await function(*args, **given(tape, kwargs))

            return coroutine
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
                with self._block() as tape:
                    steps = function(*args, **given(tape, kwargs))
                    step, sent = steps.send, None
                    while True:
                        try:
                            with resumed(tape):
                                item = step(sent)
                        except StopIteration as end:
                            return end.value
                        try:
                            step, sent = steps.send, (yield item)
                        except GeneratorExit:
                            with resumed(tape):
                                steps.close()
                            raise
                        except BaseException as exc:  # noqa: BLE001 - the generator gets it
                            step, sent = steps.throw, exc

            return generator

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            with self._block() as tape:
                done = function(*args, **given(tape, kwargs))
                if inspect.isawaitable(done):
                    if inspect.iscoroutine(done):
                        done.close()
                    raise UsageError(
                        f"{function.__qualname__} gives something to await, which would run after"
                        " its tape is closed",
                        hint="put use_tape on the async function itself",
                    )
                return done

        return plain

    # -- a block -------------------------------------------------------------------

    @owned_context
    def _block(self) -> Iterator[OpenTape]:
        path = self.path
        mode = mode_in_force(self._mode, env=os.environ)
        action = action_of(mode, exists=path.exists(), env=os.environ)
        if action == "rerun":  # the code of the test runs, answered from the tape: a replay
            action = "replay"
        order = None
        if FORK_VARIABLE in os.environ and path.exists():
            from ptycassette.agents.inprocess.forking import ordered_fork  # noqa: PLC0415 - few are

            order = ordered_fork(path, os.environ)
        if order is not None or self._fork is not None:
            action = "replay"
        result = TapeResult(action=action, cassette=str(path))
        self._result.set(result)
        writes = action in {"record", "rewrite"}
        try:
            with ExitStack() as stack:
                if action != "live":
                    stack.enter_context(_in_use(path, writes=writes))
                if writes:
                    stack.enter_context(_alone(path))
                    if _is_example():
                        _check_examples(path)
                    announce_recording(path, stated=self._mode == mode)
                with self._entered_as(action, path, result, order) as tape:
                    yield tape
        finally:
            result.over = True

    def _entered_as(
        self, action: Action, path: Path, result: TapeResult, order: ForkOrder | None
    ) -> AbstractContextManager[OpenTape]:
        if order is not None or self._fork is not None:
            return self._forked(path, result, order)
        if action == "replay":
            return self._replayed(path, result)
        if action == "live":
            return self._entered(OpenTape(path, result, log=None, served=None))
        return self._recorded(path, result)

    @contextmanager
    def _entered(self, tape: OpenTape) -> Iterator[OpenTape]:
        announce_use(tape.result, tape)
        with MADE_UP_KEYS.set(tape.made_up), activated(tape):
            try:
                yield tape
            finally:
                tape.close()

    @contextmanager
    def _recorded(self, path: Path, result: TapeResult) -> Iterator[OpenTape]:
        """Publish a recording only if its block succeeded and made a call."""
        from ptycassette.agents.inprocess import drifting  # noqa: PLC0415 - replay does without

        if result.action == "rerecord" and not path.exists():
            raise self._missing(path, result.action)
        log = CallLog()
        head = head_of(path)
        with self._entered(OpenTape(path, result, log=log, served=None)) as tape:
            yield tape
        result.notes = tape.notes
        if log.refused is not None:
            raise log.refused
        if log.waiting:
            raise RefusedError(
                f"{log.waiting[0]} was under way when the block ended, and its answer is missing",
                where=str(path),
                hint="wait for the tasks and threads of the block before it ends",
            )
        if log.is_empty:
            raise RefusedError(
                "no call of a model or a tool was made in the block: an empty recording is not"
                " kept",
                where=str(path),
                hint="; ".join(tape.notes)
                or "make the calls inside of the block, with httpx, requests or aiohttp; see"
                " docs/in-process.md for other clients",
            )
        if result.action == "rerecord":
            with temporary_folder() as place:
                publish(head, log, place / "new.cassette", hidden=tape.hidden)
                result.turns = drifting.turns_of(path), drifting.turns_of(place / "new.cassette")
        else:
            old = drifting.turns_if_valid(path) if result.action == "rewrite" else None
            path.parent.mkdir(parents=True, exist_ok=True)
            publish(head, log, path, hidden=tape.hidden)
            result.recorded = True
            announce_recorded(path)
            if old is not None:
                result.turns = old, drifting.turns_of(path)
        if result.turns is not None:
            result.drift = drifting.drift_of_turns(*result.turns)

    @contextmanager
    def _forked(
        self, path: Path, result: TapeResult, order: ForkOrder | None
    ) -> Iterator[OpenTape]:
        """Make the change in replay; write the child however the block ends."""
        from ptycassette.agents.inprocess import forking  # noqa: PLC0415 - few blocks are

        fork = self._fork if order is None else order.fork
        assert fork is not None  # noqa: S101 - the caller asked
        child = None if fork.child is None else path.parent / fork.child
        with self._opened(path) as cassette:
            block = forking.ForkedBlock(
                lambda: forking.ForkedCalls(cassette, fork.options(), child, **self._serving()),
                order,
            )
            raised: BaseException | None = None
            with closing(block.calls):
                try:
                    with self._entered(
                        OpenTape(path, result, log=None, served=block.calls)
                    ) as tape:
                        yield tape
                except BaseException as exc:
                    if not forking.is_failure(exc):
                        raise
                    raised = exc
                result.divergences = tuple(block.calls.divergences)
                try:
                    result.fork = block.finished(raised)
                except CassetteError as exc:
                    raise exc from raised
            if raised is not None:
                raise raised

    def _serving(self) -> dict[str, Any]:
        """The options for finding recorded calls."""
        return {
            "declared": _declared(),
            "order": self._order,
            "compare_secrets": resolve_secrets(os.environ) == "same",
            "scrubbed": _scrubbed_as_recorded,
            "scrubber": _scrubber,
        }

    @contextmanager
    def _replayed(self, path: Path, result: TapeResult) -> Iterator[OpenTape]:
        with self._opened(path) as cassette:
            fault = self._fault or fault_of_environment(os.environ)
            served = ServedCalls(cassette, fault=fault, **self._serving())
            tape = OpenTape(path, result, log=None, served=served)
            notes = _notes_of_runners()
            try:
                with self._entered(tape):
                    yield tape
                if not self._allow_unplayed:
                    served.finish()
            except BaseException as exc:
                if served.divergences and not self._lenient:
                    self._blame(exc, served.divergences, path, (*tape.notes, *notes))
                for note in tape.notes:
                    exc.add_note(note)
                raise
            finally:
                result.divergences = tuple(served.divergences)
                result.notes = (*served.notes, *tape.notes)
                result.fingerprint, result.expected_fingerprint = served.fingerprints
            if served.divergences and not self._lenient:
                raise _error_of(served.divergences, path, (*tape.notes, *notes))

    @staticmethod
    def _blame(
        exc: BaseException, found: list[Divergence], path: Path, notes: tuple[str, ...]
    ) -> None:
        """Attribute the failure of a body to an earlier divergence."""
        if isinstance(exc, DivergenceError):
            return
        if isinstance(exc, Exception):
            raise _error_of(found, path, notes) from exc
        for line in divergence_lines(found[0]):  # pytest.fail, Ctrl-C
            exc.add_note(line)

    def _opened(self, path: Path) -> Cassette:
        try:
            require_seal(path)
            return open_cassette(path, follow_links=self._follow_links)
        except NotFoundError as exc:
            raise self._missing(path, "replay") from exc

    def _missing(self, path: Path, mode: str) -> NotFoundError:
        folders = folders_of(self._found()[1])
        return NotFoundError(
            f"there is no such cassette, and the mode is {mode}"
            + (f"; these folders were searched: {folders}" if folders else ""),
            where=str(path),
            hint="record it with PTYCASSETTE_MODE=auto (or mode='auto') where the provider can be"
            " reached",
        )


_EXAMPLES: set[str] = set()
"""The cassettes that examples of Hypothesis have recorded, by their real paths."""
_ABOVE_GIVEN = "put use_tape above @given, with @settings(derandomize=True, deadline=None)"


def _is_example() -> bool:
    """Whether an example of Hypothesis runs."""
    hypothesis: Any = sys.modules.get("hypothesis")
    inside = getattr(hypothesis, "currently_in_test_context", None)
    return inside is not None and bool(inside())


def _check_examples(path: Path) -> None:
    """Refuse the second example that records one cassette: it would overwrite the first."""
    real = os.path.realpath(path)
    if real in _EXAMPLES:
        raise UsageError(
            "another example of Hypothesis has recorded this cassette, and would be overwritten",
            where=str(path),
            hint=_ABOVE_GIVEN,
        )
    _EXAMPLES.add(real)


def _notes_of_runners() -> tuple[str, ...]:
    """Other reasons why a block may not make the recorded calls, from the way its test runs."""
    notes = []
    if _is_example():
        notes.append(f"each example of Hypothesis is a block of its own: {_ABOVE_GIVEN}")
    begins_before_its_test = os.environ.get("PYTEST_CURRENT_TEST", "").endswith("(setup)")
    if begins_before_its_test and "PYTEST_XDIST_WORKER" in os.environ:
        notes.append(
            "if several tests share the block, pytest-xdist may run them in different workers: use"
            " --dist loadfile"
        )
    return tuple(notes)


_MOST_NOTES = 20
_USED: dict[str, tuple[int, bool]] = {}
"""How many blocks use a cassette now, and whether one of them records it, by its real path."""
_USED_LOCK = threading.Lock()


@contextmanager
def _in_use(path: Path, *, writes: bool) -> Iterator[None]:
    """While entered, a block uses this cassette. Several blocks may replay it.

    Raises:
        UsageError: one of them would record it, and the last one to end would overwrite the others.
    """
    real = os.path.realpath(path)
    with _USED_LOCK:
        others, written = _USED.get(real, (0, False))
        if others and (writes or written):
            raise UsageError(
                f"another block of use_tape {'records' if written else 'replays'} this cassette"
                f" now, so this block cannot {'record' if writes else 'replay'} it",
                where=str(path),
                hint="give each block its own cassette, or make all calls in one block",
            )
        _USED[real] = others + 1, writes
    try:
        yield
    finally:
        with _USED_LOCK:
            others, written = _USED.pop(real)
            if others > 1:
                _USED[real] = others - 1, written


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """While entered, no other process records this cassette.

    Raises:
        LockedError: another one does, and the last one to end would overwrite the other.
    """
    holder = LockHolder(
        pid=os.getpid(), what="use_tape", since=datetime.now(UTC).isoformat(timespec="seconds")
    )
    with ExitStack() as stack:
        try:
            stack.enter_context(target_lock(lock_dir(), target=path, holder=holder))
        except LockedError as exc:
            for note in _notes_of_runners():
                exc.add_note(note)
            raise
        yield


def _nothing() -> None:
    """Do nothing, because there is no recorded order of calls."""


def _keep_nothing(draw: Draw) -> None:
    del draw


def _declared() -> dict[str, str]:
    """Values that naturally differ between runs, for the matcher."""
    return {
        "home": os.environ.get("HOME", ""),
        "cwd": str(current_dir()),
        "tmp": tempfile.gettempdir(),
    }


def _scrubber() -> SessionScrubber:
    """A scrubber like the one that masked the tape when it was saved."""
    from ptycassette.scrub.session import default_scrubber  # noqa: PLC0415 - 0.1 s

    return default_scrubber()


def _scrubbed_as_recorded(value: Any) -> Any:
    """A JSON value, masked like the recording; used only if values differ."""
    from ptycassette.scrub.io.setup import session_scrubber  # noqa: PLC0415 - 0.1 s

    home = os.environ.get("HOME")
    scrubber = session_scrubber(home=Path(home) if home else None, cwd=current_dir())
    return scrubber.value(value, channel="service-event")


def _error_of(found: list[Divergence], path: Path, notes: tuple[str, ...] = ()) -> DivergenceError:
    error = divergence_error(found[0], where=str(path))
    for note in notes:
        error.add_note(note)
    for other in found[1:]:
        error.add_note("\n".join(divergence_lines(other)))
    return error


def use_tape(
    path: str | os.PathLike[str],
    *,
    mode: str | None = None,
    order: Order = "strict",
    lenient: bool = False,
    allow_unplayed: bool = False,
    follow_links: bool | None = None,
    fault: str | None = None,
    fork: TapeFork | None = None,
) -> UseTape:
    """Use a cassette for the model and tool calls of code in this process.

    Args:
        path: the cassette. A relative path is searched in the folder of the test file, or of the
            file that calls ``use_tape``, and then in the current folder. In a test a new one is
            recorded beside the test file, elsewhere in the current folder.
        mode: ``replay`` (the default; no network), ``auto``, ``record``, ``rewrite``,
            ``rerecord`` or ``live``; the environment's PTYCASSETTE_MODE when None. In a test run
            the option ``--ptycassette-mode`` overrides both. ``rerun`` is ``replay`` here.
        order: ``strict``: a call that came after the end of another one in the recording may
            not come before it; ``loose``: any order.
        lenient: continue after a divergence, and do not fail; ``result.divergences`` has it.
        allow_unplayed: allow the block to end before all recorded calls were made.
        follow_links: in replay, whether the cassette or its files may be links; when None,
            whether PTYCASSETTE_FOLLOW_LINKS is 1.
        fault: in replay, a fault in one answer of the provider, such as ``rate-limit@2``;
            docs/faults.md lists them. A client that asks again gets the recorded answer.
            After the fault nothing is compared, and ``result.notes`` has its place.
        fork: replay up to a place, in every mode, change one thing there, and record the rest as a
            new cassette. After the change nothing is compared; ``result.fork`` has the report.

    Raises:
        UsageError: the mode, the fault or the fork is wrong.
        ValueError: the order is unknown.

    Entering raises the errors of opening a cassette. Leaving raises ``DivergenceError`` if the
    block did not make the recorded calls, even if the code has swallowed the error of a call.
    """
    if order not in get_args(Order):
        raise ValueError(f"order is one of {', '.join(get_args(Order))}, not {order!r}")
    if not os.fspath(path):
        raise UsageError("use_tape needs the path of a cassette, and this one is empty")
    return UseTape(
        Path(path),
        folders_of_callers(),
        mode=mode,
        order=order,
        lenient=lenient,
        allow_unplayed=allow_unplayed,
        follow_links=follow_links,
        fault=fault,
        fork=fork,
    )


# Other clients of a block: programs that it starts, and HTTP clients that are not patched.


class Programs:
    """The proxy of a block, while it is entered.

    Attributes:
        environment: variables that point a program at it.
        secrets: secret values in the environment.
        address: host and port, which change with each recording.
    """

    def __init__(self) -> None:
        need_extra("tape", "aiohttp", "trustme")
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(temporary_folder())
        self.environment: Mapping[str, str] = {}
        self.secrets: tuple[str, ...] = ()
        self.address = ""

    def close(self) -> None:
        """End the proxy. Does nothing the second time."""
        self._stack.close()


class RecordedPrograms(Programs):
    """Notes the traffic of programs; ``close`` adds it to the log of the block."""

    def __init__(self, log: CallLog, environment: Mapping[str, str]) -> None:
        from ptycassette.tape.consent.terms import ANYWHERE, Terms  # noqa: PLC0415 - few blocks need it
        from ptycassette.tape.io.running_proxy import start_proxy  # noqa: PLC0415

        super().__init__()
        self._log, self._journal = log, self._folder / "tape"
        try:
            self._proxy = start_proxy(
                journal=self._journal,
                proxy_env=True,
                environment=environment,
                # The block itself may ask any provider, so programs that it starts may do so, too.
                terms=Terms(
                    upstreams=(ANYWHERE,), forbidden=(), unsearched=True, unknown_models=True
                ),
                origin_us=log.origin_us,
            )
        except BaseException:
            self._stack.close()
            raise
        self._stack.callback(self._finish)
        self.environment = self._proxy.environment
        self.secrets, self.address = self._proxy.secrets, self._proxy.address

    def _finish(self) -> None:
        from ptycassette.tape.io.journal_file import TapeJournalReader  # noqa: PLC0415

        self._proxy.close()
        if self._proxy.problem is not None:
            raise StorageError(f"the traffic of a program was not recorded: {self._proxy.problem}")
        with TapeJournalReader(self._journal) as reader:
            self._log.add_items(list(reader.poll()))


class ServedPrograms(Programs):
    """Answers programs from the recording of the block."""

    def __init__(self, served: ServedCalls) -> None:
        from ptycassette.agents.rerun.gates import Gates  # noqa: PLC0415 - few blocks need it
        from ptycassette.agents.rerun.io.tape_server import TapeServer  # noqa: PLC0415
        from ptycassette.tape.io.running_proxy import proxy_variables  # noqa: PLC0415

        super().__init__()

        class Server(TapeServer):
            async def ask(self, request: web.Request, question: Question) -> Hit | Miss:
                del request
                return served.ask_question(question)

        ca_file = self._folder / "ca.pem"
        server = Server(Gates([]), ca_file=ca_file)
        server.desk = served.desk
        try:
            self._stack.enter_context(server)
        except BaseException:
            self._stack.close()
            raise
        self.environment = proxy_variables(None, proxy=server.proxy, ca=str(ca_file))
        self.address = urlsplit(server.proxy).netloc.rpartition("@")[2]


# Make an ordinary cassette from the calls of a block.


HARNESS = "in-process"
_SIZE = Size(24, 80)
"""The format requires a size, although there is no terminal."""


def head_of(target: Path, *, keys: Collection[str] = ()) -> SessionMeta:
    """The head of a recording that begins now; ``keys`` are variables with keys of its parent.

    There is no program and no terminal: the command is empty, and all streams are ``null``.
    """
    import platform  # noqa: PLC0415 - only the modes that record load it
    import uuid  # noqa: PLC0415 - as above

    from ptycassette.recording.io.options import (  # noqa: PLC0415 - as above
        architecture,
        system,
        timestamp,
    )

    environment = own_environment()
    number = str(uuid.uuid4())
    option = {"version": 1, "python": platform.python_version(), "salt": number}
    if names := sorted({*keys, *names_of_keys(())}):  # code may remove a variable later
        option["keys"] = names
    return SessionMeta(
        id=number,
        argv=(),
        size=_SIZE,
        recorded_at=timestamp(datetime.now(UTC)),
        harness=Harness(name=HARNESS),
        environment=environment,
        home=environment.get("HOME", ""),
        cwd=str(current_dir()),
        streams=StreamKinds(stdin="null", stdout="null", stderr="null"),
        os=system(),
        arch=architecture(),
        recorder_version=f"ptycassette/{__version__}",
        target=str(target),
        options={IN_PROCESS_OPTION: option},
    )


def publish(
    head: SessionMeta,
    log: CallLog,
    target: Path,
    *,
    hidden: Mapping[str, Any],
    metadata: dict[str, Any] | None = None,
) -> Manifest:
    """Scrub, verify and publish the calls. An existing cassette is replaced.

    Args:
        head: the head from the beginning of the block.
        log: the log of the block, which is over.
        target: the path of the cassette.
        hidden: secrets of the proxy for programs, for the scrubber.
        metadata: metadata for the final record.

    Raises:
        CassetteError: nothing was published; the message gives the reason.
    """
    import secrets  # noqa: PLC0415 - only the modes that record load it

    from ptycassette.model.tape import TAPE_OPTION  # noqa: PLC0415 - as above
    from ptycassette.recording.io.finalising import Finaliser  # noqa: PLC0415 - as above
    from ptycassette.recording.tape_source import TapeSource  # noqa: PLC0415 - as above
    from ptycassette.scrub.session import default_scrubber  # noqa: PLC0415 - as above
    from ptycassette.tape.io.price_table import load_prices  # noqa: PLC0415 - as above

    end = Finished(t_us=log.t_us, metadata=metadata)
    secrets_of = SecretsOfCalls(head.options[IN_PROCESS_OPTION]["salt"], default_scrubber)
    notes = [_with_digests(note, secrets_of) for note in log.notes]

    def events() -> Iterator[JournalEvent]:
        yield from notes
        yield end

    source: EventSource = events
    option = dict(head.options[IN_PROCESS_OPTION])
    if keys := sorted({*option.get("keys", ()), *names_of_keys(log.headers())}):
        option["keys"] = keys
    if log.order.after:
        option["after"] = log.order.after
    options = {**head.options, IN_PROCESS_OPTION: option}
    if log.items:
        options[TAPE_OPTION] = {"key": secrets.token_hex(32), "described": {}, **hidden}
        source = TapeSource(events, lambda: ItemsInMemory(log.items), load_prices())
    head = msgspec.structs.replace(head, options=options, target=str(target))
    return Finaliser().publish(head, source, target, overwrite=True)


def _with_digests(note: JournalEvent, secrets_of: SecretsOfCalls) -> JournalEvent:
    """A tool call with digests of its masked arguments."""
    match note:
        case Noted(payload={"type": "tool-call", "arguments": arguments}):
            digests = secrets_of.of(arguments)
            if digests:
                payload = {**note.payload, "digests": list(digests)}
                return msgspec.structs.replace(note, payload=payload)
    return note
