"""The public names: what ``import ptycassette`` promises, and what it must not cost."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ptycassette

HEAVY = ("pyte", "textual", "pytest", "aiohttp", "rich", "click")


def test_all_is_sorted_and_without_repeats() -> None:
    """Classes first, then functions, each group in order, as ruff sorts it."""
    names = list(ptycassette.__all__)

    assert names == sorted(set(names), key=lambda name: (not name[0].isupper(), name))


@pytest.mark.parametrize("name", ptycassette.__all__)
def test_every_public_name_loads(name: str) -> None:
    """Each name of ``__all__`` is there, and is listed for completion."""
    assert getattr(ptycassette, name) is not None
    assert name in dir(ptycassette)


def test_type_checkers_see_the_names_that_python_loads() -> None:
    """The imports for type checkers, the table for Python and ``__all__`` agree."""
    tree = ast.parse(Path(ptycassette.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: f"ptycassette.{str(node.module).removeprefix('ptycassette.')}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    loaded = {
        name: f"ptycassette.{module}"
        for module, names in ptycassette._MODULES.items()
        for name in names.split()
    }

    assert seen == loaded
    assert {*ptycassette.__all__} - {"__version__"} == {*loaded}


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
