"""A probe as a state machine: screens in, actions and a result out. No clock, no terminal.

The caller takes ``step``. For a step that waits it passes screens to ``look`` until
the step changes; otherwise it performs the step (over a recording it does nothing)
and calls ``acted``. A marker may end the run at any screen. ``result`` has the
status, and either records or a diagnostic.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.harness._extract import LayoutError, find_discovery, find_quota
from ptycassette.harness.probe import Probe, ProbeStatus
from ptycassette.harness.step import DriveStep
from ptycassette.model.records import DiscoveryRecord, QuotaRecord
from ptycassette.model.screen import Screen


class ProbeDiagnostic(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a probe has no result: message, step, failed predicates, screen."""

    message: str
    step: int | None = None
    failed: tuple[str, ...] = ()
    screen: tuple[str, ...] = ()


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome. ``quota`` and ``discovery`` are set if ``status`` is ``ok`` or ``stale``."""

    harness: str
    probe: str
    source: str
    status: ProbeStatus
    captured_at: str
    freshness_window: str
    quota: QuotaRecord | None = None
    discovery: DiscoveryRecord | None = None
    diagnostic: ProbeDiagnostic | None = None
    age_s: int | None = None
    fresh: bool | None = None


class ProbeRun:
    """One run of a probe."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self._index = 0
        self._captures: dict[str, Screen] = {}
        self._status: ProbeStatus | None = None
        self._diagnostic: ProbeDiagnostic | None = None

    @property
    def step(self) -> DriveStep | None:
        """The current step; None at the end."""
        if self._status is not None or self._index >= len(self.probe.steps):
            return None
        return self.probe.steps[self._index]

    def look(self, screen: Screen) -> bool:
        """Pass a screen to a step that waits; returns whether the wait is over.

        The step's own predicate is checked before the markers.
        """
        step = self.step
        if step is None or step.wait is None:
            return False
        if step.wait.holds(screen):
            if step.capture is not None:
                self._captures[step.capture] = screen
            self._index += 1
            return True
        for marker in self.probe.markers:
            if marker.when.holds(screen):
                self._end(marker.status, marker.message, screen)
                return True
        return False

    def acted(self) -> None:
        """Go on: the step was performed."""
        self._index += 1

    def fail(self, message: str, screen: Screen, *, status: ProbeStatus = "error") -> None:
        """End the run: a timeout, or the end of the program or recording.

        A marker on the last screen gives a more exact status.
        """
        for marker in self.probe.markers:
            if marker.when.holds(screen):
                self._end(marker.status, marker.message, screen)
                return
        self._end(status, message, screen)

    def _end(self, status: ProbeStatus, message: str, screen: Screen) -> None:
        step = self.step
        failed = step.wait.misses(screen) if step is not None and step.wait is not None else ()
        self._diagnostic = ProbeDiagnostic(
            message=message, step=self._index, failed=failed, screen=_shown(screen)
        )
        self._status = status

    def result(self, captured_at: str) -> ProbeResult:
        """The outcome.

        Args:
            captured_at: when the screens were taken, RFC 3339.
        """
        if self._status is None and self.step is not None:
            self._status = "error"
            self._diagnostic = ProbeDiagnostic(message="the probe was not walked to its end")
        quota: QuotaRecord | None = None
        discovery: DiscoveryRecord | None = None
        if self._status is None:
            try:
                quota, discovery = self._facts(captured_at)
                self._status = "ok"
            except LayoutError as unknown:
                self._status = "error"
                self._diagnostic = ProbeDiagnostic(
                    message=f"unknown layout of the screen {unknown.capture!r}",
                    failed=(unknown.message,),
                    screen=_shown(self._captures[unknown.capture]),
                )
        return ProbeResult(
            harness=self.probe.harness,
            probe=self.probe.name,
            source=self.probe.source,
            status=self._status,
            captured_at=captured_at,
            freshness_window=self.probe.freshness_window,
            quota=quota,
            discovery=discovery,
            diagnostic=self._diagnostic,
        )

    def _facts(self, captured_at: str) -> tuple[QuotaRecord | None, DiscoveryRecord | None]:
        """The records, from the captured screens."""
        probe = self.probe
        shared: dict[str, Any] = {
            "source": probe.source,
            "status": "ok",
            "captured_at": captured_at,
            "freshness_window": probe.freshness_window,
            "staleness_behavior": probe.staleness_behavior,
        }
        quota = discovery = None
        if probe.quota is not None:
            facts = find_quota(probe.quota, self._captures)
            quota = QuotaRecord(
                **shared,
                account_class=facts.account_class,
                windows=facts.windows or None,
                metadata=facts.metadata or None,
            )
        if probe.discovery is not None:
            models, levels = find_discovery(probe.discovery, self._captures)
            discovery = DiscoveryRecord(
                **shared, models=models or None, reasoning_levels=levels or None
            )
        return quota, discovery


def _shown(screen: Screen) -> tuple[str, ...]:
    """The rows of a screen, without the empty ones at the end."""
    return tuple(screen.text.split("\n"))
