"""Run real CLIs offline: a temporary home, a fake provider, a prepared program.

The user's own home and keys are not used; the CLI connects to 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec

from ptycassette.agents.harness.example import example_script
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer, read_script
from ptycassette.agents.harness.io.files import find_binary, load_profile
from ptycassette.agents.harness.io.logs import log_reader, read_logs
from ptycassette.agents.harness.io.probe import Finding, Settled, Status, perform
from ptycassette.agents.harness.preparing import Place, PreparedRun, prepare
from ptycassette.agents.harness.probe import DriveStep
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.errors import (
    CassetteError,
    NotFoundError,
    SessionClosedError,
    StorageError,
    UsageError,
    WaitTimeoutError,
)
from ptycassette.keys.quantities import time_text
from ptycassette.model.ports import Clock
from ptycassette.model.re2_engine import file_pattern
from ptycassette.model.records import FrameRecord
from ptycassette.model.screen import Screen, Size
from ptycassette.model.stored_screen import screen_of
from ptycassette.profiles.io import own_folder
from ptycassette.profiles.profile import Profile
from ptycassette.profiles.session_log import LogFacts, ScreenPredicate
from ptycassette.recording.io.options import ask_version
from ptycassette.recording.io.recording import record
from ptycassette.recording.session.session import Session
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.files.locks import HeldFolder, held_folder, temporary_folder
from ptycassette.system.ownership import owned_context

# A home and a work folder for a run of a program, in a private temporary folder.


class RunPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The home and the work folder of a run."""

    home: Path
    cwd: Path
    folder: HeldFolder


@owned_context
def run_place(
    root: Path | None,
    *,
    cwd: Path | None = None,
    files: Mapping[str, str] | None = None,
    keep: bool = False,
) -> Iterator[RunPlace]:
    """A private folder, with a home and a work folder in it.

    Args:
        root: as for ``held_folder``.
        cwd: a work folder of the caller's, instead of one in the home.
        files: texts to write into the work folder, by name.
        keep: as for ``held_folder``.

    Raises:
        StorageError: the disk refuses.
    """
    with held_folder(root, keep=keep) as folder:
        # A name that occurs on no screen, because the scrubber treats it as a user's name.
        home = folder.path / "run-home"
        # Inside the home, as a user would have it: CLIs then show it as ~/work.
        place = RunPlace(home=home, cwd=cwd or home / "work", folder=folder)
        home.mkdir(mode=0o700)
        place.cwd.mkdir(exist_ok=True)
        for name, text in (files or {}).items():
            (place.cwd / name).write_text(text)
        yield place


_KEY_LENGTH = 40


def fake_key(profile: Profile) -> str:
    """A key that looks real but is not; the same each time."""
    return profile.credentials.key_prefix + "0" * _KEY_LENGTH


class PlacedRun(RunPlace, frozen=True, kw_only=True):
    """A run that is ready to start, in a temporary home.

    ``argv`` and ``options`` (size, term, cwd, env) are for ``record`` or ``Session``.
    """

    profile: Profile
    prepared: PreparedRun

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line to start."""
        return self.prepared.argv

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments for ``record``, ``Session`` and ``AsyncSession``."""
        terminal = self.profile.terminal
        return {
            "size": Size(terminal.rows, terminal.cols),
            "term": terminal.term,
            "cwd": self.cwd,
            "env": self.prepared.environment,
            "clean_env": True,
        }

    def facts(self) -> tuple[LogFacts, str | None]:
        """The facts in the CLI's own session log; see ``read_logs``."""
        return read_logs(self.profile, home=self.home, cwd=self.cwd)


class OfflineRun(PlacedRun, frozen=True, kw_only=True):
    """A run that is ready to be started, and the scripted provider that listens for it."""

    provider: FakeProviderServer


