"""Reading hand-written TOML: variables in strings, and errors that say where and what to do."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from ptycassette.errors import UsageError
from ptycassette.model.toml_bounds import check_dotted_keys

__all__ = ["fill", "read_toml", "suggest"]

_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")


def read_toml(text: str, *, where: str, variables: Mapping[str, str] | None) -> dict[str, Any]:
    """TOML as a dictionary, with ``${name}`` in strings replaced; ``$${`` stands for ``${``.

    Without ``variables`` (None) the strings stay as they are, to be filled later.

    Raises:
        UsageError: not TOML, or a name without a value.
    """
    try:
        check_dotted_keys(text)
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise UsageError(f"not TOML: {wrong}", where=where) from wrong
    return raw if variables is None else dict(fill(raw, where, variables))


def fill(value: Any, where: str, variables: Mapping[str, str]) -> Any:
    """``value`` with variables in all of its strings replaced; keys stay.

    Raises:
        UsageError: a name without a value.
    """
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _value(match, where, variables), value)
    if isinstance(value, list):
        return [fill(item, where, variables) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, where, variables) for key, item in value.items()}
    return value


def _value(match: re.Match[str], where: str, variables: Mapping[str, str]) -> str:
    """The value of one variable."""
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
    found = _UNKNOWN.search(message)
    if found is None:
        return None
    near = difflib.get_close_matches(found[1], list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else None
