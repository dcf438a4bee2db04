"""Read TOML from users: bounded, with variables in strings, and errors that say what to do.

TOML parsers lack bounds. Python's keeps every prefix of a key: 40 KB of ``a.a.a...`` take
1.5 GB. The code that reads the file must apply ``MAX_TOML_BYTES``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from typing import Any

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.resolved_types import resolved

MAX_TOML_BYTES = 512 << 10
"""What takes Python's parser longest, a list of numbers, takes it 0.6 s at this length."""
MAX_PARTS = 32
_PART = r"""(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*"""
_DOTTED = re.compile(rf"(?<![\w-]){_PART}(?:{_PART}){{{MAX_PARTS - 1}}}")
_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")


def parse_toml(text: str) -> dict[str, Any]:
    """TOML as a dictionary.

    Raises:
        ValueError: it is not TOML, a key has more than 32 parts, or it nests too deep.
    """
    import tomllib  # noqa: PLC0415 - most runs of the recorder read no TOML

    _check_dotted_keys(text)
    try:
        return tomllib.loads(text)
    except RecursionError as wrong:
        raise ValueError("it nests too deep") from wrong


def _check_dotted_keys(text: str) -> None:
    """Refuse a key of too many parts before the text is parsed; strings count, too.

    Raises:
        ValueError: more words than that are joined by dots.
    """
    if text.count(".") < MAX_PARTS:
        return
    found = _DOTTED.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a key of more than {MAX_PARTS} parts (at line {line})")


def read_toml(text: str, *, where: str, variables: Mapping[str, str] | None) -> dict[str, Any]:
    """TOML as a dictionary, with ``${name}`` in strings replaced; ``$${`` becomes ``${``.

    Without ``variables`` (None) the strings stay as they are, to be filled later.

    Raises:
        UsageError: not TOML, or a name without a value.
    """
    try:
        raw = parse_toml(text)
    except ValueError as wrong:
        raise UsageError(f"not TOML: {wrong}", where=where) from wrong
    return raw if variables is None else dict(fill_variables(raw, where, variables))


def fill_variables(value: Any, where: str, variables: Mapping[str, str]) -> Any:
    """``value`` with variables in all of its strings replaced; keys stay.

    Raises:
        UsageError: a name without a value.
    """
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _value(match, where, variables), value)
    if isinstance(value, list):
        return [fill_variables(item, where, variables) for item in value]
    if isinstance(value, dict):
        return {key: fill_variables(item, where, variables) for key, item in value.items()}
    return value


def _value(match: re.Match[str], where: str, variables: Mapping[str, str]) -> str:
    name = match[1]
    if name is None:
        return "${"
    if name not in variables:
        known = ", ".join(sorted(variables)) or "none"
        raise UsageError(
            f"no value for the variable {name!r}",
            where=where,
            hint=f"known variables: {known}; write $${{ for a literal ${{",
        )
    return variables[name]


def suggest(message: str, known: Iterable[str]) -> str | None:
    """A hint for an unknown name in an error of msgspec: the nearest known one, if any."""
    import difflib  # noqa: PLC0415 - for errors alone

    found = _UNKNOWN.search(message)
    if found is None:
        return None
    near = difflib.get_close_matches(found[1], list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else None


# TOML files that belong to this package, most of them read when the package was built.
#
# Python's parser of TOML takes a tenth of the processor time of a short recording. So the build
# (``hatch_build.py``) puts what it makes of our files into ``ptycassette/_tables.json``, each under
# the digest of its text. A text that is not among them is parsed: a file that was changed, and any
# file of a checkout.


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
