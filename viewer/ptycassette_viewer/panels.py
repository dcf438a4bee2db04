"""The panels beside the screen: what happened, in lists and in words.

Every panel has ``show(seq)``: the playhead stands behind event ``seq`` now.
Nothing here reads large files in the thread of the user interface.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import Any, ClassVar

import msgspec
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Static, Tree
from textual.widgets.tree import TreeNode

from ptycassette import Cassette, ServiceEventRecord, visible, visible_bytes
from ptycassette_viewer.explain import explain, hex_lines
from ptycassette_viewer.playback import clock_text
from ptycassette_viewer.session import EventIndex, Kind, Session
from ptycassette_viewer.session.summaries import service_line
from ptycassette_viewer.widgets.virtual_list import VirtualList

__all__ = [
    "BytesPanel",
    "DocumentPanel",
    "EventsPanel",
    "ExchangesPanel",
    "InputsPanel",
    "Panel",
    "ServicePanel",
]

_PREVIEW_BYTES = 96
_SHOWN_BYTES = 4_096
_MAX_SERVICE_EVENTS = 5_000
_MAX_LINES = 5_000

_COLORS: dict[Kind, str] = {
    "output": "green",
    "input": "bold yellow",
    "resize": "magenta",
    "signal": "bold red",
    "answer": "cyan",
    "frame": "dim",
    "service-event": "blue",
    "final": "bold",
}


class Panel(Vertical):
    """Something about the moment where the playhead is."""

    DEFAULT_CSS = """
    Panel { height: 1fr; }
    Panel > .panel-title { height: 1; color: $text-muted; padding: 0 1; }
    """
    label: ClassVar[str] = ""

    class Go(Message):
        """The user wants to be behind event ``seq``."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    def show(self, seq: int) -> None:
        """The playhead stands behind event ``seq``."""


def _bytes_of(session: Session, seq: int, limit: int) -> bytes:
    """The first bytes of an output event."""
    start = session.index.output_start(seq)
    length = min(limit, session.index.output_end(seq) - start)
    return b"".join(session.source.read(start, length)) if length else b""


def event_line(session: Session, seq: int) -> Text:
    """An event in one line, safe to show."""
    index = session.index
    kind = index.kind_of(seq)
    text = Text(f"{clock_text(index.time_of(seq)):>10} {seq:>6} ", end="", no_wrap=True)
    text.append(f"{kind:<13} ", style=_COLORS[kind])
    if kind == "output":
        length = index.output_end(seq) - index.output_start(seq)
        text.append(f"{length:>6} B  ", style="dim")
        text.append(visible_bytes(_bytes_of(session, seq, _PREVIEW_BYTES)))
    elif kind == "frame":
        size = index.size_at(seq)
        text.append(f"stored screen {size.cols}x{size.rows}", style="dim")
    else:
        text.append(session.summaries.get(seq) or "(not kept: too many)")
    return text


