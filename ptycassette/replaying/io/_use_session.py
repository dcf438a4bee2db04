"""The session of ``use`` in each mode: replayed, live, recorded, or recorded to compare.

Rules: in replay no program is run; a recording is published only if its block succeeded and
the program printed something; a recording for comparison does not change the cassette.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ptycassette.cassette import TAPE_KEY
from ptycassette.cassette.io import Cassette, open_cassette
from ptycassette.errors import (
    CassetteError,
    DivergenceError,
    NotFoundError,
    RefusedError,
    SessionError,
    UsageError,
)
from ptycassette.model import Size, streams_of, visible, visible_bytes
from ptycassette.recording.io import arecord, check_network, record
from ptycassette.replaying.divergence import Divergence, divergence_error
from ptycassette.replaying.drifts import Drift, Side, drift_of_sides, semantic_drift_of_sides
from ptycassette.replaying.io._replay_pty import LogicalClock, LogicalSleeper, ReplayPty
from ptycassette.replaying.io.modes import Action, action_of, mode_in_force
from ptycassette.replaying.io.sides import side_of
from ptycassette.replaying.standin import StandinOptions, Unplayed
from ptycassette.rerun import RerunReport
from ptycassette.session import (
    DEFAULT_SIZE,
    AsyncSession,
    Session,
    StreamChoice,
    kinds_named,
)
from ptycassette.system.files import find_project
from ptycassette.timeline import DEFAULT_THRESHOLD, Matching, Scorer, read_entries

if TYPE_CHECKING:
    from ptycassette.rerun.io import DrivenRerun

_AWAITED = 500
_OF_THE_START = (
    "cwd", "env", "base_env", "clean_env", "term", "timeout_s", "clock", "sleeper", "emulator",
)  # fmt: skip
"""The record options that say how the program is started and driven, not what is kept of it."""
_OF_THE_DRIVE = ("term", "timeout_s", "clock", "sleeper", "emulator")
"""Those of them that a rerun leaves to the caller: place and environment are its own."""


class UseResult(msgspec.Struct, kw_only=True):
    """The result of a use. It is filled during the block, and complete when the block is left.

    ``action`` is what was done in this mode. ``rerecord``, and ``rewrite`` where it replaced a
    cassette, set ``drift`` and the two recordings in ``sides``; ``rerun`` sets ``rerun``.
    """

    action: Action
    cassette: str
    divergences: tuple[Divergence, ...] = ()
    unplayed: Unplayed = Unplayed()
    notes: tuple[str, ...] = ()
    drift: Drift | None = None
    sides: tuple[Side, Side] | None = None
    rerun: RerunReport | None = None

    def semantic_drift(
        self, threshold: float = DEFAULT_THRESHOLD, scorer: Scorer | None = None
    ) -> Drift:
        """What changed in meaning, after ``rerecord`` and ``rewrite``; see ``semantic_drift``.

        Raises:
            RuntimeError: nothing was recorded to compare.
            ValueError: the threshold is out of range.
        """
        if self.sides is None:
            raise RuntimeError("only modes rerecord and rewrite have two recordings to compare")
        return semantic_drift_of_sides(*self.sides, threshold, scorer)

    def side(self) -> Side:
        """The recording: after ``rerecord`` the new one, else the cassette; see ``drift``.

        Raises:
            CassetteError: it cannot be opened.
        """
        return self.sides[1] if self.sides is not None else side_of(self.cassette)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of ``use``; see there."""

    path: Path
    argv: Sequence[str] | None
    mode: str | None
    matching: Matching
    size: Size | None
    streams: StreamChoice | None
    lenient: bool
    allow_unplayed: bool
    options: Mapping[str, Any]


def begin(plan: Plan) -> UseResult:
    """Resolve the mode to an action.

    Raises:
        UsageError: the mode is unknown.
    """
    mode = mode_in_force(plan.mode, env=os.environ)
    action = action_of(mode, exists=plan.path.exists(), env=os.environ)
    return UseResult(action=action, cassette=str(plan.path))


