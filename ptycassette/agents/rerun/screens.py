"""Compare two screens, ignoring parts that may differ from run to run. Pure.

There are two comparisons: a strict one of two scrubbed screens, for the report; and one of a live
screen with a scrubbed one, for waiting, in which masked characters match any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ptycassette.model.re2_engine import file_pattern
from ptycassette.replaying.scenario.predicate import normaliser_of

VOLATILE = ("spinner", "clock", "date", "duration", "pid", "uuid")
"""The default normalisers."""

_MASKED = re.compile(r"x{3,}")
MASKED_ADDRESS = "xxx"
"""The masked address of the recorder's proxy in a recording, as it is compared."""


class ScreenJudge:
    """Compares screens after normalisation.

    Args:
        normalisers: names of normalisers, applied in order.
        volatile: patterns of rows that change each time. A row that matches is left out. If the
            pattern has a group, only the text of the group is left out.

    Raises:
        KeyError: an unknown normaliser.
    """

    def __init__(self, normalisers: Sequence[str] = VOLATILE, volatile: Sequence[str] = ()) -> None:
        self._normalise: Callable[[str], str] = normaliser_of(normalisers)
        self._volatile = [file_pattern(regex) for regex in volatile]

    def normal(self, rows: Sequence[str]) -> list[str]:
        """The normalised rows, without blank rows at the end."""
        lasting = (self._lasting(row) for row in rows)
        made = [self._normalise(row).rstrip() for row in lasting if row is not None]
        while made and not made[-1]:
            made.pop()
        return made

    def _lasting(self, row: str) -> str | None:
        """A row without its volatile parts; None if all of it is volatile."""
        for pattern in self._volatile:
            found = next(pattern.matches(row), None)
            if found is None:
                continue
            if not pattern.group_count:
                return None
            start, end = found.span(1)
            row = row[:start] + row[end:] if start >= 0 else row
        return row

    def same(
        self,
        recorded: Sequence[str],
        now: Sequence[str],
        names: Sequence[tuple[str, str]] = (),
    ) -> bool:
        """Whether two scrubbed screens are the same.

        Args:
            recorded: the rows of the recording.
            now: the rows of the new run.
            names: values of the new run and the recorded values that they replace: the ids with
                which its requests were matched.
        """
        return self._compared(recorded) == self._compared([_renamed(row, names) for row in now])

    def _compared(self, rows: Sequence[str]) -> list[str]:
        """Masked text may have had another length, such as a path or a name."""
        return self.normal([_MASKED.sub("xxx", row) for row in rows])

    def awaited(self, recorded: Sequence[str]) -> Callable[[Sequence[str]], bool]:
        """A test whether a live screen is the recorded one; masked characters match any."""
        wanted = self.normal(recorded)
        masked = [_MASKED.search(row) is not None for row in wanted]

        def shown(live: Sequence[str]) -> bool:
            rows = self.normal(live)
            if len(rows) != len(wanted):
                return False
            return all(
                row == want or (hidden and _fits(want, row))
                for row, want, hidden in zip(rows, wanted, masked, strict=True)
            )

        return shown


def _renamed(row: str, names: Sequence[tuple[str, str]]) -> str:
    for live, recorded in names:
        if live.startswith("/"):  # a path; the parts beside it are different ones
            literal = recorded.replace("\\", "\\\\")
            row = re.sub(rf"{re.escape(live)}(?!\.?[\w-])", literal, row)
        else:
            row = row.replace(live, recorded)
    return row


def _fits(masked: str, row: str) -> bool:
    """Whether ``row`` can be the original of ``masked``; masked parts may have any length."""
    first, *between = _MASKED.split(masked)
    if not row.startswith(first):
        return False
    at = len(first)
    for part in between[:-1]:
        found = row.find(part, at + 1)
        if found < 0:
            return False
        at = found + len(part)
    return len(row) - len(between[-1]) > at and row.endswith(between[-1])