class OfflineOptions(TypedDict, total=False):
    """The options of ``offline_run`` besides profile and script.

    Attributes:
        mode: one of the profile's modes; ``key`` by default.
        model: the model to ask for; the one of the profile by default.
        prompt: for a one-shot run; None (default) starts the terminal interface.
        command: a subcommand with its arguments, instead of the profile's own.
        arguments: more arguments, at the end.
        cwd: the work folder; an empty one in the temporary home when None.
        files: files of the work folder, by name.
        variables: more variables of the script.
        binary: the program; looked up on PATH when None.
        port: the port of the provider; any free one by default.
        keep: keep the temporary folder when the run is over.
        root: where to make the temporary folder; in the user's cache folder when
            None, because some CLIs refuse homes under the system's temporary folder.
        log: where the provider logs requests.
        clock: time, for tests.
    """

    mode: str
    model: str
    prompt: str | None
    command: tuple[str, ...] | None
    arguments: tuple[str, ...]
    cwd: Path | None
    files: Mapping[str, str]
    variables: Mapping[str, str]
    binary: str | None
    port: int
    keep: bool
    root: Path | None
    log: Path | None
    clock: Clock


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """``OfflineOptions`` with all defaults filled in."""

    mode: str = "key"
    model: str = ""
    prompt: str | None = None
    command: tuple[str, ...] | None = None
    arguments: tuple[str, ...] = ()
    cwd: Path | None = None
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    variables: Mapping[str, str] = msgspec.field(default_factory=dict)
    binary: str | None = None
    port: int = 0
    keep: bool = False
    root: Path | None = None
    log: Path | None = None
    clock: Clock = msgspec.field(default_factory=MonotonicClock)


@owned_context
def offline_run(
    profile: Profile, script: Script | Path | str | None = None, **options: Unpack[OfflineOptions]
) -> Iterator[OfflineRun]:
    """A CLI with a temporary home and a fake provider, ready to start.

    Args:
        profile: the CLI's profile.
        script: the provider's script, or its path; ``${cwd}``, ``${home}`` and the option
            ``variables`` are filled in. ``example_script`` when None.
        **options: see ``OfflineOptions``.

    Raises:
        NotFoundError: the CLI is not installed, or the profile has no such mode.
        UsageError: the script is wrong.
        StorageError: the folder cannot be made.
    """
    plan = _Plan(**options)
    with _place(profile, plan) as place:
        ca_file = place.folder.path / "ca.pem" if _wants_tls(profile, plan.mode) else None
        with FakeProviderServer(
            _script(profile, script, plan, {"cwd": str(place.cwd), "home": str(place.home)}),
            port=plan.port,
            log=plan.log,
            clock=plan.clock,
            ca_file=ca_file,
        ) as provider:
            yield OfflineRun(
                profile=profile,
                prepared=_furnished(profile, plan, place, url=provider.url, ca_file=ca_file),
                provider=provider,
                home=place.home,
                cwd=place.cwd,
                folder=place.folder,
            )


@owned_context
def placed_run(
    profile: Profile, url: str, *, openai_url: str = "", **options: Unpack[OfflineOptions]
) -> Iterator[PlacedRun]:
    """As ``offline_run``, but with the caller's own provider at ``url``, without TLS.

    Args:
        profile: the CLI's profile.
        url: the URL of the provider.
        openai_url: see ``Place``.
        **options: see ``OfflineOptions``.
    """
    plan = _Plan(**options)
    with _place(profile, plan) as place:
        yield PlacedRun(
            profile=profile,
            prepared=_furnished(profile, plan, place, url=url, openai_url=openai_url, ca_file=None),
            home=place.home,
            cwd=place.cwd,
            folder=place.folder,
        )


@owned_context
def _place(profile: Profile, plan: _Plan) -> Iterator[RunPlace]:
    if plan.binary is None:
        _program(profile)  # report errors before anything is made
    with run_place(plan.root, cwd=plan.cwd, files=plan.files, keep=plan.keep) as place:
        yield place


