"""A list of any length that only ever makes the rows on screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size as TextualSize
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip


class VirtualList(ScrollView, inherit_bindings=False, can_focus=True):
    """Rows by number.

    Args:
        count: how many rows there are now.
        row: the text of a row, safe to show.
        width: how wide the widest row may get.
    """

    DEFAULT_CSS = """
    VirtualList { background: $surface; color: $text; scrollbar-size: 1 1; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"virtual-list--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("enter", "choose", "Go there", show=False),
    ]

    class Chosen(Message):
        """The user chose row ``number`` of ``source``."""

        def __init__(self, source: VirtualList, number: int) -> None:
            super().__init__()
            self.source = source
            self.number = number

        @property
        def control(self) -> VirtualList:
            """The list."""
            return self.source

    def __init__(
        self,
        count: Callable[[], int],
        row: Callable[[int], Text],
        *,
        width: int = 160,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        super().__init__(id=id)
        self._count = count
        self._row = row
        self._width = width
        self._known = -1
        self.cursor = 0

    @property
    def row_count(self) -> int:
        """How many rows there are now."""
        return self._count()

    def update(self, cursor: int | None = None) -> None:
        """Show what is new; put the cursor on a row and bring it into view."""
        count = self._count()
        if count != self._known:
            self._known = count
            self.virtual_size = TextualSize(self._width, count)
        if cursor is not None:
            self.cursor = min(max(0, cursor), max(0, count - 1))
            # The size of a list that was hidden until now is known only after the next layout.
            self.call_after_refresh(self._bring_into_view)
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self.call_after_refresh(self._bring_into_view)

    def _bring_into_view(self) -> None:
        top, height = self.scroll_offset.y, max(1, self.scrollable_content_region.height)
        if self.cursor < top or self.cursor >= top + height:
            self.scroll_to(
                y=max(0, self.cursor - height // 2), animate=False, immediate=True, force=True
            )

    def action_move(self, by: int) -> None:
        """Move the cursor, and go there."""
        self._go(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a page, and go there."""
        self._go(self.cursor + by * max(1, self.scrollable_content_region.height - 1))

    def action_choose(self) -> None:
        """Go to the row under the cursor."""
        self._go(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Go to the row that was clicked."""
        offset = event.get_content_offset(self)
        if offset is not None:
            self._go(offset.y + self.scroll_offset.y)

    def _go(self, number: int) -> None:
        if not self._count():
            return
        self.update(number)
        self.post_message(self.Chosen(self, self.cursor))

    def render_line(self, y: int) -> Strip:
        """Paint one row."""
        scroll_x, scroll_y = self.scroll_offset
        number, width = y + scroll_y, self.size.width
        base = self.rich_style
        if number >= self._count():
            return Strip.blank(width, base)
        if number == self.cursor:
            base += self.get_component_rich_style("virtual-list--cursor", partial=True)
            base += RichStyle(reverse=True)
        text = self._row(number)
        if number == self.cursor:
            return Strip([Segment(text.plain, base)]).crop_extend(scroll_x, scroll_x + width, base)
        segments = [
            Segment(segment.text, base + (segment.style or RichStyle()))
            for segment in text.render(self.app.console, end="")
        ]
        return Strip(segments).crop_extend(scroll_x, scroll_x + width, base)
