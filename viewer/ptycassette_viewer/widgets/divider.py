"""The line between two panes; dragging it makes one larger and the other smaller."""

from __future__ import annotations

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget


class Divider(Widget):
    """Vertical, or horizontal with the class ``below``; posts ``Divider.Dragged``."""

    DEFAULT_CSS = """
    Divider { width: 1; height: 1fr; color: $foreground-darken-2; }
    Divider.below { width: 1fr; height: 1; }
    Divider:hover { color: $accent; }
    """

    class Dragged(Message):
        """Dragged by so many cells, to the right or down."""

        def __init__(self, divider: Divider, by: int) -> None:
            super().__init__()
            self.divider = divider
            self.by = by

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        super().__init__(id=id)
        self._held = False

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - all lines are the same
        """Paint it."""
        shape = "\u2500" if self.has_class("below") else "\u2502"
        return Strip([Segment(shape * self.size.width, self.rich_style)], self.size.width)

    def on_mouse_down(self) -> None:
        """Start dragging."""
        self._held = True
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag to the mouse."""
        by = event.y if self.has_class("below") else event.x
        if self._held and by:
            self.post_message(self.Dragged(self, by))

    def on_mouse_up(self) -> None:
        """Stop dragging."""
        self._held = False
        self.release_mouse()
