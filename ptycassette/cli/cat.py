"""``ptycassette cat CASSETTE``: the recorded output bytes, nothing else."""

from __future__ import annotations

import sys

import click

from ptycassette.cli._options import allow_unscrubbed_option, cassette_argument, opened


@click.command("cat")
@cassette_argument
@allow_unscrubbed_option
def command(cassette: str, allow_unscrubbed: bool) -> None:
    """Write the recorded output bytes of CASSETTE to stdout, nothing else.

    These are the bytes as the program wrote them, after scrubbing. They can change
    the settings of a terminal; `ptycassette play` shows them safely. Digests are
    not checked; `ptycassette verify` does that.

    Example: ptycassette cat hello.cassette | less -R
    """
    from ptycassette.cassette.edits import refuse_in_process
    from ptycassette.cassette.io.raw_output import write_raw
    from ptycassette.cli.entry import direct_writes

    with opened(cassette, allow_unscrubbed=allow_unscrubbed) as source:
        refuse_in_process(source.manifest, cassette)
        if sys.stdout.isatty():
            click.echo(
                "ptycassette: these bytes act on your terminal as they are;"
                " `ptycassette play` shows them safely",
                err=True,
            )
        sys.stdout.flush()
        with direct_writes():
            write_raw(source, sys.stdout.fileno())
