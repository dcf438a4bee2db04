"""A list of traces, the newest first; enter opens one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen as TextualScreen
from textual.widgets import DataTable, Footer, Static

from ptycassette import CassetteError, printable, visible
from ptycassette_viewer.browse import age_text
from ptycassette_viewer.dialogs import HelpScreen, LeaveDialog
from ptycassette_viewer.traces.trace_file import read_trace
from ptycassette_viewer.widgets.growing_table import GrowingTable

_KEYS = (
    ("up down", "choose"),
    ("enter", "open"),
    ("ctrl+p", "all commands, themes"),
    ("escape", "ask whether to leave"),
    ("q", "quit"),
)


class TraceListScreen(TextualScreen[None]):
    """The list.

    Args:
        paths: the JSON of each trace, the newest first.
        choose: called with the path of the trace to open.
        now: the wall clock, for ages.
    """

    CSS = """
    TraceListScreen { layout: vertical; }
    #where { height: 1; background: $panel; color: $text; padding: 0 1; }
    DataTable { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("escape", "ask_to_leave", "Leave", show=False),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(
        self, paths: Sequence[Path], choose: Callable[[Path], None], *, now: Callable[[], datetime]
    ) -> None:
        super().__init__()
        self._paths = paths
        self._choose = choose
        self._now = now

    def compose(self) -> ComposeResult:
        """The number of traces, the table, the keys."""
        yield Static(id="where", markup=False)
        yield GrowingTable(cursor_type="row", id="traces")
        yield Footer()

    def on_mount(self) -> None:
        """Read them in a thread."""
        self.query_one(GrowingTable).add_titles("age", "outcome", "test", "what happened")
        self._say("reading")
        self.run_worker(self._read, thread=True, exclusive=True)

    def _read(self) -> None:
        for path in self._paths:
            self.app.call_from_thread(self._add, *_row(path, self._now()))
        self.app.call_from_thread(self._say, "enter opens")

    def _say(self, what: str) -> None:
        count = len(self._paths)
        self.query_one("#where", Static).update(f"{count} traces, the newest first: {what}")

    def _add(self, *cells: Text) -> None:
        self.query_one(GrowingTable).add_line(*cells)

    def on_data_table_row_selected(self, message: DataTable.RowSelected) -> None:
        """Open the chosen one."""
        self._choose(self._paths[message.cursor_row])

    def action_ask_to_leave(self) -> None:
        """Ask whether to quit, because no screen is above the list."""
        self.app.push_screen(LeaveDialog())

    def action_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(HelpScreen(_KEYS, ""))


def _row(path: Path, now: datetime) -> tuple[Text, ...]:
    try:
        when = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat()
        trace = read_trace(path)
    except CassetteError as problem:
        said = Text(printable(problem.message, limit=80), style="italic red")
        return Text(""), Text("?"), Text(printable(path.parent.name, limit=60)), said
    except OSError:
        return Text(""), Text("?"), Text(printable(path.parent.name, limit=60)), Text("is gone")
    outcome = "green" if trace.outcome == "passed" else "red"
    return (
        Text(age_text(when, now), justify="right"),
        Text(visible(trace.outcome, limit=20), style=outcome),
        Text(visible(trace.test, limit=80)),
        Text(printable(trace.headline, limit=120)),
    )
