"""Messages that a program prints only in some runs while it ends. Pure.

Its profile declares them (``screens.at_exit``). They are left out of the last screen alone, so a
screen on which a key was typed is compared whole. What such a message pushed off the screen is
missing, and is found as a difference.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptycassette.model import file_pattern
from ptycassette.profiles import ExitMessage


def without_exit_messages(
    rows: Sequence[str], messages: Sequence[ExitMessage]
) -> tuple[list[str], list[str]]:
    """The rows without these messages, and the names of the messages that were there.

    A message is its first row, the rows of it that follow, and one blank row behind them. At the
    top of the screen its first row may be gone already.
    """
    left = list(rows)
    names = []
    for message in messages:
        kept = _without(left, message)
        if kept != left:
            left = kept
            names.append(message.name)
    return left, names


def _without(rows: Sequence[str], message: ExitMessage) -> list[str]:
    first, more = file_pattern(message.first), file_pattern(message.rows)
    kept: list[str] = []
    inside = bool(rows) and more.found(rows[0])
    for row in rows:
        if first.found(row) or (inside and more.found(row)):
            inside = True
        elif inside and not row.strip():
            inside = False
        else:
            inside = False
            kept.append(row)
    return kept
