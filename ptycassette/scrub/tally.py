"""Counts the replacements by channel and rule, and makes the scrub report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec

from ptycassette.model.records import ScrubReport

_MOST_EXPLAINED = 5000


class Replacement(msgspec.Struct, frozen=True):
    """One replacement: place, rule, form and length. Never the value.

    ``offset`` counts bytes of the channel; it is None where a channel has no bytes.
    """

    channel: str
    rule: str
    form: str
    offset: int | None
    length: int | None


class Tally:
    """The replacements in one session."""

    def __init__(self) -> None:
        self.channels: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.replacements: list[Replacement] = []

    @property
    def explains(self) -> bool:
        """Whether the next replacement can still be listed."""
        return len(self.replacements) < _MOST_EXPLAINED

    def count(
        self,
        channel: str,
        rule: str,
        *,
        form: str = "text",
        offset: int | None = None,
        length: int | None = None,
    ) -> None:
        """Count one replacement."""
        if self.explains:
            self.replacements.append(Replacement(channel, rule, form, offset, length))
        self.channels[channel][rule] += 1

    def report(
        self,
        *,
        rules: Iterable[str],
        env_allowlist: tuple[str, ...] = (),
        preserved: tuple[str, ...] = (),
    ) -> ScrubReport:
        """The report; ``clean`` when nothing was replaced."""
        totals: Counter[str] = Counter()
        for hits in self.channels.values():
            totals.update(hits)
        channels = {
            name: dict(sorted(hits.items())) for name, hits in sorted(self.channels.items())
        }
        return ScrubReport(
            status="redacted" if totals else "clean",
            rules=tuple(sorted(set(rules))),
            hit_counts=dict(sorted(totals.items())),
            env_allowlist=env_allowlist or msgspec.UNSET,
            intentionally_preserved=preserved or msgspec.UNSET,
            channels=channels or msgspec.UNSET,
        )
