"""One screen as an HTML page: text and colours, selectable, no script, nothing loaded.

Text is escaped, and characters that act or hide are removed; links of the recording are
not clickable.
"""

from __future__ import annotations

from html import escape

from ptycassette.export._colors import DARK, LIGHT, Theme, css_color, css_lines
from ptycassette.model import DEFAULT_STYLE, Screen, Style, visible
from ptycassette.replaying import cells_of_row, folded_rows

_VARIABLES = Theme(
    foreground="var(--fg)",
    background="var(--bg)",
    cursor="var(--fg)",
    palette=tuple(f"var(--c{number})" for number in range(16)),
)
_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def screen_html(screen: Screen, *, title: str = "", theme: Theme = DARK) -> str:
    """``screen`` as a whole HTML document.

    Args:
        screen: what to show.
        title: of the page; escaped.
        theme: the default colours.
    """
    rows = "\n".join(_row(screen, row, theme) for row in range(screen.size.rows))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(visible(title))}</title>\n"
        f"<style>body{{margin:0;background:{theme.background};color:{theme.foreground}}}"
        f"pre{{margin:1em;font:14px/1.3 {_FONT}}}</style>\n"
        f"</head>\n<body>\n<pre>{rows}</pre>\n</body>\n</html>\n"
    )


def screen_fragment(screen: Screen) -> str:
    """``screen`` as the content of a ``pre``; its colours are those of ``screen_css``.

    Three or more consecutive blank rows become one line that counts them; blank rows at the end
    are left out.
    """
    rows = [_row(screen, row, _VARIABLES) for row in range(screen.size.rows)]
    return "\n".join(
        f'<i class="fold">{row} blank rows</i>' if isinstance(row, int) else row
        for row in folded_rows(rows)
    )


def screen_css() -> str:
    """The colours of ``screen_fragment``: light, and dark where the reader prefers that."""
    return (
        f":root{{{_declarations(LIGHT)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{_declarations(DARK)}}}}}"
        f".screen{{color:var(--fg);background:var(--bg);font-family:{_FONT}}}"
        ".fold{opacity:.6}"
    )


def _declarations(theme: Theme) -> str:
    names = (_VARIABLES.foreground, _VARIABLES.background, *_VARIABLES.palette)
    colors = (theme.foreground, theme.background, *theme.palette)
    pairs = zip(names, colors, strict=True)
    return ";".join(f"{name[4:-1]}:{color}" for name, color in pairs)


def screen_page(screen: Screen) -> bytes:
    """``screen`` as a whole HTML document, UTF-8: the content of a file."""
    return screen_html(screen, title=screen.title).encode("utf-8", "replace")


def _row(screen: Screen, row: int, theme: Theme) -> str:
    """One row: a span for each stretch of equal style, plain text for the default style."""
    cells = cells_of_row(screen, row)
    while cells and cells[-1].style == DEFAULT_STYLE and cells[-1].text in {" ", ""}:
        if cells[-1].width == 0:
            break
        cells.pop()
    out: list[str] = []
    start = 0
    for at in range(1, len(cells) + 1):
        if at == len(cells) or cells[at].style != cells[start].style:
            text = escape("".join(cell.text for cell in cells[start:at]))
            css = _css(cells[start].style, theme)
            out.append(f'<span style="{css}">{text}</span>' if css else text)
            start = at
    return "".join(out)


def _css(style: Style, theme: Theme) -> str:
    """The inline declarations for ``style``; empty for the default one."""
    fg, bg = css_color(style.fg, theme, ""), css_color(style.bg, theme, "")
    if style.reverse:
        fg, bg = bg or theme.background, fg or theme.foreground
    parts = [f"color:{fg}"] if fg else []
    if bg:
        parts.append(f"background:{bg}")
    if style.bold:
        parts.append("font-weight:bold")
    if style.dim:
        parts.append("opacity:.6")
    if style.italic:
        parts.append("font-style:italic")
    if style.hidden:
        parts.append("visibility:hidden")
    if lines := css_lines(style):
        parts.append(f"text-decoration:{lines}")
    return ";".join(parts)
