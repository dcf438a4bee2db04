"""``ptycassette rec CASSETTE [-- ARGV...]``: record a program."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli.options import TIME
from ptycassette.cli.rec_emulator import chosen_emulator, emulator_options

if TYPE_CHECKING:
    from ptycassette.harness import Profile
    from ptycassette.host.rec_session import Ended
    from ptycassette.host.recorder import Recorder
    from ptycassette.record.input_script import Step

__all__ = ["command"]

BAR_FROM_BYTES = 256 << 10
MAX_SCRIPT_BYTES = 4 << 20


class RecCommand(click.Command):
    """Options may stand anywhere before ``--``; without one, only before CASSETTE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; but what follows CASSETTE may be the program's own options."""
        ctx.allow_interspersed_args = "--" in args
        return super().parse_args(ctx, args)


@click.command("rec", cls=RecCommand)
@click.argument("cassette", metavar="CASSETTE", type=click.Path())
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
    "--input",
    "script",
    metavar="SCRIPT",
    type=click.Path(),
    help="What to type and wait for, one step a line (docs/recording.md); implies --headless.",
)
@click.option(
    "--pass-signals",
    is_flag=True,
    help="Pass SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1 and SIGUSR2 on to the program and record"
    " them; without it the first four end the recording.",
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
    " started by its name and has its session log read.",
)
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
    help="Run `PROGRAM --version` first (default: for known agent CLIs).",
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
    type=click.Choice(["settled", "tick", "chunk", "final"]),
    default="settled",
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
    help="Keep secrets. Readers refuse such a cassette unless told otherwise.",
)
@click.option(
    "-q", "--quiet", is_flag=True, help="Say nothing; with --headless also do not show the output."
)
def command(cassette: str, argv: tuple[str, ...], **given: Any) -> int:
    """Record a program into CASSETTE, a new directory.

    Without ARGV it records your shell; exit the shell to stop. Options of
    ptycassette stand before CASSETTE or the `--`. Ends with the status of the
    program: its own, or 128 and the number of the signal; 125, 126 or 127 when
    ptycassette itself failed, 6 when it refused to start.

    Example: ptycassette rec hello.cassette -- bash -c 'echo hello'

    Example: ptycassette rec --input steps.txt claude.cassette -- claude
    """
    from ptycassette.host.recorder import Recorder

    steps = _steps(given["script"])
    interactive = not given["headless"] and steps is None and _on_terminal()
    profile = _profile(given["harness"])
    words = _argv(argv, given["line"], profile)
    plan = _plan(given, interactive=interactive, profile=profile)
    recorder = Recorder(words, cassette, plan)
    return _run(recorder, steps, interactive=interactive, given=given)


def _run(
    recorder: Recorder, steps: tuple[Step, ...] | None, *, interactive: bool, given: dict[str, Any]
) -> int:
    from ptycassette.errors import RunFailedError
    from ptycassette.host.rec_session import record_headless, record_interactive, shell_status

    quiet = given["quiet"]
    fixed = any(given[name] is not None for name in ("size", "cols", "rows"))
    try:
        if interactive:
            with recorder:
                if not quiet:
                    _say(f"ptycassette: recording to {_shown(recorder)}; exit the program to stop")
                ended = record_interactive(
                    recorder, fixed_size=fixed, passes_signals=given["pass_signals"]
                )
        else:
            in_fd = 0 if steps is None and not sys.stdin.isatty() else None
            ended = record_headless(
                recorder, steps, in_fd=in_fd, passes_signals=given["pass_signals"]
            )
    except RunFailedError as exc:
        exc.hint = exc.hint or f"what was recorded: {_shown(recorder)}.diagnostic"
        raise
    finally:
        if isinstance(recorder.plan.progress, _Bar):
            recorder.plan.progress.close()
    if not quiet:
        _say(_summary(recorder, ended))
    return 128 + ended.signal if ended.signal is not None else shell_status(ended.status)


def _profile(name: str | None) -> Profile | None:
    """What is known of the harness; None when it is only a name."""
    from ptycassette.errors import NotFoundError
    from ptycassette.host.harness_files import load_profile

    if name is None:
        return None
    try:
        return load_profile(name)
    except NotFoundError:
        if "/" in name:  # a file that is not there is no name
            raise
        return None


def _argv(argv: tuple[str, ...], line: str | None, profile: Profile | None) -> tuple[str, ...]:
    if line is not None:
        if argv:
            raise click.UsageError("give ARGV or --command, not both")
        try:
            argv = tuple(shlex.split(line))
        except ValueError as exc:
            raise click.UsageError(f"--command: {exc}") from exc
        if not argv:
            raise click.UsageError("--command is empty")
    if not argv and profile is not None and profile.binaries:
        return (profile.binaries[0], *profile.interactive)
    return argv or (os.environ.get("SHELL") or "/bin/sh",)


