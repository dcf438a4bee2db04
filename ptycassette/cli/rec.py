"""``ptycassette rec CASSETTE [-- ARGV...]``: record a program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ptycassette.cli._options import SIZE, TIME, TextType
from ptycassette.cli._rec_evidence import evidence
from ptycassette.cli._rec_plan import (
    RecArguments,
    argv_of,
    base_environment,
    emulator_options,
    kinds_of,
    profile_of,
    run_recorder,
    say_of_tape,
    secret_key_of,
    sized_by_project,
    spec_of,
    steps_of,
    submitted_as,
    tape_options,
)
from ptycassette.cli.rec_name import RecCommand, generated_names
from ptycassette.terminal.policies import POLICY_NAMES

if TYPE_CHECKING:
    import socket

    from ptycassette.recording.io.options import RunSpec
    from ptycassette.recording.io.recorder import Lifeline
    from ptycassette.recording.io.saver import Saver


SECTIONS = {
    "Options": (
        "--headless", "--input", "--pipes", "--size", "--env", "--cwd", "--timeout", "--harness",
        "--tape", "--overwrite", "--help",
    ),
    "The program (docs/recording.md)": (
        "--command", "--clean-env", "--scenario", "--require", "--account", "--probe-version",
    ),
    "Input, streams and signals (docs/recording.md)": (
        "--as-given", "--pass-signals", "--secret-key",
    ),
    "Terminal and screens (docs/screens.md)": (
        "--cols", "--rows", "--answers", "--emulator", "--frame-policy", "--resolution-ms",
    ),
    "Scrubbing (docs/scrubbing.md)": ("--no-scrub", "--hooks"),
    "Model traffic, with --tape (docs/tape.md)": (
        "--provider", "--proxy-env", "--yes", "--approval", "--max-requests", "--max-tokens",
        "--max-usd", "--unknown-models", "--forbid", "--strip", "--unsearched", "--retries",
        "--answer-timeout", "--fallback", "--evidence",
    ),
    "What the cassette holds besides": (
        "--title", "--idle-time-limit", "--id", "--meta", "--service-event", "--account-class",
        "--freshness", "--permission-mode",
    ),
    "For scripts and programs that start ptycassette": (
        "--quiet", "--durability", "--lifeline", "--keep-journal", "--publish-alone",
    ),
}  # fmt: skip
"""The sections of the help; the first one has the options that people use first."""


@click.command("rec", cls=RecCommand, sections=SECTIONS)
@click.argument("cassette", metavar="[CASSETTE]", type=click.Path(), required=False)
@click.argument("argv", metavar="[-- ARGV...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-c",
    "--command",
    "line",
    metavar="LINE",
    help="Run LINE instead of ARGV; it is split like a shell command, but no shell runs it.",
)
@click.option("-t", "--title", help="Set the title of the cassette.")
@click.option(
    "-i",
    "--idle-limit",
    "--idle-time-limit",
    type=TIME,
    metavar="TIME",
    help="Let players shorten longer pauses to TIME; the recording keeps them.",
)
@click.option(
    "--size",
    "--window-size",
    type=SIZE,
    metavar="COLSxROWS",
    help="Set the size of the program's terminal. Default: that of your terminal, or 80x24.",
)
@click.option(
    "--cols", metavar="N", type=click.IntRange(1, 65535), help="Set only the number of columns."
)
@click.option(
    "--rows", metavar="N", type=click.IntRange(1, 65535), help="Set only the number of rows."
)
@click.option(
    "-e",
    "--env",
    "env",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a variable in the program's environment; secret values are scrubbed. Repeatable.",
)
@click.option(
    "--clean-env",
    is_flag=True,
    help="Pass the program only the variables it needs from your environment.",
)
@click.option(
    "--scenario",
    metavar="FILE",
    type=click.Path(),
    help="Use the environment that this scenario asks for (docs/scenarios.md).",
)
@click.option(
    "--cwd", type=click.Path(file_okay=False), help="Start the program in this directory."
)
@click.option(
    "--timeout",
    type=TIME,
    metavar="TIME",
    help="End the program after TIME; the run then counts as failed.",
)
@click.option(
    "--headless",
    is_flag=True,
    help="Record without your terminal: show the output, take no input from you.",
)
@click.option(
    "--pipes",
    is_flag=True,
    help="Give the program pipes, or the redirected files, instead of a terminal.",
)
@click.option(
    "--as-given",
    is_flag=True,
    help="Give the program each of stdin, stdout and stderr as this command has it: terminal, pipe"
    " or file.",
)
@click.option(
    "--input",
    "script",
    metavar="SCRIPT",
    type=click.Path(),
    help="Type and wait by SCRIPT, one step per line (docs/recording.md); implies --headless.",
)
@click.option(
    "--pass-signals",
    is_flag=True,
    help="Pass signals on to the program and record them. Default: those that would end a"
    " program end the recording.",
)
@click.option(
    "--secret-key",
    metavar="KEY",
    help="Press KEY (ctrl-], f12) in your terminal to make the input up to Enter secret; the"
    " program does not get KEY.",
)
@click.option(
    "--hooks",
    metavar="FILE",
    type=click.Path(),
    help="Run this Python file; its before_record(event) gets each event before it is stored.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing cassette.")
@click.option(
    "--id", "cassette_id", metavar="UUID", help="Set the id of the cassette. Default: a random one."
)
@click.option(
    "--require",
    metavar="COMMAND",
    multiple=True,
    help="Start only if COMMAND succeeds, for example a login check. Repeatable.",
)
@click.option(
    "--harness",
    metavar="NAME",
    help="Record the program as the agent CLI NAME (docs/harnesses.md): read its session log, and"
    " start it if ARGV is missing. A mistyped name is refused.",
)
@tape_options
@click.option(
    "--account",
    metavar="NAME",
    help="Lock the account NAME, so that only one recording at a time uses it.",
)
@click.option(
    "--account-class", metavar="CLASS", help="Store this kind of account in the manifest."
)
@click.option(
    "--freshness",
    metavar="TIME",
    type=TextType("time", "window_text"),
    help="Store in the manifest how long the recording stays fresh (90m, 24h, 7d).",
)
@click.option(
    "--permission-mode",
    metavar="MODE",
    help="Store the program's permission mode in the manifest.",
)
@click.option(
    "--probe-version/--no-probe-version",
    default=None,
    help="Find the program's version, or do not. Default: for known agent CLIs.",
)
@click.option(
    "--meta",
    metavar="KEY=VALUE",
    multiple=True,
    help="Store VALUE, JSON or a text, in the manifest. Repeatable.",
)
@click.option(
    "--service-event",
    "notes",
    metavar="JSON",
    multiple=True,
    help="Add a service event at the start of the recording. Repeatable.",
)
@click.option(
    "--frame-policy",
    type=click.Choice(POLICY_NAMES),
    default=POLICY_NAMES[0],
    show_default=True,
    help="Store frames at these moments (docs/screens.md).",
)
@emulator_options
@click.option(
    "--resolution-ms",
    type=click.IntRange(1, 60_000),
    metavar="N",
    default=1,
    show_default=True,
    help="Round times down to this many milliseconds.",
)
@click.option(
    "--durability",
    type=click.Choice(["os", "disk"]),
    default="os",
    show_default=True,
    help="Keep the journal through a crash of ptycassette (os), or also of the machine (disk).",
)
@click.option(
    "--no-scrub",
    is_flag=True,
    help="Do not remove secrets. Readers refuse such a cassette by default.",
)
@click.option(
    "--lifeline",
    type=click.IntRange(3),
    metavar="FD",
    help="Watch the reading end of a pipe: a byte ends the program; the end of the pipe also"
    " discards the recording.",
)
@click.option(
    "--keep-journal",
    is_flag=True,
    help="With --lifeline: keep the journal; the owner of the pipe deletes it.",
)
@click.option(
    "--publish-alone",
    is_flag=True,
    help="With --keep-journal: if the owner is gone when the recording is saved, move it into the"
    " library.",
)
@click.option(
    "-q", "--quiet", is_flag=True, help="Print no messages; with --headless, hide the output too."
)
def command(cassette: str | None, argv: tuple[str, ...], **options: Any) -> int:
    """Record a program into CASSETTE, a new directory.

    Without CASSETTE the directory gets the name of the program and the time, such
    as bash-20261123-184502.cassette; write the `--` then. Without ARGV it
    records your shell; exit the shell to stop. Options of ptycassette come
    before CASSETTE or the `--`.

    Ends with the status of the program, or 128 and the number of the signal that
    ended it; with 125, 126 or 127 if ptycassette itself failed, with 6 if it
    refused to start.

    Example: ptycassette rec hello.cassette -- bash -c 'echo hello'

    Example: ptycassette rec -- htop

    Example: ptycassette rec --input steps.txt claude.cassette -- claude

    Example: ptycassette rec --tape --harness codex codex.cassette -- codex exec 'say hi'
    """
    from ptycassette.recording.io.recorder import Recorder
    from ptycassette.system.pty.terminal import block_waited_signals

    block_waited_signals()  # before there are threads
    given = sized_by_project(RecArguments(**options))
    steps = steps_of(given.script)
    given = msgspec.structs.replace(given, streams=kinds_of(given))
    interactive = not given.headless and steps is None and _on_terminal()
    program = next(iter(argv or (given.line or "").split()), None)
    profile = profile_of(given.harness, program=program)
    words = argv_of(argv, given.line, profile)
    steps = submitted_as(steps, profile, words[0])
    secret_key_of(given.secret_key)  # complain before anything happens
    names = iter([cassette]) if cassette else _names_for(words, given)
    with base_environment(given.scenario) as base_env:
        plan = spec_of(given, interactive=interactive, profile=profile, base_env=base_env)
        recorder = Recorder(
            words,
            next(names),
            plan,
            saver=_saver(plan),
            lifeline=_lifeline(given),
            other_targets=None if cassette else names,
        )
        with evidence(given.evidence, lambda: recorder.target) as reviewed:
            status, saved = run_recorder(recorder, steps, interactive=interactive, given=given)
            reviewed.saved = saved
        return say_of_tape(recorder, status, given) if saved and plan.tape is not None else status


def _names_for(words: tuple[str, ...], given: RecArguments) -> Iterator[str]:
    if given.overwrite:
        raise click.UsageError("--overwrite needs the name of the cassette to replace")
    from ptycassette.system.files.state_dirs import current_dir

    return generated_names(words, datetime.now().astimezone(), at=current_dir())


def _lifeline(given: RecArguments) -> Lifeline | None:
    if given.lifeline is None:
        return None
    from ptycassette.recording.io.recorder import Lifeline

    try:
        return Lifeline(
            given.lifeline,
            keeps_journal=given.keep_journal,
            publishes=given.publish_alone,
        )
    except OSError as exc:
        raise click.UsageError(f"--lifeline {given.lifeline}: {exc.strerror}") from exc


def _saver(plan: RunSpec) -> Saver | None:
    """A fork of this process, made before it opens files or starts threads."""
    import gc
    import threading

    from ptycassette.recording.io.saver import ForkedSaver, StartedSaver, savers_wanted

    if not savers_wanted():
        return None
    if threading.active_count() > 1:  # a caller's process, and ``main`` a function in it
        return StartedSaver() if plan.before_record is None else None

    def serve(control: socket.socket) -> None:
        from ptycassette.recording.io.finalising import Finaliser
        from ptycassette.recording.io.given_streams import release_streams
        from ptycassette.recording.io.saver_process import serve_saver

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
