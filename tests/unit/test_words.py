"""Names and docstrings use words that a reader knows: see ``docs/decisions/0200``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BANNED = {"told", "hearing", "slid", "grown", "trail", "deltas", "ledger", "joins"}
"""Words that once were names, and that only their author understood."""
_MNEMONIC = r"[A-Z][A-Z0-9]+(, [A-Z][A-Z0-9]+)*\.?"
MNEMONIC = re.compile(_MNEMONIC)
_MAY_BE_MNEMONIC = re.compile(rf'"""\s*{_MNEMONIC}\s*"""')
_MAY_BE_BANNED = re.compile("|".join(BANNED), re.IGNORECASE)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def modules() -> list[Path]:
    """The modules of the library, of the viewer and of the tools beside them."""
    folders = ("ptycassette", "viewer/ptycassette_viewer", "benchmarks", "fixtures", "fuzz")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def trees(hint: re.Pattern[str]) -> Iterator[tuple[Path, ast.Module]]:
    """What is in the modules whose text has something that ``hint`` finds."""
    for path in modules():
        text = path.read_text(encoding="utf-8")
        if hint.search(text):
            yield path, ast.parse(text)


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every identifier that the code uses, and its line."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name, line
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, line
            case ast.ClassDef(name=name) | ast.alias(name=name) | ast.keyword(arg=str(name)):
                yield name, line
            case _:
                pass


def banned_in(name: str) -> set[str]:
    """The banned words among those that an identifier is made of."""
    return {part.lower() for part in _PART.findall(name)} & BANNED


def test_no_name_is_a_word_that_only_its_author_understands() -> None:
    """Neither a module nor anything in one."""
    found = [f"{path}" for path in modules() if banned_in(path.stem)]
    found += [
        f"{path}:{line}: {name}"
        for path, tree in trees(_MAY_BE_BANNED)
        for name, line in names(tree)
        if banned_in(name)
    ]

    assert len(modules()) > 300, "these are not our modules"
    assert found == []


def test_no_public_function_is_documented_by_a_mnemonic_alone() -> None:
    """``SL: scroll left by ``count`` columns``, not ``SL``."""
    found = [
        f"{path}:{node.lineno}: {text}"
        for path, tree in trees(_MAY_BE_MNEMONIC)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not node.name.startswith("_")
        if (text := ast.get_docstring(node)) and MNEMONIC.fullmatch(text)
    ]

    assert found == []
