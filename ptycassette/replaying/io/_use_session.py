"""The session of ``use`` in each mode: replayed, live, recorded, or recorded to compare.

Rules: in replay no program is run; a recording is published only if its block succeeded and
the program printed something; a recording for comparison does not change the cassette.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ptycassette.agents.rerun.report import RerunReport
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.timeline.match import DEFAULT_THRESHOLD, Scorer, read_entries
from ptycassette.errors import (
    CassetteError,
    DivergenceError,
    NotFoundError,
    SessionError,
    UsageError,
)
from ptycassette.extras import need_extra
from ptycassette.model.records import streams_of
from ptycassette.model.screen import Size
from ptycassette.model.visible_text import visible, visible_bytes
from ptycassette.recording.io.options import RunSpec, live_session
from ptycassette.recording.session.base import kinds_named
from ptycassette.recording.session.session import Session
from ptycassette.replaying.divergence import (
    Divergence,
    Drift,
    Side,
    divergence_error,
    drift_of_sides,
    semantic_drift_of_sides,
)
from ptycassette.replaying.io._replay_pty import LogicalClock, LogicalSleeper, ReplayPty
from ptycassette.replaying.io._use_program import (
    Plan,
    ShownOutput,
    live_run,
    program_of,
    recording_spec,
    rerun_spec,
    searched,
)
from ptycassette.replaying.io.faults import fault_in_force, faulty_rerun
from ptycassette.replaying.io.modes import Action, action_of, mode_in_force
from ptycassette.replaying.io.sides import side_of
from ptycassette.replaying.io.watched_uses import announce_recorded, announce_recording
from ptycassette.replaying.standin.comparison import StandinOptions, Unplayed
from ptycassette.seal.io.policy import require_seal
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.files.near_names import did_you_mean
from ptycassette.system.ownership import owned_async_context, owned_context

if TYPE_CHECKING:
    from ptycassette.agents.rerun.io.driving import DrivenRerun
    from ptycassette.recording.session.async_session import AsyncSession

_AWAITED = 500


class UseResult(msgspec.Struct, kw_only=True):
    """The result of a use. It is filled during the block, and complete when the block is left.

    ``action`` is what was done in this mode, ``recorded`` whether that published a cassette, and
    ``over`` whether the block was left. ``rerecord``, and ``rewrite`` where it replaced a
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
    recorded: bool = False
    over: bool = False

    def __repr__(self) -> str:
        # Recordings and their differences are thousands of lines; a failing assert prints this.
        said = f"action={self.action!r}, cassette={self.cassette!r}, recorded={self.recorded}"
        found = f"{len(self.divergences)} divergences, {len(self.notes)} notes"
        return f"UseResult({said}, {found}, drift={self.drift and bool(self.drift)})"

    def semantic_drift(
        self, threshold: float = DEFAULT_THRESHOLD, scorer: Scorer | None = None
    ) -> Drift:
        """The changes in meaning after ``rerecord`` and ``rewrite``; see ``semantic_drift``.

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


def begin(plan: Plan) -> UseResult:
    """Resolve the mode to an action.

    Raises:
        UsageError: the mode is unknown.
        RefusedError: the cassette was recorded in this test run already.
    """
    mode = mode_in_force(plan.mode, env=os.environ)
    action = action_of(mode, exists=plan.path.exists(), env=os.environ)
    if action in {"record", "rewrite"}:
        announce_recording(plan.path, stated=plan.mode == mode)
    return UseResult(action=action, cassette=str(plan.path))


@owned_context
def session_of(plan: Plan, result: UseResult) -> Iterator[Session]:
    """The session for ``result.action``."""
    if result.action in {"record", "rewrite", "rerecord"}:
        # Imported here, because it loads the recorder, which replay does not need.
        from ptycassette.recording.io.recording import recorded  # noqa: PLC0415

    match result.action:
        case "replay":
            with _opened(plan) as cassette:
                pty, clock, size = _replayed(plan, cassette)
                session = Session.over(pty, size=size, clock=clock, sleeper=clock)
                with _judged(plan, result, pty, cassette):
                    yield session
                session.close()
        case "live":
            with live_session(Session, *live_run(plan)) as session:
                yield session
        case "record" | "rewrite" | "rerecord":
            with (
                _recording(plan, result) as (target, spec, check),
                recorded(program_of(plan), target, spec) as recording,
            ):
                yield recording
                recording.close()
                check()
        case "rerun":
            with _rerun(plan, result) as run:
                with run.session(Session) as session:
                    yield session
                result.rerun = run.proof(session.exit_status)


@owned_async_context
async def async_session_of(plan: Plan, result: UseResult) -> AsyncIterator[AsyncSession]:
    """As ``session_of``, for ``async with``."""
    # Imported here, because they load asyncio, which most tests do without.
    from ptycassette.recording.io.async_record import arecorded  # noqa: PLC0415
    from ptycassette.recording.session.async_session import AsyncSession, require_asyncio  # noqa: PLC0415

    require_asyncio()
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
            async with live_session(AsyncSession, *live_run(plan)) as session:
                yield session
        case "record" | "rewrite" | "rerecord":
            with _recording(plan, result) as (target, spec, check):
                async with arecorded(program_of(plan), target, spec) as recording:
                    yield recording
                    await recording.close()
                    check()
        case "rerun":
            with _rerun(plan, result) as run:
                async with run.session(AsyncSession) as asession:
                    yield asession
                result.rerun = run.proof(asession.exit_status)


@owned_context
def _recording(plan: Plan, result: UseResult) -> Iterator[tuple[Path, RunSpec, Callable[[], None]]]:
    """Where and how to record, and a check of the recording; then note the recording."""
    if result.action == "rerecord":
        with _place_aside() as place:
            new = place / "new.cassette"
            yield new, recording_spec(plan), lambda: None
            result.sides = side_of(plan.path), side_of(new)
            result.drift = drift_of_sides(*result.sides)
        return
    shown = ShownOutput()
    spec = recording_spec(plan, overwrite=True, show=shown)
    old = _old_side(plan, result)
    yield plan.path, spec, lambda: shown.refuse_nothing(plan.path)
    result.recorded = True
    announce_recorded(plan.path)
    if old is not None:
        result.sides = old, side_of(plan.path, allow_unscrubbed=True)
        result.drift = drift_of_sides(*result.sides)


@owned_context
def _place_aside() -> Iterator[Path]:
    """A temporary directory for a recording that is only compared. Errors must not name it."""
    with temporary_folder() as place:
        try:
            yield place
        except BaseException as exc:
            notes = getattr(exc, "__notes__", [])
            notes[:] = [note for note in notes if str(place) not in note]
            raise


def _old_side(plan: Plan, result: UseResult) -> Side | None:
    """The recording that ``rewrite`` will replace; None in ``record``, or without a valid one."""
    if result.action != "rewrite" or not plan.path.exists():
        return None
    try:
        return side_of(plan.path, allow_unscrubbed=True)
    except CassetteError:  # a broken one is recorded again as well
        return None


# -- replay --------------------------------------------------------------------------


def _opened(plan: Plan) -> Cassette:
    try:
        require_seal(plan.path)
        return open_cassette(plan.path, follow_links=plan.follow_links)
    except NotFoundError as exc:
        folders = searched(plan)
        near = next(filter(None, map(did_you_mean, plan.searched or (plan.path,))), None)
        meant = f"did you mean {near}? Or " if near is not None else ""
        raise NotFoundError(
            "there is no such cassette, and the mode is replay"
            + (f"; these folders were searched: {folders}" if folders else ""),
            where=str(plan.path),
            hint=f"{meant}record it with PTYCASSETTE_MODE=auto (or mode='auto') where the program"
            " is installed",
        ) from exc


def _check_streams(plan: Plan, cassette: Cassette) -> None:
    """Refuse to replay a terminal as pipes, and pipes as a terminal."""
    if plan.streams is None:
        return
    wanted, recorded = kinds_named(plan.streams), streams_of(cassette.manifest)
    if wanted.only_terminal != recorded.only_terminal:
        what = "at a terminal" if recorded.only_terminal else "over pipes or files"
        raise UsageError(
            f"it was recorded {what}, but streams asks for another kind",
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
        allow_unplayed=plan.allow_unplayed, fault=fault_in_force("", os.environ),
    )  # fmt: skip
    return pty, clock, size


@owned_context
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


@owned_context
def _rerun(plan: Plan, result: UseResult) -> Iterator[DrivenRerun]:
    """The real program, answered from the tape; at the end it raises the divergence, if any."""
    need_extra("tape", "aiohttp")
    # It loads an HTTP server, which the other modes do not need.
    from ptycassette.agents.rerun.io.driving import driven_rerun, rerun_error  # noqa: PLC0415

    harness = plan.options.get("harness")
    with (
        _opened(plan) as cassette,
        driven_rerun(
            cassette,
            plan.argv or (),
            cwd=plan.options.get("cwd"),
            env=plan.options.get("env"),
            harness=getattr(harness, "name", harness),
            **faulty_rerun(os.environ),
        ) as recorded_run,
    ):
        run = msgspec.structs.replace(recorded_run, spec=rerun_spec(plan, recorded_run.spec))
        try:
            yield run
        except SessionError as exc:  # perhaps it waits for an answer that the tape did not give
            result.rerun = run.proof(None)
            if result.rerun.misses or result.rerun.damage:
                raise rerun_error(result.rerun, where=str(plan.path)) from exc
            raise
        if result.rerun is not None and not result.rerun.passed and not plan.lenient:
            raise rerun_error(result.rerun, where=str(plan.path))
