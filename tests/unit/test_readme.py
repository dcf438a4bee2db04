"""The commands and links of the README exist. That its snippets run: ``test_pages.py``."""

from __future__ import annotations

import re
from pathlib import Path

from ptycassette.cli.entry import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_the_readme_names_only_commands_that_exist() -> None:
    """Every ``ptycassette NAME`` in the README is a command."""
    named = set(re.findall(r"(?:`|\$ )ptycassette ([a-z][a-z-]+)", README))

    assert named <= set(COMMANDS)


def test_the_links_of_the_readme_lead_somewhere() -> None:
    """Every relative link and picture is a file or a folder of the repository."""
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
