"""Cassettes as pictures."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from ptycassette.formats.export.svg import (
    DARK,
    Pace,
    SvgOptions,
    animated_svg,
    css_color,
    still_svg,
)
from ptycassette.model.screen import Cursor, Screen, Size, Style, StyleRun

SVG = "{http://www.w3.org/2000/svg}"


def screen(
    *rows: str, cursor: tuple[int, int] = (0, 0), styles: tuple[tuple[StyleRun, ...], ...] = ()
) -> Screen:
    """A screen of four rows and twenty columns."""
    return Screen(
        size=Size(4, 20),
        rows=rows,
        styles=styles,
        cursor=Cursor(cursor[0], cursor[1], visible=True),
    )


def texts(document: bytes) -> list[str]:
    """The text pieces of a document, in order."""
    return ["".join(node.itertext()) for node in ET.fromstring(document).iter(f"{SVG}text")]


def test_a_still_shows_the_rows_and_moves_nothing() -> None:
    """One screen needs no animation."""
    document = still_svg(screen("$ ls", "a.txt"))

    assert texts(document) == ["$ ls", "a.txt"]
    assert b"@keyframes" not in document


def test_no_text_of_a_cassette_becomes_markup() -> None:
    """Angle brackets are text, and what XML forbids is replaced."""
    document = still_svg(
        screen("<script>alert(1)</script>", "bell\x07 esc\x1b"), options=SvgOptions(title="a<b>&c")
    )

    assert texts(document) == ["<script>alert(1)</script>", "bell\ufffd esc\ufffd"]
    assert ET.fromstring(document).findtext(f"{SVG}title") == "a<b>&c"


def test_equal_rows_are_drawn_once() -> None:
    """A frame that changes one row adds one row to the picture."""
    document = animated_svg([(0, screen("same", "one")), (500_000, screen("same", "two"))])

    assert texts(document) == ["same", "one", "two"]


def test_frames_follow_the_recorded_times() -> None:
    """Each step stands at its share of the whole, the last one held."""
    frames = [(0, screen("a")), (1_000_000, screen("b")), (3_000_000, screen("c"))]
    document = animated_svg(frames, options=SvgOptions(hold_us=1_000_000)).decode()

    assert "play 4.000s infinite step-end" in document
    assert "0.0000%{transform:translateY(0px)}25.0000%" in document
    assert "75.0000%{transform:translateY(-144px)}" in document


def test_long_pauses_are_shortened() -> None:
    """An hour of waiting is no hour of picture."""
    frames = [(0, screen("a")), (3_600_000_000, screen("b"))]
    options = SvgOptions(pace=Pace(idle_limit_us=1_000_000), hold_us=1_000_000)

    assert "play 2.000s" in animated_svg(frames, options=options).decode()


def test_frames_too_close_to_see_are_merged() -> None:
    """Of a burst, the last screen stays."""
    frames = [(0, screen("a")), (500_000, screen("b")), (501_000, screen("c"))]

    assert texts(animated_svg(frames)) == ["a", "c"]


def test_wide_characters_take_two_cells() -> None:
    """What follows a wide character stands where the terminal put it."""
    run = StyleRun(4, 1, Style(bold=True))
    document = ET.fromstring(still_svg(screen("漢字x", styles=((run,),))))
    pieces = [(node.get("x"), node.text) for node in document.iter(f"{SVG}text")]

    assert pieces == [("0", "漢字"), ("33.6", "x")]


def test_marks_stay_on_the_character_they_belong_to() -> None:
    """A combining mark and a joined emoji are not cut apart."""
    run = StyleRun(1, 2, Style(italic=True))

    assert texts(still_svg(screen("e\u0301👩\u200d💻", styles=((run,),)))) == [
        "e\u0301",
        "👩\u200d💻",
    ]


def test_styles_are_drawn() -> None:
    """Colours, weight, slant and lines as the terminal shows them."""
    style = Style(
        fg=1, bg="#00ff00", bold=True, italic=True, underline="curly", strike=True, overline=True
    )
    drawn = still_svg(screen("hot", styles=((StyleRun(0, 3, style),),))).decode()

    assert f'fill="{DARK.palette[1]}" font-weight="bold" font-style="italic"' in drawn
    assert 'text-decoration="underline line-through overline"' in drawn
    assert 'height="18" fill="#00ff00"' in drawn


def test_the_style_sheet_does_not_overrule_how_the_text_looks() -> None:
    """A CSS rule would win over the attributes that give a piece its colour and weight."""
    root = ET.fromstring(still_svg(screen("hot", styles=((StyleRun(0, 3, Style(fg=1)),),))))
    sheet = root.findtext(f"{SVG}style") or ""

    assert "fill" not in sheet
    assert "font" not in sheet
    assert [node.get("fill") for node in root.iter(f"{SVG}svg")] == [None, DARK.foreground]


def test_reverse_swaps_the_default_colours() -> None:
    """Reverse video without colours shows the background on the foreground."""
    drawn = still_svg(screen("inv", styles=((StyleRun(0, 3, Style(reverse=True)),),))).decode()

    assert f'height="18" fill="{DARK.foreground}"' in drawn
    assert f'fill="{DARK.background}">inv' in drawn


@pytest.mark.parametrize(("style", "opacity"), [(Style(hidden=True), "0"), (Style(dim=True), ".6")])
def test_hidden_and_dim_text_is_fainter(style: Style, opacity: str) -> None:
    """Hidden text keeps its place and is not seen; dim text is seen less."""
    drawn = still_svg(screen("x", styles=((StyleRun(0, 1, style),),))).decode()

    assert f'opacity="{opacity}">x' in drawn


def test_a_run_past_the_text_paints_its_background() -> None:
    """A status bar is as wide as its cells, not as its text."""
    drawn = still_svg(screen("", styles=((StyleRun(2, 10, Style(bg=4)),),))).decode()

    assert '<rect x="16.8" width="84" height="18" fill="#539bf5"/>' in drawn


@pytest.mark.parametrize("run", [(0, 10**12), (10**12, 5), (-5, 10), (2, -1)])
def test_a_run_never_reaches_past_the_screen(run: tuple[int, int]) -> None:
    """A hostile record makes neither a picture nor a process grow."""
    drawn = still_svg(screen("ab", styles=((StyleRun(*run, Style(bg=4)),),)))

    assert len(drawn) < 1500
    assert texts(drawn) in (["ab"], ["ab" + " " * 18])


def test_overlapping_runs_paint_each_cell_once() -> None:
    """A record that contradicts itself still gives a picture."""
    runs = (StyleRun(0, 3, Style(bold=True)), StyleRun(1, 2, Style(dim=True)))

    assert texts(still_svg(screen("abcd", styles=(runs,)))) == ["abc", "d"]


def test_a_hidden_cursor_is_not_drawn() -> None:
    """DECTCEM off means no block."""
    hidden = Screen(size=Size(1, 5), rows=("x",), cursor=Cursor(0, 1, visible=False))

    assert b'opacity=".5"' not in still_svg(hidden)


def test_nothing_to_draw_is_a_misuse() -> None:
    """An empty film has no picture."""
    with pytest.raises(ValueError, match="no frame"):
        animated_svg([])


@pytest.mark.parametrize(
    ("color", "expected"),
    [
        (None, "d"),
        (1, DARK.palette[1]),
        (16, "#000000"),
        (208, "#ff8700"),
        (231, "#ffffff"),
        (232, "#080808"),
        (255, "#eeeeee"),
        (256, "d"),
        (-1, "d"),
        ("#ABCDEF", "#abcdef"),
        ('#fff" onload="x', "d"),
    ],
)
def test_colours_follow_xterm(color: int | str | None, expected: str) -> None:
    """Palette indices, true colour, and nothing else."""
    assert css_color(color, DARK, "d") == expected
