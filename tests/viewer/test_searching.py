"""Looking for text: where it is found, and where it must not be missed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette import open_cassette
from ptycassette.model import Noted, Output, Typed
from ptycassette_viewer.search import Query, _Output, compiled, search


def hits(path: Path, query: Query) -> list[tuple[str, int]]:
    """Where and at which event."""
    with open_cassette(path, check="manifest") as cassette:
        return [(hit.where, hit.seq) for hit in search(cassette, compiled(query))]


def test_output_inputs_and_service_events_are_searched(make: Callable[..., Path]) -> None:
    """Each kind says that it was found there."""
    path = make(
        Output(0, b"say wal\x1b[1mnuts\r\n"),
        Typed(1, b"walnuts\r"),
        Noted(2, {"text": "more Walnuts"}),
        Output(3, b"nothing"),
    )

    assert hits(path, Query("walnuts")) == [("output", 1), ("input", 2), ("service-event", 3)]
    assert hits(path, Query("Walnuts", case=True)) == [("service-event", 3)]
    assert hits(path, Query("w.l+n", regex=True)) == [
        ("output", 1),
        ("input", 2),
        ("service-event", 3),
    ]
    assert hits(path, Query("w.l+n")) == []


def test_screens_are_searched_where_text_appears(agents: Path) -> None:
    """Once where it appears, not in every frame in which it stands."""
    found = hits(agents / "codex-tui", Query("buy walnuts"))
    screens = [seq for where, seq in found if where == "screen"]

    assert screens
    assert len(screens) < 6


@given(st.lists(st.integers(1, 12), max_size=8))
def test_output_is_found_however_it_is_cut(cuts: list[int]) -> None:
    """Over the borders of chunks, of characters and of sequences; once."""
    data = "a \x1b[31mwal\x1b]0;walnüts\x07n\x1b[0müts z".encode()
    output = _Output(compiled(Query("walnüts")))
    found = 0
    for cut in cuts:
        found += len(output.new(data[:cut]))
        data = data[cut:]
    found += len(output.new(data))

    assert found == 1


def test_a_stopped_search_ends(agents: Path) -> None:
    """When nobody wants to know any more."""
    with open_cassette(agents / "codex-tui", check="manifest") as cassette:
        found = list(search(cassette, compiled(Query("e")), lambda: True))

    assert all(hit.seq < 64 for hit in found)


def test_a_wrong_expression_is_an_error() -> None:
    """In words."""
    with pytest.raises(ValueError, match="not a regular expression"):
        compiled(Query("(", regex=True))
