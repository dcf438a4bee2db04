"""The map of the house names places that exist, and every package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PLACE = re.compile(r"`((?:ptycassette|docs|tests)/[\w./-]+|[\w/]+\.(?:py|c|md))`")
PLACES = sorted(set(PLACE.findall(PAGE)))


@pytest.mark.parametrize("place", [place for place in PLACES if "NAME" not in place])
def test_a_place_that_is_named_exists(place: str) -> None:
    """Whole paths, and those below the package in the way of a byte."""
    shorter = ROOT / "ptycassette" / place
    found = shorter.exists() or (ROOT / place).exists()

    assert found or [*ROOT.glob(f"ptycassette/**/{place}")]


def test_the_picture_has_the_packages_in_the_order_that_is_held() -> None:
    """The same lists as the contracts of import-linter; ``agents`` has one of its own."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    order = contracts["tool"]["importlinter"]["contracts"]
    rooms, agents = ([layer.rpartition(".")[2] for layer in order[n]["layers"]] for n in (0, 1))
    picture = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert picture is not None

    drawn = re.findall(r"^ (\w+)", picture[1], re.MULTILINE)
    assert drawn == [name for name in rooms if name not in {"testing", "version"}]
    assert re.findall(r"^ {3}(\w+)", picture[1], re.MULTILINE) == agents


def test_every_package_is_in_the_picture() -> None:
    """A new one needs a line."""
    folder = ROOT / "ptycassette"
    packages = {path.name for path in folder.iterdir() if (path / "__init__.py").is_file()}

    assert {name for name in packages if not re.search(rf"\b{name}\b", PAGE)} == set()


def test_the_folders_of_the_unit_tests_are_those_of_the_package() -> None:
    """So that the tests of a module are found; ``safety`` is about all of them."""
    tests = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}

    strange = {str(one) for one in folders if not (ROOT / "ptycassette" / one).is_dir()}
    assert strange == {"safety"}


FILE = re.compile(r"``([\w/]+\.(?:py|c))``|`([\w/]+\.(?:py|c))`")
ELSEWHERE = {"json.py"}
"""Files of readers and of other projects."""


def test_a_file_that_a_page_or_a_comment_names_exists() -> None:
    """Modules are merged and renamed; what is written about them follows."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    pages = [page for page in pages if page.name != "CHANGELOG.md"]
    sources = [
        path
        for top in ("ptycassette", "viewer")
        for ending in ("py", "toml", "c")
        for path in ROOT.glob(f"{top}/**/*.{ending}")
    ]
    known = {
        path.name
        for top in ("ptycassette", "viewer", "tests", "fixtures", "benchmarks", "fuzz", "docs")
        for path in (ROOT / top).rglob("*.[pc]*")
    } | {path.name for path in ROOT.glob("*.py")}

    gone = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in [*pages, *sources]
        for found in FILE.findall(path.read_text(encoding="utf-8"))
        for name in found
        if name and name.rpartition("/")[2] not in known | ELSEWHERE
    }
    assert gone == set()
