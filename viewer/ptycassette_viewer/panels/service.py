"""Service events as a tree whose branches are made when they are opened."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static, Tree
from textual.widgets.tree import TreeNode

from ptycassette import CassetteError, ServiceEventRecord, printable, visible
from ptycassette_viewer.panels.panel import Panel
from ptycassette_viewer.playback import clock_text
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.summaries import service_line
from ptycassette_viewer.session.traffic import Body

_MAX_SERVICE_EVENTS = 5_000
_MAX_CHILDREN = 5_000
_MAX_LINES = 500


class _Events(Tree[Any], inherit_bindings=False):
    """A tree that does not use the keys space, left and right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor_up", "Up", show=False),
        Binding("down", "cursor_down", "Down", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
        Binding("enter", "select_cursor", "Open, go there", show=False),
    ]


class ServicePanel(Panel):
    """Service events as a tree."""

    label = "Service"

    class Read(Message):
        """The service events so far."""

        def __init__(self, records: list[ServiceEventRecord]) -> None:
            super().__init__()
            self.records = records

    def __init__(self, session: ViewerSession, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._session = session
        self._filled = 0
        self._asked = -1

    def compose(self) -> ComposeResult:
        """The tree."""
        yield Static("service events: enter opens one", classes="panel-title")
        tree = _Events("service events", id="service-tree")
        tree.show_root = False
        yield tree

    def show(self, seq: int) -> None:  # noqa: ARG002 - the list is the same at any time
        """Add the service events that have become known."""
        known = len(self._session.index.of_kind("service-event"))
        ready = self._session.source.live or self._session.indexed.is_set()
        if ready and known != self._asked:
            self._asked = known
            self.run_worker(self._read, thread=True, name="service-events", exclusive=True)

    def _read(self) -> None:
        records = islice(self._session.source.service_events(), _MAX_SERVICE_EVENTS)
        try:
            found = list(records)
        except (CassetteError, OSError, ValueError):  # told by whoever reads all events
            found = []
        self.post_message(self.Read(found))

    def on_service_panel_read(self, message: Read) -> None:
        """Add those that are new to the tree."""
        records = message.records
        tree = self.query_one("#service-tree", Tree)
        fresh, self._filled = records[self._filled :], max(self._filled, len(records))
        title = "service events: enter opens one"
        if not records:
            title = "no service events were recorded"
        elif len(records) >= _MAX_SERVICE_EVENTS:
            title = f"the first {len(records)} service events: enter opens one"
        self.query_one(".panel-title", Static).update(title)
        for record in fresh:
            label = Text(f"{clock_text(record.t_ms * 1000):>10} {service_line(record.payload)}")
            tree.root.add(label, data=("event", record.seq, record.payload))
        tree.root.expand()

    def on_tree_node_expanded(self, message: Tree.NodeExpanded[Any]) -> None:
        """Make the children of a node when it is opened."""
        node = message.node
        if node.data is None or node.children:
            return
        _grow(node, node.data[-1])
        if node.data[0] == "event":
            body = self._session.source.body(node.data[1])
            if body is not None:
                _add_body(node, body)

    def on_tree_node_selected(self, message: Tree.NodeSelected[Any]) -> None:
        """Go to the service event."""
        data = message.node.data
        if isinstance(data, tuple) and data[0] == "event":
            self.post_message(self.Go(data[1]))


def _add_body(node: TreeNode[Any], body: Body) -> None:
    """A body of the tape below its event: JSON as a tree, all else line by line."""
    document = body.document
    name = f"body: {body.length} bytes"
    if isinstance(document, dict | list) and document:
        node.add(Text(name), data=("part", document))
        return
    lines = [line for line in body.text.splitlines() if line]
    parts = node.add(Text(name), expand=True)
    for line in lines[:_MAX_LINES]:
        parts.add_leaf(Text(printable(line, limit=2_000)))
    if len(lines) > _MAX_LINES or len(body.data) < body.length:
        parts.add_leaf(Text("... (ptycassette tape CASSETTE --entry N shows the rest)"))


def _grow(node: TreeNode[Any], value: object) -> None:
    items: list[tuple[str, object]]
    if isinstance(value, dict):
        items = [(str(key), item) for key, item in list(value.items())[:_MAX_CHILDREN]]
    elif isinstance(value, list):
        items = [(str(number), item) for number, item in enumerate(value[:_MAX_CHILDREN])]
    else:
        items = [("value", value)]
    for key, item in items:
        name = visible(key, limit=80)
        if isinstance(item, dict | list) and item:
            node.add(Text(f"{name}: {len(item)} entries"), data=("part", item))
        else:
            node.add_leaf(
                Text(f"{name}: {printable(json.dumps(item, ensure_ascii=False), limit=2_000)}")
            )
