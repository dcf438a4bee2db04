"""Divergences: differences between what the driver did and the recording.

A divergence has a kind, the expected and the actual input (bytes and text), the place in the
recording, the screen at that moment, the most similar recorded input, and advice what to
do next. This module does not know how it is shown or where it is written.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ptycassette.errors import DivergenceError
from ptycassette.model.visible_text import printable, visible, visible_bytes
from ptycassette.replaying.differences import folded_rows, marks_of
from ptycassette.replaying.divergence_kinds import COMPARED_BY_TEXT, KINDS, kind_named

DIVERGENCE_KINDS = tuple(kind.name for kind in KINDS)
"""The names of all kinds, as reports write them."""


class DivergenceSide(msgspec.Struct, frozen=True):
    """One side of a divergence: as text, and as bytes where there are any."""

    text: str
    data: bytes = b""


class Nearest(msgspec.Struct, frozen=True):
    """The recorded input most similar to the actual one. ``similarity`` is between 0 and 1."""

    exchange: int
    seq: int
    t_ms: int
    text: str
    similarity: float


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """One divergence. ``kind`` is a name of ``divergence_kinds.KINDS``; another is a ValueError.

    ``seq`` and ``t_ms`` are the place in the recording; ``exchange`` is the number
    of the input entry, from 1, or 0 if no input is concerned. ``screen`` has the
    rows shown at that moment.
    """

    kind: str
    message: str
    seq: int
    t_ms: int
    exchange: int = 0
    expected: DivergenceSide | None = None
    got: DivergenceSide | None = None
    screen: tuple[str, ...] = ()
    nearest: Nearest | None = None
    hint: str = ""

    def __post_init__(self) -> None:
        """Check the kind."""
        kind_named(self.kind)

    @property
    def advice(self) -> str:
        """What to do next: the hint given, or the one of the kind."""
        return self.hint or kind_named(self.kind).hint


def divergence_lines(divergence: Divergence) -> Iterator[str]:
    """The divergence as lines of text, with control characters escaped."""
    where = f"seq {divergence.seq}, {divergence.t_ms} ms"
    if divergence.exchange:
        where += f", input {divergence.exchange}"
    yield f"{divergence.kind} at {where}: {printable(divergence.message)}"
    for name, said in (("expected", divergence.expected), ("got", divergence.got)):
        if said is not None:
            yield f"  {name + ':':<10}{visible(said.text)}"
            if marks := _marks(name, divergence):
                yield f"  {'':<10}{marks}"
            if said.data:
                yield f"  {'':<10}bytes {visible_bytes(said.data, limit=200)}"
    near = divergence.nearest
    if near is not None:
        where = (
            f"input {near.exchange} (seq {near.seq}, {near.t_ms} ms), {near.similarity:.0%} alike"
        )
        here = near.exchange == divergence.exchange
        shown = "the one expected here" if here else visible(near.text, limit=200)
        yield f"  nearest:  {where}: {shown}"
    if divergence.screen:
        yield "  the screen at that moment:"
        yield from screen_lines(divergence.screen)
    yield f"  hint: {printable(divergence.advice)}"


def screen_lines(rows: Sequence[str]) -> Iterator[str]:
    """The rows of a screen as lines of text, with blank rows folded."""
    for row in folded_rows(rows):
        yield f"  : {row} blank rows" if isinstance(row, int) else f"  | {visible(row)}"


def _marks(side: str, divergence: Divergence) -> str:
    """The line below the actual input that marks the differences."""
    if side != "got" or divergence.expected is None or divergence.got is None:
        return ""
    if divergence.kind not in COMPARED_BY_TEXT:
        return ""
    return marks_of(visible(divergence.expected.text), visible(divergence.got.text))


def divergence_object(divergence: Divergence) -> dict[str, Any]:
    """The divergence as the JSON object of reports."""
    return {
        "kind": divergence.kind,
        "message": divergence.message,
        "seq": divergence.seq,
        "t_ms": divergence.t_ms,
        "exchange": divergence.exchange,
        "expected": _said_object(divergence.expected),
        "got": _said_object(divergence.got),
        "screen": list(divergence.screen),
        "nearest": msgspec.to_builtins(divergence.nearest),
        "hint": divergence.advice,
    }


def divergence_error(divergence: Divergence, *, where: str | None = None) -> DivergenceError:
    """The divergence as an exception."""
    first, *rest = divergence_lines(divergence)
    lines = [line for line in rest if not line.startswith("  hint: ")]
    return DivergenceError("\n".join([first, *lines]), where=where, hint=divergence.advice)


def _said_object(said: DivergenceSide | None) -> dict[str, str] | None:
    if said is None:
        return None
    text = said.text.encode("utf-8", "backslashreplace").decode("utf-8")
    return {"text": text, "bytes": base64.b64encode(said.data).decode("ascii")}
