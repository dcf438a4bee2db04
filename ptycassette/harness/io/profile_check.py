"""Holds a profile against the program that is installed: which of its rows no longer hold.

The CLI runs offline twice, against the scripted provider: once in its terminal interface, with a
prompt and a tool call, and once with a prompt on its command line. Every row that such a run can
show to be wrong is looked at. A pattern that matched nothing may still be right (a hint that is
shown now and then), so it is a warning; what the run needed and did not find is a failure.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.errors import CassetteError, SessionClosedError, WaitTimeoutError
from ptycassette.harness.example import example_script
from ptycassette.harness.io._drive import Settled, perform
from ptycassette.harness.io.doctor import Finding, Status
from ptycassette.harness.io.files import find_binary, load_profile
from ptycassette.harness.io.offline import OfflineRun, fake_key, offline_run
from ptycassette.harness.io.record import log_reader
from ptycassette.harness.provider.fake.script import Script
from ptycassette.harness.step import DriveStep
from ptycassette.keys.quantities import time_text
from ptycassette.model.events import FrameRecord
from ptycassette.model.file_patterns import file_pattern
from ptycassette.model.geometry import Size
from ptycassette.model.screen import Screen
from ptycassette.model.stored_screen import screen_of
from ptycassette.profiles.predicate import ScreenPredicate
from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.binary_probe import ask_version
from ptycassette.recording.io.recording import record
from ptycassette.session.session import Session
from ptycassette.system.files.abandoned import temporary_folder

_READY_S, _ANSWER_S, _END_S, _ONESHOT_S = 60.0, 60.0, 20.0, 120.0
_PACE = "[pace]\nfirst_ms = 1000\neach_ms = 50\n"
"""So slow that a busy screen is seen."""
_PROMPT = "Say hello."
_LINES_SHOWN, _ROWS_SHOWN = 3, 100
_MOST_BYTES = 1 << 20
_NOTE = {"note.txt": "buy walnuts\n"}
_HOW = "docs/harnesses.md, Bring a profile up to date"


def profile_findings(name: str) -> Iterator[Finding]:
    """What of a profile holds with the installed program, row by row.

    Args:
        name: of the profile, or its path.

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
    """A finding; ``unsure``: that it did not hold proves nothing."""
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
    """What a run in the terminal interface found."""

    findings: list[Finding] = msgspec.field(default_factory=list)
    over: bool = False

    def add(self, name: str, detail: str) -> None:
        """Something that held."""
        self.findings.append(_finding(name, "ok", detail))

    def fail(self, name: str, detail: str) -> None:
        """Something that did not, after which there is no going on."""
        self.findings.append(_finding(name, "fail", detail, _HOW))
        self.over = True


def _interface(profile: Profile, mode: str) -> Iterator[Finding]:
    """The terminal interface: a prompt, a tool call, the answer, the end."""
    tool = next(iter(profile.tools.values()), None)
    options = () if tool is None else tool.options
    with temporary_folder() as folder:
        target = folder / "run.cassette"
        script = _script(profile)
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


def _script(profile: Profile) -> Script:
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
    """What the last answer of ``example_script`` shows on the screen."""
    tool = next(iter(profile.tools.values()), None)
    if tool is None:
        return "Hello from the script."
    return "The tool has answered." if tool.text is None else tool.text.strip().split("\n")[0]


def _waited(
    session: Session, walk: _Walk, name: str, predicate: ScreenPredicate, timeout_s: float
) -> bool:
    """Wait for a screen, and note whether it came."""
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
    """What the provider was asked."""
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
    """Files of the home in which the key is, and which the profile does not name."""
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
    """Patterns of rows: whether some row had them."""
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
    """Whether the session log was there, and each kind of event in it."""
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
    """A prompt on the command line."""
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
