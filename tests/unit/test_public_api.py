"""The public names: what ``import ptycassette`` promises, and what it must not cost."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ptycassette

HEAVY = ("pyte", "ptyprocess", "textual", "pytest", "aiohttp", "rich", "click")


def test_all_is_sorted_and_without_repeats() -> None:
    """Classes first, then functions, each group in order, as ruff sorts it."""
    names = list(ptycassette.__all__)

    assert names == sorted(set(names), key=lambda name: (not name[0].isupper(), name))


@pytest.mark.parametrize("name", ptycassette.__all__)
def test_every_public_name_loads(name: str) -> None:
    """Each name of ``__all__`` is there, and is listed for completion."""
    assert getattr(ptycassette, name) is not None
    assert name in dir(ptycassette)


def test_type_checkers_see_the_same_names() -> None:
    """What loads lazily is also imported under TYPE_CHECKING, from the same module."""
    tree = ast.parse(Path(ptycassette.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert seen == ptycassette._HOMES
    assert set(ptycassette.__all__) == {*seen, "__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As with any module."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ptycassette.nonsense  # type: ignore[attr-defined]


def test_importing_the_package_loads_nothing_heavy() -> None:
    """In a fresh interpreter, the import brings in none of the libraries that cost time."""
    code = f"import sys, ptycassette; print([m for m in {HEAVY!r} if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert ran.stdout.strip() == "[]"


def test_no_subpackage_has_the_name_of_a_public_function() -> None:
    """Importing one would bind it in the place of the function."""
    folder = Path(ptycassette.__file__).parent
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}

    assert modules & set(ptycassette.__all__) == set()
