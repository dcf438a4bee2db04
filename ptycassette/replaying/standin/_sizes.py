"""The sizes of the driver's terminal, compared with the recorded ones: at the start and later."""

from __future__ import annotations

from collections.abc import Iterable

from ptycassette.model.events import InputRecord
from ptycassette.model.geometry import Size
from ptycassette.replaying.standin._state import RunState

SIZE_GRACE_US = 500_000
"""Drivers that set the size only after the start get so long to do it."""


class SizeComparison:
    """Compares sizes. Over pipes the driver has none, and recorded resizes are skipped."""

    def __init__(self, state: RunState, inputs: Iterable[InputRecord]) -> None:
        self._state = state
        self._since: int | None = None
        recorded, size = state.options.recorded_size, state.driver.size
        self._settled = recorded is None or size is None or size == recorded
        self._left: list[Size] = []
        self.expect(inputs)

    def expect(self, inputs: Iterable[InputRecord]) -> None:
        """Expect the resizes among ``inputs``, in that order."""
        self._left = [r.size for r in inputs if r.kind == "resize" and r.size is not None]

    def resized(self, size: Size, now_us: int) -> None:
        """The terminal has another size now."""
        driver = self._state.driver
        if size != driver.size:
            driver.size = size
            driver.size_changed_us = now_us

    def settle_start(self, now_us: int) -> int | None:
        """Microseconds to wait for the recorded size to be set; None when that is settled."""
        if self._settled:
            return None
        state = self._state
        want, got = state.options.recorded_size, state.driver.size
        if want is not None and got is not None and want != got:
            if self._since is None:
                self._since = now_us
            left = self._since + SIZE_GRACE_US - now_us
            if left > 0 and not state.driver.ended:
                return left
            state.findings.size(want, got)
            state.stop_if_strict()
        self._settled = True
        state.driver.size_changed_us = None
        return None

    def arrived(self, record: InputRecord, now_us: int) -> bool:
        """Whether the driver resized the terminal as recorded, or otherwise (which diverges)."""
        driver = self._state.driver
        if driver.size is None or driver.size in self._left[:1]:
            self.give_up()
            driver.size_changed_us = None
            return True
        changed = driver.size_changed_us
        if changed is None or record.size is None:
            return False
        if driver.size in self._left:  # the driver was faster: sizes in between were never seen
            self.give_up()
            return True
        self._state.findings.resize(record.size, driver.size)
        self._state.stop_if_strict()
        self.give_up()
        driver.size_changed_us = None
        return now_us >= changed

    def give_up(self) -> None:
        """Stop waiting for the next recorded size."""
        del self._left[:1]

    def check_unrecorded(self) -> None:
        """Report a resize that the rest of the recording does not expect."""
        driver = self._state.driver
        if driver.size_changed_us is not None and driver.size is not None and not self._left:
            driver.size_changed_us = None
            self._state.findings.resize(None, driver.size)
            self._state.stop_if_strict()
