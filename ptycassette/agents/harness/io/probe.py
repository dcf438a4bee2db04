"""Run probes, live or over a recording, with the same state machine; and check this machine."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import locale
import os
import platform
import pty
import select
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from ptycassette.agents.harness.io.files import Installed, find_binary, installed
from ptycassette.agents.harness.preparing import PreparedRun
from ptycassette.agents.harness.probe import DriveStep, Probe, ProbeResult, ProbeRun
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import (
    CassetteError,
    NotFoundError,
    SessionClosedError,
    WaitTimeoutError,
)
from ptycassette.keys.quantities import parse_time
from ptycassette.model.ports import Clock, Sleeper
from ptycassette.model.screen import Cursor, Screen, Size
from ptycassette.model.stored_screen import screen_of
from ptycassette.profiles.profile import Profile
from ptycassette.profiles.session_log import ScreenPredicate
from ptycassette.recording.io.compiled_relay import CompiledRelay
from ptycassette.recording.io.journal_file import JOURNAL_SUFFIX
from ptycassette.recording.io.options import live_session, run_spec, timestamp
from ptycassette.recording.io.recording import Recording, recorded, submit_as, wait_for_echo
from ptycassette.recording.session.core import SessionView
from ptycassette.recording.session.session import Session
from ptycassette.system.clock import MonotonicClock, SystemSleeper
from ptycassette.system.files.locks import held_folder
from ptycassette.system.files.state_dirs import journal_dirs, known_state_dirs
from ptycassette.terminal.emulator import available_backends, backend, default_emulator

# Perform the steps of a probe or a drive in a live session.


DEFAULT_TIMEOUT_S = 60.0


class Settled:
    """A wait condition: one of several predicates holds, and the screen is stable."""

    def __init__(self, predicates: Sequence[ScreenPredicate]) -> None:
        self._predicates = tuple(predicates)
        self.what = " or ".join(_description(one) for one in self._predicates)

    def met(self, view: SessionView, now_us: int) -> bool:
        """Whether the condition is met, ``now_us`` after the start."""
        due_us = self.due_us(view)
        return due_us is not None and (view.finished or now_us >= due_us)

    def due_us(self, view: SessionView) -> int | None:
        """When it will be met if nothing happens; None if no predicate holds."""
        still = [one.stable_ms for one in self._predicates if one.holds(view.screen)]
        return view.changed_us + 1000 * min(still) if still else None


def _description(predicate: ScreenPredicate) -> str:
    parts = [f"the text {text!r}" for text in predicate.contains]
    parts += [f"no text {text!r}" for text in predicate.absent]
    parts += [f"a match of '{predicate.regex}'"] if predicate.regex else []
    parts += [f"{predicate.stable_ms} ms without a change"] if predicate.stable_ms else []
    return ", ".join(parts)


def walk(
    session: Session,
    steps: Sequence[DriveStep],
    profile: Profile,
    *,
    sleeper: Sleeper | None = None,
) -> dict[str, Screen]:
    """Perform all steps; return the captured screens by name.

    Raises:
        WaitTimeoutError: a screen did not appear; shows the last one.
        SessionClosedError: the program ended early.
    """
    captures: dict[str, Screen] = {}
    for step in steps:
        if step.wait is None:
            perform(session, step, profile, sleeper=sleeper)
            continue
        screen = session.wait_for(
            Settled([step.wait]), timeout_s=step.timeout_s or DEFAULT_TIMEOUT_S
        )
        if step.capture is not None:
            captures[step.capture] = screen
    return captures


def perform(
    session: Session, step: DriveStep, profile: Profile, *, sleeper: Sleeper | None = None
) -> None:
    """Perform a step that does not wait for a screen.

    Raises:
        SessionClosedError: the program ended early.
        WaitTimeoutError: it does not read, or did not end in time.
    """
    rest = sleeper or SystemSleeper()
    if step.submit is not None:
        submit_as(session, step.submit, profile.submit, sleep=rest.sleep)
    for stroke in step.strokes:
        if stroke.key is not None:
            session.send_key(stroke.key)
        if stroke.text is not None:
            session.type(stroke.text)
            wait_for_echo(session, stroke.text)
        rest.sleep(stroke.pause_ms / 1000)
    if step.resize is not None:
        session.resize(Size(*step.resize))
    if step.signal is not None:
        session.signal(step.signal)
    if step.exit:
        session.wait_exit(timeout_s=step.timeout_s or DEFAULT_TIMEOUT_S)


class ProbeFailedError(CassetteError):
    """A recorded probe has no result, so its recording becomes a diagnostic.

    Args:
        result: the result with the status and the diagnostic.
    """

    exit_status = 1

    def __init__(self, result: ProbeResult) -> None:
        reason = result.diagnostic.message if result.diagnostic else "no result"
        super().__init__(f"the probe {result.probe} ended as {result.status}: {reason}")
        self.result = result


def probe_live(
    probe: Probe,
    profile: Profile,
    *,
    prepared: PreparedRun | None = None,
    cwd: Path | None = None,
    target: Path | None = None,
    account: str | None = None,
    overwrite: bool = False,
    clock: Clock | None = None,
) -> ProbeResult:
    """Ask a real CLI.

    Args:
        probe: the probe.
        profile: the CLI's profile.
        prepared: how to start it; the installed CLI with the user's own home when None.
        cwd: the folder in which it starts; the probe's folder when None.
        target: record into this cassette, which gets ``quota.json`` and ``discovery.json``;
            a probe that does not succeed leaves a diagnostic there instead.
        account: only one recorded probe per account at a time.
        overwrite: replace the cassette at ``target``.
        clock: time, for tests.

    Raises:
        NotFoundError: the CLI is not installed.
        SpawnError: it could not be started.
        LockedError: another probe of the same account is under way.
    """
    clock = clock or MonotonicClock()
    captured_at = timestamp(clock.wall())
    with (
        _folder(probe, cwd) as folder,
        _session(
            probe,
            profile,
            prepared=prepared,
            cwd=folder,
            target=target,
            account=account,
            overwrite=overwrite,
        ) as session,
    ):
        result = walk_probe(session, probe, profile, captured_at=captured_at)
        if isinstance(session, Recording):
            if result.status != "ok":
                # Raised inside the block, so that it does not become a cassette.
                raise ProbeFailedError(result)
            if result.quota is not None:
                session.set_quota(result.quota)
            if result.discovery is not None:
                session.set_discovery(result.discovery)
    return result


@contextmanager
def _folder(probe: Probe, cwd: Path | None) -> Iterator[Path | None]:
    if cwd is not None or probe.folder == "here":
        yield cwd
        return
    with held_folder(None) as made:
        yield made.path


def _session(
    probe: Probe,
    profile: Profile,
    *,
    prepared: PreparedRun | None,
    cwd: Path | None,
    target: Path | None,
    account: str | None,
    overwrite: bool,
) -> AbstractContextManager[Session]:
    """The CLI in a terminal of the probe's size, recorded or not."""
    argv, env = _start(probe, profile, prepared)
    spec = run_spec(
        size=Size(probe.rows, probe.cols),
        cwd=cwd,
        env=env,
        term=profile.terminal.term,
        harness=profile.name,
        account=account,
        freshness_window=probe.freshness_window,
        overwrite=overwrite,
        title=probe.source,
    )
    return live_session(Session, argv, spec) if target is None else recorded(argv, target, spec)


