"""Text made to be slow: whatever is repeated, scrubbing takes time in proportion to it."""

from __future__ import annotations

import pytest

from benchmarks.processor_time import Stopwatch
from ptycassette.scrub.rules.rule_set import default_rules
from ptycassette.testing import scrub_chunks

pytestmark = pytest.mark.integration

ANCHORS = sorted({anchor for rule in default_rules(volatile=True) for anchor in rule.anchors})
BYTES = 8_192
MOST_S = 1.0
"""Several times what the slowest takes on a busy machine."""
TRIES = 3
"""The machine may have other things to do."""
STEERING = [
    "\x1b[4hx ", "\x1b[1@x", "\x1b[1;1H\x1b[4hx", "\x1b[1Px", "\x1b[5;5Hsk-", "x\b", "x\r",
    "\x1b[K", "\x1b[31mx", "\x1b[2J", "\x1b[L", "\x1bM", "x\t", "é\u0301", "漢", "│ab12ab12ab12",
    "a  ab12ab12ab12ab12 ", "\x1b]8;;http://a:b@c\x07",
]  # fmt: skip
ENCODED = [
    "\\x41", "%41", "%2541", "41 ", "QUJD", "\\u0041", "0x41 ", "eyJ.",
    "-----BEGIN " + "PRIVATE KEY-----", "00000010: 4141 4141  AAAA\r\n", "\\", "%", '{"a":',
]  # fmt: skip


def seconds(unit: str) -> float:
    """What a few KB of a unit, over and over, cost of the processor, at best."""
    data = (unit * (BYTES // len(unit) + 1))[:BYTES].encode()
    best = float("inf")
    for _ in range(TRIES):
        with Stopwatch() as watch:
            scrub_chunks([data], rows=24, cols=80)
        best = min(best, watch.seconds)
        if best < MOST_S:
            break
    return best


@pytest.mark.slow
@pytest.mark.parametrize("step", [15, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("behind", ["", "a", "=aB3dE5gH7jK9mN1 "])
def test_no_anchor_of_a_rule_is_slow(behind: str, step: int) -> None:
    """Every rule is tried at each of its anchors; what is around them is looked at once."""
    anchors = ANCHORS[::step]
    slow = {anchor: took for anchor in anchors if (took := seconds(anchor + behind)) > MOST_S}

    assert slow == {}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("unit", [*STEERING, *ENCODED])
def test_no_sequence_and_no_encoding_is_slow(unit: str) -> None:
    """Each of them makes the screen or the decoders work."""
    assert seconds(unit) < MOST_S
