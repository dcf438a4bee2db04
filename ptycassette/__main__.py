"""``python -m ptycassette``: the command line, where the script is not on PATH."""

from ptycassette.cli import script

script()
