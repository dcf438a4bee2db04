"""Lines that the terminal wrapped, read as on a screen that is as wide as they are.

A program that breaks lines itself may do so at a width that the terminal has not: full rows and
short ones take turns, then, and nothing of two of them tells that they belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ptycassette.scrub.joins import Line, follows
from ptycassette.scrub.paragraphs import may_be_torn, unwrapped
from ptycassette.scrub.rows import RowCopy, Segment, joined_rows, line_of, put_together

__all__ = ["long_lines", "torn_seams"]

_WIDEST = 1 << 20
_MARGIN = 16  # so that no line fills it


def torn_seams(texts: Sequence[str], wrapped: Sequence[bool]) -> Iterator[int]:
    """The rows that end a line with which a token may go on in the next line, one of them long.

    ``texts`` are right-trimmed. Quick, for it is asked wherever the terminal wrapped something.
    """
    last = len(texts) - 1
    for number in range(last):
        if wrapped[number + 1]:
            continue
        long = wrapped[number] or (number + 2 <= last and wrapped[number + 2])
        if not long:
            continue
        above, below = texts[number], texts[number + 1]
        if wrapped[number] and number and " " not in above:
            above = texts[number - 1] + above
        if number + 2 <= last and wrapped[number + 2] and " " not in below:
            below += texts[number + 2]
        if may_be_torn(above, below):
            yield number


def long_lines(
    texts: Sequence[str],
    wrapped: Sequence[bool],
    seams: Iterable[int],
    copy: Callable[[int], RowCopy],
) -> Iterator[tuple[str, list[tuple[int, Segment]]]]:
    """Everything that goes on from one line to the next, as ``joined_rows`` gives it.

    Args:
        texts: what the rows show; those that go on in the next row as wide as they are.
        wrapped: which rows go on with the one above.
        seams: the last rows of lines that may go on in the next one.
        copy: gives the row of a number.
    """
    lines: list[list[int]] = []
    line_of_row: dict[int, int] = {}
    for number, goes_on in enumerate(wrapped):
        if not goes_on:
            lines.append([number])
        elif lines:  # of one of which the beginning is not there nothing is read
            lines[-1].append(number)
        line_of_row[number] = len(lines) - 1
    shown = ["".join(texts[number] for number in line).rstrip() for line in lines]
    near = [line_of_row[seam] for seam in seams if line_of_row[seam] >= 0]
    width = max(map(len, shown), default=0) + _MARGIN
    made: dict[int, Line] = {}

    def line_at(at: int) -> Line:
        if at not in made:
            made[at] = line_of(_one(list(map(copy, lines[at])), width))
        return made[at]

    runs: list[list[int]] = []
    for seam in near:
        if not follows(shown[seam], shown[seam + 1], _WIDEST):
            continue
        if runs and runs[-1][-1] == seam - 1:
            runs[-1].append(seam)
        else:
            runs.append([seam])
    for run in runs:
        group = [line_at(at) for at in (*run, run[-1] + 1)]
        yield from (joined for joined in joined_rows(group) if len(joined[1]) > 1)
    for pieces in unwrapped(shown, near=near):
        yield put_together((line_at(row), start, end) for row, start, end in pieces)


def _one(rows: Sequence[RowCopy], width: int) -> RowCopy:
    """One row of several, with blanks behind it."""
    chars = [char for row in rows for char in row.chars]
    origins = [origin for row in rows for origin in row.origins]
    behind = max(0, width - len(chars))
    return RowCopy([*chars, *" " * behind], [*origins, *[None] * behind], wrapped=False)
