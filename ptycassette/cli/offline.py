"""``ptycassette offline HARNESS [-- ARGV...]``: run an agent CLI against a scripted provider."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._options import pairs_of, path_option, script_options
from ptycassette.extras import needing_extra
from ptycassette.model.visible_text import printable

if TYPE_CHECKING:
    from ptycassette.agents.harness.io.offline import OfflineRun
    from ptycassette.profiles.profile import Profile

PROBLEMS_STATUS = 1


@click.command("offline")
@click.argument("harness")
@click.argument("argv", metavar="[-- ARGV...]", nargs=-1, type=click.UNPROCESSED)
@path_option(
    "-s",
    "--script",
    metavar="FILE",
    text="Answer from this script (docs/fake-provider.md). Default: an example for HARNESS.",
)
@click.option(
    "-p",
    "--prompt",
    metavar="TEXT",
    help="Run one prompt without the terminal interface, instead of ARGV.",
)
@click.option(
    "--mode",
    metavar="NAME",
    help="Sign the CLI in by this mode of its profile: key (default), logged-out, ...",
)
@click.option("--model", metavar="NAME", help="Configure the CLI with the model NAME.")
@script_options
@click.option(
    "-e",
    "--env",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Set a variable in the program's environment; NAME alone passes your own value."
    " Repeatable.",
)
@click.option("--empty", is_flag=True, help="Run in an empty folder, not in this one.")
@click.option("--keep", is_flag=True, help="Keep the temporary home when the program has ended.")
@click.option(
    "--strict",
    is_flag=True,
    help="End with 1 if the provider got a request that it did not expect.",
)
@click.option("--print", "prints", is_flag=True, help="Print files and variables; run nothing.")
@click.option("--example", is_flag=True, help="Print the example script for HARNESS; run nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Report nothing but problems.")
def command(harness: str, argv: tuple[str, ...], **given: Any) -> int:
    """Run the agent CLI HARNESS without network, account or money.

    The CLI gets a temporary home with the configuration it needs, a small
    environment, and a provider on 127.0.0.1 that answers from a script. Without
    ARGV its terminal interface starts; ARGV may be any command that starts the CLI,
    such as `ptycassette rec` or a test run. The set-up is reported on stderr. Ends
    with the status of the program.

    Example: ptycassette offline codex -p "What does note.txt say?"

    Example: ptycassette offline codex -- ptycassette rec --harness codex hello -- codex
    """
    from ptycassette.agents.harness.io.files import load_profile

    profile = load_profile(harness)
    mode = given["mode"] or _usual_mode(profile)
    if given["prints"]:
        _print(profile, mode, given["model"] or "")
        return 0
    if given["example"]:
        from ptycassette.agents.harness.example import example_script

        click.echo(example_script(profile), nl=False)
        return 0
    if argv and given["prompt"] is not None:
        raise click.UsageError("give ARGV or --prompt, not both")
    return _run(profile, mode, argv, given)


def _usual_mode(profile: Profile) -> str:
    return "key" if "key" in profile.modes or not profile.modes else next(iter(profile.modes))


def _run(profile: Profile, mode: str, argv: tuple[str, ...], given: dict[str, Any]) -> int:
    with needing_extra("provider"):
        from ptycassette.agents.harness.io.foreground import run_in_foreground
        from ptycassette.agents.harness.io.offline import offline_run
    from ptycassette.recording.session.base import child_environment
    from ptycassette.system.files.state_dirs import current_dir, state_dir
    from ptycassette.tape.io.running_proxy import PROVIDER_VARIABLE

    added = pairs_of(given["env"], option="--env", own=os.environ)
    with offline_run(
        profile,
        given["script"],
        mode=mode,
        model=given["model"] or "",
        prompt=given["prompt"],
        binary=argv[0] if argv else None,
        cwd=None if given["empty"] else current_dir(),
        variables=pairs_of(given["settings"], option="--set"),
        port=given["port"],
        log=given["log"],
        keep=given["keep"],
    ) as run:
        if not given["quiet"]:
            _report(run, mode, argv, added=added, keep=given["keep"])
        # Recordings made in it keep their journals in the user's own state directory.
        here = {
            "PTYCASSETTE_STATE_DIR": str(state_dir()),
            PROVIDER_VARIABLE: run.provider.url,  # for their tapes
        }
        status = run_in_foreground(
            run.prepared.instead(argv, profile.binaries),
            env=child_environment(
                clean=True,
                extra={**here, **run.prepared.environment, **added},
                term=os.environ.get("TERM") or profile.terminal.term,
            ),
            cwd=run.cwd,
            held=run.folder.lock,
            ports=(run.provider.port,),
        )
    return _judge(run, status, strict=given["strict"])


def _judge(run: OfflineRun, status: int, *, strict: bool) -> int:
    """Print the provider's problems; the status to end with."""
    problems = run.provider.problems
    for problem in problems:
        click.echo(f"problem: {printable(problem)}", err=True)
    return PROBLEMS_STATUS if problems and strict and status == 0 else status


def _report(
    run: OfflineRun, mode: str, argv: tuple[str, ...], *, added: dict[str, str], keep: bool
) -> None:
    """Print what was set up, to stderr."""
    prepared = run.prepared
    end = "kept" if keep else "removed at the end; --keep keeps it"
    lines = [
        f"{run.profile.title}, mode {mode}; the provider is {run.provider.url}",
        f"home: {run.home} ({end})",
        *(f"wrote: {file.path}" for file in prepared.files),
        f"set: {' '.join(sorted({*prepared.environment, *added}))}",
    ]
    if prepared.mode_arguments and argv == prepared.instead(argv, run.profile.binaries):
        needed = " ".join(prepared.mode_arguments)
        lines.append(f"start {run.profile.binaries[0]} with: {needed}")
    for line in lines:
        click.echo(f"ptycassette: {printable(line)}", err=True)


def _print(profile: Profile, mode: str, model: str) -> None:
    """Print what an offline run sets up, with names for values that are known at its start."""
    from ptycassette.agents.harness.preparing import shown

    run = shown(profile, mode, model=model)
    click.echo(f"# {profile.title}, mode {mode}: {shlex.join(run.argv)}")
    for note in profile.notes:
        click.echo(f"# {note}")
    for name, value in run.environment.items():
        click.echo(f"{name}={value}")
    for file in run.files:
        click.echo(f"\n# ${{{file.base}}}/{file.path}\n{file.text.strip()}")