def _steps(script: str | None) -> tuple[Step, ...] | None:
    if script is None:
        return None
    from ptycassette.errors import LimitError, UsageError
    from ptycassette.host.plain_file import read_plain
    from ptycassette.record.input_script import parse_script

    try:
        if script == "-":
            text = sys.stdin.read(MAX_SCRIPT_BYTES + 1)
            if len(text) > MAX_SCRIPT_BYTES:
                raise LimitError(f"longer than {MAX_SCRIPT_BYTES} characters", where="stdin")
        else:
            text = read_plain(script, max_bytes=MAX_SCRIPT_BYTES).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise UsageError("the input script is not UTF-8 text", where=script) from exc
    return parse_script(text, name=script)


def _on_terminal() -> bool:
    return os.isatty(0) and os.isatty(1)


def _plan(given: dict[str, Any], *, interactive: bool, profile: Profile | None) -> Any:
    from ptycassette.host.clock import random_id
    from ptycassette.host.harness_record import plain_environment, reader_for
    from ptycassette.host.record_options import RecordPlan

    cassette_id = given["cassette_id"]
    show = None if interactive or given["quiet"] else _show
    return RecordPlan(
        size=_size(given, interactive=interactive),
        cwd=given["cwd"],
        env={
            **({} if profile is None else plain_environment(profile)),
            **dict(_pair(word, "--env") for word in given["env"]),
        },
        clean_env=given["clean_env"],
        term=_term(interactive=interactive),
        timeout_s=given["timeout"],
        overwrite=given["overwrite"],
        title=given["title"],
        harness=given["harness"] if profile is None else profile.name,
        at_end=None if profile is None else reader_for(profile, given["cwd"]),
        account=given["account"],
        account_class=given["account_class"],
        freshness_window=given["freshness"],
        probe_version=given["probe_version"],
        require=given["require"],
        permission_mode=given["permission_mode"],
        meta={name: _value(text) for name, text in (_pair(w, "--meta") for w in given["meta"])},
        notes=[_note(text) for text in given["notes"]],
        frame_policy=given["frame_policy"],
        emulator=chosen_emulator(given),
        resolution_ms=given["resolution_ms"],
        idle_limit_ms=None if given["idle_limit"] is None else round(given["idle_limit"] * 1000),
        durability=given["durability"],
        scrub=not given["no_scrub"],
        id_source=random_id if cassette_id is None else _fixed(cassette_id),
        show=show,
        progress=None if given["quiet"] else _Bar(),
    )


def _fixed(text: str) -> Callable[[], str]:
    import uuid

    try:
        whole = str(uuid.UUID(text))
    except ValueError as exc:
        raise click.UsageError(f"--id: {text!r} is no UUID") from exc
    return lambda: whole


def _size(given: dict[str, Any], *, interactive: bool) -> Any:
    from ptycassette.host.terminal import DEFAULT_SIZE, UserTerminal
    from ptycassette.model import Size
    from ptycassette.record.input_script import parse_size

    size = UserTerminal().size() if interactive else DEFAULT_SIZE
    if given["size"] is not None:
        try:
            size = parse_size(given["size"])
        except ValueError as exc:
            raise click.UsageError(f"--size: {exc}") from exc
    return Size(given["rows"] or size.rows, given["cols"] or size.cols)


def _term(*, interactive: bool) -> str:
    """The user's own terminal type when it is the user's terminal that paints."""
    return (os.environ.get("TERM") if interactive else None) or "xterm-256color"


def _pair(word: str, option: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not name or not equals:
        raise click.UsageError(f"{option} takes NAME=VALUE")
    return name, value


def _value(text: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _note(text: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as exc:
        raise click.UsageError(f"--service-event takes JSON: {exc}") from exc


def _show(data: bytes) -> None:
    """Output on stdout, as it comes."""
    with suppress(OSError):  # a reader of our stdout that went away does not end the recording
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(1, rest) :]


def _say(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        click.echo(line, err=True)


def _shown(recorder: Recorder) -> str:
    from ptycassette.model.visible import visible

    path = recorder.target
    with suppress(ValueError):
        path = path.relative_to(path.cwd())
    return visible(str(path))


def _summary(recorder: Recorder, ended: Ended) -> str:
    from ptycassette.cli.present import time_text

    scrubbed = "" if recorder.plan.scrub else ", NOT scrubbed"
    return f"ptycassette: saved {_shown(recorder)} ({time_text(ended.duration_us)}{scrubbed})"


class _Bar:
    """A progress bar on stderr while a long recording is scrubbed and rendered."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._task: Any = None

    def __call__(self, done: int, total: int) -> None:
        """``done`` of ``total`` bytes are through."""
        if total < BAR_FROM_BYTES or not sys.stderr.isatty():
            return
        if self._progress is None:
            from rich.console import Console
            from rich.progress import Progress

            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task("ptycassette: finalising", total=total)
            self._progress.start()
        self._progress.update(self._task, completed=done)

    def close(self) -> None:
        """Take it away. Idempotent."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
