"""Runs the recorder of ``ptycassette rec``, and says where the recording is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._rec_evidence import tape_lines
from ptycassette.cli._rec_plan import secret_key_of
from ptycassette.cli._saving_line import SavingLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptycassette.recording.input_script import ScriptStep
    from ptycassette.recording.io.rec_session import RecordingEnded
    from ptycassette.recording.io.recorder import Recorder

_MASKED_SHOWN = 10


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
    from ptycassette.recording.io.rec_session import (
        record_headless,
        record_interactive,
        shell_status,
    )

    quiet = given["quiet"]
    fixed = any(given[name] is not None for name in ("size", "cols", "rows"))
    try:
        if given["streams"] is not None:
            from ptycassette.recording.io.stream_session import record_streams  # few have pipes

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
        for line in _summary(recorder, ended):
            _say(f"ptycassette: {line}")
    if ended.signal is not None:
        return 128 + ended.signal, True
    return shell_status(ended.status), True


def say_of_tape(recorder: Recorder, status: int, given: dict[str, Any]) -> int:
    """Report on the tape; returns the exit status, which is another one if something is wrong."""
    lines, own_status = tape_lines(
        recorder.target, tuple(recorder.reports), insists=given["retries"] is not None
    )
    if recorder.cut_off and status:
        lines.append(
            "the program could reach only its provider; --shared-network lets it reach more"
        )
    for line in lines if not given["quiet"] else ():
        _say(f"ptycassette: {line}")
    return status if own_status is None else own_status


def _say(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        click.echo(line, err=True)


def _shown(recorder: Recorder) -> str:
    from ptycassette.model.visible_text import visible

    path = recorder.target
    with suppress(ValueError):
        path = path.relative_to(path.cwd())
    return visible(str(path))


def _journal(recorder: Recorder) -> str:
    from ptycassette.model.visible_text import visible

    return visible(str(recorder.journal.path))


def _masked_lines(recorder: Recorder) -> Iterator[str]:
    """Which inputs were taken for secrets, as another text may be accepted there."""
    with suppress(OSError):
        if b'"masked":true' not in (recorder.target / "input.jsonl").read_bytes():
            return
    from ptycassette.cassette.io.reader import open_cassette
    from ptycassette.timeline.match_entries import read_entries

    with open_cassette(recorder.target, check="manifest", allow_unscrubbed=True) as cassette:
        numbers = [entry.number for entry in read_entries(cassette.inputs()) if entry.masked]
    if numbers:
        secrets, inputs = (
            ("secret was", "input") if len(numbers) == 1 else ("secrets were", "inputs")
        )
        shown = ", ".join(map(str, numbers[:_MASKED_SHOWN]))
        more = ", ..." if len(numbers) > _MASKED_SHOWN else ""
        yield f"{len(numbers)} typed {secrets} masked: {inputs} {shown}{more}"


def _summary(recorder: Recorder, ended: RecordingEnded) -> Iterator[str]:
    """What was saved, what was masked in it, and what is not in it."""
    from ptycassette.cli._present import time_text

    yield from recorder.cautions
    scrubbed = "" if recorder.plan.scrub else ", NOT scrubbed"
    yield f"saved {_shown(recorder)} ({time_text(ended.duration_us)}{scrubbed})"
    yield from _masked_lines(recorder)
    missing = (ended.manifest.optional or {}).get("binary_version_missing")
    if missing is not None:
        yield f"its version is not in the manifest: {missing}"
