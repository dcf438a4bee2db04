"""The bytes of one output event: escaped, in words, and in hex."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from ptycassette_viewer.explain import explain, hex_lines
from ptycassette_viewer.panels.panel import Panel, bytes_of
from ptycassette_viewer.session.session import ViewerSession

_SHOWN_BYTES = 4_096
_WIDE_COLS = 80


class BytesPanel(Panel):
    """The bytes of the last output at the playhead: escaped, in words, and in hex."""

    label = "Bytes"

    def __init__(self, session: ViewerSession, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._session = session
        self._seq = 0
        self._shown = (-1, 0)

    def compose(self) -> ComposeResult:
        """A title and the text."""
        yield Static(classes="panel-title")
        with VerticalScroll():
            yield Static(id="bytes-text", markup=False)

    def show(self, seq: int) -> None:
        """Show the last output event at or before ``seq``."""
        self._seq = seq
        found = self._session.index.before(seq + 1, "output")
        per_line = 16 if self.size.width >= _WIDE_COLS else 8
        if (found or 0, per_line) == self._shown:
            return
        self._shown = (found or 0, per_line)
        title = self.query_one(".panel-title", Static)
        body = self.query_one("#bytes-text", Static)
        if found is None:
            title.update("no output yet")
            body.update("")
            return
        start = self._session.index.output_start(found)
        length = self._session.index.output_end(found) - start
        data = bytes_of(self._session, found, _SHOWN_BYTES)
        cut = "" if length == len(data) else f", the first {len(data)} shown"
        title.update(f"output {found}: {length} bytes from {start}{cut}")
        body.update(_bytes_text(data, start, per_line))

    def on_resize(self) -> None:
        """Adapt the length of hex lines."""
        if self._shown[0] >= 0:
            self.show(self._seq)


def _bytes_text(data: bytes, start: int, per_line: int) -> Text:
    text = Text()
    for piece in explain(data):
        text.append(f"{start + piece.offset:>8} ", style="dim")
        text.append(piece.shown, style="bold" if piece.meaning == "text" else "#b87000")
        if piece.meaning != "text":
            text.append(f"  {piece.meaning}", style="italic")
        text.append("\n")
    text.append("\n")
    for line in hex_lines(data, start=start, per_line=per_line):
        text.append(line + "\n", style="dim")
    return text
