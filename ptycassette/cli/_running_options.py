"""Options and reports of `rerun`, `fork` and `blame` for running the real program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ptycassette.cli._options import TIME, pairs_of

if TYPE_CHECKING:
    from ptycassette.agents.rerun.io.options import RerunOptions
    from ptycassette.model.records import Manifest


# A command whose words after ``--`` are another program's.


_PROGRAM = f"{__name__}.argv"


class CommandWithProgram(click.Command):
    """A command that keeps those words apart; ``program_words`` has them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep those words in ``ctx.meta``."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_PROGRAM] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


def program_words() -> tuple[str, ...]:
    """The words after ``--`` of the running command."""
    words: tuple[str, ...] = click.get_current_context().meta[_PROGRAM]
    return words


def is_of_code(manifest: Manifest) -> bool:
    """Whether a cassette comes from ``use_tape``, and so has no program."""
    return "in_process" in (manifest.optional or {})


_Command = TypeVar("_Command", bound=Callable[..., object])
_Run = TypeVar("_Run", bound="RerunOptions")
_CWD = click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Work in this folder. Default: an empty one in the temporary home.",
)
_OPTIONS = (
    click.option(
        "--trust",
        is_flag=True,
        help="Run the recorded command: you trust the author of the recording.",
    ),
    click.option(
        "--harness",
        metavar="NAME",
        help="Use the profile NAME of an agent CLI. Default: the recorded harness.",
    ),
    click.option(
        "--mode",
        metavar="NAME",
        help="Sign the CLI in by this mode of its profile: key (default), logged-out, ...",
    ),
    click.option(
        "--model",
        metavar="NAME",
        help="Configure the CLI with the model NAME. Default: the model that was asked most often.",
    ),
    click.option(
        "--copy",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Copy this folder into the temporary home and work in the copy.",
    ),
    click.option(
        "--root",
        type=click.Path(file_okay=False, path_type=Path),
        help="Make the temporary home in this folder. Default: the cache folder.",
    ),
    click.option(
        "-e",
        "--env",
        multiple=True,
        metavar="NAME=VALUE",
        help="Set a variable in the program's environment. Repeatable.",
    ),
    click.option(
        "--normalise",
        multiple=True,
        metavar="NAME",
        help="Ignore this when screens are compared: clock, number, path, ... (docs/scenarios.md).",
    ),
    click.option(
        "--patience",
        type=TIME,
        default=20.0,
        show_default=True,
        help="Wait this long, beyond twice the recorded time, for a screen and for the end.",
    ),
)


def copied_program_options(command: _Command) -> _Command:
    """Add them to a command that runs the program several times, each in a copy of a folder."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def program_options(command: _Command) -> _Command:
    """Add the options of a command that runs the program once, in the folder of ``--cwd``."""
    return _CWD(copied_program_options(command))


def run_options(kind: Callable[..., _Run], given: dict[str, Any], **more: Any) -> _Run:
    """The values of these options, with those of a single command.

    Args:
        kind: ``RerunOptions``, or ``ForkOptions``, which has the same fields and more.
        given: the values, by the names of their parameters.
        **more: the fields of a single command.

    Raises:
        click.UsageError: they do not go together.
    """
    from ptycassette.agents.rerun.screens import VOLATILE

    cwd: Path | None = given.get("cwd")
    if cwd and given["copy"]:
        raise click.UsageError("--cwd works in a folder, --copy in a copy of one: not both")
    return kind(
        trusted=given["trust"],
        argv=program_words(),
        harness=given["harness"],
        mode=given["mode"],
        model=given["model"] or "",
        cwd=cwd and cwd.resolve(),
        copied=given["copy"] and given["copy"].resolve(),
        root=given["root"] and given["root"].resolve(),
        environment=pairs_of(given["env"], option="--env"),
        normalise=(*VOLATILE, *given["normalise"]),
        patience_s=given["patience"],
        **more,
    )