@contextmanager
def session_of(plan: Plan, result: UseResult) -> Iterator[Session]:
    """The session for ``result.action``."""
    match result.action:
        case "replay":
            with _opened(plan) as cassette:
                pty, clock, size = _replayed(plan, cassette)
                session = Session.over(pty, size=size, clock=clock, sleeper=clock)
                with _judged(plan, result, pty, cassette):
                    yield session
                session.close()
        case "live":
            with Session(_program(plan), **_live(plan)) as session:
                yield session
        case "record" | "rewrite":
            shown = _Shown()
            options = _recording(plan, overwrite=True, show=shown)
            old = _old_side(plan, result)
            with record(_program(plan), plan.path, **options) as recording:
                yield recording
                recording.close()
                shown.refuse_nothing(plan.path)
            _note_drift(result, old, plan.path)
        case "rerecord":
            with _place_aside() as place:
                new = place / "new.cassette"
                with record(_program(plan), new, **_recording(plan)) as recording:
                    yield recording
                _compare(result, plan.path, new)
        case "rerun":
            with _rerun(plan, result) as run:
                with Session(run.argv, **run.options) as session:
                    yield session
                result.rerun = run.proof(session.exit_status)


@asynccontextmanager
async def async_session_of(plan: Plan, result: UseResult) -> AsyncIterator[AsyncSession]:
    """As ``session_of``, for ``async with``."""
    match result.action:
        case "replay":
            with _opened(plan) as cassette:
                pty, clock, size = _replayed(plan, cassette)
                session = AsyncSession.over(
                    pty, size=size, clock=clock, sleeper=clock,
                    async_sleeper=LogicalSleeper(clock),
                )  # fmt: skip
                with _judged(plan, result, pty, cassette):
                    yield session
                await session.close()
        case "live":
            async with AsyncSession(_program(plan), **_live(plan)) as session:
                yield session
        case "record" | "rewrite":
            shown = _Shown()
            options = _recording(plan, overwrite=True, show=shown)
            old = _old_side(plan, result)
            async with arecord(_program(plan), plan.path, **options) as recording:
                yield recording
                await recording.close()
                shown.refuse_nothing(plan.path)
            _note_drift(result, old, plan.path)
        case "rerecord":
            with _place_aside() as place:
                new = place / "new.cassette"
                async with arecord(_program(plan), new, **_recording(plan)) as recording:
                    yield recording
                _compare(result, plan.path, new)
        case "rerun":
            with _rerun(plan, result) as run:
                async with AsyncSession(run.argv, **run.options) as asession:
                    yield asession
                result.rerun = run.proof(asession.exit_status)


@contextmanager
def _place_aside() -> Iterator[Path]:
    """A temporary directory for a recording for comparison. Errors must not name it."""
    with tempfile.TemporaryDirectory(prefix="ptycassette-") as place:
        try:
            yield Path(place)
        except BaseException as exc:
            notes = getattr(exc, "__notes__", [])
            notes[:] = [note for note in notes if place not in note]
            raise


def _old_side(plan: Plan, result: UseResult) -> Side | None:
    """The recording that ``rewrite`` will replace; None in ``record``, or without a valid one."""
    if result.action != "rewrite" or not plan.path.exists():
        return None
    try:
        return side_of(plan.path, allow_unscrubbed=True)
    except CassetteError:  # what is broken is recorded again, too
        return None


def _note_drift(result: UseResult, old: Side | None, new: Path) -> None:
    if old is not None:
        result.sides = old, side_of(new, allow_unscrubbed=True)
        result.drift = drift_of_sides(*result.sides)


def _compare(result: UseResult, old: Path, new: Path) -> None:
    result.sides = side_of(old), side_of(new)
    result.drift = drift_of_sides(*result.sides)


# -- replay --------------------------------------------------------------------------


def _opened(plan: Plan) -> Cassette:
    try:
        return open_cassette(plan.path)
    except NotFoundError as exc:
        raise NotFoundError(
            "there is no such cassette, and the mode is replay", where=str(plan.path),
            hint="record it: PTYCASSETTE_MODE=auto (or mode='auto'), where the program is",
        ) from exc  # fmt: skip


