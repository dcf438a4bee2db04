"""How a package shows what others may use: its ``__init__``, which loads a name on first use.

A face names everything twice, for two readers: imports for type checkers and for the import
contracts, places for Python. A test holds the two together.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False  # importing typing takes 8 ms, too long for the start of the stand-in
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def face(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], object], list[str]]:
    """The ``__getattr__`` and the sorted ``__all__`` of a package.

    ``places`` maps each module, named from within the package, to the names that it exports,
    separated by spaces.
    """
    exported = {module: tuple(names.split()) for module, names in places.items()}
    return loads_on_first_use(package, exported), sorted(
        name for names in exported.values() for name in names
    )


def loads_on_first_use(
    package: str, places: Mapping[str, tuple[str, ...]]
) -> Callable[[str], object]:
    """A module's ``__getattr__`` (PEP 562) that imports a name from its module and keeps it."""
    module_of = {name: module for module, names in places.items() for name in names}

    def load(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f"{package}.{module_of[name]}")
        value = getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load
