"""Runs a shim: the mode decides if it stands in, records, compares or runs the real program."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import msgspec

from ptycassette.cassette.io.pending import PendingRecordings, hold_pending, refuse_unwanted
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import CassetteError, NotFoundError, RefusedError
from ptycassette.model.records import ExitStatus
from ptycassette.model.visible_text import visible
from ptycassette.recording.io.finalising import diagnostic_path
from ptycassette.recording.io.given_streams import given_kinds, release_streams
from ptycassette.recording.io.journal_file import JOURNAL_SUFFIX, delete_journal
from ptycassette.recording.io.recorder import LIFELINE_END, check_network
from ptycassette.replaying.divergence import NO_DRIFT, Side, drift_lines
from ptycassette.replaying.io.faults import faulty_rerun
from ptycassette.replaying.io.library import ChosenCassette, Library, ProgramStart
from ptycassette.replaying.io.modes import MODE_VARIABLE, action_of, resolve_mode
from ptycassette.replaying.io.shims import ShimConfig, find_real, read_shim_config
from ptycassette.replaying.io.sides import screen_drift, side_of
from ptycassette.replaying.standin.comparison import StandinReport
from ptycassette.replaying.standin.io.options import parse_settings
from ptycassette.replaying.standin.io.process import FAILED, end_process, play, write_report
from ptycassette.scrub.io.conceal import concealed_words
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.files.project_file import PROJECT_VARIABLE
from ptycassette.system.files.state_dirs import current_dir, journal_dir
from ptycassette.system.interpreter import python_command
from ptycassette.system.pty.driver_signals import DriverSignals, hand_over_terminal
from ptycassette.system.pty.process import NoCoreDumps

# Runs the recorder in place of the shim: it gets the driver's terminal and signals.


_LOOK_S = 0.5


def run_recorder(
    target: Path,
    program: str,
    args: Sequence[str],
    *,
    signals: DriverSignals,
    keep_journal: bool = False,
    publish_alone: bool = False,
    held: int = -1,
    hooks: str = "",
) -> int:
    """Record the real ``program``, found further along PATH, into ``target``.

    The program ends when this process ends, for any reason, and the recorder with it unless it is
    saving already (``recording/io/recorder.py``). When our caller ends, the recording ends as by
    SIGHUP.
    Our own streams that are not a terminal are closed, so that the caller sees the end of each
    when the program ends it.

    Args:
        target: the cassette.
        program: its name.
        args: its arguments.
        signals: entered.
        keep_journal: keep the recording recoverable until ``drop_journal`` is called.
        publish_alone: the recorder publishes the pending recording if this process ends meanwhile.
        held: a locked descriptor, which is not released before the recorder ends; -1 for none.
        hooks: a file of hooks for the recorder.

    Returns:
        The recorder's status, which is the program's.

    Raises:
        SpawnError: there is no such program.
    """
    theirs, ours = os.pipe()
    try:
        more = [
            *(["--keep-journal"] if keep_journal else []),
            *(["--publish-alone"] if publish_alone else []),
            *(["--hooks", hooks] if hooks else []),
        ]
        words = _words(target, program, args, lifeline=theirs, more=more)
        kinds = given_kinds()
        caller = _watched(os.getppid())
        # In a pipeline the terminal belongs to the others, too: `agent | less`.
        shares_terminal = kinds.stdin == "terminal" and not kinds.only_terminal
        group = None if shares_terminal else 0
        inherited = (theirs,) if held < 0 else (theirs, held)
        recorder = subprocess.Popen(words, process_group=group, pass_fds=inherited)
        NoCoreDumps().hold()  # for good; the program has kept its limit
        threading.Thread(target=_end_with, args=(caller, ours), daemon=True).start()

        def give_terminal() -> None:
            if kinds.only_terminal:
                hand_over_terminal(recorder.pid)

        give_terminal()
        if not kinds.only_terminal:
            release_streams()
        signals.pass_to(recorder.pid)
        status = signals.wait(recorder.pid, continued=give_terminal)
        recorder.returncode = os.waitstatus_to_exitcode(status)
        return recorder.returncode
    finally:
        os.close(theirs)  # and not the other end: the thread may just write to it


def drop_journal(cassette_id: str) -> None:
    """Delete the journal of a recording that is published or not wanted.

    Raises:
        StorageError: the disk refuses.
    """
    delete_journal(journal_dir() / f"{cassette_id}{JOURNAL_SUFFIX}")


def _watched(pid: int) -> int:
    """A descriptor that is readable when the process ends (pidfd_open(2)); else ``-pid``."""
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            return os.pidfd_open(pid)
    return -pid


def _end_with(caller: int, lifeline: int) -> None:
    """Wait until our caller ends, then ask the recorder to end the program."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    if caller >= 0:
        select.select([caller], [], [])
    else:
        while os.getppid() == -caller:
            time.sleep(_LOOK_S)
    with contextlib.suppress(OSError):  # the recorder is gone already
        os.write(lifeline, LIFELINE_END)


