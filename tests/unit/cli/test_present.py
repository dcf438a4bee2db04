"""How things are put on the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptycassette import open_cassette
from ptycassette.cli._present import (
    count_text,
    error_lines,
    field_lines,
    json_text,
    time_text,
)
from ptycassette.errors import CassetteError, NotFoundError, WaitTimeoutError


@pytest.mark.parametrize(
    ("t_us", "text"),
    [
        (0, "0.000 s"),
        (59_999_999, "59.999 s"),
        (62_345_000, "1:02.345"),
        (3_723_004_000, "1:02:03.004"),
    ],
)
def test_times_for_people(t_us: int, text: str) -> None:
    """Seconds, then a clock."""
    assert time_text(t_us) == text


def test_counts_for_people() -> None:
    """One is one."""
    assert [count_text(n, "event") for n in (0, 1, 2)] == ["0 events", "1 event", "2 events"]
    assert count_text(2, "entry", "entries") == "2 entries"


def test_fields_stand_in_columns() -> None:
    """The longest name makes the width; empty values leave no blanks."""
    assert list(field_lines([("a", "1"), ("long", "")])) == ["  a     1", "  long"]


def test_json_is_ascii_and_says_the_same() -> None:
    """Whatever is in it, nothing of it acts on a terminal, and nothing is lost."""
    value = {"\u202e\x9b": "\x1b[2J\x7f é"}
    text = json_text(value)

    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text) == value


def test_errors_say_what_where_and_what_to_do() -> None:
    """Each line made visible."""
    failed = NotFoundError("no\x07thing\nmore", where="a\x1b", hint="look\x9b")

    assert list(error_lines(failed)) == [
        "ptycassette: a\\e: no\\x07thing",
        "  more",
        "  hint: look\\x9b",
    ]


def test_a_timeout_shows_the_screen() -> None:
    """Row by row."""
    failed = WaitTimeoutError("too late", screen=("$ x", "\x1b"))

    assert list(error_lines(failed)) == ["ptycassette: too late", "  | $ x", "  | \\e"]


def test_a_hostile_path_is_escaped_once_and_kept_as_it_is_for_programs(tmp_path: Path) -> None:
    """The fields of an error are raw, its lines and its text are not."""
    place = tmp_path / "a\x1bb\\c"
    with pytest.raises(CassetteError) as caught:
        open_cassette(place)
    line = next(iter(error_lines(caught.value)))

    assert caught.value.where == str(place)
    assert "a\\eb\\c" in line
    assert "a\\x1bb\\c" in str(caught.value)
