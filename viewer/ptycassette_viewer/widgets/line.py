"""One line of text that is repainted only when it changes."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static


class Line(Static):
    """A line whose size does not depend on its text. Too long a text ends with an ellipsis."""

    DEFAULT_CSS = """
    Line { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes, markup=False)
        self._said = Text("", no_wrap=True)

    def show(self, text: str) -> None:
        """Show a text, which the caller has escaped."""
        if text != self._said.plain:
            self._said = Text(text, no_wrap=True)
            self.refresh()

    def render(self) -> Text:
        """The current text."""
        return self._said
