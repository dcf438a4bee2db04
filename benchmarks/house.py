"""What the house looks like: ``python -m benchmarks house``.

A table of the packages in the order of the import contract: modules, lines, the deepest module,
public names of its modules, and how many packages import it. ``python -m benchmarks.house
--mermaid`` prints the imports between packages as a diagram that Markdown viewers draw.
"""

from __future__ import annotations

import argparse
import ast
import tomllib
from collections import Counter
from pathlib import Path

import grimp
from rich.console import Console
from rich.table import Table

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "ptycassette"


def layers() -> list[str]:
    """The packages, the lowest last."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names: list[str] = contracts["tool"]["importlinter"]["contracts"][0]["layers"]
    return [name.partition(".")[2] for name in names if name.startswith(f"{PACKAGE}.")]


def imports() -> Counter[tuple[str, str]]:
    """How many imports there are from modules of one package to those of another."""
    graph = grimp.build_graph(PACKAGE)
    found: Counter[tuple[str, str]] = Counter()
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            pair = (_package(importer), _package(imported))
            if pair[0] and pair[1] and pair[0] != pair[1]:
                found[pair] += 1
    return found


def _package(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _public(files: list[Path]) -> int:
    """How many public classes, functions and variables the modules define."""
    count = 0
    for node in (node for file in files for node in ast.parse(file.read_text("utf-8")).body):
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
            ):
                names = [name]
            case ast.Assign(targets=targets):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                names = []
        count += sum(not name.startswith("_") for name in names)
    return count


def table() -> Table:
    """A row for each package."""
    used = imports()
    made = Table("package", "modules", "lines", "depth", "public names", "imported by")
    whole = Counter[str]()
    for name in layers():
        place = ROOT / PACKAGE / name
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
        depth = max(len(file.relative_to(ROOT / PACKAGE).parts) for file in files)
        importers = sum(below == name for _, below in used)
        public = _public(files)
        whole.update(modules=len(files), lines=lines, public=public)
        made.add_row(name, *map(str, (len(files), lines, depth, public, importers)))
    made.add_section()
    made.add_row("all", str(whole["modules"]), str(whole["lines"]), "", str(whole["public"]), "")
    return made


def mermaid() -> str:
    """The imports between packages, with their number."""
    lines = ["flowchart TD"]
    for (above, below), count in sorted(imports().items()):
        lines.append(f"  {above} -->|{count}| {below}")
    return "\n".join(lines)


def main() -> None:
    """Print the table, or the diagram."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mermaid", action="store_true")
    parser.add_argument("--quick", action="store_true", help="as for the other benchmarks")
    if parser.parse_args().mermaid:
        print(mermaid())
        return
    Console().print(table())


if __name__ == "__main__":
    main()
