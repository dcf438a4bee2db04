"""Run the real program again, typed at by the recorded keys, by a test or by a driver.

In ``rerun`` the recorded keys are typed, and screens are compared. In the other runs the driver
types, and only the tape is compared at the end: see ``proof``.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from ptycassette.agents.harness.io.logs import log_reader
from ptycassette.agents.harness.preparing import home_variables
from ptycassette.agents.rerun.exit_messages import (
    from_farewell,
    may_begin_above,
    scrolled_off,
    without_exit_messages,
)
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.io.preparing import (
    PreparedRerun,
    RerunPlace,
    prepared_rerun,
    refusing_proxies,
)
from ptycassette.agents.rerun.report import (
    RerunReport,
    ScreenChange,
    VersionChange,
    finding_lines,
    version_change,
    version_notes,
)
from ptycassette.agents.rerun.screens import MASKED_ADDRESS, ScreenJudge
from ptycassette.agents.rerun.script import RerunScript, RerunStep, script_of
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.errors import (
    DivergenceError,
    InputRefusedError,
    SessionClosedError,
    SpawnError,
    WaitTimeoutError,
)
from ptycassette.keys.quantities import time_text
from ptycassette.model.ports import SessionTap
from ptycassette.model.records import (
    ExitStatus,
    FinalRecord,
    JournalEvent,
    Resized,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.profiles.profile import ExitMessage, Profile
from ptycassette.recording.io.options import (
    AnySession,
    RunSpec,
    VersionQuestion,
    ask_version,
    installed_version,
    live_session,
    version_arguments,
)
from ptycassette.recording.io.recording import recorded
from ptycassette.recording.session.base import child_environment
from ptycassette.recording.session.session import Session
from ptycassette.system.files.state_dirs import current_dir
from ptycassette.system.network import Guard, network_disabled
from ptycassette.system.ownership import owned_context
from ptycassette.system.pty.driver_signals import DriverSignals, hand_over_terminal
from ptycassette.system.pty.terminal import exit_status
from ptycassette.tape.draws import DrawnValues, draw_differences, drawn_in

# Type the recorded inputs, each when its recorded screen has appeared.


PAUSE_S = 0.5
"""The longest pause between a screen and the input for it; a shorter recorded pause is kept.
Gemini CLI takes an Enter within 30 to 40 ms of a paste for a part of it (so do others, see
``SUBMIT_PAUSE_S``), by a timer that is late on a busy machine: 0.1 s was too short there."""


class Typist:
    """Sends the steps of a recording to a session, each when its screen has appeared.

    Args:
        judge: compares screens.
        sent: receives the number of each step that was sent.
        patience_s: how long to wait for a screen, beyond twice the recorded time.
        rest: lets a time in seconds pass.

    Attributes:
        typed: the number of the last step that was sent.
        met: steps that were sent on the recorded screen.
        late: steps that were sent although their screen had not appeared.
        last_us: when the last step was sent, in the recording.
    """

    def __init__(
        self,
        judge: ScreenJudge,
        sent: Callable[[int], None],
        patience_s: float,
        *,
        rest: Callable[[float], None] = time.sleep,
    ) -> None:
        self._judge, self._sent, self._patience_s = judge, sent, patience_s
        self._rest = rest
        self.last_us = 0
        self.typed = 0
        self.met: set[int] = set()
        self.late: list[int] = []

    def type(self, session: Session, script: RerunScript) -> None:
        """Send all steps; stop early when the program has ended."""
        for step in script.steps:
            try:
                self._wait(session, step)
                self.deliver(session, step)
            except (SessionClosedError, InputRefusedError):
                return
            self.typed = step.number
            self._sent(step.number)

    def deliver(self, session: Session, step: RerunStep) -> None:
        """Send a step with the recorded delay, at most ``PAUSE_S``.

        Raises:
            SessionClosedError, InputRefusedError: the program cannot take it.
        """
        self._rest(min(PAUSE_S, max(0, step.t_us - self.last_us) / 1e6))
        record = step.record
        match record.kind:
            case "resize" if record.size is not None:
                session.resize(record.size)
            case "signal" if record.signal is not None:
                session.signal(record.signal)
            case "input" if record.bytes:
                session.send(record.bytes)
            case _:
                pass
        self.last_us = step.t_us

    def patience(self, t_us: int) -> float:
        """How many seconds to wait for a recorded moment."""
        return self._patience_s + 2 * max(0, t_us - self.last_us) / 1e6

    def _wait(self, session: Session, step: RerunStep) -> None:
        if step.screen is None or step.follows:
            return
        awaited = self._judge.awaited(step.screen)
        try:
            session.wait_for_predicate(
                lambda screen: awaited(screen.rows),
                what=f"the screen before input {step.number}",
                timeout_s=self.patience(step.t_us),
            )
        except WaitTimeoutError:
            self.late.append(step.number)
        else:
            self.met.add(step.number)


# The program's present version: from its package, or asked under the guard of the run.


_TIMEOUT_S = 10.0
_LATE_S = 2.0


class _Question(NamedTuple):
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    home: Path
    guard: Guard | None


def changed_version(cassette: Cassette, place: RerunPlace) -> VersionChange | None:
    """Both versions, if both are known and they differ; may run the program to ask it."""
    recorded = cassette.manifest.harness.binary_version
    now = None if recorded is None else version_now(place)
    return version_change(recorded, now)


def version_now(place: RerunPlace) -> str | None:
    """The version; None if the program prints none within ten seconds, or must not be asked."""
    asking = _question(place)
    if not isinstance(asking, _Question):
        return asking
    return ask_version(
        Path(asking.argv[0]),
        asking.argv[1:],
        timeout_s=_TIMEOUT_S,
        environment=asking.environment,
        cwd=asking.home,
        guard=asking.guard,
    )


@contextmanager
def version_beside(place: RerunPlace) -> Iterator[Callable[[], str | None]]:
    """While entered, ask the program for its version beside the run, for two seconds at most.

    The function returns the version, or None, as ``version_now``.
    """
    asking = _question(place)
    if not isinstance(asking, _Question):
        yield lambda: asking
        return
    question = VersionQuestion(
        asking.argv, environment=asking.environment, cwd=asking.home, guard=asking.guard
    )
    try:
        yield lambda: question.close(_LATE_S) or None
    finally:
        question.close()


def _question(place: RerunPlace) -> _Question | str | None:
    """How to ask the program; the version itself if its package has it; None if it is not asked.

    A program is not asked if it could reach a disabled network, or if no profile confirms that
    asking does no harm.
    """
    path = place.environment.get("PATH") or os.environ.get("PATH")
    found = shutil.which(place.argv[0], path=path)
    asking = None if found is None else version_arguments(Path(found), version=None)
    if found is None or asking is None:
        return None
    if (known := installed_version(Path(found))) is not None:
        return known
    if place.network is None and network_disabled():
        return None
    environment = {} if place.network else refusing_proxies()
    home = place.folder / "version-home"
    home.mkdir(mode=0o700, exist_ok=True)
    own = {**environment, **home_variables(str(home)), **({"PATH": path} if path else {})}
    argv = (str(Path(found).absolute()), *asking)
    return _Question(argv, own, home, Guard() if place.network else None)


# One new run of the real program: type the recorded inputs by screen, with the tape as provider.


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The scrubbed result of a new run.

    ``met`` are inputs whose screen was there when they were sent, ``late`` those whose screen did
    not appear. ``version`` is the program's reply, if the recorded program was asked, too.
    ``above`` are the rows above the last screen, where a removed message may begin.
    """

    script: RerunScript
    drawn: DrawnValues
    final: FinalRecord
    typed: int
    met: frozenset[int]
    late: tuple[int, ...]
    version: str | None = None
    problem: str = ""
    above: tuple[str, ...] = ()


