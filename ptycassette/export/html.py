"""One screen as an HTML page: text and colours, selectable, no script, nothing loaded.

Text is escaped, and characters that act or hide are removed; links of the recording are
not clickable.
"""

from __future__ import annotations

from ptycassette.export._colors import DARK, Theme
from ptycassette.export.page import SCREEN_CSS, StyleClasses, document, screen_lines, theme_css
from ptycassette.model import Screen

_STYLE = "body{margin:0;background:var(--bg)}pre{margin:1em;font-size:14px;line-height:1.3}"


def screen_html(screen: Screen, *, title: str = "", theme: Theme = DARK) -> str:
    """``screen`` as a whole HTML document.

    Args:
        screen: what to show.
        title: of the page; escaped.
        theme: the default colours.
    """
    classes = StyleClasses()
    rows = "\n".join(screen_lines(screen, classes))
    style = (theme_css(":root", theme), _STYLE, SCREEN_CSS, classes.css())
    return "".join(document([f'<pre class="screen">{rows}</pre>'], title=title, style=style))


def screen_page(screen: Screen) -> bytes:
    """``screen`` as a whole HTML document, UTF-8: the content of a file."""
    return screen_html(screen, title=screen.title).encode("utf-8", "replace")
