"""Runs the recorder in place of the shim: it gets the driver's terminal and signals."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from ptycassette.recording.io.given_streams import given_kinds, release_streams
from ptycassette.recording.io.journal_name import JOURNAL_SUFFIX, delete_journal
from ptycassette.recording.io.lifeline import LIFELINE_END
from ptycassette.replaying.io.shims import find_real
from ptycassette.system.files.state_dirs import journal_dir
from ptycassette.system.interpreter import python_command
from ptycassette.system.pty.core_dumps import NoCoreDumps
from ptycassette.system.pty.driver_signals import DriverSignals, hand_over_terminal

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
    saving already (``recording/io/lifeline.py``). When our caller ends, the recording ends as by
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
