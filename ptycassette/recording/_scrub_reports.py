"""The scrub report of a cassette that is made of another one."""

from __future__ import annotations

from typing import Final

import msgspec

from ptycassette.model.records import ScrubReport

REPORT_OPTION: Final = "scrub_report"
"""The option of a session that was published before: the report of that time."""


def merged_reports(old: ScrubReport, new: ScrubReport) -> ScrubReport:
    """The report of a second scrub, merged with that of the first."""
    if old.status == "unscrubbed":
        return new
    counts = dict(old.hit_counts or {})
    for rule, number in (new.hit_counts or {}).items():
        counts[rule] = counts.get(rule, 0) + number
    return msgspec.structs.replace(
        new,
        status="redacted" if "redacted" in {old.status, new.status} else new.status,
        hit_counts=dict(sorted(counts.items())),
        rules=tuple(sorted({*(old.rules or ()), *(new.rules or ())})),
        env_allowlist=old.env_allowlist,
    )