def _start(
    probe: Probe, profile: Profile, prepared: PreparedRun | None
) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The command line and the environment."""
    if prepared is not None:
        return (*prepared.argv, *probe.arguments), {**prepared.environment, **probe.variables}
    binary = find_binary(profile)
    if binary is None:
        raise NotFoundError(
            f"{profile.title} is not installed",
            hint=f"its program is called {' or '.join(profile.binaries)}",
        )
    plain = {name: value for name, value in profile.environment.items() if "${" not in value}
    kept = {name: os.environ[name] for name in probe.environment if name in os.environ}
    return (binary, *probe.arguments), {**plain, **kept, **probe.variables}


def walk_probe(
    session: Session, probe: Probe, profile: Profile, *, captured_at: str
) -> ProbeResult:
    """Run a probe in a live session, which stays open.

    Problems of the CLI are in the result and never raise.
    """
    run = ProbeRun(probe)
    began_us = session.elapsed_us
    while (step := run.step) is not None:
        left_s = probe.timeout_s - (session.elapsed_us - began_us) / 1e6
        try:
            if step.wait is None:
                perform(session, step, profile)
                run.acted()
                continue
            timeout_s = max(0.1, round(min(left_s, step.timeout_s or DEFAULT_TIMEOUT_S), 1))
            markers = [marker.when for marker in probe.markers]
            run.look(session.wait_for(Settled([step.wait, *markers]), timeout_s=timeout_s))
        except WaitTimeoutError as late:
            run.fail(late.message, session.screen(), status=step.late)
        except SessionClosedError as over:
            run.fail(over.message.split("\n")[0], session.screen(), status=step.ended)
    return run.result(captured_at)


def probe_cassette(
    probe: Probe,
    path: Path,
    *,
    max_age_s: float | None = None,
    clock: Clock | None = None,
) -> ProbeResult:
    """Run a probe over a recording, without credentials and without starting a program.

    Args:
        probe: the probe.
        path: the cassette.
        max_age_s: older evidence is ``stale``; None only reports the age.
        clock: time, for tests.

    Raises:
        InvalidCassetteError: it is not a cassette, but for example a diagnostic.
    """
    run = ProbeRun(probe)
    screen = Screen(size=Size(probe.rows, probe.cols), rows=(), cursor=Cursor(0, 0))
    with open_cassette(path) as cassette:
        captured_at = cassette.manifest.provenance.recorded_at
        for frame in cassette.frames():
            screen = screen_of(frame)
            while (step := run.step) is not None:
                if step.wait is None:
                    run.acted()  # the recording has the result
                elif not run.look(screen):
                    break
        while (step := run.step) is not None and step.wait is None:
            run.acted()
        if run.step is not None:
            run.fail("the recording ends before that", screen)
    result = run.result(captured_at)
    return with_freshness(result, (clock or MonotonicClock()).wall(), max_age_s=max_age_s)


def with_freshness(result: ProbeResult, now: datetime, *, max_age_s: float | None) -> ProbeResult:
    """``result`` with its age; ``stale`` if that is over ``max_age_s``.

    Without ``max_age_s`` the probe's own freshness window is reported; it is enforced only if the
    probe has ``staleness_behavior = "refuse"``.
    """
    age_s = int((now - _moment(result.captured_at)).total_seconds())
    window_s = parse_time(result.freshness_window)
    allowed_s = max_age_s
    if allowed_s is None and _refuses(result):
        allowed_s = window_s
    stale = allowed_s is not None and age_s > allowed_s and result.status == "ok"
    return msgspec.structs.replace(
        result,
        age_s=age_s,
        fresh=age_s <= (window_s if max_age_s is None else max_age_s),
        status="stale" if stale else result.status,
    )


def _refuses(result: ProbeResult) -> bool:
    records = (result.quota, result.discovery)
    return any(one is not None and one.staleness_behavior == "refuse" for one in records)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


# Inspect the machine: requirements, optional features, abandoned journals.


Status = Literal["ok", "warn", "fail"]
PROGRAMS = ("bash", "vim", "less", "tmux", "git")
EXTRAS = (
    ("provider", "aiohttp", "aiohttp: the fake provider"),
    ("provider", "trustme", "trustme: the fake provider over TLS"),
    ("tape", "wsproto", "h11, wsproto: recording model traffic, rec --tape"),
    ("ghostty", "pyghostty", "pyghostty: another emulator"),
    ("seal", "securesystemslib", "securesystemslib, cryptography: seals of cassettes"),
    ("sigstore", "sigstore", "sigstore: seals by an identity instead of a key"),
    ("pictures", "PIL", "Pillow: pictures and films of recordings"),
    ("serve", "textual_serve", "textual-serve: the viewer in a browser, view --serve"),
    ("embeddings", "sentence_transformers", "sentence-transformers: comparing by meaning"),
)
PTY_TIMEOUT_S = 5.0


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check, and what to do if it is not ok."""

    name: str
    status: Status
    detail: str
    hint: str | None = None


