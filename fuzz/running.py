"""One target under libFuzzer: what it finds is told and kept, and the process ends.

``python -m fuzz.running TARGET [LIBFUZZER-OPTION | DIRECTORY]...``
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["main"]


def main(argv: list[str]) -> None:
    """Fuzz the target of that name; never returns."""
    atheris: Any = importlib.import_module("atheris")  # an extra; where it is it has no types
    name, *options = argv
    # Only what is imported in here tells which way it went, so the target comes now.
    with atheris.instrument_imports(include=["ptycassette"]):
        target = importlib.import_module(f"fuzz.targets.{name}")
    atheris.Setup([f"fuzz.{name}", *options], target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
