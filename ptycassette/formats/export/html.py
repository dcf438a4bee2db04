"""Export a recording as a page that plays, or one screen as a page without a script.

The page loads nothing. All text is escaped, characters that act or hide are removed, and links of
the recording are not clickable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ptycassette.errors import UsageError
from ptycassette.formats.export.page.recording import document, played_page
from ptycassette.formats.export.page.styles import SCREEN_CSS, StyleClasses, screen_lines, theme_css
from ptycassette.formats.export.registry import ExportSource
from ptycassette.formats.export.svg import DARK, Theme, theme_named
from ptycassette.model.screen import Screen
from ptycassette.model.stored_screen import screen_of

_STYLE = "body{margin:0;background:var(--bg)}pre{margin:1em;font-size:14px;line-height:1.3}"


def recording_page(
    source: ExportSource,
    *,
    title: str | None = None,
    idle_limit: float | None = None,
    theme: str = "dark",
    still: bool = False,
    report: Sequence[dict[str, Any]] = (),
) -> Iterator[bytes]:
    """A recording as a page.

    Args:
        source: the recording.
        title: the title of the page; the program when None.
        idle_limit: the longest pause in seconds; None for the recording's own limit, else 2.
        theme: colours of the screen, ``dark`` or ``light``; the page follows the reader's choice.
        still: only the last frame, without a script.
        report: reports of stand-ins, whose divergences are shown.

    Raises:
        UsageError: ``source`` is not a whole cassette, the report is about another, or there is no
            frame.
    """
    colors = theme_named(theme)
    if not still:
        yield from played_page(
            source, title=title, idle_limit=idle_limit, theme=colors, report=report
        )
        return
    last = None
    for last in source.frames():  # noqa: B007 - the last one is wanted
        pass
    if last is None:
        raise UsageError("no frames to show", where=str(source.path))
    yield screen_html(screen_of(last), title=title or last.title, theme=colors).encode(
        "utf-8", "replace"
    )


def screen_html(screen: Screen, *, title: str = "", theme: Theme = DARK) -> str:
    """``screen`` as a whole HTML document.

    Args:
        screen: the screen.
        title: the title of the page; escaped.
        theme: the default colours.
    """
    classes = StyleClasses()
    rows = "\n".join(screen_lines(screen, classes))
    style = (theme_css(":root", theme), _STYLE, SCREEN_CSS, classes.css())
    return "".join(document([f'<pre class="screen">{rows}</pre>'], title=title, style=style))


def screen_page(screen: Screen) -> bytes:
    """``screen`` as a whole HTML document, UTF-8: the content of a file."""
    return screen_html(screen, title=screen.title).encode("utf-8", "replace")