def doctor_findings(*, versions: bool = False) -> Iterator[Finding]:
    """All findings, in a useful order.

    Args:
        versions: start each agent CLI to ask for its version, which takes seconds.
    """
    yield _python()
    yield Finding(name="platform", status="ok", detail=f"{platform.system()} {platform.machine()}")
    yield from _libraries()
    yield _pty()
    yield _terminal()
    yield _term()
    yield _locale()
    yield _state()
    yield _journals()
    yield _emulators()
    yield _relay()
    yield from _extras()
    yield _programs()
    yield _agents(versions=versions)


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < (3, 11):  # noqa: UP036 - people run doctor because something is wrong
        return Finding(
            name="python", status="fail", detail=version, hint="use Python 3.11 or newer"
        )
    return Finding(name="python", status="ok", detail=f"{version} at {sys.executable}")


def _libraries() -> Iterator[Finding]:
    for name in ("msgspec", "click", "pyte", "wcwidth"):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(
                name=name,
                status="fail",
                detail="not installed",
                hint="install ptycassette again with its dependencies",
            )
        else:
            yield Finding(name=name, status="ok", detail=version)


def _pty() -> Finding:
    """Send a line through a real pseudo-terminal."""
    try:
        master, slave = pty.openpty()
    except OSError as exc:
        return Finding(
            name="pty",
            status="fail",
            detail=f"no terminal can be opened: {exc.strerror}",
            hint="look at the limit of ptys and that /dev/pts is mounted",
        )
    try:
        os.write(slave, b"ping\n")
        ready, _, _ = select.select([master], [], [], PTY_TIMEOUT_S)
        said = os.read(master, 64) if ready else b""
        if said != b"ping\r\n":
            return Finding(name="pty", status="fail", detail=f"wrote ping, read {said!r}")
        return Finding(name="pty", status="ok", detail=f"works ({os.ttyname(slave)})")
    except OSError as exc:
        return Finding(name="pty", status="fail", detail=f"does not work: {exc.strerror}")
    finally:
        os.close(master)
        os.close(slave)


