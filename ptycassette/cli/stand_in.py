"""``ptycassette stand-in``: pose as the recorded program. Here is only its help.

The command itself is started by ``ptycassette.cli.main`` before click is loaded.
"""

from __future__ import annotations

import click

from ptycassette.replaying.standin.io.options import STANDIN_OPTIONS
from ptycassette.replaying.standin.io.process import run


class StandInCommand(click.Command):
    """Shows the options of the stand-in, whose parser is its own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line per option of the table."""
        with formatter.section("Options"):
            formatter.write_dl([(f"{o.name} {o.value}".strip(), o.help) for o in STANDIN_OPTIONS])


@click.command(
    "stand-in",
    cls=StandInCommand,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    options_metavar="[OPTIONS]",
    epilog="Example: PTYCASSETTE_REPORT=report.json ptycassette stand-in hello.cassette",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="CASSETTE [-- ARGV...]")
def command(words: tuple[str, ...]) -> int:
    """Pose as the recorded program, in a terminal or over pipes.

    It plays the recorded output, compares the typed input with the recording, and
    ends as the recorded program ended. Differences are reported to
    PTYCASSETTE_REPORT, never to the terminal; the exit status is then 125.
    """
    return run(words)
