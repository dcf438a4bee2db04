"""How a line of ``frames.jsonl`` spells the styles of a screen.

Full-screen programs paint every row in many styles, and most screens repeat a handful of them.
A line therefore holds each style once, in ``style_table``. Each entry of ``style_rows`` is a row:
its runs as a flat list ``[col, length, index, ...]``, or the number of an earlier row that looks
the same. A line stays complete in itself, so that readers may start anywhere in the file. A screen
of few runs has ``styles``, an object for each run, as all screens of earlier recorders have.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.model.events import FrameRecord
from ptycassette.model.geometry import Cursor, Size
from ptycassette.model.limits import UINT16_MAX, Limits
from ptycassette.model.screen import Style, StyleRun

_Row = tuple[int, ...] | int
_PER_RUN = 3
_FEW_RUNS = 12
"""So many runs are spelt as objects: a table would save little."""


class FrameLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``frames.jsonl`` as it is written. The fields are those of ``FrameRecord``."""

    seq: int
    t_ms: int
    size: Size
    text: tuple[str, ...]
    cells: Any = None
    cursor: Cursor
    title: str = ""
    raw_start: int
    raw_end: int
    parser_offset: int
    t_us: int | None = None
    styles: tuple[tuple[StyleRun, ...], ...] | None = None
    style_table: tuple[Style, ...] | None = None
    style_rows: tuple[_Row, ...] | None = None
    alt_screen: bool = False
    hash: str | None = None


class FrameSpelling:
    """Turns frames into lines and back."""

    struct = FrameLine

    def line_of(self, record: FrameRecord) -> FrameLine:
        """The line of a frame, with its styles as a table and rows where there are many."""
        styles = record.styles
        table: dict[Style, int] = {}
        rows: list[_Row] | None = None
        if styles is not None and sum(map(len, styles)) > _FEW_RUNS:
            rows, styles = [], None
            seen: dict[tuple[StyleRun, ...], int] = {}
            for number, runs in enumerate(record.styles or ()):
                first = seen.setdefault(runs, number)
                if first != number and runs:
                    rows.append(first)
                    continue
                flat: list[int] = []
                for run in runs:
                    flat += (run.col, run.length, table.setdefault(run.style, len(table)))
                rows.append(tuple(flat))
        return FrameLine(
            seq=record.seq,
            t_ms=record.t_ms,
            size=record.size,
            text=record.text,
            cells=record.cells,
            cursor=record.cursor,
            title=record.title,
            raw_start=record.raw_start,
            raw_end=record.raw_end,
            parser_offset=record.parser_offset,
            t_us=record.t_us,
            styles=styles,
            style_table=None if rows is None else tuple(table),
            style_rows=None if rows is None else tuple(rows),
            alt_screen=record.alt_screen,
            hash=record.hash,
        )

    def record_of(self, line: FrameLine, limits: Limits) -> FrameRecord:
        """The frame that a line holds.

        Raises:
            ValueError: the styles are no styles of a screen; the message is the reason.
        """
        return FrameRecord(
            seq=line.seq,
            t_ms=line.t_ms,
            size=line.size,
            text=line.text,
            cells=line.cells,
            cursor=line.cursor,
            title=line.title,
            raw_start=line.raw_start,
            raw_end=line.raw_end,
            parser_offset=line.parser_offset,
            t_us=line.t_us,
            styles=_styles_of(line, limits),
            alt_screen=line.alt_screen,
            hash=line.hash,
        )


def _styles_of(line: FrameLine, limits: Limits) -> tuple[tuple[StyleRun, ...], ...] | None:
    if line.style_rows is None:
        if line.style_table is not None:
            raise ValueError("style_table without style_rows")
        return line.styles
    if line.styles is not None:
        raise ValueError("both styles and style_rows")
    table = line.style_table or ()
    rows: list[tuple[StyleRun, ...]] = []
    count = 0
    for number, row in enumerate(line.style_rows):
        if isinstance(row, int):
            if not 0 <= row < number:
                raise ValueError(f"style_rows[{number}] is {row}, and no earlier row")
            rows.append(rows[row])
        else:
            rows.append(_runs_of(row, table, number))
        count += len(rows[-1])
        if count > limits.max_line_values:
            raise ValueError(f"style_rows give more than {limits.max_line_values} runs")
    return tuple(rows)


def _runs_of(flat: tuple[int, ...], table: tuple[Style, ...], number: int) -> tuple[StyleRun, ...]:
    where = f"style_rows[{number}]"
    if len(flat) % _PER_RUN:
        raise ValueError(f"{where} is not made of column, length and style")
    runs = []
    for at in range(0, len(flat), _PER_RUN):
        col, length, style = flat[at : at + _PER_RUN]
        if not (0 <= col <= UINT16_MAX and 1 <= length <= UINT16_MAX):
            raise ValueError(f"{where}: column {col} and length {length} are no run of a row")
        if not 0 <= style < len(table):
            raise ValueError(f"{where}: style {style} is not in style_table")
        runs.append(StyleRun(col, length, table[style]))
    return tuple(runs)
