"""The public names: what ``import ptycassette`` promises, and what it must not cost."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import ptycassette

ROOT = Path(ptycassette.__file__).parent.parent
FACES = sorted(
    face
    for face in (ROOT / "ptycassette").rglob("__init__.py")
    if "import face" in face.read_text(encoding="utf-8")
    or "loads_on_first_use" in face.read_text(encoding="utf-8")
)
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


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.parent.name)
def test_a_face_says_the_same_to_each_of_its_readers(face: Path) -> None:
    """Type checkers, Python and people: the same names from the same modules."""
    tree = ast.parse(face.read_text(encoding="utf-8"))
    package = ".".join(face.parent.relative_to(ROOT).parts)
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: f"{package}.{node.module}" if node.level else node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    (assigned,) = [node for node in block.orelse if isinstance(node, ast.Assign)]
    assert isinstance(assigned.value, ast.Call)
    places = ast.literal_eval(assigned.value.args[1])
    loaded = {
        name: f"{package}.{module}"
        for module, names in places.items()
        for name in (names.split() if isinstance(names, str) else names)
    }
    public = importlib.import_module(package).__all__

    assert seen == loaded
    assert {*public} - {"__version__"} == {*loaded}
    assert len(public) == len({*public})


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.parent.name)
def test_every_name_of_a_face_is_no_module(face: Path) -> None:
    """A module of a name that the face exports would hide it, once it is imported."""
    package = importlib.import_module(".".join(face.parent.relative_to(ROOT).parts))
    modules = {path.stem for path in face.parent.iterdir()}

    assert modules & {*package.__all__} == set()
    assert all(getattr(package, name) is not None for name in package.__all__)


def test_a_name_of_two_faces_means_one_thing() -> None:
    """A newcomer who finds a name in one package knows it in another. Entry points are ``main``."""
    meanings: dict[str, dict[str, object]] = {}
    for face in FACES:
        package = importlib.import_module(".".join(face.parent.relative_to(ROOT).parts))
        for name in package.__all__:
            meanings.setdefault(name, {})[package.__name__] = getattr(package, name)
    ambiguous = {
        name: sorted(found)
        for name, found in meanings.items()
        if len({id(thing) for thing in found.values()}) > 1
    }

    assert ambiguous.keys() <= {"main"}, ambiguous


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
