"""JSON documents of a file that holds one, or one on each line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ptycassette.importing.session import BadImportError
from ptycassette.model import foreign_json


def objects_of(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object, with the number of its line.

    Raises:
        BadImportError: a line is no object.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        whole = foreign_json(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    else:
        if isinstance(whole, dict):
            yield 1, whole
            return
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = foreign_json(line)
        except (msgspec.DecodeError, ValueError, RecursionError) as exc:
            raise BadImportError(f"line {number} is not JSON: {exc}") from exc
        if not isinstance(value, dict):
            raise BadImportError(f"line {number} is not an object")
        yield number, value
