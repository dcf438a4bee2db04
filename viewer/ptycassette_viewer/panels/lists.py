"""Panels that are lists: events, inputs, exchanges. Choosing a row moves the playhead there."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Static, Tree
from textual.widgets.tree import TreeNode

from ptycassette import Cassette, CassetteError
from ptycassette.viewing import (
    ForkRecord,
    ReportedDivergence,
    ServiceEventRecord,
    fork_mark,
    lineage_lines,
    printable,
    read_lineage,
    visible,
    visible_bytes,
)
from ptycassette_viewer.comparison.differences import Difference
from ptycassette_viewer.dialogs import clock_text
from ptycassette_viewer.explain import explain, hex_lines
from ptycassette_viewer.kinds import KIND_STYLES, MarkKind
from ptycassette_viewer.session.index import Kind
from ptycassette_viewer.session.session import SignalLines, ViewerSession, service_line
from ptycassette_viewer.session.source import Body
from ptycassette_viewer.widgets.virtual_list import VirtualList

# The base of all panels. A panel shows something about the position of the playhead.


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


# Rows of the list of events: all of them, those of one kind, or the signals.


class Rows(Protocol):
    """Rows in order of time; more may be added at the end."""

    def count(self) -> int:
        """The current number of rows."""
        ...

    def seq(self, number: int) -> int:
        """The event to which row ``number`` belongs."""
        ...

    def line(self, number: int) -> Text:
        """Row ``number``, safe to show."""
        ...

    def place(self, seq: int) -> int:
        """The row of event ``seq``, or the last one before it; -1 when there is none."""
        ...


class KindRows:
    """The events of one kind."""

    def __init__(self, session: ViewerSession, kind: Kind) -> None:
        self._session = session
        self._seqs = session.index.of_kind(kind)

    def count(self) -> int:
        """The current number of rows."""
        return len(self._seqs)

    def seq(self, number: int) -> int:
        """The event in row ``number``."""
        return self._seqs[number]

    def line(self, number: int) -> Text:
        """The event in a line."""
        return event_line(self._session, self._seqs[number])

    def place(self, seq: int) -> int:
        """The row of event ``seq``, or the last one before it."""
        return bisect_right(self._seqs, seq) - 1


class SignalRows:
    """Signals; several rows may belong to one output."""

    def __init__(self, session: ViewerSession, signals: SignalLines) -> None:
        self._session = session
        self._signals = signals

    def count(self) -> int:
        """The current number of rows."""
        return len(self._signals)

    def seq(self, number: int) -> int:
        """The output that completed it."""
        return self._signals.seqs[number]

    def line(self, number: int) -> Text:
        """Time and content."""
        return signal_line(self._session, self.seq(number), self._signals.line(number))

    def place(self, seq: int) -> int:
        """The first row of ``seq``, or the last one before it."""
        first = bisect_left(self._signals.seqs, seq)
        if first < len(self._signals) and self._signals.seqs[first] == seq:
            return first
        return first - 1


class AllRows:
    """All events, and after each output its notable signals.

    Signal ``n`` is in row ``seqs[n] + n``: after so many events and signals.
    """

    def __init__(self, session: ViewerSession) -> None:
        self._session = session
        self._signals = SignalRows(session, session.signals.notable)
        self._seqs = session.signals.notable.seqs

    def count(self) -> int:
        """The current number of rows."""
        return self._session.index.count + self._signals.count()

    def _signals_before(self, number: int) -> int:
        return bisect_left(
            range(self._signals.count()), number, key=lambda place: self._seqs[place] + place
        )

    def _signal(self, number: int) -> int | None:
        """The signal in row ``number``, None when there is an event."""
        before = self._signals_before(number)
        there = before < self._signals.count() and self._seqs[before] + before == number
        return before if there else None

    def seq(self, number: int) -> int:
        """The event in row ``number``, or the output of the signal there."""
        signal = self._signal(number)
        if signal is not None:
            return self._seqs[signal]
        return number - self._signals_before(number) + 1

    def line(self, number: int) -> Text:
        """The event or the signal in a line."""
        signal = self._signal(number)
        if signal is not None:
            return self._signals.line(signal)
        return event_line(self._session, self.seq(number))

    def place(self, seq: int) -> int:
        """The row of event ``seq``."""
        return seq - 1 + bisect_left(self._seqs, seq)


_NOTABLE = "terminal signals"
_ROUTINE = "modes, updates and queries"


class EventsPanel(Panel):
    """All events, or those of one kind; the one at the playhead is marked."""

    label = "Events"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "next_filter", "Filter", show=False),
        Binding("w", "toggle_follow", "Follow", show=False),
    ]

    def __init__(self, session: ViewerSession, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._signals = session.signals
        self._filters: tuple[tuple[str, Rows], ...] = (
            ("all", AllRows(session)),
            ("output", KindRows(session, "output")),
            ("input", KindRows(session, "input")),
            ("frames", KindRows(session, "frame")),
            ("service events", KindRows(session, "service-event")),
            ("resizes", KindRows(session, "resize")),
            ("signals", KindRows(session, "signal")),
            ("answers", KindRows(session, "answer")),
            (_NOTABLE, SignalRows(session, session.signals.notable)),
            (_ROUTINE, SignalRows(session, session.signals.routine)),
        )
        self._filter = 0
        self.follow = True
        self._seq = 0
        self.list = VirtualList(self._count, self._row, id="events-list")

    def compose(self) -> ComposeResult:
        """The filter, and the list."""
        yield Static(classes="panel-title")
        yield self.list

    def on_mount(self) -> None:
        """Show the filter."""
        self._say()

    @property
    def rows(self) -> Rows:
        """The listed rows."""
        return self._filters[self._filter][1]

    def _say(self) -> None:
        name = self._filters[self._filter][0]
        parts = [f"{name} (a)", f"{'following' if self.follow else 'not following'} (w)"]
        if name in {_NOTABLE, _ROUTINE} and self._signals.dropped:
            parts.append("not all of them: there are too many")
        self.query_one(".panel-title", Static).update(", ".join(parts))

    def _count(self) -> int:
        return self.rows.count()

    def _row(self, number: int) -> Text:
        return self.rows.line(number)

    def show(self, seq: int) -> None:
        """Bring the event at the playhead into view, when following."""
        self._seq = seq
        rows, at = self.rows, self.list.cursor
        if not self.follow or (at < rows.count() and rows.seq(at) == seq):
            # Several rows may belong to an event; the chosen one stays.
            self.list.update(at if self.follow else None)
        else:
            self.list.update(rows.place(seq))

    def action_next_filter(self) -> None:
        """List the next kind."""
        self._filter = (self._filter + 1) % len(self._filters)
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
        self.post_message(self.Go(self.rows.seq(message.number)))


class InputsPanel(Panel):
    """What was typed, as keys, with resizes and signals."""

    label = "Input"

    def __init__(self, session: ViewerSession, *, id: str | None = None) -> None:  # noqa: A002
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

    def __init__(self, session: ViewerSession, *, id: str | None = None) -> None:  # noqa: A002
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
        text.append(self._typed(first, last), style="bold #b87000")
        text.append(f"  {size} bytes came back", style="green")
        return text

    def _typed(self, first: int, last: int) -> str:
        """A short text of an exchange's inputs."""
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


