"""How much one check may take: a scenario and its recording may both be a stranger's.

Each of thousands of predicates may search each of thousands of screens. The effort is counted
before it is spent, in units of about a nanosecond, so that a check is refused on every machine or
on none. Most real checks need less than a hundredth of the limit.
"""

from __future__ import annotations

from ptycassette.errors import UsageError

MAX_EFFORT = 500_000_000
"""Forty predicates that each look at all of a thousand screens of 80x24 cells without a blank."""

PER_LOOK = 3_000
"""One screen or text, whatever is in it."""
PER_RECORD = 400
"""One of all events, of which only the time or the kind is looked at."""
PER_CHAR = 6
"""Looking for a text: ``aab`` among letters a is the worst."""
PER_PATTERN_CHAR = 10
"""Looking for a pattern: RE2 takes 2 to 8 ns for each byte, besides encoding it."""
PER_REWRITTEN_CHAR = 100
"""One normaliser."""
PER_VALUE = 3_000
"""One value of JSON that a path with wildcards looks at."""


class Effort:
    """Counts what one check takes."""

    def __init__(self) -> None:
        self._left = MAX_EFFORT

    def spend(self, nanoseconds: int) -> None:
        """Count something that is about to be done.

        Raises:
            UsageError: the sum is over the limit.
        """
        self._left -= nanoseconds
        if self._left < 0:
            raise UsageError(
                "this scenario looks at too much: its predicates, times the screens and events"
                " that each looks at, would take more than about half a second",
                hint="split it into several files, or set at_ms or within_ms",
            )
