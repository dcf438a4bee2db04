"""The names of the files of a cassette, version 1, and which of them must exist.

A name that is not listed here may stand in a cassette only when the manifest
pins it in ``optional.artifacts`` (see ``_artifacts``).
"""

from __future__ import annotations

FORMAT_VERSION = 1

KNOWN_FEATURES: frozenset[str] = frozenset()
"""What ``required_features`` may name. Version 1 knows none."""

MANIFEST = "manifest.json"
INPUT = "input.jsonl"
OUTPUT_RAW = "output.raw"
OUTPUT = "output.jsonl"
FRAMES = "frames.jsonl"
SERVICE_EVENTS = "service-events.jsonl"
FINAL = "final.json"
SCRUB_REPORT = "scrub-report.json"
QUOTA = "quota.json"
DISCOVERY = "discovery.json"

DIAGNOSTIC = "diagnostic.json"
"""Marks the diagnostic directory of a failed run, which no reader accepts."""

STREAMS = (INPUT, OUTPUT, FRAMES, SERVICE_EVENTS)
"""The files of one record a line, in the order in which they are reported."""

DOCUMENTS = (FINAL, SCRUB_REPORT, QUOTA, DISCOVERY)
"""The files of one JSON object each, the manifest apart."""

REQUIRED_FILES = (
    INPUT,
    OUTPUT_RAW,
    OUTPUT,
    FRAMES,
    SERVICE_EVENTS,
    FINAL,
    SCRUB_REPORT,
)
"""What must exist besides the manifest, even when it is empty."""

OPTIONAL_FILES = (QUOTA, DISCOVERY)
"""What exists when it was probed."""
