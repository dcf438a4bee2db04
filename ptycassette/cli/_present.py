"""Prints results and errors on the user's terminal, with everything escaped."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ptycassette.errors import CassetteError, UsageError, WaitTimeoutError
from ptycassette.keys.quantities import clock_text
from ptycassette.model.visible_text import printable, visible

BATCH_LINES = 500


def check_stdout_takes(name: str, *, is_binary: bool) -> None:
    """Refuse to write what is no text to a terminal, which would obey the bytes.

    Raises:
        UsageError: stdout is a terminal.
    """
    if is_binary and sys.stdout.isatty():
        raise UsageError(
            f"{name} is not text, and stdout is a terminal", hint=f"name a file: > NAME.{name}"
        )


def error_lines(failed: CassetteError) -> Iterator[str]:
    """The lines of a handled error: what, where, the next step, and the screen if it has one."""
    where = f"{printable(failed.where)}: " if failed.where else ""
    first, *rest = failed.message.split("\n")
    yield f"ptycassette: {where}{printable(first)}"
    for line in rest:
        yield f"  {printable(line)}"
    if isinstance(failed, WaitTimeoutError):
        for row in failed.screen:
            yield f"  | {printable(row)}"
    if failed.hint:
        yield f"  hint: {printable(failed.hint)}"


def bug_lines(bug: Exception) -> Iterator[str]:
    """The lines for an unexpected exception, which is a bug of ours, with its traceback."""
    yield "ptycassette: internal error, this is a bug in ptycassette (exit status 5)"
    for part in traceback.format_exception(bug):
        for line in part.rstrip("\n").split("\n"):
            yield f"  {visible(line)}"


def json_text(value: Any) -> str:
    """``value`` (a struct or builtins) as JSON in ASCII on one line.

    Everything outside of printable ASCII is escaped, so that a document with
    untrusted text can be shown in a terminal.
    """
    import json

    import msgspec

    from ptycassette.model.records import native, storable

    value = msgspec.to_builtins(value)
    text = json.dumps(value, ensure_ascii=True, separators=(", ", ": "))
    if "\\ud" in text:  # a surrogate, which may be a lone one
        text = json.dumps(storable(native(value)), ensure_ascii=True, separators=(", ", ": "))
    return text.replace("\x7f", "\\u007f")


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to stdout, many at once; a closed pipe raises ``BrokenPipeError``."""
    rest = iter(lines)
    while batch := list(islice(rest, BATCH_LINES)):
        sys.stdout.write("".join(f"{line}\n" for line in batch))
    sys.stdout.flush()


def field_lines(fields: Iterable[tuple[str, str]], *, indent: int = 2) -> Iterator[str]:
    """Names and values in two columns."""
    rows = list(fields)
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        yield f"{' ' * indent}{name:<{width}}  {value}".rstrip()


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None,
    spare: Sequence[str],
) -> Iterator[str]:
    """Rows under headings, aligned; texts are already escaped.

    Args:
        columns: the headings; on a narrow terminal the first column is cut at its left.
        rows: the cells.
        width: of the terminal; None for no limit.
        spare: columns to leave out on a narrow terminal, in this order.
    """
    from rich.cells import cell_len, set_cell_size

    shown = list(range(len(columns)))
    widths = [max(cell_len(columns[at]), *(cell_len(row[at]) for row in rows), 0) for at in shown]
    dropped = [columns.index(name) for name in spare]
    while width is not None and dropped and _total(shown, widths) > width:
        shown.remove(dropped.pop(0))
    if width is not None and (excess := _total(shown, widths) - width) > 0:
        widths[0] = max(8, widths[0] - excess)
    for row in (columns, *rows):
        cells = [set_cell_size(_tail(row[at], widths[at]), widths[at]) for at in shown]
        yield "  ".join(cells).rstrip()


def _total(shown: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[at] for at in shown) + 2 * (len(shown) - 1)


def _tail(text: str, width: int) -> str:
    """The end of a text that is too long, because paths differ at the end."""
    from rich.cells import cell_len

    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[1:]
    return f"\u2026{text}"


def time_text(t_us: int) -> str:
    """Microseconds as seconds, ``12.345 s``; as a clock from a minute on, ``1:02.345``."""
    text = clock_text(t_us)
    return text if ":" in text else f"{text} s"


def count_text(count: int, one: str, many: str | None = None) -> str:
    """``1 frame``, ``2 frames``."""
    return f"{count} {one if count == 1 else many or one + 's'}"
