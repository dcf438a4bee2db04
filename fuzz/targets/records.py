"""Lines of JSON: the same records however they are cut, each of which survives being written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptycassette.cassette._lines import LineReader
from ptycassette.cassette.layout import (
    FRAME_CODEC,
    INPUT_CODEC,
    OUTPUT_CODEC,
    SERVICE_EVENT_CODEC,
    RecordCodec,
)
from ptycassette.errors import InvalidCassetteError

_CODECS: tuple[RecordCodec[Any], ...] = (
    INPUT_CODEC,
    OUTPUT_CODEC,
    FRAME_CODEC,
    SERVICE_EVENT_CODEC,
)


def check(data: bytes) -> None:
    """Read it as each kind of stream."""
    middle = len(data) // 2
    for codec in _CODECS:
        whole = _read(codec, [data])
        assert _read(codec, [data[:middle], data[middle:]]) == whole, "it matters where it is cut"
        for record in whole if isinstance(whole, list) else []:
            line = codec.encode(record)
            assert _read(codec, [line]) == [record], "it changes by being written"


def _read(codec: RecordCodec[Any], blocks: Sequence[bytes]) -> list[Any] | str:
    """The records, or why there are none."""
    reader = LineReader(codec)
    records: list[Any] = []
    try:
        for block in blocks:
            records += reader.feed(block).records
        records += reader.finish().records
    except InvalidCassetteError as exc:
        return type(exc).__name__
    return records
