"""The base of hand-written TOML files: strict tables, and errors with a place."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.file_patterns import FilePatterns, TooManyPatternsError, file_pattern
from ptycassette.model.re2_engine import PatternError
from ptycassette.model.resolved_types import resolved
from ptycassette.model.toml_text import read_toml, suggest

S = TypeVar("S", bound=msgspec.Struct)


class StrictTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a file: unknown names are errors."""


def check_regex(pattern: str | None) -> None:
    """Check that ``pattern`` is a regular expression that files may have.

    Raises:
        ValueError: it is not; msgspec adds where it stands.
    """
    if pattern is not None:
        try:
            file_pattern(pattern, multiline=True)
        except PatternError as wrong:
            raise ValueError(f"{wrong}: '{pattern}'") from wrong


def _check_all(value: Any, patterns: FilePatterns) -> None:
    """Check that a file does not have too many patterns; each is checked in its own place."""
    if isinstance(value, list):
        for item in value:
            _check_all(item, patterns)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "regex" and isinstance(item, str):
                _count(item, patterns)
            _check_all(item, patterns)


def _count(pattern: str, patterns: FilePatterns) -> None:
    try:
        patterns.check(pattern, multiline=True)
    except TooManyPatternsError:
        raise
    except PatternError:
        pass  # its struct says so, with the place


def read_checked(text: str, kind: type[S], *, where: str, known: tuple[type, ...]) -> S:
    """A file of ``version = 1`` as ``kind``.

    Args:
        text: TOML; variables stay as they are.
        kind: the struct of the whole file.
        where: a path or a name, for messages.
        known: the structs of its tables, for suggestions.

    Raises:
        UsageError: not TOML, another version, or not what ``kind`` says.
    """
    raw = read_toml(text, where=where, variables=None)
    if raw.get("version") != 1:
        raise UsageError("the file starts with version = 1", where=where)
    try:
        _check_all(raw, FilePatterns())
    except TooManyPatternsError as wrong:
        raise UsageError(str(wrong), where=where) from wrong
    try:
        return msgspec.convert(raw, resolved(kind))
    except msgspec.ValidationError as wrong:
        names = {
            field.encode_name for table in (kind, *known) for field in msgspec.structs.fields(table)
        }
        raise UsageError(str(wrong), where=where, hint=suggest(str(wrong), names)) from wrong