def _furnished(
    profile: Profile,
    plan: _Plan,
    at: RunPlace,
    *,
    url: str,
    ca_file: Path | None,
    openai_url: str = "",
) -> PreparedRun:
    """The prepared run, with its files in the home."""
    place = Place(
        home=str(at.home),
        cwd=str(at.cwd),
        url=url,
        openai_url=openai_url,
        key=fake_key(profile),
        ca="" if ca_file is None else str(ca_file),
        model=plan.model or profile.offline.model,
    )
    prepared = prepare(
        profile,
        plan.mode,
        place,
        binary=plan.binary or _program(profile),
        now=plan.clock.wall(),
        prompt=plan.prompt,
        command=plan.command,
        arguments=plan.arguments,
    )
    write_home(prepared, home=at.home, cwd=None if plan.cwd else at.cwd)
    _bring_own_files(at.home)
    return prepared


def _program(profile: Profile) -> str:
    if not profile.binaries:
        raise UsageError(
            f"the profile {profile.name!r} names no program", hint="name the program: -- ARGV"
        )
    binary = find_binary(profile)
    if binary is None:
        called = f"its program is called {' or '.join(profile.binaries)}"
        package = f": {profile.install.command}" if profile.install else ""
        raise NotFoundError(f"{profile.title} is not installed", hint=f"{called}{package}")
    return binary


def _script(
    profile: Profile, script: Script | Path | str | None, plan: _Plan, places: dict[str, str]
) -> Script:
    """The script, with the variables of this run."""
    if isinstance(script, Script):
        return script
    names = {**places, **plan.variables}
    if script is None:
        text = example_script(profile)
        return Script.parse(text, where=f"the example for {profile.name}", variables=names)
    return read_script(Path(script), names)


def _wants_tls(profile: Profile, mode: str) -> bool:
    return mode in profile.modes and profile.modes[mode].tls


def write_home(prepared: PreparedRun, *, home: Path, cwd: Path | None) -> None:
    """Write the files of a prepared run, readable only by the user.

    Args:
        prepared: the run.
        home: its temporary home.
        cwd: its temporary work folder; None if the folder is the user's, which is not changed.

    Raises:
        UsageError: a file would go into the user's work folder.
        StorageError: the disk refuses.
    """
    for file in prepared.files:
        base = home if file.base == "home" else cwd
        if base is None:
            raise UsageError(
                f"the profile writes {file.path} into the work folder, and this one is yours",
                hint="--empty runs it in an empty folder",
            )
        path = base / file.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text)
            with suppress(OSError):  # some file systems cannot change modes
                path.chmod(0o600)
        except OSError as failed:
            raise StorageError(f"cannot be written: {failed.strerror}", where=str(path)) from failed


def _bring_own_files(home: Path) -> None:
    """Copy the user's own profiles, probes and rules, for a recorder that runs in this home."""
    for kind in ("harnesses", "probes", "tape-rules"):
        own = own_folder(kind, os.environ)
        if own.is_dir():
            with suppress(OSError, shutil.Error):
                shutil.copytree(own, own_folder(kind, {"HOME": str(home)}), dirs_exist_ok=True)


# Check a profile against the installed program: find rows that no longer hold.


_READY_S, _ANSWER_S, _END_S, _ONESHOT_S = 60.0, 60.0, 20.0, 120.0
_PACE = "[pace]\nfirst_ms = 1000\neach_ms = 50\n"
"""Slow enough that a busy screen is visible."""
_PROMPT = "Say hello."
_LINES_SHOWN, _ROWS_SHOWN = 3, 100
_MOST_BYTES = 1 << 20
_NOTE = {"note.txt": "buy walnuts\n"}
_HOW = "docs/harnesses.md, Bring a profile up to date"


