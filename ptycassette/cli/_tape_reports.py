"""The output of ``ptycassette tape --json``. Documented in ``docs/json.md``."""

from __future__ import annotations

import msgspec


class TapeLine(msgspec.Struct, frozen=True, kw_only=True):
    """One question of the tape, without bodies. Tokens are null where no provider said any."""

    entry: int
    seq: int
    t_us: int
    end_us: int | None
    kind: str
    within: int | None
    method: str | None
    upstream: str | None
    target: str | None
    model: str | None
    status: int | None
    sent_bytes: int
    received_bytes: int
    chunks: int
    input_tokens: int | None
    output_tokens: int | None
    tools: tuple[str, ...]
    outcome: str
    detail: str
    key: str | None


class TapeReport(msgspec.Struct, frozen=True, kw_only=True):
    """``tape --json``."""

    path: str
    entries: tuple[TapeLine, ...]


class TapeBody(msgspec.Struct, frozen=True, kw_only=True):
    """Headers and body of one side; ``packing`` is what was undone."""

    headers: tuple[tuple[str, str], ...]
    packing: str | None
    data: bytes


class TapeChunk(msgspec.Struct, frozen=True, kw_only=True):
    """When a piece of the answer came, and how many bytes of its body it is."""

    t_us: int
    bytes: int


class TapeEntryReport(msgspec.Struct, frozen=True, kw_only=True):
    """``tape --entry N --json``."""

    line: TapeLine
    question: TapeBody
    answer: TapeBody | None
    chunks: tuple[TapeChunk, ...]
