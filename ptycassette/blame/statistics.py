"""Intervals and tests for counts of runs: Wilson, Newcombe, Fisher, Benjamini-Hochberg. Pure.

Few lines each, and held against statsmodels and scipy in the tests; those are 300 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from statistics import NormalDist

CONFIDENCE = 0.95
"""Of all intervals; one minus it is the false discovery rate."""

_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
_SAME = 1 + 1e-7  # two tables as likely as each other, but for rounding (as R and scipy do)

Interval = tuple[float, float]


def wilson(count: int, total: int) -> Interval:
    """The score interval of a rate (Wilson 1927); 0 to 1 where nothing was counted."""
    if total == 0:
        return 0.0, 1.0
    rate, z2 = count / total, _Z * _Z
    middle = (rate + z2 / (2 * total)) / (1 + z2 / total)
    half = _Z * sqrt(rate * (1 - rate) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    low = 0.0 if count == 0 else middle - half
    high = 1.0 if count == total else middle + half
    return max(0.0, low), min(1.0, high)


def difference(count: int, total: int, control: int, controls: int) -> Interval:
    """The interval of the difference of two rates (Newcombe 1998, method 10): of Wilson's limits.

    Args:
        count: how many with the change, of ``total``.
        total: see ``count``.
        control: how many without it, of ``controls``.
        controls: see ``control``.

    Returns:
        -1 to 1 where one of the two was never counted.
    """
    if total == 0 or controls == 0:
        return -1.0, 1.0
    rate, without = count / total, control / controls
    (low, high), (control_low, control_high) = wilson(count, total), wilson(control, controls)
    apart = rate - without
    down = sqrt((rate - low) ** 2 + (control_high - without) ** 2)
    up = sqrt((high - rate) ** 2 + (without - control_low) ** 2)
    return apart - down, apart + up


def fisher(count: int, total: int, control: int, controls: int) -> float:
    """The p-value of Fisher's exact test, two-sided; 1 where one of the two was never counted."""
    hits, everything = count + control, total + controls
    least, most = max(0, hits - controls), min(total, hits)
    ways = [comb(total, one) * comb(controls, hits - one) for one in range(least, most + 1)]
    seen = ways[count - least] * _SAME
    return min(1.0, sum(way for way in ways if way <= seen) / comb(everything, hits))


def false_discovery(p_values: Sequence[float]) -> list[float]:
    """The p-values, adjusted so that a bound on them bounds the false discovery rate.

    Benjamini and Hochberg 1995, in the order given.
    """
    count = len(p_values)
    adjusted, least = [1.0] * count, 1.0
    falling = sorted(range(count), key=lambda one: -p_values[one])
    for rank, index in zip(range(count, 0, -1), falling, strict=True):
        least = min(least, p_values[index] * count / rank)
        adjusted[index] = least
    return adjusted
