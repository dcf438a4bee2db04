"""``ptycassette lineage CASSETTE|DIR``: which recordings were forked of which."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._options import json_option
from ptycassette.cli._present import json_text, write_lines


@click.command("lineage")
@click.argument("path", metavar="CASSETTE|DIR", type=click.Path(path_type=Path))
@json_option
def command(path: Path, as_json: bool) -> int:
    """Show which recordings were forked from which, as trees.

    A child names its parent by the digest of the parent's manifest; a parent that
    changed since then counts as missing. For one CASSETTE, its folder is searched.

    Example: ptycassette lineage fixtures
    """
    from ptycassette.agents.fork.io.reading_lineage import read_lineage
    from ptycassette.agents.fork.report import lineage_json, lineage_lines

    recordings = read_lineage(path)
    if as_json:
        write_lines([json_text(lineage_json(recordings))])
    else:
        write_lines(lineage_lines(recordings))
    return 0
