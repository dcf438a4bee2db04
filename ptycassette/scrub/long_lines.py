"""Lines that the terminal wrapped, read as on a screen that is as wide as they are.

A program that breaks lines itself may do so at a width that the terminal has not: full rows and
short ones take turns, then, and nothing of two of them tells that they belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ptycassette.scrub.joins import Line, follows
from ptycassette.scrub.paragraphs import unwrapped
from ptycassette.scrub.rows import RowCopy, Segment, joined_rows, line_of, put_together

__all__ = ["long_lines"]

_WIDEST = 1 << 20
_MARGIN = 16  # so that no line fills it


def long_lines(
    texts: Sequence[str], wrapped: Sequence[bool], copy: Callable[[int], RowCopy]
) -> Iterator[tuple[str, list[tuple[int, Segment]]]]:
    """Everything that goes on from one line to the next, as ``joined_rows`` gives it.

    Args:
        texts: what the rows show; those that go on in the next row as wide as they are.
        wrapped: which rows go on with the one above.
        copy: gives the row of a number.
    """
    lines: list[list[int]] = []
    for number, goes_on in enumerate(wrapped):
        if not goes_on:
            lines.append([number])
        elif lines:  # of one of which the beginning is not there nothing is read
            lines[-1].append(number)
    shown = ["".join(texts[number] for number in line).rstrip() for line in lines]
    long = [at for at, line in enumerate(lines) if len(line) > 1]
    seams = sorted({*(at - 1 for at in long if at), *(at for at in long if at + 1 < len(lines))})
    width = max(map(len, shown), default=0) + _MARGIN
    made: dict[int, Line] = {}

    def line_at(at: int) -> Line:
        if at not in made:
            made[at] = line_of(_one(list(map(copy, lines[at])), width))
        return made[at]

    runs: list[list[int]] = []
    for seam in seams:
        if not follows(shown[seam], shown[seam + 1], _WIDEST):
            continue
        if runs and runs[-1][-1] == seam - 1:
            runs[-1].append(seam)
        else:
            runs.append([seam])
    for run in runs:
        group = [line_at(at) for at in (*run, run[-1] + 1)]
        yield from (joined for joined in joined_rows(group) if len(joined[1]) > 1)
    for pieces in unwrapped(shown, near=seams):
        yield put_together((line_at(row), start, end) for row, start, end in pieces)


def _one(rows: Sequence[RowCopy], width: int) -> RowCopy:
    """One row of several, with blanks behind it."""
    chars = [char for row in rows for char in row.chars]
    origins = [origin for row in rows for origin in row.origins]
    behind = max(0, width - len(chars))
    return RowCopy([*chars, *" " * behind], [*origins, *[None] * behind], wrapped=False)
