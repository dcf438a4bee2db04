"""JSON of other tools: one document, or one on each line, with a limit on its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ptycassette.errors import LimitError
from ptycassette.importing.session import BadImportError
from ptycassette.model.json_values import foreign_json
from ptycassette.model.limits import DEFAULT_LIMITS, check_density
from ptycassette.model.resolved_types import resolved

_BYTES_A_VALUE = 8
_FEW_LINES, _LINE_BYTES = 50_000, 50
"""A call takes more than fifty bytes, and some 10 us to be read."""


def decoded(
    data: bytes, where: str, kind: Any = Any, *, max_values: int = DEFAULT_LIMITS.max_line_values
) -> Any:
    """JSON as a value of ``kind``.

    Args:
        data: the JSON.
        where: its place in the file, for messages.
        kind: of the value.
        max_values: or one for each eight bytes; a value takes some fifty bytes of memory.

    Raises:
        BadImportError: it is not JSON of that kind, or has more values.
    """
    try:
        check_density(data, max(max_values, len(data) // _BYTES_A_VALUE), where)
        return foreign_json(data, resolved(kind))
    except LimitError as exc:
        raise BadImportError(f"{where}: {exc.message}") from exc
    except (msgspec.DecodeError, ValueError, RecursionError) as exc:
        raise BadImportError(f"{where}: {_cause(exc)}") from exc


def _cause(exc: Exception) -> str:
    if isinstance(exc, RecursionError):
        return "it nests too deep"
    if isinstance(exc, UnicodeDecodeError):
        return f"it is not UTF-8 at byte {exc.start + 1}"
    return str(exc)


def objects_of(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object, with the number of its line.

    Raises:
        BadImportError: a line is no object.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        whole = decoded(data, "the document")
    except BadImportError:
        pass
    else:
        if isinstance(whole, dict):
            yield 1, whole
            return
    most = max(_FEW_LINES, len(data) // _LINE_BYTES)
    if data.count(b"\n") > most:
        raise BadImportError(f"more than {most} lines in {len(data)} bytes; split the file")
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        value = decoded(line, f"line {number} is not JSON")
        if not isinstance(value, dict):
            raise BadImportError(f"line {number} is not an object")
        yield number, value