def profile_findings(name: str) -> Iterator[Finding]:
    """Check a profile against the installed program, row by row.

    Args:
        name: the name or path of the profile.

    Raises:
        NotFoundError: there is no such profile.
        UsageError: it is wrong.
    """
    profile = load_profile(name)
    binary = find_binary(profile)
    if binary is None:
        hint = None if profile.install is None else profile.install.command
        yield _finding("binaries", "fail", f"not installed: {', '.join(profile.binaries)}", hint)
        return
    yield _finding("binaries", "ok", binary)
    yield from _version(profile, Path(binary))
    if not profile.modes:
        yield _finding("modes", "warn", "it has none, so it was not run offline", None)
        return
    mode = "key" if "key" in profile.modes else next(iter(profile.modes))
    yield from _interface(profile, mode)
    yield from _oneshot(profile, mode)


def _finding(name: str, status: Status, detail: str, hint: str | None = None) -> Finding:
    return Finding(name=name, status=status, detail=detail, hint=hint)


def _held(name: str, *, ok: bool, right: str, wrong: str, unsure: bool = False) -> Finding:
    """A finding; ``unsure``: a failed check proves nothing."""
    if ok:
        return _finding(name, "ok", right)
    return _finding(name, "warn" if unsure else "fail", wrong, None if unsure else _HOW)


def _version(profile: Profile, binary: Path) -> Iterator[Finding]:
    query = profile.version_query
    said = ask_version(binary, query.argv, timeout_s=_END_S) or ""
    found = next(file_pattern(query.regex).matches(said), None)
    asked = " ".join(query.argv)
    yield _held(
        "version_query.regex",
        ok=found is not None,
        right=f"{asked} printed {said!r}",
        wrong=f"{asked} printed {said!r}, which '{query.regex}' does not match",
    )
    tested = ", ".join(query.tested) or "no version"
    known = any(one in said for one in query.tested)
    yield _held(
        "version_query.tested",
        ok=known,
        right=tested,
        wrong=f"tried with {tested}, and this is {said!r}",
        unsure=True,
    )


class _Walk(msgspec.Struct):
    """The findings of a run in the terminal interface."""

    findings: list[Finding] = msgspec.field(default_factory=list)
    over: bool = False

    def add(self, name: str, detail: str) -> None:
        """Note a check that passed."""
        self.findings.append(_finding(name, "ok", detail))

    def fail(self, name: str, detail: str) -> None:
        """Note a check that failed; the walk cannot continue."""
        self.findings.append(_finding(name, "fail", detail, _HOW))
        self.over = True


def _interface(profile: Profile, mode: str) -> Iterator[Finding]:
    """Check the terminal interface: a prompt, a tool call, the answer, the end."""
    tool = next(iter(profile.tools.values()), None)
    options = () if tool is None else tool.options
    with temporary_folder() as folder:
        target = folder / "run.cassette"
        script = _check_script(profile)
        with offline_run(profile, script, mode=mode, files=_NOTE, arguments=options) as run:
            walk = _recorded(profile, run, target, tool.prompt if tool else _PROMPT)
            yield from walk.findings
            yield from _provider(run, called=tool is not None and tool.name is not None)
            yield from _secrets(profile, run.home)
        if not target.exists():
            return
        with open_cassette(target) as cassette:
            frames = list(cassette.frames())
            yield from _screens(profile, frames)
            yield from _logs(profile, cassette)


def _check_script(profile: Profile) -> Script:
    text = example_script(profile).replace("version = 1\n", f"version = 1\n{_PACE}", 1)
    names = {"cwd": "${cwd}", "home": "${home}"}
    return Script.parse(text, where=f"the example for {profile.name}", variables=names)


