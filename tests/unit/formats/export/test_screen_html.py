"""One screen as an HTML page."""

from __future__ import annotations

import re

import pytest

from ptycassette.formats.export.html import screen_html
from ptycassette.model.screen import Cursor, Screen, Size, Style, StyleRun


def _page(row: str, *runs: StyleRun, title: str = "") -> str:
    screen = Screen(
        size=Size(rows=1, cols=12), rows=(row,), styles=(runs,), cursor=Cursor(row=0, col=0)
    )
    return screen_html(screen, title=title)


def _body(page: str) -> str:
    match = re.search('<pre class="screen">(.*)</pre>', page, re.DOTALL)
    assert match is not None
    return match[1]


def test_text_is_escaped_and_blank_ends_are_left_out() -> None:
    """Markup of a recording is text."""
    assert _body(_page('<b>&"')) == "&lt;b&gt;&amp;&quot;"


@pytest.mark.parametrize(
    ("style", "rules"),
    [
        (Style(bold=True), ["is-bold{font-weight:bold}"]),
        (Style(dim=True, italic=True), ["is-dim{opacity:.6}", "is-italic{font-style:italic}"]),
        (Style(hidden=True), ["is-hidden{visibility:hidden}"]),
        (Style(fg=3), ["fg3{color:var(--c3)}"]),
        (
            Style(fg="#aabbcc", bg=231),
            ["fg-aabbcc{color:#aabbcc}", "bg-ffffff{background:#ffffff}"],
        ),
        (
            Style(fg="#aabbcc", bg=231, reverse=True),
            ["fg-ffffff{color:#ffffff}", "bg-aabbcc{background:#aabbcc}"],
        ),
        (Style(reverse=True), ["fg-back{color:var(--bg)}", "bg-front{background:var(--fg)}"]),
        (
            Style(underline="curly", strike=True, overline=True),
            ["line-ulo{text-decoration:underline line-through overline}"],
        ),
    ],
)
def test_a_style_is_a_span_with_classes(style: Style, rules: list[str]) -> None:
    """One span for each stretch, the rest is plain; their rules, and no others, are in the page."""
    page = _page("abc", StyleRun(1, 1, style))
    names = " ".join(rule.partition("{")[0] for rule in rules)

    assert _body(page) == f'a<span class="{names}">b</span>c'
    assert "".join(sorted(f".{rule}" for rule in rules)) + "</style>" in page
    assert "style=" not in page


def test_a_character_that_fonts_draw_in_another_width_gets_a_box() -> None:
    """Wide ones two cells; lines and Latin need none."""
    assert _body(_page("a漢é│✻")) == ('a<span class="c2">漢</span>é│<span class="c1">✻</span>')


def test_runs_that_overlap_are_painted_in_their_order() -> None:
    """A cassette may hold what no emulator makes."""
    runs = (StyleRun(1, 2, Style(bold=True)), StyleRun(0, 2, Style(italic=True)))

    assert _body(_page("abcd", *runs)) == (
        '<span class="is-italic">ab</span><span class="is-bold">c</span>d'
    )


def test_styles_without_a_look_are_plain() -> None:
    """Links are not made clickable, odd colours are none."""
    style = Style(link="javascript:alert(1)", fg='"><script>')

    assert _body(_page("abc", StyleRun(0, 3, style))) == "abc"


def test_wide_characters_and_coloured_blanks_stay() -> None:
    """At the end of a row, too."""
    assert _body(_page("a漢")) == 'a<span class="c2">漢</span>'
    assert _body(_page("", StyleRun(0, 2, Style(bg=231)))) == '<span class="bg-ffffff">  </span>'


def test_the_page_loads_and_runs_nothing() -> None:
    """Its policy says so, and its title is escaped."""
    page = _page("x", title="</title><script>\x1b")

    assert "default-src 'none'" in page
    assert "<title>&lt;/title&gt;&lt;script&gt;\\e</title>" in page
