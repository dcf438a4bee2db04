"""Which screens show that an exchange drifted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ptycassette.model.records import Output, Typed
from ptycassette.replaying.divergence import Side, drift_of_sides
from ptycassette.replaying.io.sides import side_of
from ptycassette.replaying.stored import drift_pictures
from ptycassette.testing import write_cassette

S = 1_000_000
MakeSide = Callable[..., Side]


@pytest.fixture
def side(tmp_path: Path) -> MakeSide:
    """The side of a session: each input, and the answer to it."""

    def make(name: str, **answers: str) -> Side:
        events: list[Output | Typed] = [Output(0, b"> ")]
        for number, (sent, answer) in enumerate(answers.items(), 1):
            events.append(Typed(number * 2 * S, sent.encode() + b"\r"))
            events.append(Output(number * 2 * S + S, f"\x1b[2J\x1b[H{answer}".encode()))
        write_cassette(tmp_path / name, *events)
        return side_of(tmp_path / name)

    return make


def rows(old: Side, new: Side) -> list[tuple[int, int, str | None, str | None]]:
    """Numbers and first rows of the pictures."""
    found = drift_pictures(drift_of_sides(old, new), old, new)
    return [
        (one.old, one.new, *(shown and shown.rows[0] for shown in (one.before, one.now)))
        for one in found
    ]


def test_the_last_screens_of_an_exchange_are_shown(side: MakeSide) -> None:
    """Once for output and screen; what is the same has no picture."""
    old, new = side("old", one="a", two="blue"), side("new", one="a", two="red")

    assert rows(old, new) == [(2, 2, "blue", "red")]
    assert rows(old, old) == []


def test_an_exchange_of_one_side_has_one_screen(side: MakeSide) -> None:
    """Added now, or gone."""
    old, new = side("old", one="a"), side("new", one="a", two="b")

    assert rows(old, new) == [(0, 2, None, "b")]
    assert rows(new, old) == [(2, 0, "b", None)]
