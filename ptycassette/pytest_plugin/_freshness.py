"""Is a recording still to be trusted? By the window that its manifest names."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from ptycassette.model import Manifest

__all__ = ["age_problem", "window_of"]

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def window_of(text: str) -> timedelta | None:
    """``24h``, ``1h30m``, ``7d``; None when it is no such text."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))


def age_problem(manifest: Manifest, now: datetime) -> str | None:
    """Why the recording is not to be trusted any more; None when it is.

    Args:
        manifest: of the recording.
        now: timezone-aware.
    """
    harness = manifest.harness
    if not harness.freshness_window:
        return None
    window = window_of(harness.freshness_window)
    taken = harness.captured_at or manifest.provenance.recorded_at
    try:
        since = datetime.fromisoformat(taken)
    except ValueError:
        return f"recorded at {taken!r}, which is no time"
    if window is None:
        return f"freshness window {harness.freshness_window!r} is no duration"
    if since.tzinfo is None or now <= since + window:
        return None if since.tzinfo else f"recorded at {taken!r}, without a time zone"
    days = (now - since).total_seconds() / 86_400
    return f"recorded {days:.1f} days ago, to be trusted for {harness.freshness_window}"