# Service events as a tree whose branches are made when they are opened.


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


# Where a forked recording comes from: its parent, the place, the change, its relatives.


_MOST_RELATIVES = 200


class LineagePanel(Panel):
    """The origin of a recording.

    Args:
        cassette: open; a child.
        origin: what it says of its parent.
    """

    label = "Lineage"

    class Placed(Message):
        """Where the change was made, and the recordings that are related."""

        def __init__(self, t_us: int | None, seq: int | None, relatives: list[str]) -> None:
            super().__init__()
            self.t_us, self.seq, self.relatives = t_us, seq, relatives

    def __init__(
        self,
        cassette: Cassette,
        origin: ForkRecord,
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._cassette = cassette
        self.origin = origin

    def compose(self) -> ComposeResult:
        """The origin, as it is known at once."""
        yield Static("forked of another recording", classes="panel-title")
        with VerticalScroll():
            yield Static("\n".join(self._origin()), id=f"{self.id}-text", markup=False)

    def _origin(self, place: str = "") -> list[str]:
        origin, proof = self.origin, self.origin.prefix
        verified = f"requests {len(proof.entries)}, screens {proof.screens}, inputs {proof.inputs}"
        return [
            f"parent   id {visible(origin.parent.id, limit=60)}",
            f"         manifest {visible(origin.parent.manifest_sha256, limit=64)}",
            f"place    {visible(origin.at, limit=40)}{place}",
            f"changed  {visible(f'{origin.change}={origin.value}', limit=400)}",
            f"tail     {visible(origin.tail, limit=40)}",
            f"verified {verified}",
        ]

    def on_mount(self) -> None:
        """Look for the place and the relatives in a thread."""
        self.run_worker(self._look, thread=True, exit_on_error=False)

    def _look(self) -> None:
        mark, relatives = None, list[str]()
        try:
            mark = fork_mark(self._cassette)
            relatives = list(lineage_lines(read_lineage(Path(self._cassette.path))))
        except (CassetteError, OSError, ValueError) as problem:
            relatives.append(printable(str(problem)))
        t_us, seq = (None, None) if mark is None else (mark.t_us, mark.seq)
        self.post_message(self.Placed(t_us, seq, relatives[:_MOST_RELATIVES]))

    def on_lineage_panel_placed(self, message: Placed) -> None:
        """Show it; the screen marks the place on the timeline."""
        place = ""
        if message.t_us is not None:
            place = f": {clock_text(message.t_us)}, event #{message.seq}"
        lines = [*self._origin(place), "", "in this folder:", *message.relatives]
        self.query_one(f"#{self.id}-text", Static).update("\n".join(lines))


# The list of differences between two recordings, each with both rows.


class DifferencesPanel(Panel):
    """Two lines for each difference: the row of the first recording, and that of the second.

    Args:
        differences: in order of time; more come at its end.
        title: the line above the list.
    """

    label = "Differences"
    DEFAULT_CSS = """
    DifferencesPanel > .panel-title { height: auto; max-height: 4; }
    DifferencesPanel > VirtualList { height: 1fr; }
    """

    class Choose(Message):
        """The user chose difference ``number``."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(
        self,
        differences: Callable[[], Sequence[Difference]],
        title: Callable[[], str],
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._differences = differences
        self._title = title
        self.list = VirtualList(
            lambda: 2 * len(differences()), self._row, width=240, id="differences-list"
        )

    def compose(self) -> ComposeResult:
        """The number of differences, and the list."""
        yield Static(classes="panel-title", markup=False)
        yield self.list

    def _row(self, number: int) -> Text:
        found = self._differences()[number // 2]
        if number % 2:
            return Text(f"{'+':>21} ", end="", no_wrap=True).append(found.second, style="green")
        text = Text(f"{clock_text(found.t_us):>10} ", end="", no_wrap=True)
        text.append(f"row {found.row + 1:<5}- ", style="dim")
        return text.append(found.first, style="red")

    def show_time(self, t_us: int) -> None:
        """Mark the last difference at or before a moment."""
        self.query_one(".panel-title", Static).update(self._title())
        found = self._differences()
        at = self.list.cursor // 2
        if at < len(found) and found[at].t_us == t_us:
            self.list.update()  # the row that was chosen stays
            return
        self.list.update(2 * (bisect_right(found, t_us, key=lambda one: one.t_us) - 1))

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Go there."""
        message.stop()
        self.post_message(self.Choose(message.number // 2))


# The bytes of one output event: escaped, in words, and in hex.


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


# The list of divergences, and a description of the one at the playhead.


class DivergencesPanel(Panel):
    """The divergences of a report, by place."""

    label = "Divergences"
    DEFAULT_CSS = """
    DivergencesPanel > VirtualList { height: 1fr; }
    DivergencesPanel > VerticalScroll { height: 55%; padding: 0 1; border-top: solid $panel; }
    """

    def __init__(
        self,
        divergences: tuple[ReportedDivergence, ...],
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._divergences = divergences
        self._seqs = [found.seq for found in divergences]
        self.list = VirtualList(lambda: len(divergences), self._row, id="divergences-list")

    def compose(self) -> ComposeResult:
        """A title, the list, and the words."""
        count = len(self._divergences)
        yield Static(f"{count} from what was recorded (d next, D last)", classes="panel-title")
        yield self.list
        with VerticalScroll(can_focus=False):
            yield Static(id="divergence-text", markup=False)

    def _row(self, number: int) -> Text:
        found = self._divergences[number]
        text = Text(f"{clock_text(found.t_ms * 1000):>10} {found.seq:>6} ", end="", no_wrap=True)
        text.append(found.line, style="bold red")
        return text

    def show(self, seq: int) -> None:
        """Mark and describe the last divergence at or before the playhead."""
        place = bisect_right(self._seqs, seq) - 1
        self.list.update(place)
        lines = self._divergences[place].lines() if place >= 0 else ("none so far",)
        self.query_one("#divergence-text", Static).update(Text("\n".join(lines)))

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Go to its place in the recording."""
        message.stop()
        self.post_message(self.Go(self._divergences[message.number].seq))


# A document of the recording as JSON, with every line escaped.


_MOST_DOCUMENT_LINES = 5_000


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
    shown = [printable(line, limit=400) for line in lines[:_MOST_DOCUMENT_LINES]]
    if len(lines) > _MOST_DOCUMENT_LINES:
        shown.append(f"({len(lines) - _MOST_DOCUMENT_LINES} more lines)")
    return shown
