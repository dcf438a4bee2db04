"""How results and errors are put on the user's terminal: one place, everything escaped."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from ptycassette.errors import CassetteError, WaitTimeoutError
from ptycassette.model.visible import visible

__all__ = ["bug_lines", "error_lines"]


def error_lines(failed: CassetteError) -> Iterator[str]:
    """The lines of a handled error: what, where, what to do, and the screen if it has one."""
    where = f"{visible(failed.where)}: " if failed.where else ""
    first, *rest = failed.message.split("\n")
    yield f"ptycassette: {where}{visible(first)}"
    for line in rest:
        yield f"  {visible(line)}"
    if isinstance(failed, WaitTimeoutError):
        for row in failed.screen:
            yield f"  | {visible(row)}"
    if failed.hint:
        yield f"  hint: {visible(failed.hint)}"


def bug_lines(bug: Exception) -> Iterator[str]:
    """The lines of an exception that nobody expected: a bug of ours, with its traceback."""
    yield "ptycassette: internal error, this is a bug in ptycassette (exit status 5)"
    for part in traceback.format_exception(bug):
        for line in part.rstrip("\n").split("\n"):
            yield f"  {visible(line)}"
