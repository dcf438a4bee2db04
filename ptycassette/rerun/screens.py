"""Whether two screens are the same but for what may differ from run to run. Pure.

Two comparisons: a strict one of two scrubbed screens, for the report; and one of a live screen
with a scrubbed one, for waiting, in which masked characters match any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ptycassette.scenario import normaliser_of

VOLATILE = ("spinner", "clock", "date", "duration", "pid", "uuid")
"""The built-in normalisers that are applied unless others are named."""

_MASKED = re.compile(r"x{3,}")


class ScreenJudge:
    """Compares screens after normalisation.

    Args:
        normalisers: names of normalisers, applied in order.
        rewrites: volatile text of these two runs, such as a home directory, and the word that
            both get in its place: pairs for the recorded screen, pairs for the new one.

    Raises:
        KeyError: an unknown normaliser.
    """

    def __init__(
        self,
        normalisers: Sequence[str] = VOLATILE,
        *,
        rewrites: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._normalise: Callable[[str], str] = normaliser_of(normalisers)
        self._rewrites = sorted(rewrites, key=lambda pair: -len(pair[0]))

    def normal(self, rows: Sequence[str]) -> list[str]:
        """The rows as they are compared: without blank rows at the end."""
        made = [self._row(row) for row in rows]
        while made and not made[-1]:
            made.pop()
        return made

    def same(self, recorded: Sequence[str], now: Sequence[str]) -> bool:
        """Whether two scrubbed screens are the same."""
        return self.normal(recorded) == self.normal(now)

    def awaited(self, recorded: Sequence[str]) -> Callable[[Sequence[str]], bool]:
        """Whether a live screen is the recorded one: masked characters match any."""
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

    def _row(self, row: str) -> str:
        for text, word in self._rewrites:
            row = row.replace(text, word)
        return self._normalise(row).rstrip()


def _fits(masked: str, row: str) -> bool:
    """Whether ``row`` is what ``masked`` may have been."""
    if len(masked) != len(row):
        return False
    hidden = bytearray(len(masked))
    for run in _MASKED.finditer(masked):
        hidden[run.start() : run.end()] = b"\1" * (run.end() - run.start())
    return all(hide or one == other for hide, one, other in zip(hidden, masked, row, strict=True))