class EventsPanel(Panel):
    """All events, or those of one kind; the one at the playhead is marked."""

    label = "Events"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "next_filter", "Filter"),
        Binding("w", "toggle_follow", "Follow"),
    ]
    FILTERS: ClassVar[tuple[tuple[str, tuple[Kind, ...]], ...]] = (
        ("all", ()),
        ("output", ("output",)),
        ("input", ("input",)),
        ("frames", ("frame",)),
        ("service events", ("service-event",)),
        ("resizes", ("resize",)),
        ("signals", ("signal",)),
        ("answers", ("answer",)),
    )

    def __init__(self, session: Session, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._session = session
        self._filter = 0
        self.follow = True
        self._seq = 0
        self.list = VirtualList(self._count, self._row, id="events-list")

    def compose(self) -> ComposeResult:
        """A line that says what is shown, and the list."""
        yield Static(classes="panel-title")
        yield self.list

    def on_mount(self) -> None:
        """Say what is shown."""
        self._say()

    @property
    def kind(self) -> Kind | None:
        """The one kind that is listed; None for all."""
        kinds = self.FILTERS[self._filter][1]
        return kinds[0] if kinds else None

    def _say(self) -> None:
        name = self.FILTERS[self._filter][0]
        follow = "following" if self.follow else "not following"
        self.query_one(".panel-title", Static).update(f"{name} (a), {follow} (w)")

    def _count(self) -> int:
        index: EventIndex = self._session.index
        return index.count if self.kind is None else len(index.of_kind(self.kind))

    def seq_of(self, number: int) -> int:
        """The event in row ``number``."""
        return number + 1 if self.kind is None else self._session.index.of_kind(self.kind)[number]

    def _row(self, number: int) -> Text:
        return event_line(self._session, self.seq_of(number))

    def show(self, seq: int) -> None:
        """Bring the event at the playhead into view, when following."""
        self._seq = seq
        if not self.follow:
            self.list.update()
        elif self.kind is None:
            self.list.update(seq - 1)
        else:
            self.list.update(bisect_right(self._session.index.of_kind(self.kind), seq) - 1)

    def action_next_filter(self) -> None:
        """List the next kind."""
        self._filter = (self._filter + 1) % len(self.FILTERS)
        self._say()
        self.show(self._seq)

    def action_toggle_follow(self) -> None:
        """Follow the playhead, or stay."""
        self.follow = not self.follow
        self._say()
        self.show(self._seq)

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Go to the event."""
        message.stop()
        self.post_message(self.Go(self.seq_of(message.number)))


class InputsPanel(Panel):
    """What was typed, as keys, with resizes and signals."""

    label = "Input"

    def __init__(self, session: Session, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._session = session
        self.list = VirtualList(
            lambda: len(session.index.of_kind("input")), self._row, id="inputs-list"
        )

    def compose(self) -> ComposeResult:
        """The list."""
        yield Static("what was typed, byte for byte and as keys", classes="panel-title")
        yield self.list

    def _row(self, number: int) -> Text:
        return event_line(self._session, self._session.index.of_kind("input")[number])

    def show(self, seq: int) -> None:
        """Mark the last input."""
        self.list.update(bisect_right(self._session.index.of_kind("input"), seq) - 1)

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Go to the input."""
        message.stop()
        self.post_message(self.Go(self._session.index.of_kind("input")[message.number]))


class ExchangesPanel(Panel):
    """Stretches of input, and what came back."""

    label = "Exchanges"

    def __init__(self, session: Session, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._session = session
        self.list = VirtualList(lambda: len(session.exchanges), self._row, id="exchanges-list")

    def compose(self) -> ComposeResult:
        """The list."""
        yield Static("number, start, input, output that came back", classes="panel-title")
        yield self.list

    def _row(self, place: int) -> Text:
        session, index = self._session, self._session.index
        starts = session.exchanges.starts
        first = starts[place]
        last = starts[place + 1] - 1 if place + 1 < len(starts) else index.count
        size = index.output_end(last) - index.output_start(first)
        text = Text(f"{session.exchanges.number(place):>4} ", end="", no_wrap=True)
        text.append(f"{clock_text(index.time_of(first)):>10} ", style="dim")
        text.append(self._typed(first, last), style="bold yellow")
        text.append(f"  {size} bytes came back", style="green")
        return text

    def _typed(self, first: int, last: int) -> str:
        """The inputs of an exchange in some words."""
        words: list[str] = []
        seq: int | None = first
        for _ in range(40):
            if seq is None or seq > last:
                break
            if self._session.index.kind_of(seq) in {"input", "resize", "signal"}:
                words.append(self._session.summaries.get(seq) or "?")
            seq = self._session.index.after(seq, "input", "resize", "signal")
        return "".join(words)[:80] if words else "(before any input)"

    def show(self, seq: int) -> None:
        """Mark the exchange at the playhead."""
        self.list.update(self._session.exchanges.place_of(seq))

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Go to its start."""
        message.stop()
        self.post_message(self.Go(self._session.exchanges.starts[message.number]))


class BytesPanel(Panel):
    """The bytes of the last output at the playhead: escaped, in words, and in hex."""

    label = "Bytes"

    def __init__(self, session: Session, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._session = session
        self._shown = -1

    def compose(self) -> ComposeResult:
        """A title and the text."""
        yield Static(classes="panel-title")
        with VerticalScroll():
            yield Static(id="bytes-text", markup=False)

    def show(self, seq: int) -> None:
        """Show the last output event at or before ``seq``."""
        found = self._session.index.before(seq + 1, "output")
        if found == self._shown:
            return
        self._shown = found or 0
        title = self.query_one(".panel-title", Static)
        body = self.query_one("#bytes-text", Static)
        if found is None:
            title.update("no output yet")
            body.update("")
            return
        start = self._session.index.output_start(found)
        length = self._session.index.output_end(found) - start
        data = _bytes_of(self._session, found, _SHOWN_BYTES)
        cut = "" if length == len(data) else f", the first {len(data)} shown"
        title.update(f"output {found}: {length} bytes from {start}{cut}")
        body.update(_bytes_text(data, start))


def _bytes_text(data: bytes, start: int) -> Text:
    text = Text()
    for piece in explain(data):
        text.append(f"{start + piece.offset:>8} ", style="dim")
        text.append(piece.shown, style="bold" if piece.meaning == "text" else "yellow")
        if piece.meaning != "text":
            text.append(f"  {piece.meaning}", style="italic")
        text.append("\n")
    text.append("\n")
    for line in hex_lines(data, start=start):
        text.append(line + "\n", style="dim")
    return text


class ServicePanel(Panel):
    """Service events as a tree."""

    label = "Service"

    def __init__(self, session: Session, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._session = session
        self._filled = False

    def compose(self) -> ComposeResult:
        """The tree."""
        yield Static("service events: enter opens one", classes="panel-title")
        tree: Tree[Any] = Tree("service events", id="service-tree")
        tree.show_root = False
        yield tree

    def show(self, seq: int) -> None:  # noqa: ARG002 - the list is the same at any time
        """Fill the tree the first time."""
        if self._filled or not self._session.indexed.is_set():
            return
        self._filled = True
        self.run_worker(self._read, thread=True, name="service-events")

    def _read(self) -> None:
        cassette = getattr(self._session.source, "cassette", None)
        if not isinstance(cassette, Cassette):
            return
        found: list[ServiceEventRecord] = []
        for record in cassette.service_events():
            found.append(record)
            if len(found) >= _MAX_SERVICE_EVENTS:
                break
        self.app.call_from_thread(self._fill, found)

    def _fill(self, records: list[ServiceEventRecord]) -> None:
        tree = self.query_one("#service-tree", Tree)
        for record in records:
            label = Text(f"{clock_text(record.t_ms * 1000):>10} {service_line(record.payload)}")
            tree.root.add(label, data=("event", record.seq, record.payload))
        if not records:
            tree.root.add_leaf("none were recorded")
        tree.root.expand()

    def on_tree_node_expanded(self, message: Tree.NodeExpanded[Any]) -> None:
        """Make the children of a node when it is opened."""
        node = message.node
        if node.data is None or node.children:
            return
        _grow(node, node.data[-1])

    def on_tree_node_selected(self, message: Tree.NodeSelected[Any]) -> None:
        """Go to the service event."""
        data = message.node.data
        if isinstance(data, tuple) and data[0] == "event":
            self.post_message(self.Go(data[1]))


def _grow(node: TreeNode[Any], value: object) -> None:
    items: list[tuple[str, object]]
    if isinstance(value, dict):
        items = [(str(key), item) for key, item in list(value.items())[:_MAX_LINES]]
    elif isinstance(value, list):
        items = [(str(number), item) for number, item in enumerate(value[:_MAX_LINES])]
    else:
        items = [("value", value)]
    for key, item in items:
        name = visible(key, limit=80)
        if isinstance(item, dict | list) and item:
            node.add(Text(f"{name}: {len(item)} entries"), data=("part", item))
        else:
            node.add_leaf(Text(f"{name}: {visible(json.dumps(item, ensure_ascii=False))}"))


class DocumentPanel(Panel):
    """A document of the cassette as JSON, every line made visible."""

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
    shown = [visible(line, limit=400).replace("\\\\", "\\") for line in lines[:_MAX_LINES]]
    if len(lines) > _MAX_LINES:
        shown.append(f"({len(lines) - _MAX_LINES} more lines)")
    return shown
