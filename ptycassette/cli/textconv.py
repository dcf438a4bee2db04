"""``ptycassette textconv FILE``: a file of a cassette as text, for diffs of git."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._present import write_lines

MOST_BYTES = 256 << 20


@click.command("textconv", context_settings={"ignore_unknown_options": True})
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
def command(file: Path) -> None:
    """Print a file of a cassette as text that makes a readable diff.

    The text has screens, typed input, events and requests, without times, numbers
    and digests. To make git use it:

    git config diff.cassette.textconv "ptycassette textconv --"

    Example: ptycassette textconv hello.cassette/frames.jsonl
    """
    from ptycassette.formats.export.git_text import git_lines
    from ptycassette.system.files.whole_file import read_plain

    write_lines(git_lines(read_plain(file, max_bytes=MOST_BYTES)))
