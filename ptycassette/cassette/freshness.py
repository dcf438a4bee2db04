"""How old a recording is, in words, and whether it is still to be trusted: by its own window."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from ptycassette.keys.quantities import parse_time
from ptycassette.model.records import Manifest

_SHOWN = 40


def window_of(text: str) -> timedelta | None:
    """``24h``, ``1h30m``, ``7d``; None when it is not such a text. At most ``timedelta.max``."""
    try:
        return timedelta(seconds=parse_time(text, longest_s=math.inf))
    except OverflowError:
        return timedelta.max
    except ValueError:
        return None


_AGES = (("year", 31_557_600), ("month", 2_629_800), ("week", 604_800), ("day", 86_400),
         ("hour", 3_600), ("minute", 60))  # fmt: skip


def age_text(age: timedelta) -> str:
    """An age in words, rounded down: ``just now``, ``5 minutes ago``, ``2 months ago``."""
    seconds = age.total_seconds()
    if seconds < 0:
        return "in the future"
    for unit, length in _AGES:
        count = int(seconds // length)
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def recorded_when(manifest: Manifest) -> datetime | None:
    """When the recording was made; None if the manifest has no time, or one without a zone."""
    try:
        when = datetime.fromisoformat(
            manifest.harness.captured_at or manifest.provenance.recorded_at
        )
    except ValueError:
        return None
    return when if when.tzinfo else None


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
        return f"recorded at {_shown(taken)}, which is not a time"
    if window is None:
        return f"freshness window {_shown(harness.freshness_window)} is not a duration"
    if since.tzinfo is None:
        return f"recorded at {_shown(taken)}, without a time zone"
    if now - since <= window:  # since + window may be no date
        return None
    return f"recorded {age_text(now - since)}, to be trusted for {harness.freshness_window}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