def _check_streams(plan: Plan, cassette: Cassette) -> None:
    """Refuse to replay a terminal as pipes, and pipes as a terminal."""
    if plan.streams is None:
        return
    wanted, recorded = kinds_named(plan.streams), streams_of(cassette.manifest)
    if wanted.only_terminal != recorded.only_terminal:
        what = "at a terminal" if recorded.only_terminal else "over pipes or files"
        raise UsageError(
            f"it was recorded {what}, and streams says otherwise",
            where=str(plan.path),
            hint="record it again (mode rewrite), or leave streams out",
        )


def _replayed(plan: Plan, cassette: Cassette) -> tuple[ReplayPty, LogicalClock, Size]:
    _check_streams(plan, cassette)
    terminal = cassette.manifest.terminal
    recorded = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
    size = plan.size or recorded
    clock = LogicalClock()
    # In recorded time, on a logical clock: a screen that is shown only for a moment
    # can be waited for, as in a live session.
    options = StandinOptions(
        mode="realtime",
        lenient=plan.lenient,
        recorded_size=recorded,
        input_timeout_us=None,
    )
    pty = ReplayPty(
        cassette, clock, matching=plan.matching, options=options, size=size,
        allow_unplayed=plan.allow_unplayed,
    )  # fmt: skip
    return pty, clock, size


@contextmanager
def _judged(plan: Plan, result: UseResult, pty: ReplayPty, cassette: Cassette) -> Iterator[None]:
    """Fill ``result``, and raise the divergence when the block is left."""
    engine = pty.engine
    left: Unplayed | None = None
    try:
        yield
        if not plan.allow_unplayed:
            pty.run_out()
    except DivergenceError:
        raise
    except SessionError as exc:
        if engine.diverged and not plan.lenient:
            raise divergence_error(engine.divergences[0], where=str(cassette.path)) from None
        left = engine.unplayed()
        _say_what_is_awaited(exc, left, cassette)
        raise
    finally:
        result.divergences = tuple(engine.divergences)
        result.notes = tuple(engine.notes)
        result.unplayed = engine.unplayed() if left is None else left
    if engine.diverged and not plan.lenient:
        raise divergence_error(engine.divergences[0], where=str(cassette.path))


def _say_what_is_awaited(exc: SessionError, left: Unplayed, cassette: Cassette) -> None:
    """Explain a wait that cannot succeed, because the recording expects input before it."""
    for sent in cassette.inputs():
        if sent.seq == left.first_seq and sent.kind == "signal":
            exc.add_note(f"the recording continues when signal {visible(sent.signal or '')} comes")
        if sent.seq == left.first_seq and streams_of(cassette.manifest).stdin != "terminal":
            what = visible_bytes(sent.bytes or b"", limit=_AWAITED) or "its end"
            exc.add_note(f"the recording continues when stdin gets {what}")
            return
    for entry in read_entries(cassette.inputs()):
        if entry.seq <= left.first_seq <= entry.last_seq:
            shown = (
                "what was typed unseen" if entry.masked else visible(entry.shown, limit=_AWAITED)
            )
            exc.add_note(f"the recording continues when input {entry.number} comes: {shown}")


# -- rerun ---------------------------------------------------------------------------


