"""The shared state of one run of the stand-in: the driver's side, the findings, the end."""

from __future__ import annotations

from ptycassette.replaying.standin._findings import Findings
from ptycassette.replaying.standin._input import DriverInput
from ptycassette.replaying.standin.decisions import RunEnded, StandinOptions
from ptycassette.timeline.entry_matcher import EntryMatcher
from ptycassette.timeline.match import Matching
from ptycassette.timeline.match_entries import Entry
from ptycassette.timeline.match_secrets import RecordedSecrets


class RunState:
    """One run.

    Attributes:
        finished: how it ended, once it has.
        last_us: when (on the caller's clock) the last event was played.
        notes: remarks that are not divergences.
    """

    def __init__(
        self,
        options: StandinOptions,
        matching: Matching,
        driver: DriverInput,
        findings: Findings,
        secrets: RecordedSecrets | None = None,
    ) -> None:
        self.options = options
        self.matching = matching
        self._secrets = secrets
        self.driver = driver
        self.findings = findings
        self.finished: RunEnded | None = None
        self.last_us = 0
        self.notes: list[str] = []

    def matcher(self, entry: Entry) -> EntryMatcher:
        """A fresh matcher for a recorded entry."""
        return self.matching.matcher(entry, self._secrets)

    def stop(self, *, killed_by: str = "") -> None:
        """End before the recording does."""
        self.finished = self.finished or RunEnded(None, complete=False, killed_by=killed_by)

    def stop_if_strict(self) -> None:
        """End after a divergence, unless ``lenient``."""
        if not self.options.lenient:
            self.stop()
