"""One line of text that is painted again only when it says something else."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static


class Line(Static):
    """A line; its size never depends on its text. What does not fit is cut, with an ellipsis."""

    DEFAULT_CSS = """
    Line { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes, markup=False)
        self._said = Text("", no_wrap=True)

    def show(self, text: str) -> None:
        """Say something, made visible by the caller."""
        if text != self._said.plain:
            self._said = Text(text, no_wrap=True)
            self.refresh()

    def render(self) -> Text:
        """What was said last."""
        return self._said