def _words(
    target: Path, program: str, args: Sequence[str], *, lifeline: int, more: Sequence[str]
) -> list[str]:
    real = find_real(program, os.environ.get("PATH", ""))
    main = "import sys; from ptycassette.cli import main; sys.exit(main())"
    return [
        *python_command("-c", main),
        "rec", "--quiet", "--as-given", "--pass-signals", "--overwrite", "--lifeline",
        str(lifeline), *more, "--harness", program, str(target), "--", real, *args,
    ]  # fmt: skip


def run_shim(directory: str, program: str, args: Sequence[str]) -> int:
    """Be ``program`` with ``args``, for the shims in ``directory``.

    Returns:
        The exit status; does not return where another program takes over.
    """
    report = os.environ.get("PTYCASSETTE_REPORT", "")
    try:
        config = read_shim_config(Path(directory))
        report = report or config.report
        return _be(config, report, program, args)
    except CassetteError as failed:
        return _fail(failed, report, program, args)


def _be(config: ShimConfig, report: str, program: str, args: Sequence[str]) -> int:
    said = os.environ.get(MODE_VARIABLE) or None
    mode = resolve_mode((MODE_VARIABLE, said), ("shim", config.mode), env={})
    if mode == "live":
        return _step_aside(program, args)
    if config.project and Path(config.project).exists():
        os.environ.setdefault(PROJECT_VARIABLE, config.project)
    start = ProgramStart(program=program, args=tuple(args), cwd=_here(), env=os.environ)
    pending = Path(config.pending) if config.pending else None
    secrets = parse_settings([*config.options, "cassette"]).secrets_compared
    library = Library(
        Path(config.library),
        state=Path(config.state),
        pending=pending,
        secrets=secrets,
        each=config.each,
    )
    may_record = action_of(mode, exists=False, env=os.environ) in {"record", "rewrite"}
    chosen = library.choose(start, record=may_record)
    match action_of(mode, exists=chosen.exists, env=os.environ):
        case "record" | "rewrite" as action:
            if pending is not None and chosen.exists and chosen.path.is_relative_to(pending):
                raise RefusedError(
                    f"{chosen.path.name} was recorded by this test already, and is not replaced",
                    where=config.library,
                    hint="write rules that name one cassette for each start (library.yaml), or use "
                    "mode auto, which replays it",
                )
            old = _side_to_replace(chosen) if action == "rewrite" else None
            with DriverSignals() as signals:
                ended = _record(
                    library, chosen.path, report, (program, *args), signals,
                    old=old, hooks=config.hooks,
                )  # fmt: skip
            return _end(ended)
        case "rerecord":
            with DriverSignals() as signals:
                ended = _rerecord(
                    chosen.path, report, (program, *args), signals, hooks=config.hooks
                )
            return _end(ended)
        case "rerun":
            return _rerun(chosen.path, report, (program, *args))
        case _:
            return _stand_in(chosen, config, report, (program, *args))


def _here() -> str:
    """The current directory, for rules; empty if it was deleted, so that a cassette still plays."""
    try:
        return str(current_dir())
    except NotFoundError:
        return ""


def _stand_in(
    chosen: ChosenCassette, config: ShimConfig, report: str, argv: tuple[str, ...]
) -> int:
    match = ("--match", chosen.match) if chosen.match else ()
    order = ("--order", chosen.order) if chosen.order else ()
    hooks = ("--hooks", config.hooks) if config.hooks else ()
    words = [*config.options, *hooks, *match, *order, str(chosen.path), "--", *argv]
    return play(parse_settings(words, report=report))


def _step_aside(program: str, args: Sequence[str]) -> NoReturn:
    real = find_real(program, os.environ.get("PATH", ""))
    check_network(program, os.environ)
    # Imported here, because other modes do without it.
    from ptycassette.system.network import required_guard  # noqa: PLC0415

    path, words = real, [program, *args]
    guard = required_guard(words, os.environ)
    if guard is not None:
        words = guard.command(real, words)
        path = words[0]
    os.execv(path, words)  # noqa: S606 - no shell is meant


