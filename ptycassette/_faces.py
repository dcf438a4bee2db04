"""How a package shows what others may use: its ``__init__``, which loads a name on first use.

A face names everything three times, for three readers: imports for type checkers and for the
import contracts, places for Python, ``__all__`` for people. A test holds the three together.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False  # loading typing takes eight milliseconds; the stand-in has not got them
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["loads_on_first_use"]


def loads_on_first_use(
    package: str, places: Mapping[str, tuple[str, ...]]
) -> Callable[[str], object]:
    """A module's ``__getattr__`` (PEP 562) that imports a name from its place and keeps it.

    ``places`` says for each module, named from within the package, what it exports.
    """
    module_of = {name: module for module, names in places.items() for name in names}

    def load(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f"{package}.{module_of[name]}")
        value = getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load
