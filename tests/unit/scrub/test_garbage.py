"""The collector is asked less often while a session is searched, and as before behind it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ptycassette.scrub.garbage import collecting_seldom


@pytest.fixture(autouse=True)
def _thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_threshold_is_higher_inside_and_as_it_was_behind() -> None:
    """Only the first threshold counts new objects."""
    gc.set_threshold(700, 11, 12)
    with collecting_seldom():
        assert gc.get_threshold() == (20_000, 11, 12)
    assert gc.get_threshold() == (700, 11, 12)


def test_it_is_as_it_was_behind_an_error() -> None:
    """The source of a session may fail anywhere."""
    gc.set_threshold(700, 11, 12)
    with pytest.raises(OSError, match="broken"), collecting_seldom():
        raise OSError("broken")
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("chosen", [0, 50_000])
def test_what_somebody_chose_stays(chosen: int) -> None:
    """Off, or higher."""
    gc.set_threshold(chosen, 11, 12)
    with collecting_seldom():
        assert gc.get_threshold() == (chosen, 11, 12)