def _recorded(profile: Profile, run: OfflineRun, target: Path, prompt: str) -> _Walk:
    walk = _Walk()
    size = Size(profile.terminal.rows, profile.terminal.cols)
    with (
        contextlib.suppress(CassetteError),
        record(
            run.argv,
            target,
            known=[fake_key(profile)],
            probe_version=False,
            at_end=log_reader(profile, home=run.home, cwd=run.cwd, since_s=0.0),
            **{**run.options, "size": size},
        ) as session,
    ):
        try:
            _walk(profile, session, walk, prompt)
        except SessionClosedError as ended:
            walk.fail("interactive", f"it ended too early: {ended.message}")
        except WaitTimeoutError as late:
            walk.fail("leave", f"it did not end: {late.message}")
        if not session.finished:
            session.terminate()
    return walk


def _walk(profile: Profile, session: Session, walk: _Walk, prompt: str) -> None:
    screens = profile.screens
    for dialog in profile.start:
        with contextlib.suppress(WaitTimeoutError):
            session.wait_for(Settled([dialog.shows, screens.ready]), timeout_s=_READY_S)
        if dialog.shows.holds(session.screen()):
            perform(session, DriveStep(strokes=dialog.strokes), profile)
    if not _waited(session, walk, "screens.ready", screens.ready, _READY_S):
        return
    perform(session, DriveStep(submit=prompt), profile)
    if screens.busy is not None:
        with contextlib.suppress(WaitTimeoutError):
            session.wait_for(Settled([screens.busy]), timeout_s=_END_S)
            walk.add("screens.busy", "it was seen")
        if walk.findings[-1].name != "screens.busy":
            missed = ", ".join(screens.busy.misses(session.screen()))
            walk.findings.append(_finding("screens.busy", "warn", f"not seen: {missed}"))
    answer = _answer(profile)
    if not _waited(
        session, walk, "submit", ScreenPredicate(contains=(answer,), stable_ms=1), _ANSWER_S
    ):
        return
    if screens.done is not None and not _waited(
        session, walk, "screens.done", screens.done, _ANSWER_S
    ):
        return
    with contextlib.suppress(SessionClosedError):  # fewer keys were enough
        perform(session, DriveStep(strokes=profile.leave), profile)
    session.wait_exit(timeout_s=_END_S)
    walk.add("leave", "it ended")


def _answer(profile: Profile) -> str:
    """The text of the last answer of ``example_script`` on the screen."""
    tool = next(iter(profile.tools.values()), None)
    if tool is None:
        return "Hello from the script."
    return "The tool has answered." if tool.text is None else tool.text.strip().split("\n")[0]


def _waited(
    session: Session, walk: _Walk, name: str, predicate: ScreenPredicate, timeout_s: float
) -> bool:
    """Wait for a screen, and note whether it appeared."""
    try:
        session.wait_for(Settled([predicate]), timeout_s=timeout_s)
    except WaitTimeoutError:
        screen = session.screen()
        missed = ", ".join(predicate.misses(screen)) or f"stable for {predicate.stable_ms} ms"
        walk.fail(
            name, f"not in {time_text(timeout_s)}: {missed}; the screen was: {_shown(screen)}"
        )
        return False
    walk.add(name, "it came")
    return True


def _shown(screen: Screen) -> str:
    rows = [row.strip()[:_ROWS_SHOWN] for row in screen.rows if row.strip()]
    return " | ".join([*rows[:_LINES_SHOWN], "...", *rows[-_LINES_SHOWN:]])


def _provider(run: OfflineRun, *, called: bool) -> Iterator[Finding]:
    """Check the requests that the provider received."""
    requests = run.provider.requests
    asked = [one for one in requests if one.get("reply")]
    yield _held(
        "modes",
        ok=bool(asked),
        right=f"{len(asked)} questions came to the provider",
        wrong="no question came to the provider: a variable or a file of its address changed",
    )
    if called and asked:
        yield _held(
            "tools",
            ok=any(one["reply"] == "answer" for one in asked),
            right="its tool was called",
            wrong="the tool was not called: its name or its arguments changed",
        )
    for problem in run.provider.problems[:_LINES_SHOWN]:
        yield _finding("provider", "fail", problem, "docs/fake-provider.md")
    new = sorted({name for one in requests for name in one.get("unknown_fields", ())})
    if new:
        yield _finding("provider.unknown_fields", "warn", f"fields that are new: {', '.join(new)}")