def run_again(
    prepared: PreparedRerun, cassette: Cassette, judge: ScreenJudge, patience_s: float
) -> RunOutcome:
    """Run the program, send the recorded input, and read its output.

    Args:
        prepared: the run.
        cassette: the recording.
        judge: compares screens.
        patience_s: how long to wait for the screen of an input, and for the end, beyond twice
            the recorded time.

    Raises:
        SpawnError: the program cannot be started.
        StorageError: the disk refuses.
    """
    place, profile = prepared.place, prepared.profile
    typist = Typist(judge, prepared.server.sent, patience_s)
    target = place.folder / "now.cassette"
    spec = msgspec.structs.replace(
        prepared.spec,
        harness=profile and profile.name,
        probe_version=False,
        state_dir=place.folder / "state",
        at_end=profile and log_reader(profile, home=place.home, cwd=place.cwd, since_s=0.0),
    )
    known = cassette.manifest.harness.binary_version
    with ExitStack() as stack:
        asked = None if known is None else stack.enter_context(version_beside(place))
        with recorded(place.argv, target, spec) as session:
            typist.type(session, prepared.script)
            limit_s = typist.patience(cassette.final.duration_ms * 1000)
            problem = _program_end(session, limit_s)
        version = None if asked is None else asked()
    with open_cassette(target) as now:
        script = script_of(now.events())
        return RunOutcome(
            script=script,
            above=rows_above(now, script, profile),
            drawn=drawn_in(event.payload for event in now.service_events()),
            final=now.final,
            typed=typist.typed,
            met=frozenset(typist.met),
            late=tuple(typist.late),
            version=version,
            problem=problem,
        )


