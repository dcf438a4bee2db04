"""The commands and links of the README exist. That its snippets run: ``test_pages.py``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from ptycassette.cli.entry import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_the_readme_names_only_commands_that_exist() -> None:
    """Every ``ptycassette NAME`` in the README is a command."""
    named = set(re.findall(r"(?:`|\$ )ptycassette ([a-z][a-z-]+)", README))

    assert named <= set(COMMANDS)


def test_the_packages_to_install_without_re2_are_all_others() -> None:
    """Where google-re2 cannot be built, the README names what else is needed."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (named,) = re.findall(r"`pip install (click .*)`", README)

    assert {*named.split(), "google-re2"} == {re.split("[<>=]", word)[0] for word in needed}


def test_the_links_of_the_readme_lead_somewhere() -> None:
    """Every relative link and picture is a file or a folder of the repository."""
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
