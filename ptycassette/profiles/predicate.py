"""Predicates over screens, as profiles and probes write them.

All that is given must hold: every text of ``contains`` is on the screen, none
of ``absent``, and ``regex`` is found in the rows joined by newlines (``^`` and
``$`` match at rows). ``stable_ms`` also requires that nothing changed for so long;
the caller checks that, because this module has no clock.
"""

from __future__ import annotations

from ptycassette.model.file_patterns import file_pattern
from ptycassette.model.screen import Screen
from ptycassette.profiles.checked import StrictTable, check_regex


class ScreenPredicate(StrictTable, frozen=True, kw_only=True):
    """A condition on the screen."""

    contains: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    regex: str | None = None
    stable_ms: int = 0

    def __post_init__(self) -> None:
        check_regex(self.regex)
        if not (self.contains or self.absent or self.regex or self.stable_ms):
            raise ValueError("an empty predicate")

    def misses(self, screen: Screen) -> tuple[str, ...]:
        """The parts that do not hold, in words."""
        text = screen.text
        failed = [f"contains {part!r}" for part in self.contains if part not in text]
        failed += [f"absent {part!r}" for part in self.absent if part in text]
        if self.regex and not file_pattern(self.regex, multiline=True).found(text):
            failed.append(f"regex '{self.regex}'")
        return tuple(failed)

    def holds(self, screen: Screen) -> bool:
        """Whether all holds (except for ``stable_ms``)."""
        return not self.misses(screen)