def rows_above(cassette: Cassette, script: RerunScript, profile: Profile | None) -> tuple[str, ...]:
    """The rows that scrolled off the last screen, if a removed message may have begun there."""
    messages = profile.screens.at_exit if profile else ()
    if not may_begin_above(script.last_screen or (), messages):
        return ()
    terminal = cassette.manifest.terminal
    size = Size(terminal.initial_rows, terminal.initial_cols)
    return scrolled_off(cassette.events(), size)


def _program_end(session: Session, patience_s: float) -> str:
    """Wait for the end; return the problem if the program does not end."""
    try:
        session.wait_exit(timeout_s=patience_s)
    except WaitTimeoutError:
        return f"it did not end within {time_text(patience_s)} of the last input"
    return ""


# ``rerun``: run the real program offline, and compare it with its recording.


def rerun(cassette: Cassette, options: RerunOptions) -> RerunReport:
    """Run the recorded program again, typed at by the recorded keys, and compare.

    Raises:
        RefusedError: the caller did not confirm that the cassette is trusted. Nothing was started.
        MissingFileError: the cassette has neither a tape nor a draw.
        UsageError: the recording has no command line.
        NotFoundError: the profile or its mode does not exist.
        SpawnError: the program cannot be started.
    """
    with prepared_rerun(cassette, options) as prepared:
        profile = prepared.profile
        judge = ScreenJudge(options.normalise, profile.screens.volatile if profile else ())
        ran = run_again(prepared, cassette, judge, options.patience_s)
        report = _report(prepared, cassette, ran, judge)
        return msgspec.structs.replace(
            report,
            clock=prepared.clock,
            draws=len(prepared.drawn.draws),
            draw_changes=tuple(draw_differences(prepared.drawn, ran.drawn)),
        )


def rerun_cassette(
    path: str | os.PathLike[str], argv: Sequence[str] = (), *, trusted: bool, **options: Any
) -> RerunReport:
    """Run a recorded program again, offline, with its tape as its only provider.

    Args:
        path: a cassette with a tape, or with draws.
        argv: another version or configuration of the program; as recorded when empty.
        trusted: confirm that the author of the cassette may control this machine: its command line
            is run, and the answers of its tape make an agent call tools.
        **options: the other fields of ``RerunOptions``.

    Returns:
        The report: ``passed``, and all differences.

    Raises:
        TypeError: an option does not exist.
        RefusedError: it is not trusted. Nothing was started.
        CassetteError: the cassette cannot be opened, or has neither tape nor draws, or the program
            does not exist.
    """
    chosen = RerunOptions(argv=tuple(argv), trusted=trusted, **options)
    with open_cassette(path, check="manifest") as cassette:  # the gate checks the rest
        return rerun(cassette, chosen)


def proof(
    prepared: PreparedRerun,
    cassette: Cassette,
    exit_status: ExitStatus | None,
    *,
    note: str = "",
) -> RerunReport:
    """Compare a run that a test or a driver controlled with its tape: its requests, and its end.

    Args:
        prepared: the run, which is over.
        cassette: the recording.
        exit_status: how the program ended.
        note: for the report.
    """
    report = _requests(
        prepared,
        expected_exit=cassette.final.exit,
        exit=exit_status,
        notes=(*((note,) if note else ()), *prepared.desk.notes()),
        fingerprint=prepared.desk.fingerprint(),
    )
    if report.passed:
        return report
    return msgspec.structs.replace(report, version=changed_version(cassette, prepared.place))


def _requests(prepared: PreparedRerun, **more: Any) -> RerunReport:
    desk = prepared.desk
    return RerunReport(
        argv=prepared.argv,
        guard=prepared.place.guard,
        entries=desk.entries,
        matched=desk.asked - len(desk.misses),
        damage=tuple(desk.damage),
        misses=tuple(desk.misses),
        unasked=tuple(desk.unasked()),
        expected_fingerprint=desk.expected_fingerprint,
        **more,
    )


