"""Regular expressions of the package: what any supported Python runs alike."""

from __future__ import annotations

import re
from pathlib import Path

import ptycassette

ROOT = Path(ptycassette.__file__).parent
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9,]+\})\+")


def test_no_group_is_repeated_possessively() -> None:
    """Python 3.11.2 goes on behind the part of such a group that fails; 3.11.7 does not."""
    lines = [line for path in ROOT.rglob("*.py") for line in path.read_text().splitlines()]

    assert [line for line in lines if POSSESSIVE_GROUP.search(line)] == []
    assert POSSESSIVE_GROUP.search(r"(?:ab)*+")