@contextmanager
def _rerun(plan: Plan, result: UseResult) -> Iterator[DrivenRerun]:
    """The real program, answered from the tape; raises what the tape proves at the end."""
    if find_spec("aiohttp") is None:
        raise UsageError(
            "mode rerun needs more than is installed", hint="pip install 'ptycassette[tape]'"
        )
    # It loads an HTTP server, which the other modes do not need.
    from ptycassette.rerun.io import driven_rerun, rerun_error  # noqa: PLC0415

    harness = plan.options.get("harness")
    with (
        _opened(plan) as cassette,
        driven_rerun(
            cassette,
            plan.argv or (),
            cwd=plan.options.get("cwd"),
            env=plan.options.get("env"),
            harness=getattr(harness, "name", harness),
        ) as run,
    ):
        run.options.update(_of_a_rerun(plan))
        try:
            yield run
        except SessionError as exc:  # perhaps it waits for what the tape did not answer
            result.rerun = run.proof(None)
            if result.rerun.misses or result.rerun.damage:
                raise rerun_error(result.rerun, where=str(plan.path)) from exc
            raise
        if result.rerun is not None and not result.rerun.passed and not plan.lenient:
            raise rerun_error(result.rerun, where=str(plan.path))


def _of_a_rerun(plan: Plan) -> dict[str, Any]:
    """What the caller says of the session."""
    said = {name: plan.options[name] for name in _OF_THE_DRIVE if name in plan.options}
    if plan.size is not None:
        said["size"] = plan.size
    return {**said, "streams": _live_streams(plan)}


# -- recording -----------------------------------------------------------------------


def _program(plan: Plan) -> Sequence[str]:
    if plan.argv:
        return plan.argv
    if plan.path.exists():
        with open_cassette(plan.path, check="manifest") as cassette:
            recorded = cassette.manifest.command.argv
        if recorded:
            return recorded
    raise UsageError(
        "which program? This mode runs it for real", where=str(plan.path),
        hint="give argv: use(path, ['claude'])",
    )  # fmt: skip


def _live(plan: Plan) -> Any:
    """How a program is run that is not recorded: the options of its start, as in ``record``."""
    size = plan.size or find_project().size or DEFAULT_SIZE
    started = {name: plan.options[name] for name in _OF_THE_START if name in plan.options}
    check_network(_program(plan)[0], {**os.environ, **(started.get("env") or {})})
    return {"size": size, "streams": _live_streams(plan), **started}


def _live_streams(plan: Plan) -> StreamChoice:
    """The streams for a program that is run.

    Raises:
        UsageError: they were recorded as kinds that only a caller can give.
    """
    if plan.streams is not None or not plan.path.exists():
        return plan.streams or "terminal"
    try:
        with open_cassette(plan.path, check="manifest", allow_unscrubbed=True) as cassette:
            kinds = streams_of(cassette.manifest)
    except CassetteError:  # what is broken is recorded again, too
        return "terminal"
    try:
        return kinds_named(kinds)
    except ValueError as exc:
        raise UsageError(str(exc), where=str(plan.path), hint="or say streams='pipes'") from exc


def _recording(plan: Plan, **more: Any) -> Any:
    if "show" in more:
        plan.path.parent.mkdir(parents=True, exist_ok=True)
    own: dict[str, Any] = {"streams": _live_streams(plan), **_tape_again(plan)}
    if plan.size is not None:
        own["size"] = plan.size
    return {**own, **plan.options, **more}


def _tape_again(plan: Plan) -> dict[str, bool | str]:
    """What was recorded with its tape is recorded with a tape again, from the same provider."""
    if "tape" in plan.options or not plan.path.exists():
        return {}
    try:
        with open_cassette(plan.path, check="manifest", allow_unscrubbed=True) as cassette:
            if not cassette.has_tape:
                return {}
            said = (cassette.manifest.optional or {}).get(TAPE_KEY, {})
            upstreams = (said.get("pointed") or {}).get("upstreams") or {}
            return {"tape": True if said.get("harness") else next(iter(upstreams.values()), True)}
    except CassetteError:  # what is broken is recorded again, too
        return {}


class _Shown:
    """Counts the output of a recording."""

    def __init__(self) -> None:
        self._bytes = 0

    def __call__(self, data: bytes) -> None:
        self._bytes += len(data)

    def refuse_nothing(self, path: Path) -> None:
        """Raise if there was no output: such a recording is a mistake."""
        if not self._bytes:
            raise RefusedError(
                "nothing was shown: an empty recording is not kept",
                where=str(path),
                hint="wait for the screen in the block (session.wait_for_text)",
            )
