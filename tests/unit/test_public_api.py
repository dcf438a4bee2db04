"""The public names: what ``import ptycassette`` promises, and what it must not cost."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ptycassette
from ptycassette import toolkit, viewing

HEAVY = ("pyte", "textual", "pytest", "aiohttp", "rich", "click")


def test_all_is_sorted_and_without_repeats() -> None:
    """Classes first, then functions, each group in order, as ruff sorts it."""
    names = list(ptycassette.__all__)

    assert names == sorted(set(names), key=lambda name: (not name[0].isupper(), name))


def test_the_public_names_are_few_and_each_is_on_the_page() -> None:
    """A table of ``docs/api.md`` has it."""
    page = (Path(__file__).resolve().parents[2] / "docs/api.md").read_text(encoding="utf-8")
    rows = "\n".join(line for line in page.splitlines() if line.startswith("| `"))
    listed = re.findall(r"`(\w+)`", "\n".join(row.split("|")[1] for row in rows.splitlines()))

    assert sorted(listed) == sorted({*ptycassette.__all__} - {"__version__"})
    assert len(listed) <= 34


@pytest.mark.parametrize("name", sorted({*viewing.MODULE_OF} - {"read_plain"}))
def test_a_name_that_has_moved_works_with_a_warning(name: str) -> None:
    """For one release; the viewer's interface has it without one."""
    with pytest.warns(DeprecationWarning, match="import it from ptycassette.viewing"):
        old = getattr(ptycassette, name)

    assert old is getattr(viewing, name)
    assert name in viewing.__all__


def test_no_public_name_is_that_of_a_module() -> None:
    """Importing the module would put it in the place of the name."""
    modules = {path.stem for path in Path(str(ptycassette.__file__)).parent.iterdir()}

    assert not modules & {*ptycassette.__all__, *viewing.__all__}


@pytest.mark.parametrize("name", ptycassette.__all__)
def test_every_public_name_loads(name: str) -> None:
    """Each name of ``__all__`` is there, and is listed for completion."""
    assert getattr(ptycassette, name) is not None
    assert name in dir(ptycassette)


def test_pages_import_only_what_is_public() -> None:
    """A module that a page names stays where it is."""
    root = Path(__file__).resolve().parents[2]
    public = {"", ".errors", ".testing", ".toolkit", ".viewing"}
    found = {
        (page.name, place)
        for page in (root / "README.md", *(root / "docs").glob("*.md"))
        for place in re.findall(
            r"^(?:from|import) ptycassette([.\w]*)", page.read_text(encoding="utf-8"), re.MULTILINE
        )
    }

    assert len(found) > 10
    assert [(page, place) for page, place in sorted(found) if place not in public] == []


@pytest.mark.parametrize("module", [ptycassette, toolkit, viewing])
def test_type_checkers_see_the_names_that_python_loads(module: ModuleType) -> None:
    """The imports for type checkers, the table for Python and ``__all__`` agree."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: f"ptycassette.{str(node.module).removeprefix('ptycassette.')}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    loaded = {
        name: f"ptycassette.{place}"
        for place, names in module._MODULES.items()
        for name in names.split()
    }

    assert seen == loaded
    assert {*module.__all__} - {"__version__"} == {*loaded}


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As with any module."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ptycassette.nonsense  # type: ignore[attr-defined]


def test_importing_the_package_loads_nothing_heavy() -> None:
    """In a fresh interpreter, the import brings in none of the libraries that cost time."""
    code = f"import sys, ptycassette; print([m for m in {HEAVY!r} if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )

    assert ran.stdout.strip() == "[]"