def _terminal() -> Finding:
    for name, fd in (("stdout", 1), ("stderr", 2)):
        if os.isatty(fd):
            size = os.get_terminal_size(fd)
            return Finding(
                name="terminal", status="ok", detail=f"{name} is one, {size.columns}x{size.lines}"
            )
    return Finding(
        name="terminal",
        status="warn",
        detail="neither stdout nor stderr is one",
        hint="recording works with --headless; play writes text",
    )


def _term() -> Finding:
    term = os.environ.get("TERM", "")
    if term in {"", "dumb"}:
        return Finding(
            name="TERM",
            status="warn",
            detail=term or "not set",
            hint="set it to the type of your terminal; recordings get xterm-256color",
        )
    return Finding(name="TERM", status="ok", detail=term)


def _locale() -> Finding:
    encoding = locale.getpreferredencoding(do_setlocale=False)
    name = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "C"
    if encoding.upper().replace("-", "") != "UTF8":
        return Finding(
            name="locale",
            status="warn",
            detail=f"{name}, {encoding}",
            hint="use a UTF-8 locale, or other characters are printed as escapes",
        )
    return Finding(name="locale", status="ok", detail=f"{name}, {encoding}")


def _state() -> Finding:
    """Whether journals can be written: in the state directory, or in its future parent."""
    try:
        path = next(iter(known_state_dirs()))
    except StopIteration:
        return Finding(
            name="state directory",
            status="fail",
            detail="no home, and no temporary directory",
            hint="set PTYCASSETTE_STATE_DIR to a directory that you can write to",
        )
    place = path
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as exc:
        return Finding(
            name="state directory",
            status="fail",
            detail=f"{path}: {exc.strerror}",
            hint="make it writable, or set PTYCASSETTE_STATE_DIR",
        )
    free = shutil.disk_usage(place).free
    return Finding(
        name="state directory", status="ok", detail=f"{path}, {free // 1_000_000} MB free"
    )


