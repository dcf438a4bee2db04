"""A document of the recording as JSON, with every line escaped."""

from __future__ import annotations

import json

import msgspec
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from ptycassette import printable
from ptycassette_viewer.panels.panel import Panel

_MAX_LINES = 5_000


class DocumentPanel(Panel):
    """A document of the cassette as JSON, with every line escaped."""

    def __init__(self, label: str, document: object, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.name_shown = label
        self._document = document

    def compose(self) -> ComposeResult:
        """The text."""
        yield Static(self.name_shown, classes="panel-title", markup=False)
        with VerticalScroll():
            yield Static(Text("\n".join(document_lines(self._document))))


def document_lines(document: object) -> list[str]:
    """A document as indented JSON, safe to show."""
    if document is None:
        return ["nothing was recorded"]
    value = msgspec.to_builtins(document)
    lines = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    shown = [printable(line, limit=400) for line in lines[:_MAX_LINES]]
    if len(lines) > _MAX_LINES:
        shown.append(f"({len(lines) - _MAX_LINES} more lines)")
    return shown
