"""``ptycassette rec CASSETTE [-- ARGV...]``: record a program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._options import TIME
from ptycassette.cli._rec_emulator import emulator_options
from ptycassette.cli._rec_evidence import evidence
from ptycassette.cli._rec_plan import (
    argv_of,
    base_environment,
    fill_from_project,
    kinds_of,
    plan_of,
    profile_of,
    secret_key_of,
    steps_of,
    submitted_as,
)
from ptycassette.cli._rec_run import run_recorder, say_of_tape
from ptycassette.cli._rec_tape import tape_options
from ptycassette.cli.rec_name import RecCommand, generated_names
from ptycassette.terminal import POLICY_NAMES

if TYPE_CHECKING:
    import socket

    from ptycassette.recording.io import Lifeline, RecordPlan, Saver


@click.command("rec", cls=RecCommand)
@click.argument("cassette", metavar="[CASSETTE]", type=click.Path(), required=False)
@click.argument("argv", metavar="[-- ARGV...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-c",
    "--command",
    "line",
    metavar="LINE",
    help="Instead of ARGV: one string, split as a shell would, run without one.",
)
@click.option("-t", "--title", help="Title of the cassette.")
@click.option(
    "-i",
    "--idle-limit",
    "--idle-time-limit",
    type=TIME,
    metavar="TIME",
    help="Suggest to players to shorten longer pauses.",
)
@click.option(
    "--size",
    "--window-size",
    metavar="COLSxROWS",
    help="Size of the program's terminal; else your terminal's, or 80x24.",
)
@click.option("--cols", type=click.IntRange(1, 65535), help="Only the number of columns.")
@click.option("--rows", type=click.IntRange(1, 65535), help="Only the number of rows.")
@click.option(
    "-e",
    "--env",
    "env",
    metavar="NAME=VALUE",
    multiple=True,
    help="Add to the program's environment; secrets among the values are scrubbed.",
)
@click.option(
    "--clean-env", is_flag=True, help="Give the program only what it needs from your environment."
)
@click.option(
    "--scenario",
    metavar="FILE",
    type=click.Path(),
    help="Record in the environment that a scenario asks for (docs/scenarios.md).",
)
@click.option("--cwd", type=click.Path(file_okay=False), help="Where the program starts.")
@click.option(
    "--timeout",
    type=TIME,
    metavar="TIME",
    help="End the program after this long; the run is a failed one then.",
)
@click.option(
    "--headless", is_flag=True, help="Without your terminal: output is shown, nothing is asked."
)
@click.option(
    "--pipes",
    is_flag=True,
    help="Without a terminal: the program's stdin, stdout and stderr are pipes, or the files that"
    " are given.",
)
@click.option(
    "--as-given",
    is_flag=True,
    help="The program's stdin, stdout and stderr are what this command has: terminal, pipe, file.",
)
@click.option(
    "--input",
    "script",
    metavar="SCRIPT",
    type=click.Path(),
    help="What to type and wait for, one step a line (docs/recording.md); implies --headless.",
)
@click.option(
    "--pass-signals",
    is_flag=True,
    help="Pass signals on to the program and record them; without it, those that would end a"
    " program end the recording.",
)
@click.option(
    "--secret-key",
    metavar="KEY",
    help="A key (ctrl-], f12) that the program does not get: what you type after it, up to Enter,"
    " is secret. In your terminal only.",
)
@click.option(
    "--hooks",
    metavar="FILE",
    type=click.Path(),
    help="A Python file, which is run: its before_record(event) sees each event before it is kept.",
)
@click.option("--overwrite", is_flag=True, help="Replace the cassette that is there.")
@click.option("--id", "cassette_id", metavar="UUID", help="Id of the cassette; else a random one.")
@click.option(
    "--require",
    metavar="COMMAND",
    multiple=True,
    help="Must succeed before anything starts, e.g. a login check.",
)
@click.option(
    "--harness",
    metavar="NAME",
    help="What the program is called as a product; a known one (docs/harnesses.md) is also"
    " started by its name and has its session log read. A name that looks like a mistyped known"
    " one is refused.",
)
@tape_options
@click.option(
    "--account", metavar="NAME", help="Which account it uses: only one recording of it at a time."
)
@click.option("--account-class", metavar="CLASS", help="What kind of account, for the manifest.")
@click.option(
    "--freshness",
    metavar="TIME",
    help="For how long the recording is to be trusted, for the manifest (24h).",
)
@click.option(
    "--permission-mode",
    metavar="MODE",
    help="How the program was allowed to act, for the manifest.",
)
@click.option(
    "--probe-version/--no-probe-version",
    default=None,
    help="Find the program's version (default: for known agent CLIs).",
)
@click.option(
    "--meta",
    metavar="KEY=VALUE",
    multiple=True,
    help="Kept in the manifest; VALUE is JSON or a string.",
)
@click.option(
    "--service-event",
    "notes",
    metavar="JSON",
    multiple=True,
    help="Put a service event at the start of the record.",
)
@click.option(
    "--frame-policy",
    type=click.Choice(POLICY_NAMES),
    default=POLICY_NAMES[0],
    show_default=True,
    help="When screens are kept as frames.",
)
@emulator_options
@click.option(
    "--resolution-ms",
    type=click.IntRange(1, 60_000),
    default=1,
    show_default=True,
    help="What the milliseconds are floored to.",
)
@click.option(
    "--durability",
    type=click.Choice(["os", "disk"]),
    default="os",
    show_default=True,
    help="os survives a crash of ptycassette, disk also one of the machine.",
)
@click.option(
    "--no-scrub",
    is_flag=True,
    help="Keep secrets. Readers refuse such a cassette by default.",
)
@click.option(
    "--lifeline",
    type=click.IntRange(3),
    metavar="FD",
    help="For programs that start this one: the reading end of a pipe. A byte ends the program;"
    " the end of the pipe does too, and nothing is published.",
)
@click.option(
    "--keep-journal",
    is_flag=True,
    help="With --lifeline: keep the journal; the owner of the pipe deletes it.",
)
@click.option(
    "-q", "--quiet", is_flag=True, help="Say nothing; with --headless also do not show the output."
)
def command(cassette: str | None, argv: tuple[str, ...], **given: Any) -> int:
    """Record a program into CASSETTE, a new directory.

    Without CASSETTE the directory is called after the program and the time, such
    as bash-20261123-184502.cassette; the `--` is needed then. Without ARGV it
    records your shell; exit the shell to stop. Options of ptycassette come
    before CASSETTE or the `--`. Ends with the status of the
    program: its own, or 128 and the number of the signal; 125, 126 or 127 when
    ptycassette itself failed, 6 when it refused to start.

    Example: ptycassette rec hello.cassette -- bash -c 'echo hello'

    Example: ptycassette rec -- htop

    Example: ptycassette rec --input steps.txt claude.cassette -- claude

    Example: ptycassette rec --tape --harness codex codex.cassette -- codex exec 'say hi'
    """
    from ptycassette.recording.io import Recorder
    from ptycassette.system.pty import block_waited_signals

    block_waited_signals()  # before there are threads
    fill_from_project(given)
    steps = steps_of(given["script"])
    given["streams"] = kinds_of(given)
    interactive = not given["headless"] and steps is None and _on_terminal()
    program = next(iter(argv or (given["line"] or "").split()), None)
    profile = profile_of(given["harness"], program=program)
    words = argv_of(argv, given["line"], profile)
    steps = submitted_as(steps, profile, words[0])
    secret_key_of(given["secret_key"])  # complain before anything happens
    names = iter([cassette]) if cassette else _names_for(words, given)
    with base_environment(given["scenario"]) as base_env:
        plan = plan_of(given, interactive=interactive, profile=profile, base_env=base_env)
        recorder = Recorder(
            words,
            next(names),
            plan,
            saver=_saver(plan),
            lifeline=_lifeline(given),
            other_targets=None if cassette else names,
        )
        with evidence(given["evidence"], lambda: recorder.target) as reviewed:
            status, saved = run_recorder(recorder, steps, interactive=interactive, given=given)
            reviewed.saved = saved
        return say_of_tape(recorder, status, given) if saved and plan.tape is not None else status


def _names_for(words: tuple[str, ...], given: dict[str, Any]) -> Iterator[str]:
    if given["overwrite"]:
        raise click.UsageError("--overwrite needs the name of the cassette to replace")
    from ptycassette.system.files import current_dir

    return generated_names(words, datetime.now().astimezone(), at=current_dir())


def _lifeline(given: dict[str, Any]) -> Lifeline | None:
    if given["lifeline"] is None:
        return None
    from ptycassette.recording.io import Lifeline

    try:
        return Lifeline(given["lifeline"], keeps_journal=given["keep_journal"])
    except OSError as exc:
        raise click.UsageError(f"--lifeline {given['lifeline']}: {exc.strerror}") from exc


def _saver(plan: RecordPlan) -> Saver | None:
    """A fork of this process, made before it opens files or starts threads."""
    import gc
    import threading

    from ptycassette.recording.io import ForkedSaver, StartedSaver, savers_wanted

    if not savers_wanted():
        return None
    if threading.active_count() > 1:  # somebody's process, and ``main`` a function in it
        return StartedSaver() if plan.before_record is None else None

    def serve(control: socket.socket) -> None:
        from ptycassette.recording.io import Finaliser, release_streams, serve_saver

        if plan.streams is not None:
            release_streams()

        def finaliser(known: tuple[str, ...]) -> Finaliser:
            return Finaliser(
                emulator=plan.emulator,
                scrubber=plan.scrubber,
                known=known,
                before_record=plan.before_record,
            )

        serve_saver(control, finaliser)

    gc.freeze()  # modules stay; looking at them would copy their memory for both processes
    return ForkedSaver(serve)


def _on_terminal() -> bool:
    return os.isatty(0) and os.isatty(1)
