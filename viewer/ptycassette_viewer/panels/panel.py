"""The base of all panels. A panel shows something about the position of the playhead.

Nothing here reads large files in the thread of the user interface.
"""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.containers import Vertical
from textual.message import Message

from ptycassette import visible_bytes
from ptycassette_viewer.kinds import KIND_STYLES, MarkKind
from ptycassette_viewer.playback import clock_text
from ptycassette_viewer.session.session import ViewerSession

_PREVIEW_BYTES = 96


class Panel(Vertical):
    """A view of something at the playhead."""

    DEFAULT_CSS = """
    Panel { height: 1fr; }
    Panel > .panel-title { height: 1; color: $text-muted; padding: 0 1; }
    """
    label: ClassVar[str] = ""

    class Go(Message):
        """The user chose the moment after event ``seq``."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    def show(self, seq: int) -> None:
        """Show the moment right after event ``seq``."""


def bytes_of(session: ViewerSession, seq: int, limit: int) -> bytes:
    """The first bytes of an output event."""
    start = session.index.output_start(seq)
    length = min(limit, session.index.output_end(seq) - start)
    return b"".join(session.source.read(start, length)) if length else b""


def event_line(session: ViewerSession, seq: int) -> Text:
    """An event in one line, safe to show."""
    index = session.index
    kind = index.kind_of(seq)
    text = _start(session, seq, kind)
    if kind == "output":
        length = index.output_end(seq) - index.output_start(seq)
        text.append(f"{length:>6} B  ", style="dim")
        text.append(visible_bytes(bytes_of(session, seq, _PREVIEW_BYTES)))
    elif kind == "frame":
        size = index.size_at(seq)
        text.append(f"stored screen {size}", style="dim")
    else:
        text.append(session.summaries.get(seq) or "(not kept: too many)")
    return text


def signal_line(session: ViewerSession, seq: int, line: str) -> Text:
    """A terminal signal of output ``seq`` in one line; ``line`` is safe to show."""
    return _start(session, seq, "terminal-signal").append(line)


def _start(session: ViewerSession, seq: int, kind: MarkKind) -> Text:
    clock = clock_text(session.index.time_of(seq))
    text = Text(f"{clock:>10} {seq:>6} ", end="", no_wrap=True)
    return text.append(f"{kind:<15} ", style=KIND_STYLES[kind])