def _report(
    prepared: PreparedRerun, cassette: Cassette, ran: RunOutcome, judge: ScreenJudge
) -> RerunReport:
    profile = prepared.profile
    messages = profile.screens.at_exit if profile else ()
    above = (rows_above(cassette, prepared.script, prepared.profile), ran.above)
    pairs, left_out = _screens(prepared.script, ran.script, messages, above)
    if profile is not None and pairs and pairs[-1][0] == 0:
        pairs[-1] = (0, *from_farewell(*pairs[-1][1:], profile.screens.farewell))
    server = prepared.server.url.removeprefix("http://")
    names = [*prepared.desk.names(), (server, MASKED_ADDRESS)]
    notes = [f"the screen before input {number} did not come in time" for number in ran.late]
    notes += [f"not compared on the last screen: {message}" for message in left_out]
    expected_text = cassette.final.final_text
    recorded_version = cassette.manifest.harness.binary_version
    notes += version_notes(recorded_version, ran.version)
    notes += prepared.desk.notes()
    if ran.problem:
        notes.append(ran.problem)
    imported = "imported" in (cassette.manifest.optional or {})
    if cassette.final.exit is None:
        notes.append("the recording does not hold how the program ended; it is not compared")
    if prepared.lacking and ran.final.exit != cassette.final.exit:
        notes.append(prepared.lacking)
    if prepared.in_the_way and prepared.desk.misses:
        notes.append(prepared.in_the_way)
    return _requests(
        prepared,
        inputs=ran.typed,
        recorded_inputs=len(prepared.script.steps),
        screens=len(pairs),
        changes=tuple(
            ScreenChange(number=number, expected=tuple(old), got=tuple(new))
            for number, old, new in pairs
            # It was compared when the input was sent; output in between does not matter.
            if number not in ran.met and not judge.same(old, new, names)
        ),
        expected_exit=cassette.final.exit,
        exit=ran.final.exit,
        expected_text=expected_text,
        final_text=None if imported and expected_text is None else ran.final.final_text,
        fingerprint=prepared.desk.fingerprint(ran.drawn.draws),
        version=version_change(recorded_version, ran.version),
        notes=tuple(notes),
    )


def _screens(
    recorded: RerunScript,
    now: RerunScript,
    messages: Sequence[ExitMessage],
    above: tuple[Sequence[str], Sequence[str]],
) -> tuple[list[tuple[int, Sequence[str], Sequence[str]]], list[str]]:
    """Pairs of screens before each common input, and at the end (number 0).

    ``messages`` are removed from the last ones; they may begin in the rows ``above`` them (of the
    recording, and of now). The second value names the messages that were found.
    """
    pairs: list[tuple[int, Sequence[str], Sequence[str]]] = []
    for old, new in zip(recorded.steps, now.steps, strict=False):
        if old.screen is not None and not old.follows:
            pairs.append((old.number, old.screen, new.screen or ()))
    if recorded.last_screen is None:
        return pairs, []
    old_rows, in_old = without_exit_messages(recorded.last_screen, messages, above[0])
    new_rows, in_new = without_exit_messages(now.last_screen or (), messages, above[1])
    said = [f"{name} (recorded)" for name in in_old] + [f"{name} (now)" for name in in_new]
    return [*pairs, (0, old_rows, new_rows)], said


_LOOK_S = 0.5
"""How often to check that the terminal still exists."""
_GRACE_S = 3.0
"""How long a program has to end after each signal, once its terminal is gone."""

Proof = Callable[[ExitStatus | None], RerunReport]
"""Makes the proof of a run from its tape, given the end of the program."""


class RunOf(Protocol):
    """Prepares a run to be driven; ``typed``: the server learns when inputs are sent."""

    def __call__(
        self, cassette: Cassette, options: RerunOptions, *, typed: bool
    ) -> AbstractContextManager[tuple[PreparedRerun, Proof]]:
        """The run, and its proof."""
        ...


@owned_context
def _as_recorded(
    cassette: Cassette, options: RerunOptions, *, typed: bool
) -> Iterator[tuple[PreparedRerun, Proof]]:
    with prepared_rerun(cassette, options, typed=typed, recorded=False) as prepared:
        yield prepared, lambda status: proof(prepared, cassette, status)


