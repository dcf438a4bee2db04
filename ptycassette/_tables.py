"""TOML files that belong to this package, most of them read when the package was built.

Python's parser of TOML takes a tenth of the processor time of a short recording. So the build
(``hatch_build.py``) puts what it makes of our files beside this module, as JSON, each under the
digest of its text. A text that is not among them is parsed: a file that was changed, and any file
of a checkout.
"""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from typing import Any

import msgspec

from ptycassette.model.resolved_types import resolved

TABLES = "_tables.json"


def package_text(package: str, name: str) -> str:
    """The text of a data file in a package that is loaded.

    As ``pkgutil.get_data``, which loads two modules that a recording needs for nothing else.
    """
    module = sys.modules[package]
    loader: Any = module.__spec__ and module.__spec__.loader
    folder = str(module.__file__).rpartition("/")[0]
    data: bytes = loader.get_data(f"{folder}/{name}")
    return data.decode()


def package_table(package: str, name: str) -> dict[str, Any]:
    """The table in a TOML file of a package that is loaded."""
    return table_of(package_text(package, name))


def table_of(text: str) -> dict[str, Any]:
    """Parse a text in TOML.

    Raises:
        msgspec.DecodeError: it is not TOML.
    """
    made = made_table(text)
    if made is None:
        made = msgspec.toml.decode(text)
    return made


def made_table(text: str) -> dict[str, Any] | None:
    """As ``table_of``; None if the text was not read when the package was built."""
    made = _made().get(sha256(text.encode()).hexdigest())
    return None if made is None else msgspec.json.decode(made, type=resolved(dict[str, Any]))


@cache
def _made() -> dict[str, msgspec.Raw]:
    try:
        text = package_text("ptycassette", TABLES)
    except OSError:  # a checkout has no tables
        return {}
    return msgspec.json.decode(text, type=resolved(dict[str, msgspec.Raw]))
