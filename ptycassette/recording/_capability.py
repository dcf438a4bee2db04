"""Results of probing the recorded CLI, for ``harness.capability`` of the manifest."""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.model.manifest import Harness
from ptycassette.model.records import DiscoveryRecord, QuotaRecord


def with_probed(
    harness: Harness, quota: QuotaRecord | None, discovery: DiscoveryRecord | None
) -> Harness:
    """The harness block with the results of this run's probes: models, reasoning levels, quota.

    Values of the caller are kept. ``quota`` is true if usage windows were read.
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
