"""``ptycassette demo``: record, verify and replay a small program, as a tour."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.cli._options import json_option
from ptycassette.cli._present import json_text, write_lines
from ptycassette.errors import CassetteError, ExistsError
from ptycassette.model.screen import Screen, Size
from ptycassette.model.stored_screen import screen_of
from ptycassette.model.visible_text import visible
from ptycassette.recording.io.recording import Recording, record
from ptycassette.replaying.io.replayer import replay
from ptycassette.system.clock import MonotonicClock, SystemSleeper
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.interpreter import python_command
from ptycassette.terminal.emulator import default_emulator

if TYPE_CHECKING:
    from ptycassette.cli._reports import DemoReport


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
    """The last screen in a frame, the files, and the commands to try next."""
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
    """The command that starts this ptycassette from the current folder."""
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


# The tour: record a real interactive program, then check the cassette.


DEMO_ARGV = tuple(python_command("-q", "-i", "-I"))
SIZE = Size(rows=16, cols=72)
TIMEOUT_S = 30.0
FAST = 0.05
PROMPT = ">>> "
KEY_S = 0.02
"""Between two keys."""


class DemoStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step: what was done, and the result. ``ok`` is whether it succeeded."""

    name: str
    detail: str
    ok: bool


def tour(target: Path, *, begin: Callable[[str], None]) -> Iterator[DemoStep]:
    """Record into ``target``, verify, replay, compare; yields each step.

    Args:
        target: the directory to publish; must not exist.
        begin: called with each step before it is done.

    Raises:
        CassetteError: the program could not be recorded at all.
    """
    # Its prefix is that of a provider, the rest is random: no such token exists.
    token = "ghp_" + secrets.token_hex(18)
    begin(f"record this Python, an interactive program, in a {SIZE} PTY")
    with record(
        DEMO_ARGV,
        target,
        size=SIZE,
        title="ptycassette demo",
        known=[token],
        # Python 3.13 and newer: the plain prompt in any terminal.
        env={"PYTHON_BASIC_REPL": "1", "PYTHON_COLORS": "0"},
        probe_version=False,
    ) as session:
        driven = _drive(session, token)
    yield driven
    begin("verify: order, times, and the digest of every file")
    yield _verified(target)
    begin("look for the token in every file")
    yield _searched(target, token)
    with open_cassette(target) as cassette:
        begin("replay without waiting, and compare byte for byte")
        yield _replayed(cassette)
        begin(f"replay {1 / FAST:.0f} times as fast")
        yield _replayed_in_time(cassette)


def _drive(session: Recording, token: str) -> DemoStep:
    """Type as a person would, and wait for screens, never for time."""
    _wait_for_prompt(session, below=-1)
    lines = (
        "6 * 7",
        r"print('\x1b[1;32mgreen\x1b[0m, \x1b[7mreversed\x1b[0m, caf\xe9')",
        f"token = '{token}'",
        "len(token)",
    )
    for line in lines:
        row = session.screen().cursor.row
        _type(session, line)
        session.send_key("enter")
        _wait_for_prompt(session, below=row)
    session.send_key("ctrl-d")
    status = session.wait_exit(timeout_s=TIMEOUT_S)
    return DemoStep(
        name="record",
        detail=f"typed {len(lines)} lines and ctrl-d; it ended with status {status.code}",
        ok=status.exited and status.code == 0,
    )


def _type(session: Recording, line: str) -> None:
    """Type key by key, at a pace that can be watched."""
    sleeper = SystemSleeper()
    for key in line:
        session.type(key)
        sleeper.sleep(KEY_S)


def _wait_for_prompt(session: Recording, *, below: int) -> None:
    def there(screen: Screen) -> bool:
        at = screen.cursor
        return at.row > below and screen.rows[at.row] == PROMPT.rstrip() and at.col == len(PROMPT)

    session.wait_for_predicate(there, what="the prompt", timeout_s=TIMEOUT_S)


def _verified(target: Path) -> DemoStep:
    verdict = verify_cassette(str(target), emulator=default_emulator)
    if verdict.error is not None or verdict.verified is None:
        return DemoStep(name="verify", detail=str(verdict.error), ok=False)
    found = verdict.verified
    differ = f"; {verdict.mismatch_count} differences" if verdict.mismatch_count else ""
    return DemoStep(
        name="verify",
        detail=f"valid: {found.outputs} chunks of output, {found.inputs} inputs, "
        f"{found.frames} screens, all made again from the bytes{differ}",
        ok=verdict.ok,
    )


def _searched(target: Path, token: str) -> DemoStep:
    """Search every file, and the typed input, where each key is a separate record."""
    files = sorted(target.iterdir())
    leaks = [path.name for path in files if token.encode() in path.read_bytes()]
    with open_cassette(target) as cassette:
        typed = b"".join(record.bytes or b"" for record in cassette.inputs())
    if token.encode() in typed:
        leaks.append("the keys typed")
    return DemoStep(
        name="secrets",
        detail=f"found in {', '.join(leaks)}"
        if leaks
        else f"in none of the {len(files)} files, nor in the keys joined",
        ok=not leaks,
    )


def _replayed(cassette: Cassette) -> DemoStep:
    events = list(replay(cassette, mode="collapsed"))
    same = b"".join(event.data for event in events if event.kind == "output") == b"".join(
        cassette.raw()
    )
    in_order = [event.seq for event in events] == list(range(1, len(events) + 1))
    return DemoStep(
        name="replay",
        detail=f"{len(events)} events in order, the output is "
        + ("the same byte for byte" if same else "NOT the same"),
        ok=same and in_order,
    )


def _replayed_in_time(cassette: Cassette) -> DemoStep:
    clock = MonotonicClock()
    started_us = clock.now_us()
    count = sum(1 for _ in replay(cassette, mode="scaled", scale=FAST))
    recorded_s = cassette.final.duration_ms / 1000
    took_s = (clock.now_us() - started_us) / 1_000_000
    return DemoStep(
        name="replay in time",
        detail=f"{recorded_s:.3f} s of recording took {took_s:.3f} s, {count} events",
        ok=count == cassette.final.seq and took_s >= recorded_s * FAST * 0.9,
    )


def last_screen(target: Path) -> Screen | None:
    """The last stored frame as a screen; None without frames."""
    try:
        with open_cassette(target, check="manifest") as cassette:
            frame = None
            for frame in cassette.frames():  # noqa: B007 - the last one is wanted
                pass
    except CassetteError:
        return None
    return None if frame is None else screen_of(frame)
