"""One target under libFuzzer: what it finds is told and kept, and the process ends.

``python -m fuzz.running TARGET [LIBFUZZER-OPTION | DIRECTORY]...``
"""

from __future__ import annotations

import importlib
import random
import sys
from typing import Any

__all__ = ["main"]


def main(argv: list[str]) -> None:
    """Fuzz the target of that name; never returns."""
    atheris: Any = importlib.import_module("atheris")  # an extra; where it is it has no types
    name, *options = argv
    # Only what is imported in here tells which way it went, so the target comes now.
    with atheris.instrument_imports(include=["ptycassette", "wsproto", "h11"]):
        rows = importlib.import_module("fuzz.readers")
        load_all(rows.READERS.get(name))
        target = rows.READERS.get(name) or importlib.import_module(f"fuzz.targets.{name}")

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        """Half of the inputs by trees and words of formats, which libFuzzer does not know."""
        if seed % 2:
            made: bytes = rows.spoilt(data, random.Random(seed))  # noqa: S311 - to be repeated
            return made[:most]
        changed: bytes = atheris.Mutate(data, most)
        return changed

    custom = {"custom_mutator": mutate} if name in rows.READERS else {}
    atheris.Setup([f"fuzz.{name}", *options], target.check, **custom)
    atheris.Fuzz()


def load_all(row: Any) -> None:
    """Read the seeds, so that what a reader imports late is instrumented too."""
    for seed in row.seeds() if row else ():
        row.check(seed)


if __name__ == "__main__":
    main(sys.argv[1:])