def _journals() -> Finding:
    """Journals whose recorder is gone. Never creates a directory."""
    left = sorted(path for top in journal_dirs() for path in top.glob(f"*{JOURNAL_SUFFIX}"))
    if left:
        return Finding(
            name="journals",
            status="warn",
            detail=f"{len(left)} in {left[0].parent}: of crashed recordings, or of running ones",
            hint="`ptycassette recover` makes cassettes of those that crashed",
        )
    return Finding(name="journals", status="ok", detail="none left")


def _emulators() -> Finding:
    """The default emulator in the form of manifests, and the other emulators that can be used."""
    ours = default_emulator(Size(rows=1, cols=1)).identity
    usable, missing = [], []
    for name in available_backends():
        try:
            backend(name)(Size(rows=2, cols=2))
        except CassetteError:
            missing.append(name)
        else:
            usable.append(name)
    absent = f"; not installed: {', '.join(missing)}" if missing else ""
    return Finding(
        name="emulators",
        status="ok",
        detail=f"{ours.name} {ours.version}; usable: {', '.join(usable)}{absent}",
    )


def _relay() -> Finding:
    """Which of the two relay loops interactive recordings use."""
    if CompiledRelay.load() is not None:
        return Finding(name="relay", status="ok", detail="compiled")
    return Finding(
        name="relay",
        status="ok",
        detail="in Python",
        hint="optional: with a C compiler (Linux), install again for faster echoes",
    )


def _extras() -> Iterator[Finding]:
    for extra, module, what in EXTRAS:
        there = importlib.util.find_spec(module) is not None
        yield Finding(
            name=f"extra {extra}",
            status="ok",
            detail=what if there else f"not installed ({what})",
            hint=None if there else f"optional: pip install 'ptycassette[{extra}]'",
        )


def _programs() -> Finding:
    found = [name for name in PROGRAMS if shutil.which(name)]
    missing = [name for name in PROGRAMS if name not in found]
    absent = f"; not here: {', '.join(missing)}" if missing else ""
    return Finding(name="programs", status="ok", detail=f"{', '.join(found) or 'none'}{absent}")


def _agents(*, versions: bool) -> Finding:
    """The installed agent CLIs that have a profile, built in or the user's own."""
    known = list(installed(versions=versions))
    here = [_description_doctor(one) for one in known if one.binary is not None]
    missing = [one.name for one in known if one.binary is None and one.problem is None]
    wrong = [one.problem for one in known if one.problem is not None]
    detail = f"known and installed: {', '.join(here) or 'none'}"
    if missing:
        detail += f"; known, not installed: {', '.join(missing)}"
    if wrong:
        return Finding(
            name="agent CLIs",
            status="warn",
            detail=f"{detail}; profiles that cannot be read: {'; '.join(wrong)}",
            hint="correct the file (docs/harnesses.md), or remove it",
        )
    return Finding(name="agent CLIs", status="ok", detail=detail)


def _description_doctor(one: Installed) -> str:
    """A CLI with its path and, if it was asked, its version."""
    if one.version is None:
        return f"{one.name} ({one.binary})"
    untried = "" if one.known else f", tried with {' '.join(one.tested)}"
    return f"{one.name} ({one.binary}, {one.version}{untried})"
