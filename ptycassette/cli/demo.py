"""``ptycassette demo``: record, verify and replay a small program, as a tour."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import json_option
from ptycassette.cli._present import json_text, write_lines
from ptycassette.errors import ExistsError
from ptycassette.model.visible_text import visible
from ptycassette.system.files.abandoned import temporary_folder

if TYPE_CHECKING:
    from ptycassette.cli._reports import DemoReport
    from ptycassette.cli._tour import DemoStep

FAILED_STATUS = 1
_SGR = re.compile("\x1b\\[[0-9;]*m")


@click.command("demo")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the cassette to the new directory DIR and keep it.",
)
@json_option
def command(keep: Path | None, as_json: bool) -> int:
    """Record a small interactive program, verify the cassette, and replay it.

    It needs only Python. Without --keep it leaves nothing behind. Ends with 1 if a
    step fails.

    Example: ptycassette demo --keep hello.cassette
    """
    if keep is not None and (keep.exists() or keep.is_symlink()):
        raise ExistsError("exists already", where=str(keep), hint="give a new directory")
    with temporary_folder() as folder:
        target = keep if keep is not None else folder / "hello.cassette"
        steps = _run(target, quiet=as_json)
        ok = all(step.ok for step in steps)
        if as_json:
            write_lines([json_text(_report(target, steps, ok=ok, kept=keep))])
        else:
            write_lines(_ending(target, ok=ok, kept=keep))
    return 0 if ok else FAILED_STATUS


def _run(target: Path, *, quiet: bool) -> list[DemoStep]:
    """Run the tour; print each step before and after it."""
    from ptycassette.cli._tour import tour

    number = 0

    def begin(what: str) -> None:
        nonlocal number
        number += 1
        if not quiet:
            write_lines([f"{number}. {what}"])

    steps = []
    for step in tour(target, begin=begin):
        steps.append(step)
        if not quiet:
            write_lines([f"   {'ok  ' if step.ok else 'FAIL'}  {visible(step.detail)}"])
    return steps


def _ending(target: Path, *, ok: bool, kept: Path | None) -> Iterator[str]:
    """The last screen in a frame, the files, and what to type next."""
    from ptycassette.cli._tour import last_screen
    from ptycassette.replaying.paint import ansi_lines

    screen = last_screen(target)
    if screen is not None:
        colors = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        rows = list(ansi_lines(screen))
        while rows and not rows[-1]:
            rows.pop()
        yield ""
        yield "The last screen of the recording:"
        yield from (f"  | {row if colors else _SGR.sub('', row)}".rstrip() for row in rows)
    yield ""
    sizes = ", ".join(f"{path.name} {path.stat().st_size} B" for path in sorted(target.iterdir()))
    yield f"The cassette: {sizes}"
    if kept is not None:
        name = shlex.quote(str(kept))
        then = [f"{verb} {name}" for verb in ("play", "info", "events")]
    else:
        then = ["rec hello.cassette -- echo hello", "play hello.cassette"]
    us = _as_typed()
    yield "Next, with a program of yours in place of echo:" if kept is None else "Next:"
    yield from (f"  {us} {words}" for words in then)
    yield "Everything holds." if ok else "Something does not hold, see FAIL above."


def _as_typed() -> str:
    """What somebody in the current folder types to start this ptycassette."""
    ours = Path(sys.executable).with_name("ptycassette")
    found = shutil.which("ptycassette")
    if found is not None and ours.exists() and Path(found).samefile(ours):
        return "ptycassette"
    if not ours.exists():
        return f"{shlex.quote(sys.executable)} -m ptycassette"
    with suppress(ValueError, OSError):
        ours = ours.relative_to(Path.cwd())
    return shlex.quote(str(ours))


def _report(target: Path, steps: list[DemoStep], *, ok: bool, kept: Path | None) -> DemoReport:
    from ptycassette.cassette.io.reader import open_cassette
    from ptycassette.cli._reports import Check, DemoReport, StreamCounts
    from ptycassette.cli._tour import DEMO_ARGV

    with open_cassette(target) as cassette:
        found = cassette.verify()
    return DemoReport(
        ok=ok,
        program=DEMO_ARGV,
        steps=tuple(
            Check(name=step.name, status="ok" if step.ok else "fail", detail=step.detail)
            for step in steps
        ),
        streams=StreamCounts(
            inputs=found.inputs,
            outputs=found.outputs,
            frames=found.frames,
            service_events=found.service_events,
            output_bytes=found.output_bytes,
        ),
        kept=None if kept is None else str(kept),
    )
