"""Decide when a piece of a recorded answer may be sent in a new run. Pure.

The decision does not use the clock. A piece that came after an input in the recording is sent only
after that input was sent again. So a user who typed while an answer was still arriving types into
the same answer again, however fast either side is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Gates:
    """Counts the inputs that were sent, and compares them with the times of the recording.

    Args:
        inputs_us: when each input was sent in the recording, in order.
    """

    def __init__(self, inputs_us: Sequence[int]) -> None:
        self._inputs_us = list(inputs_us)
        self.sent = 0

    def is_open(self, t_us: int) -> bool:
        """Whether all inputs before this moment of the recording have been sent again."""
        return self.needed(t_us) <= self.sent

    def needed(self, t_us: int) -> int:
        """How many inputs were sent before this moment."""
        return bisect_left(self._inputs_us, t_us)
