"""A saver that cannot follow waits until the flood is over, and only then."""

from __future__ import annotations

import pytest

from ptycassette.recording.io.saver_process import Flood

MB = 1 << 20


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now_s


@pytest.mark.parametrize(
    ("size", "at", "passed_s", "outruns"),
    [
        (20 * MB, 1 * MB, 0.1, True),
        (20 * MB, 1 * MB, 0.01, False),  # too short to say
        (4 * MB, 1 * MB, 0.1, False),  # near enough
        (20 * MB, 8 * MB, 0.1, False),  # it is read nearly as fast
    ],
)
def test_a_flood_grows_far_faster_than_it_is_read(
    size: int, at: int, passed_s: float, outruns: bool
) -> None:
    """And its reader is far behind."""
    watch = Watch()
    flood = Flood(watch)
    watch.now_s = passed_s
    assert flood.outruns(size, at) is outruns


def test_a_long_journal_that_no_longer_grows_is_read() -> None:
    """The flood is over, however much of it is left."""
    watch = Watch()
    flood = Flood(watch)
    watch.now_s = 0.1
    assert flood.outruns(100 * MB, 1 * MB)
    watch.now_s = 0.2
    assert flood.goes_on(108 * MB)
    watch.now_s = 0.3
    assert not flood.goes_on(109 * MB)  # as fast as it was read before
    watch.now_s = 0.4
    assert not flood.outruns(109 * MB, 2 * MB)
