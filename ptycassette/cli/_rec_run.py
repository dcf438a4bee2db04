"""Runs the recorder of ``ptycassette rec``, and says where the recording is."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._rec_evidence import tape_lines
from ptycassette.cli._rec_plan import secret_key_of
from ptycassette.cli._saving_line import SavingLine

if TYPE_CHECKING:
    from ptycassette.recording import ScriptStep
    from ptycassette.recording.io import Recorder, RecordingEnded


def run_recorder(
    recorder: Recorder,
    steps: tuple[ScriptStep, ...] | None,
    *,
    interactive: bool,
    given: dict[str, Any],
) -> tuple[int, bool]:
    """Record to the end, with the options as click gives them.

    Returns:
        The exit status, and whether there is a cassette: none if the user stopped the saving.

    Raises:
        CassetteError: as ``Recorder.start`` and ``Recorder.finish``.
    """
    from ptycassette.errors import RunFailedError
    from ptycassette.recording.io import record_headless, record_interactive, shell_status

    quiet = given["quiet"]
    fixed = any(given[name] is not None for name in ("size", "cols", "rows"))
    try:
        if given["streams"] is not None:
            from ptycassette.recording.io import record_streams  # few have pipes

            with recorder:
                ended = record_streams(
                    recorder,
                    given["streams"],
                    passes_signals=given["pass_signals"],
                    secret_key=secret_key_of(given["secret_key"]),
                    keeps_stderr=not quiet,
                )
        elif interactive:
            with recorder:
                if not quiet:
                    _say(f"ptycassette: recording to {_shown(recorder)}; exit the program to stop")
                ended = record_interactive(
                    recorder,
                    fixed_size=fixed,
                    passes_signals=given["pass_signals"],
                    secret_key=secret_key_of(given["secret_key"]),
                )
        else:
            in_fd = 0 if steps is None and not sys.stdin.isatty() else None
            ended = record_headless(
                recorder, steps, in_fd=in_fd, passes_signals=given["pass_signals"]
            )
    except KeyboardInterrupt:
        if not recorder.saving or recorder.status is None:
            raise
        kept = f"the recording is kept: ptycassette recover {_journal(recorder)}"
        _say(f"ptycassette: saving was stopped; {kept}")
        return shell_status(recorder.status), False
    except RunFailedError as exc:
        exc.hint = exc.hint or f"what was recorded: {_shown(recorder)}.diagnostic"
        raise
    finally:
        if isinstance(recorder.plan.progress, SavingLine):
            recorder.plan.progress.close()
    if not quiet and (given["streams"] is None or os.isatty(2)):
        _say(_summary(recorder, ended))
        missing = (ended.manifest.optional or {}).get("binary_version_missing")
        if missing is not None:
            _say(f"ptycassette: its version is not in the manifest: {missing}")
    if ended.signal is not None:
        return 128 + ended.signal, True
    return shell_status(ended.status), True


def say_of_tape(recorder: Recorder, status: int, given: dict[str, Any]) -> int:
    """Report on the tape; returns the exit status, which is another one if something is wrong."""
    lines, own_status = tape_lines(
        recorder.target, tuple(recorder.reports), insists=given["retries"] is not None
    )
    for line in lines if not given["quiet"] else ():
        _say(f"ptycassette: {line}")
    return status if own_status is None else own_status


def _say(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        click.echo(line, err=True)


def _shown(recorder: Recorder) -> str:
    from ptycassette.model import visible

    path = recorder.target
    with suppress(ValueError):
        path = path.relative_to(path.cwd())
    return visible(str(path))


def _journal(recorder: Recorder) -> str:
    from ptycassette.model import visible

    return visible(str(recorder.journal.path))


def _summary(recorder: Recorder, ended: RecordingEnded) -> str:
    from ptycassette.cli._present import time_text

    scrubbed = "" if recorder.plan.scrub else ", NOT scrubbed"
    return f"ptycassette: saved {_shown(recorder)} ({time_text(ended.duration_us)}{scrubbed})"
