"""The table of threats in docs/safety.md: every line names tests, and every test exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "safety.md"


def lines() -> list[list[str]]:
    """The cells of each line of the table."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.split("## Threat model", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def defined_tests() -> set[str]:
    """The name of every test function."""
    files = (ROOT / "tests").rglob("test_*.py")
    return {name for path in files for name in re.findall(r"def (test_\w+)\(", path.read_text())}


def test_every_line_says_what_must_never_happen_and_names_a_test() -> None:
    """A threat that no test holds is a wish."""
    rows = lines()
    bare = [row for row in rows if not row[3] or not re.search(r"`test_\w+`", row[4])]

    assert len(rows) >= 15
    assert {len(row) for row in rows} == {5}
    assert bare == []


def test_every_test_that_the_page_names_exists() -> None:
    """Also outside of the table."""
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    files = set(re.findall(r"`((?:tests/)?[\w/]*\w+\.py)`", text))
    folders = ("ptycassette", "viewer", "tests", "benchmarks", "fixtures", "fuzz")
    here = {path.name for folder in folders for path in (ROOT / folder).rglob("*.py")}

    assert len(named) >= 15
    assert named - defined_tests() == set()
    assert {name.rpartition("/")[2] for name in files} - here == set()