def _record(
    library: Library,
    wanted: Path,
    report: str,
    argv: tuple[str, ...],
    signals: DriverSignals,
    *,
    old: Side | None,
    hooks: str,
) -> int | ExitStatus:
    """Run the real program, keep the recording if it has output, report the differences."""
    program, *args = argv
    find_real(program, os.environ.get("PATH", ""))  # before anything is made for it
    own = PendingRecordings.new(library.place) if library.pending is None else None
    place = library.to_record(wanted)
    if own:
        place = own.place / wanted.relative_to(library.place)
    held = own.lock if own else hold_pending(library.pending or library.place)
    exit_status = None
    try:
        status = run_recorder(
            place, program, args, signals=signals, keep_journal=True,
            publish_alone=own is not None, held=held, hooks=hooks,
        )  # fmt: skip
        result = StandinReport(
            result="recorded", cassette=str(wanted), argv=concealed_words(argv), pid=os.getpid()
        )
        try:
            if (place / "manifest.json").exists():
                exit_status, recorded = _end_of(place)
                try:
                    refuse_unwanted(place, wanted)
                except RefusedError:
                    drop_journal(recorded)
                    raise
                if old is not None:
                    found = screen_drift(old, side_of(place, allow_unscrubbed=True))
                    notes = tuple(drift_lines(found)) or (NO_DRIFT,)
                    result = msgspec.structs.replace(result, notes=notes)
                if own:
                    own.publish()
                drop_journal(recorded)
            else:
                error = _keep_diagnostic(place, wanted)
                result = msgspec.structs.replace(result, result="failed", error=error)
        except CassetteError as failed:
            result = msgspec.structs.replace(result, result="failed", error=str(failed))
            _complain(program, str(failed))
    finally:
        if own:
            own.drop()
    write_report(report, result)
    return status if exit_status is None else exit_status


def _side_to_replace(chosen: ChosenCassette) -> Side | None:
    """The existing cassette; None if it is missing or invalid."""
    try:
        return side_of(chosen.path, allow_unscrubbed=True) if chosen.exists else None
    except CassetteError:
        return None


def _keep_diagnostic(place: Path, wanted: Path) -> str:
    """Move the diagnostic of a failed run next to the cassette's place; returns its path."""
    made, target = diagnostic_path(place), diagnostic_path(wanted)
    if not made.is_dir():
        return "nothing was recorded"
    if target != made:
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)
    return f"nothing was recorded; see {target}"


def _rerecord(
    old: Path, report: str, argv: tuple[str, ...], signals: DriverSignals, *, hooks: str
) -> int | ExitStatus:
    """Run the real program, and report the drift; the cassette is only read."""
    # Imported here, because it loads the emulator, which replay does not need.
    from ptycassette.replaying.stored import drift_pictures  # noqa: PLC0415

    program, *args = argv
    with temporary_folder() as place:
        new = place / "new.cassette"
        status = run_recorder(new, program, args, signals=signals, hooks=hooks)
        if not (new / "manifest.json").exists():
            return status
        exit_status, _ = _end_of(new)
        sides = side_of(old), side_of(new)
    found = screen_drift(*sides)
    notes = tuple(drift_lines(found)) or (NO_DRIFT,)
    write_report(
        report,
        StandinReport(
            result="drifted" if found else "passed", cassette=str(old), argv=concealed_words(argv),
            pid=os.getpid(), divergences=found.divergences, notes=notes,
            drift=tuple(drift_pictures(found, *sides)),
        ),
    )  # fmt: skip
    return status if exit_status is None else exit_status


def _rerun(path: Path, report: str, argv: tuple[str, ...]) -> int:
    """Run the real program, answered from the tape, and report the result."""
    # Imported here, because it loads an HTTP server, which replay does not need.
    from ptycassette.agents.rerun.io.driving import run_tape_only  # noqa: PLC0415
    from ptycassette.agents.rerun.io.options import RerunOptions  # noqa: PLC0415

    program, *args = argv
    real = find_real(program, os.environ.get("PATH", ""))
    with open_cassette(path) as cassette:
        options = RerunOptions(trusted=True, argv=(real, *args))
        ran = run_tape_only(cassette, options, **faulty_rerun(os.environ))
    found = "\n".join(ran.findings)
    write_report(
        report,
        StandinReport(
            result="diverged" if found else "passed", cassette=str(path),
            argv=concealed_words(argv), pid=os.getpid(), exit=ran.exit, error=found,
            notes=(f"network: {ran.report.guard}",),
        ),
    )  # fmt: skip
    return FAILED if found else end_process(ran.exit)


def _end(ended: int | ExitStatus) -> int:
    """End as the program did; returns a plain status for the caller to use."""
    return ended if isinstance(ended, int) else end_process(ended)


def _end_of(path: Path) -> tuple[ExitStatus | None, str]:
    """The recorded exit, which the driver must see, and the id of the recording."""
    with open_cassette(path, check="manifest", allow_unscrubbed=True) as cassette:
        return cassette.final.exit, cassette.manifest.id


def _fail(failed: CassetteError, report: str, program: str, args: Sequence[str]) -> int:
    """Write an error to stderr and to the report."""
    text = str(failed)
    _complain(program, text)
    result = StandinReport(result="failed", cassette=program, pid=os.getpid(), error=text)
    with suppress(CassetteError):  # perhaps the report failed, or the rules of scrubbing
        write_report(report, result)
        argv = concealed_words((program, *args))
        write_report(report, msgspec.structs.replace(result, argv=argv))
    return failed.exit_status if failed.exit_status in {126, 127} else FAILED


def _complain(program: str, text: str) -> None:
    for line in text.split("\n"):
        sys.stderr.write(f"{program} (ptycassette shim): {visible(line)}\r\n")
