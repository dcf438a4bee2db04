"""The object that ``doctor --drift --json`` prints."""

from __future__ import annotations

import msgspec

from ptycassette.agents.harness.surroundings import DriftCause


class DriftReport(msgspec.Struct, frozen=True, kw_only=True):
    """``doctor --drift --json``; ``now``: the newer cassette, null for this machine."""

    same: bool
    cassette: str
    now: str | None
    causes: tuple[DriftCause, ...]
