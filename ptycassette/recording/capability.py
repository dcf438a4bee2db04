"""What a probe found out about the recorded CLI, in ``harness.capability`` of the manifest."""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.model import DiscoveryRecord, Harness, QuotaRecord

__all__ = ["with_probed"]


def with_probed(
    harness: Harness, quota: QuotaRecord | None, discovery: DiscoveryRecord | None
) -> Harness:
    """The harness block with what the probes of this run told: models, reasoning levels, quota.

    What the caller said stays. ``quota`` is true when usage windows were read.
    """
    found: dict[str, Any] = {}
    if discovery is not None:
        found["models"] = list(discovery.models or ())
        found["reasoning_levels"] = list(discovery.reasoning_levels or ())
    if quota is not None and quota.windows:
        found["quota"] = True
    known = {name: value for name, value in found.items() if value}
    if not known:
        return harness
    return msgspec.structs.replace(harness, capability=known | (harness.capability or {}))
