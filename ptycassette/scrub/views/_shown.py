"""A string as a terminal would show it.

Tools return what they printed as strings of JSON: with the colours that ``grep`` and ``rg`` put
into a token, in boxes and columns, over several rows. Such a string is read as output is: its print
stream, what it paints where it moves the cursor, and the text between bars. NUL, which is half of
each character in UTF-16, and characters without width are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.model.geometry import Size
from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub.match import INVISIBLE
from ptycassette.scrub.views._lines import BARS, line_of_text, panes
from ptycassette.scrub.views._printed import MOVING, PrintedView, printed_views
from ptycassette.scrub.views._screen import ScreenReader, view_of
from ptycassette.scrub.views._view import RunsView, View

_SIGNS = ("\x1b", "\xc2\x9b", "\x00", "\x08")
_SIGNS_OF_INVISIBLE = ("\xc2\xad", "\xcd\x8f", "\xe2\x80", "\xe2\x81", "\xef\xbb\xbf")
_INVISIBLE = lazy_pattern(f"(?:{INVISIBLE})+")
_MOVING = lazy_pattern(MOVING)
_BAR = lazy_pattern("|".join(sorted(re.escape(bar.encode().decode("latin-1")) for bar in BARS)))
_SIZE = Size(100, 200)
"""Of the screen for a string: as large as the screens for which programs paint."""
_MOST_PAINTED = 1 << 18
_OPENING = lazy_pattern(r'[:\[,{] ?"(?=[^"\n]*\n)')
"""The quote before the first row of a string, which stands behind others in its JSON."""
WIDEST = 400
"""Longer lines are no rows of anything."""


def shown_views(text: str) -> Iterator[View]:
    """What canonical text shows that it does not say, as views whose channel is the text."""
    if any(sign in text for sign in _SIGNS):
        yield from printed_views(text, 0)
        if len(text) <= _MOST_PAINTED and _MOVING.search(text):
            screen = ScreenReader(_SIZE, newline_mode=True)
            screen.feed(text.encode("latin-1"))
            screen.rest()
            yield from screen.take()
    if not text.isascii() and any(sign in text for sign in _SIGNS_OF_INVISIBLE):
        cuts = [gap.span() for gap in _INVISIBLE.finditer(text)]
        if cuts:
            yield PrintedView(text, base=0, cuts=cuts)


def pane_views(text: str) -> Iterator[View]:
    """The texts between the bars of boxes and columns in canonical text."""
    for rows in _rows_with_bars(text) if "\n" in text else ():
        yield view_of([pieces] for pieces in panes([line_of_text(*one) for one in rows]))


def _rows_with_bars(text: str) -> Iterator[list[tuple[str, int]]]:
    """Rows below each other that have bars, at least two: their text and where it begins."""
    rows: list[tuple[str, int]] = []
    end = 0  # of the last of them
    bar = _BAR.search(text)
    while bar is not None:
        begins = text.rfind("\n", end, bar.start()) + 1 or end
        if rows and begins != end:
            if len(rows) > 1:
                yield rows
            rows = []
        if not rows:  # it stands behind the quote that begins the string of JSON
            begins = text.rfind('"', begins, bar.start()) + 1 or begins
        line_end = text.find("\n", bar.end())
        end = len(text) if line_end < 0 else line_end + 1
        rows.append((text[begins : min(end, begins + WIDEST)].rstrip("\n"), begins))
        bar = _BAR.search(text, end)
    if len(rows) > 1:
        yield rows


def lines_of(text: str) -> View:
    """Canonical text, in which the first row of each string of JSON is a line of its own."""
    parts: list[tuple[str, int]] = []
    at = 0
    for quote in _OPENING.finditer(text):
        parts += [(text[at : quote.end()], at), ("\n", -1)]
        at = quote.end()
    return RunsView([*parts, (text[at:], at)]) if parts else View(text)