def _secrets(profile: Profile, home: Path) -> Iterator[Finding]:
    """Find files in the home that contain the key but are missing in the profile."""
    key = fake_key(profile).encode()
    found = []
    for folder, _, names in os.walk(home):
        for path in (Path(folder, name) for name in names):
            with contextlib.suppress(OSError):
                if (
                    path.is_file()
                    and path.stat().st_size < _MOST_BYTES
                    and key in path.read_bytes()
                ):
                    found.append(str(path.relative_to(home)))
    missing = sorted({*found} - {*profile.credentials.home})
    yield _held(
        "credentials.home",
        ok=not missing,
        right="no other file holds the key",
        wrong=f"the key is in files that are not listed: {', '.join(missing[:_LINES_SHOWN])}",
    )


def _screens(profile: Profile, frames: Sequence[FrameRecord]) -> Iterator[Finding]:
    """Check patterns of rows: whether any row matched."""
    screens = [screen_of(frame) for frame in frames]
    rows = {row for screen in screens for row in screen.rows}
    named = [(f"screens.volatile[{n}]", one) for n, one in enumerate(profile.screens.volatile)]
    named += [(f"screens.at_exit[{one.name}]", one.first) for one in profile.screens.at_exit]
    if profile.screens.farewell:
        named.append(("screens.farewell", profile.screens.farewell))
    for name, regex in named:
        pattern = file_pattern(regex)
        yield _held(
            name,
            ok=any(pattern.found(row) for row in rows),
            right="it matched",
            wrong=f"no row matched '{regex}' in this run",
            unsure=True,
        )


def _logs(profile: Profile, cassette: Cassette) -> Iterator[Finding]:
    """Check that the session log exists, and has each kind of event."""
    if not profile.logs:
        return
    payloads = [one.payload for one in cassette.service_events() if isinstance(one.payload, dict)]
    for payload in payloads:
        if payload.get("type") == "session-log-unreadable":
            yield _finding("logs", "fail", str(payload.get("message")), _HOW)
    path = cassette.final.session_log_path
    globs = ", ".join(dict.fromkeys(log.glob for log in profile.logs))
    yield _held("logs.glob", ok=path is not None, right=str(path), wrong=f"no file is {globs}")
    if path is None:
        return
    seen = {str(payload.get("type")) for payload in payloads}
    for kind in dict.fromkeys(event.type for log in profile.logs for event in log.events):
        yield _held(
            f"logs.events {kind}",
            ok=kind in seen,
            right="it was read",
            wrong="the log has no such event, or its fields are called otherwise",
            unsure=kind.startswith("tool") and not profile.tools,
        )


def _oneshot(profile: Profile, mode: str) -> Iterator[Finding]:
    """Check a prompt on the command line."""
    if not profile.oneshot:
        return
    with temporary_folder() as folder:
        target = folder / "oneshot.cassette"
        with offline_run(profile, mode=mode, files=_NOTE, prompt=_PROMPT) as run:
            try:
                with record(
                    run.argv,
                    target,
                    known=[fake_key(profile)],
                    probe_version=False,
                    timeout_s=_ONESHOT_S,
                    **run.options,
                ) as session:
                    session.wait_exit(timeout_s=_ONESHOT_S)
                    screen, status = session.screen(), session.exit_status
            except CassetteError as exc:
                yield _finding("oneshot", "fail", exc.message, _HOW)
                return
            asked = any(one.get("reply") for one in run.provider.requests)
            right = status is not None and status.code == 0 and asked
            yield _held(
                "oneshot",
                ok=right,
                right=" ".join(profile.oneshot),
                wrong=f"ended with {status and status.code}, asked: {asked}: {_shown(screen)}",
            )
