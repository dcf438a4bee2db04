"""One screen as an HTML page."""

from __future__ import annotations

import re

import pytest

from ptycassette.export.html import screen_html
from ptycassette.model import Cursor, Screen, Size, Style, StyleRun


def _page(row: str, *runs: StyleRun, title: str = "") -> str:
    screen = Screen(
        size=Size(rows=1, cols=12), rows=(row,), styles=(runs,), cursor=Cursor(row=0, col=0)
    )
    return screen_html(screen, title=title)


def _body(page: str) -> str:
    match = re.search("<pre>(.*)</pre>", page, re.DOTALL)
    assert match is not None
    return match[1]


def test_text_is_escaped_and_blank_ends_are_left_out() -> None:
    """Markup of a recording is text."""
    assert _body(_page('<b>&"')) == "&lt;b&gt;&amp;&quot;"


@pytest.mark.parametrize(
    ("style", "css"),
    [
        (Style(bold=True), "font-weight:bold"),
        (Style(dim=True, italic=True), "opacity:.6;font-style:italic"),
        (Style(hidden=True), "visibility:hidden"),
        (Style(fg="#aabbcc", bg=231), "color:#aabbcc;background:#ffffff"),
        (Style(fg="#aabbcc", bg=231, reverse=True), "color:#ffffff;background:#aabbcc"),
        (Style(reverse=True), "color:#14181d;background:#d8dee4"),
        (
            Style(underline="curly", strike=True, overline=True),
            "text-decoration:underline line-through overline",
        ),
    ],
)
def test_a_style_is_a_span(style: Style, css: str) -> None:
    """One for each stretch; the rest is plain."""
    assert _body(_page("abc", StyleRun(1, 1, style))) == f'a<span style="{css}">b</span>c'


def test_styles_without_a_look_are_plain() -> None:
    """Links are not made clickable, odd colours are none."""
    style = Style(link="javascript:alert(1)", fg='"><script>')

    assert _body(_page("abc", StyleRun(0, 3, style))) == "abc"


def test_wide_characters_and_coloured_blanks_stay() -> None:
    """At the end of a row, too."""
    assert _body(_page("a漢")) == "a漢"
    assert (
        _body(_page("", StyleRun(0, 2, Style(bg=231))))
        == '<span style="background:#ffffff">  </span>'
    )


def test_the_page_loads_and_runs_nothing() -> None:
    """Its policy says so, and its title is escaped."""
    page = _page("x", title="</title><script>\x1b")

    assert "default-src 'none'" in page
    assert "<title>&lt;/title&gt;&lt;script&gt;\\e</title>" in page
