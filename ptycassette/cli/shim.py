"""``ptycassette shim``: executables that stand-ins are started by."""

from __future__ import annotations

import click

from ptycassette.cli._options import project
from ptycassette.model.visible_text import visible
from ptycassette.replaying.io.library import forget_starts
from ptycassette.replaying.io.modes import MODE_HELP, mode_named
from ptycassette.replaying.io.shims import ShimConfig, make_shims
from ptycassette.replaying.standin.io.options import parse_settings
from ptycassette.system.files.state_dirs import absolute


@click.command(
    "shim", epilog="Example: ptycassette shim --dir bin --library cassettes claude codex"
)
@click.argument("programs", nargs=-1, required=True, metavar="PROGRAM...")
@click.option(
    "--dir",
    "directory",
    type=click.Path(),
    required=True,
    help="Write the shims into this directory.",
)
@click.option(
    "--library",
    type=click.Path(),
    help="Read cassettes from this directory. Default: the library in the project file.",
)
@click.option("--mode", metavar="MODE", help=f"{MODE_HELP}. PTYCASSETTE_MODE is stronger.")
@click.option("--report", type=click.Path(), default="", help="Write reports to this directory.")
@click.option(
    "--state", type=click.Path(), help="Keep the number of the next session in this directory."
)
@click.option(
    "--hooks",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Run this Python file: before_record(event) and matches(sent, recorded).",
)
@click.option(
    "--option", "options", multiple=True, help="Pass this word to the stand-in. Repeatable."
)
def command(
    programs: tuple[str, ...],
    directory: str,
    library: str | None,
    mode: str | None,
    report: str,
    state: str | None,
    hooks: str | None,
    options: tuple[str, ...],
) -> int:
    """Make an executable for each PROGRAM that plays a cassette of the library.

    Put the directory of the shims first on PATH. In the modes that record, a shim
    records the real program, the next one on PATH. Making shims again starts each
    library at its first session.
    """
    if mode is not None:
        mode_named(mode, where="--mode")
    settings = project()
    shelf = settings.library if library is None else absolute(library)
    if shelf is None:
        raise click.UsageError("--library is missing, and no project file names a library")
    if settings.compare is not None and not any(word.startswith("--match") for word in options):
        options = ("--match", settings.compare, *options)
    parse_settings([*options, "any"]).matching()  # complain now, not in a test
    place = absolute(directory)
    kept = absolute(state) if state else place / ".ptycassette-state"
    config = ShimConfig(
        library=str(shelf),
        state=str(kept),
        mode=mode or settings.mode,
        report=str(absolute(report)) if report else "",
        hooks=str(absolute(hooks)) if hooks else "",
        project=str(settings.where or ""),
        options=options,
    )
    forget_starts(kept)
    for path in make_shims(place, programs, config):
        click.echo(visible(str(path)))
    return 0