class DrivenRerun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is ready to be driven by the caller, in ``session``.

    Call ``proof`` with the end of the program to compare the run with its tape.
    """

    argv: tuple[str, ...]
    spec: RunSpec
    tap: SessionTap
    proof: Proof

    def session(self, kind: type[AnySession]) -> AnySession:
        """The started program. ``kind`` is ``Session`` or ``AsyncSession``."""
        return live_session(kind, self.argv, self.spec, tap=self.tap)


@owned_context
def driven_rerun(
    cassette: Cassette,
    argv: Sequence[str] = (),
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    harness: str | None = None,
    run_of: RunOf = _as_recorded,
) -> Iterator[DrivenRerun]:
    """Run the recorded program in a session of the caller, who trusts the cassette.

    Args:
        cassette: a cassette with a tape.
        argv: the command line; as recorded when empty.
        cwd: the work folder; the current one when None.
        env: additions to its environment.
        harness: the profile's name; that of the recording when None.
        run_of: prepares the run; answers as recorded by default.

    Raises:
        CassetteError: see ``prepared_rerun``.
    """
    options = RerunOptions(
        trusted=True,
        argv=tuple(argv),
        harness=harness,
        cwd=current_dir() / (cwd or ""),
        environment=env or {},
    )
    with run_of(cassette, options, typed=True) as (prepared, proves):
        yield DrivenRerun(
            argv=prepared.place.argv,
            spec=prepared.spec,
            tap=_InputCount(prepared.server.sent),
            proof=proves,
        )


class TapeOnlyRun(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run whose driver typed; ``findings`` are lines, empty if it passed."""

    report: RerunReport
    exit: ExitStatus

    @property
    def findings(self) -> tuple[str, ...]:
        """All differences."""
        return tuple(finding_lines(self.report))


def run_tape_only(
    cassette: Cassette, options: RerunOptions, *, run_of: RunOf = _as_recorded
) -> TapeOnlyRun:
    """Run the program in the terminal and with the signals of this process.

    Args:
        cassette: a cassette with a tape.
        options: the options; the work folder is the current one when None.
        run_of: prepares the run; answers as recorded by default.

    Raises:
        CassetteError: see ``prepared_rerun``.
    """
    chosen = msgspec.structs.replace(options, cwd=options.cwd or current_dir())
    with (
        run_of(cassette, chosen, typed=False) as (prepared, proves),
        DriverSignals() as signals,
    ):
        place = prepared.place
        term = os.environ.get("TERM") or prepared.spec.term
        environment = child_environment(clean=True, extra=place.environment, term=term)
        path = shutil.which(place.argv[0], path=environment.get("PATH", os.defpath))
        if path is None:
            raise SpawnError(f"{place.argv[0]} is not there, or cannot be executed")
        started = subprocess.Popen(
            place.network.command(path, place.argv) if place.network else place.argv,
            cwd=place.cwd,
            env=environment,
            process_group=0,
        )
        with started as process:
            if os.isatty(0):
                hand_over_terminal(process.pid)
            signals.pass_to(process.pid)
            code = _wait(process)
        status = exit_status(-code if code < 0 else code << 8)
        return TapeOnlyRun(report=proves(status), exit=status)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the program; if the terminal is gone and the program does not end by itself, end it.

    A program that ignores SIGHUP, or is the first process of a namespace, would run for ever
    without a user who could see or end it.
    """
    terminal = next((fd for fd in (0, 1, 2) if os.isatty(fd)), None)
    if terminal is None:
        return process.wait()
    poll = select.poll()
    poll.register(terminal, 0)  # a hangup is always reported
    with _ended_fd(process.pid) as ended:
        if ended is not None:
            poll.register(ended, select.POLLIN)
        while process.poll() is None:
            if any(fd == terminal for fd, _ in poll.poll(None if ended is not None else 0)):
                return _end(process)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
    return process.wait()


@contextmanager
def _ended_fd(pid: int) -> Iterator[int | None]:
    """A descriptor that is readable once a process has ended; None on macOS, which has none."""
    try:
        fd = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _end(process: subprocess.Popen[bytes]) -> int:
    """End the program and its process group, more firmly each time."""
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_GRACE_S)
    return process.wait()


def rerun_error(report: RerunReport, *, where: str) -> DivergenceError:
    """The differences as an exception."""
    first = f"the program did something else than its tape has (network: {report.guard})"
    return DivergenceError(
        "\n".join([first, *(f"  {line}" for line in finding_lines(report))]),
        where=where,
        hint="if the change is intended, record again; rules declare what may vary (docs/tape.md)",
    )


class _InputCount:
    """A tap that counts inputs, for the pieces of answers that came after one."""

    def __init__(self, sent: Callable[[int], None]) -> None:
        self._sent, self._count = sent, 0

    def on_output(self, t_us: int, data: bytes) -> None:
        """Ignore output."""

    def on_event(self, event: JournalEvent) -> None:
        """Count each event that is a step of a recording; see ``script_of``."""
        if not isinstance(event, Typed | Resized | Signalled):
            return
        if isinstance(event, Typed) and event.source == "terminal":
            return
        self._count += 1
        self._sent(self._count)

    def on_idle(self) -> None:
        """Do nothing; there is no buffer."""
