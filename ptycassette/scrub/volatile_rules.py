"""What changes from run to run without being anybody's secret: clocks, PIDs, durations, sockets.

These are normalised for comparison and stay in the evidence; scrubbing them is
an option. Digits become 0 and letters x, so that the shape stays.
"""

from __future__ import annotations

from ptycassette.scrub.rules import Rule

__all__ = ["VOLATILE_RULES"]


def _volatile(name: str, pattern: str, *, edge: bool = True) -> Rule:
    return Rule(
        name=name,
        kind="volatile",
        pattern=pattern,
        placeholder=f"<{name}>",
        learn=False,
        edge=edge,
    )


VOLATILE_RULES: tuple[Rule, ...] = (
    _volatile(
        "uuid", r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    ),
    _volatile(
        "timestamp",
        r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?",
    ),
    _volatile("local-time", r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:\s?(?:[AaPp]\.?[Mm]\.?))?"),
    _volatile("pid", r"(?i:pid)[ :=#]{1,3}(?P<s>\d{2,7})"),
    _volatile(
        "duration",
        r"(?P<s>\d{1,6}(?:\.\d{1,6})?)\s?(?:ms|us|ns|s|sec|secs|seconds|m|min|mins|minutes|h|hours)\b",
    ),
    _volatile("socket", r"(?:/[A-Za-z0-9._-]{1,64}){1,8}\.sock\b", edge=False),
    _volatile(
        "temporary-file",
        r"/(?:private/)?(?:tmp|var/folders|var/tmp)/(?P<s>[A-Za-z0-9._/-]{4,200})",
        edge=False,
    ),
    _volatile("loopback-port", r"(?:localhost|127\.0\.0\.1|\[::1\]):(?P<s>\d{4,5})"),
)
"""Searched everywhere: they have no fixed strings to look for."""
