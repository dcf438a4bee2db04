"""Parameters that commands share."""

from __future__ import annotations

import click
import pytest

from ptycassette.cli._options import TIME


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("12.5", 12.5),
        (".5", 0.5),
        ("3s", 3.0),
        ("250ms", 0.25),
        ("1:02.5", 62.5),
        ("2:00:03", 7203.0),
        ("2m", 120.0),
    ],
)
def test_times_are_written_as_people_do(text: str, seconds: float) -> None:
    """Seconds, units, a clock; the reader has its own tests."""
    assert TIME.convert(text, None, None) == seconds
    assert TIME.convert(seconds, None, None) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1", "1:2:3:4", "1:02ms", "nan", "inf", "9" * 40])
def test_what_is_no_time_is_a_usage_error(text: str) -> None:
    """The message says what to write."""
    with pytest.raises(click.BadParameter):
        TIME.convert(text, None, None)
