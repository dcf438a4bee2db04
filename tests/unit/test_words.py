"""Names and docstrings use words that a reader knows: see ``docs/decisions/0200``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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


MARKERS = re.compile(
    r"\b(?:says?|tells?|told|whoever|nobody|lies|stand(?!-)|stands|stood|lay)\b"
    r"|\b(?:is|are|was|were) none\b"
    r"|(?:^|[.!?:] +|\n\n?\s*)(?:Of|What|Who|Where there (?:is|are)) ",
    re.MULTILINE,
)
"""Signs of a sentence that has to be read twice: see ``CONTRIBUTING.md``."""
_BLOCK = re.compile(r"```.*?```", re.DOTALL)


def strings(node: ast.AST) -> Iterator[str]:
    """The strings in an expression."""
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def errors_and_helps(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The texts that raise an error, and those that describe an option."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = getattr(function, "attr", getattr(function, "id", ""))
        if name.endswith("Error"):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from (("errors", text) for text in strings(argument) if " " in text)
        for keyword in node.keywords:
            if keyword.arg == "help":
                yield from (("helps", text) for text in strings(keyword.value))


def docstrings(tree: ast.AST) -> Iterator[str]:
    """The docstrings of a module and of all in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    """What people read, by kind."""
    first = [ROOT / "README.md", ROOT / "docs/tutorial.md"]
    pages = sorted((ROOT / "docs").glob("*.md"))
    found: dict[str, list[str]] = {"errors": [], "helps": [], "docstrings": []}
    found["first pages"] = [_BLOCK.sub("", page.read_text("utf-8")) for page in first]
    found["docs"] = [_BLOCK.sub("", page.read_text("utf-8")) for page in pages]
    for path in sorted((ROOT / "ptycassette").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found["docstrings"] += docstrings(tree)
        for kind, text in errors_and_helps(tree):
            found[kind].append(text)
    return found


@pytest.mark.parametrize(
    ("kind", "most"),
    [("errors", 1.0), ("helps", 1.0), ("first pages", 1.0), ("docs", 1.0), ("docstrings", 1.0)],
)
def test_texts_are_plain(kind: str, most: float, texts: dict[str, list[str]]) -> None:
    """A smoke alarm and not the goal: so many markers in 1,000 words, and no more."""
    words = sum(len(re.findall(r"[A-Za-z']+", text)) for text in texts[kind])
    found = [hit.group().strip() for text in texts[kind] for hit in MARKERS.finditer(text)]

    assert words > 1000
    assert 1000 * len(found) / words <= most, found
