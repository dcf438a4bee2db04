"""Looking for text: where it is found, and where it must not be missed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette import Size, open_cassette
from ptycassette.model.records import Noted, Output, Resized, Typed
from ptycassette_viewer.search import (
    MAX_HITS,
    Query,
    Search,
    TooSlowError,
    _Output,
    compiled,
    parsed,
)
from ptycassette_viewer.session.source import CassetteSource, body_text

TAPE = Path(__file__).parents[2] / "fixtures" / "v1" / "tape"
CATASTROPHE = "/(a|aa)+$/"


def hits(path: Path, query: Query) -> list[tuple[str, int]]:
    """Where and at which event."""
    with open_cassette(path, check="manifest") as cassette:
        found = Search(compiled(query), Size(24, 80)).hits(cassette.events())
        return [(hit.where, hit.seq) for hit in found]


def test_output_inputs_and_service_events_are_searched(make: Callable[..., Path]) -> None:
    """Each kind says that it was found there."""
    path = make(
        Output(0, b"say wal\x1b[1mnuts\r\n"),
        Typed(1, b"walnuts\r"),
        Noted(2, {"text": "more Walnuts"}),
        Output(3, b"nothing"),
    )

    assert hits(path, Query("walnuts")) == [
        ("screen", 1),
        ("output", 1),
        ("input", 2),
        ("service-event", 3),
    ]
    assert hits(path, Query("Walnuts", case=True)) == [("service-event", 3)]
    assert hits(path, Query("w.l+n", regex=True)) == hits(path, Query("walnuts"))
    assert hits(path, Query("w.l+n")) == []


def test_the_traffic_of_a_tape_is_searched() -> None:
    """What was asked and what was answered, at the events that stand for them."""
    source = CassetteSource(open_cassette(TAPE))
    found = []
    for query in ('"hi"', "response.created", "nowhere"):
        search = Search(compiled(Query(query)), source.size, body=partial(body_text, source))
        found += [(hit.seq, hit.where) for hit in search.hits(source.events())]
    source.close()

    assert len(found) == 2
    assert {where for _, where in found} == {"service-event"}
    assert found[0][0] < found[1][0]


def test_hits_read_as_people_saw_them(make: Callable[..., Path]) -> None:
    """Words that the program placed apart stay apart, and the row of the screen comes first."""
    path = make(
        Output(
            0, b"ready\x1b[3;1H* The\x1b[Cnote\x1b[3;12Hsays:\x1b[1Cbuy\x1b[3;22Hwalnuts\x1b[5;1H> "
        ),
        Typed(1, b"\x1b[200~more walnuts\x1b[201~"),
    )
    with open_cassette(path, check="manifest") as cassette:
        found = Search(compiled(Query("walnuts")), Size(24, 80)).hits(cassette.events())
        shown = [(hit.where, hit.shown) for hit in found]

    assert shown == [
        ("screen", "* The note says: buy walnuts"),
        ("output", "walnuts"),
        ("input", "more walnuts"),
    ]


def test_what_the_terminal_was_told_is_searched(make: Callable[..., Path]) -> None:
    """At the output that completed it; modes and the like are told all the time, and are not."""
    path = make(Output(0, b"\x1b[?25l\x1b]2;wal"), Output(1, b"nuts\x07"), Output(2, b"\x07"))

    assert hits(path, Query("walnuts")) == [("terminal-signal", 2)]
    assert hits(path, Query("title")) == [("terminal-signal", 2)]
    assert hits(path, Query("mode")) == []


def test_every_state_of_the_screen_is_searched(make: Callable[..., Path]) -> None:
    """Also one that no stored frame holds, and text that was never printed in one piece."""
    path = make(
        Output(0, b"\x1b[2;1Hnuts\x1b[2;1H"),
        Output(1, b"\x1b[4hwal"),
        Output(2, b"\x1b[H\x1b[2J"),
        Output(3, b"nothing"),
    )

    assert hits(path, Query("walnuts")) == [("screen", 2)]


def test_a_resize_brings_text_to_the_screen(make: Callable[..., Path]) -> None:
    """What the right edge cut in two comes together in a wider terminal."""
    path = make(Output(0, b"." * 77 + b"walnuts\r\n"), Resized(1, Size(24, 90)))

    assert hits(path, Query("walnuts")) == [("output", 1), ("screen", 2)]


def test_screens_are_searched_where_text_appears(agents: Path) -> None:
    """Once where it appears, not in every state in which it stands."""
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
        search = Search(compiled(Query("e")), Size(24, 80), lambda: True)
        found = list(search.hits(cassette.events()))

    assert {hit.seq for hit in found} <= {1}


def test_hits_are_bounded(make: Callable[..., Path]) -> None:
    """A search for what is everywhere ends."""
    line = b"x\r\n" * 90
    path = make(*(Output(number, line) for number in range(150)))

    assert MAX_HITS <= len(hits(path, Query("x"))) < MAX_HITS + 200


@pytest.mark.parametrize("expression", [CATASTROPHE, "/(a+)+$/"])
def test_an_expression_that_never_ends_is_given_up(
    make: Callable[..., Path], expression: str
) -> None:
    """It would take centuries; its time is up after a moment, and the search tells it."""
    path = make(
        *(Output(number, b"\x1b[H%04d" % number + b"a" * 60 + b"b") for number in range(40))
    )
    with open_cassette(path, check="manifest") as cassette:
        search = Search(compiled(parsed(expression)), Size(24, 80))
        found = list(search.hits(cassette.events()))

    assert found == []
    assert search.given_up is (expression == CATASTROPHE)


def test_a_hurried_pattern_gives_up_sooner() -> None:
    """For highlights, which are painted by the thread that answers keys."""
    pattern = compiled(parsed(CATASTROPHE)).hurried(0.001)

    with pytest.raises(TooSlowError):
        pattern.found("a" * 70 + "b")


@pytest.mark.parametrize(
    ("answer", "query"),
    [
        ("a.b", Query("a.b")),
        ("/a.b/", Query("a.b", regex=True)),
        ("\\C/a.b/", Query("a.b", regex=True, case=True)),
        ("\\CAb", Query("Ab", case=True)),
        ("//", Query("//")),
    ],
)
def test_queries_are_read_as_written(answer: str, query: Query) -> None:
    r"""Slashes around an expression, \C for the case."""
    assert parsed(answer) == query


def test_a_query_has_an_end() -> None:
    """A whole file is no query."""
    with pytest.raises(ValueError, match="at most"):
        compiled(Query("x" * 1_001))


def test_a_wrong_expression_is_an_error() -> None:
    """In words."""
    with pytest.raises(ValueError, match="not a regular expression"):
        compiled(Query("(", regex=True))


def test_hits_in_service_events_read_as_text(make: Callable[..., Path]) -> None:
    """Line ends and quotes are not shown as JSON escapes them."""
    path = make(Noted(0, {"text": 'Output:\nbuy "walnuts"\n'}))
    with open_cassette(path, check="manifest") as cassette:
        (hit,) = Search(compiled(Query("walnuts")), Size(24, 80)).hits(cassette.events())

    assert 'Output: buy "walnuts" ' in hit.shown
