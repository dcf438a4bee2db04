"""The untimed records of a cassette: quota, discovery, scrub report."""

from __future__ import annotations

from typing import Any

import msgspec


class QuotaRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``quota.json``: what the harness said about its usage windows."""

    source: str
    status: str
    captured_at: str | None = None
    freshness_window: str | None = None
    staleness_behavior: str | None = None
    account_class: str | None = None
    windows: tuple[dict[str, Any], ...] | None = None
    metadata: dict[str, Any] | None = None


class DiscoveryRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``discovery.json``: models and reasoning levels that the harness offers."""

    source: str
    status: str
    models: tuple[str, ...] | None = None
    reasoning_levels: tuple[str, ...] | None = None
    captured_at: str | None = None
    freshness_window: str | None = None
    staleness_behavior: str | None = None
    metadata: dict[str, Any] | None = None


SCRUB_STATUSES = ("clean", "redacted", "unscrubbed")
"""All that a scrub report may say."""


class ScrubReport(msgspec.Struct, frozen=True, kw_only=True):
    """``scrub-report.json``: what the scrubber did; never a secret.

    ``status`` is ``clean`` (a scrub ran and found nothing), ``redacted`` (it
    replaced something) or ``unscrubbed`` (none ran, on explicit demand).
    """

    status: str
    rules: tuple[str, ...] | None = ()
    hit_counts: dict[str, int] | None = msgspec.field(default_factory=dict)
    env_allowlist: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    intentionally_preserved: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    channels: dict[str, dict[str, int]] | msgspec.UnsetType = msgspec.UNSET
