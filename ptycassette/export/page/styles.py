"""Styles of cells as classes of CSS: a page with a strict policy has no ``style`` attributes.

A class says one thing (``fg1``, ``bg-1e1e1e``, ``is-bold``), so that its name is the same in every
page, and only the rules of classes that were used are written. The default colours and the first
sixteen are variables: a theme sets them.
"""

from __future__ import annotations

from ptycassette.export._colors import DARK, LIGHT, Theme, css_color, css_lines
from ptycassette.model.screen import Style

FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

_VARIABLES = Theme(
    foreground="var(--fg)",
    background="var(--bg)",
    cursor="var(--fg)",
    palette=tuple(f"var(--c{number})" for number in range(16)),
)
_SIMPLE = (
    ("bold", "font-weight:bold"),
    ("dim", "opacity:.6"),
    ("italic", "font-style:italic"),
    ("hidden", "visibility:hidden"),
)


class StyleClasses:
    """The classes of styles, and the rules of those that were asked for."""

    def __init__(self) -> None:
        self._names: dict[Style, str] = {}
        self._rules: dict[str, str] = {}

    def of(self, style: Style) -> str:
        """The classes of a style, with a space between; empty where it looks like the default."""
        names = self._names.get(style)
        if names is None:
            names = self._names[style] = " ".join(self._made(style))
        return names

    def columns(self, count: int) -> str:
        """The class of a screen of so many columns: its text shrinks until it fits."""
        self._rules[f"cols-{count}"] = f"--cols:{count}"
        return f"cols-{count}"

    def css(self) -> str:
        """The rules of all classes so far."""
        return "".join(f".{name}{{{rule}}}" for name, rule in sorted(self._rules.items()))

    def _made(self, style: Style) -> list[str]:
        front, back = _color(style.fg), _color(style.bg)
        if style.reverse:
            front = _color(style.bg) or ("-back", "var(--bg)")
            back = _color(style.fg) or ("-front", "var(--fg)")
        found = [(f"fg{front[0]}", f"color:{front[1]}")] if front else []
        found += [(f"bg{back[0]}", f"background:{back[1]}")] if back else []
        found += [(f"is-{name}", rule) for name, rule in _SIMPLE if getattr(style, name)]
        if lines := css_lines(style):
            initials = "".join(line[0] for line in lines.split())
            found.append((f"line-{initials}", f"text-decoration:{lines}"))
        self._rules.update(found)
        return [name for name, _ in found]


def _color(color: int | str | None) -> tuple[str, str] | None:
    """The end of a class's name and the value for a colour; None for the default one."""
    value = css_color(color, _VARIABLES, "")
    if not value:
        return None
    return (f"-{value[1:]}" if value.startswith("#") else f"{color}"), value


def theme_css(selector: str, theme: Theme) -> str:
    """The rule that gives the variables of a theme to what ``selector`` matches."""
    names = (_VARIABLES.foreground, _VARIABLES.background, *_VARIABLES.palette)
    colors = (theme.foreground, theme.background, *theme.palette)
    pairs = zip(names, colors, strict=True)
    return f"{selector}{{{';'.join(f'{name[4:-1]}:{color}' for name, color in pairs)}}}"


def readers_theme_css() -> str:
    """The variables of screens: light, and dark where the reader prefers that."""
    return (
        f"{theme_css(':root', LIGHT)}"
        f"@media (prefers-color-scheme:dark){{{theme_css(':root', DARK)}}}"
    )


SCREEN_CSS = (
    f".screen{{color:var(--fg);background:var(--bg);font-family:{FONT};unicode-bidi:bidi-override;"
    "direction:ltr}"
    ".fold{opacity:.6}.c1,.c2{display:inline-block;width:1ch;overflow:hidden;vertical-align:top;"
    "white-space:pre;text-align:center}.c2{width:2ch}"
)
"""How screens look, whatever their colours."""
