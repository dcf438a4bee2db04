"""The cassettes of a directory: size, length, harness, age, scrub status; enter opens one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import msgspec
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen as TextualScreen
from textual.widgets import DataTable, Footer, Static

from ptycassette import CassetteError, open_cassette, printable, visible
from ptycassette_viewer.dialogs import HelpScreen, LeaveDialog
from ptycassette_viewer.playback import clock_text
from ptycassette_viewer.widgets.growing_table import GrowingTable

_MAX_ENTRIES = 10_000
_MAX_DEPTH = 3
_KEYS = (
    ("up down", "choose"),
    ("enter", "open"),
    ("r", "read the directory again"),
    ("ctrl+p", "all commands, themes"),
    ("escape", "ask whether to leave"),
    ("q", "quit"),
)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A cassette in a list. ``problem`` says why it cannot be opened."""

    path: Path
    name: str
    bytes: int = 0
    duration_us: int = 0
    harness: str = ""
    recorded_at: str = ""
    scrub: str = ""
    problem: str | None = None


def is_library(path: Path) -> bool:
    """Whether a path is a directory of cassettes, and not a cassette."""
    return path.is_dir() and not (path / "manifest.json").exists() and bool(_places(path, 1))


def _places(path: Path, limit: int = _MAX_ENTRIES) -> list[Path]:
    """The directories below ``path`` that hold a manifest, links not followed."""
    found: list[Path] = []
    for folder, names, files in os.walk(path):
        here = Path(folder)
        if "manifest.json" in files:
            found.append(here)
            names.clear()
        if len(here.relative_to(path).parts) >= _MAX_DEPTH:
            names.clear()
        names.sort()
        if len(found) >= limit:
            break
    return found


def entries(path: Path) -> Iterator[Entry]:
    """The cassettes below a directory, by name."""
    for place in _places(path):
        name = str(place.relative_to(path))
        try:
            with open_cassette(place, check="manifest", allow_unscrubbed=True) as cassette:
                manifest, final = cassette.manifest, cassette.final
                harness = manifest.harness
                yield Entry(
                    path=place,
                    name=name,
                    bytes=cassette.output_size,
                    duration_us=final.t_us if final.t_us is not None else final.t_ms * 1000,
                    harness=harness_text(harness.name, harness.binary_version),
                    recorded_at=manifest.provenance.recorded_at,
                    scrub=cassette.scrub_report.status,
                )
        except CassetteError as problem:
            yield Entry(path=place, name=name, problem=problem.message)


def harness_text(name: str, version: str | None) -> str:
    """Name and version; many programs print their name with their version."""
    if version and version.startswith(name):
        return version
    return f"{name} {version or ''}".strip()


def age_text(recorded_at: str, now: datetime) -> str:
    """The rough age, such as ``3 d``; empty when the time cannot be read."""
    try:
        then = datetime.fromisoformat(recorded_at)
    except ValueError:
        return ""
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    seconds = (now - then).total_seconds()
    for unit, length in (("y", 31_557_600), ("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return "now"


def size_text(count: int) -> str:
    """A number of bytes as text."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


class BrowseScreen(TextualScreen[None]):
    """The list.

    Args:
        path: the directory.
        choose: called with the path of the cassette to open.
        now: the wall clock, for ages.
    """

    CSS = """
    BrowseScreen { layout: vertical; }
    #where { height: 1; background: $panel; color: $text; padding: 0 1; }
    DataTable { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "reread", "Read again"),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("escape", "ask_to_leave", "Leave", show=False),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(
        self,
        path: Path,
        choose: Callable[[Path], None],
        *,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__()
        self._path = path
        self._choose = choose
        self._now = now
        self.found: list[Entry] = []

    def compose(self) -> ComposeResult:
        """The directory, the table, the keys."""
        yield Static(id="where", markup=False)
        yield GrowingTable(cursor_type="row", id="cassettes")
        yield Footer()

    def on_mount(self) -> None:
        """Read the directory."""
        table = self.query_one(GrowingTable)
        table.add_titles("cassette", "harness", "length", "output", "age", "scrub")
        self.action_reread()

    def action_reread(self) -> None:
        """Read the directory again."""
        self.found = []
        self.query_one(GrowingTable).clear()
        self._say("reading")
        self.run_worker(self._read, thread=True, exclusive=True)

    def _read(self) -> None:
        for entry in entries(self._path):
            self.app.call_from_thread(self._add, entry)
        self.app.call_from_thread(self._say, "enter opens")

    def _say(self, what: str) -> None:
        where = printable(str(self._path), limit=60)
        self.query_one("#where", Static).update(f"{where}: {len(self.found)} cassettes, {what}")

    def _add(self, entry: Entry) -> None:
        self.found.append(entry)
        table = self.query_one(GrowingTable)
        name = Text(printable(entry.name, limit=60))
        if entry.problem is not None:
            table.add_line(name, Text(printable(entry.problem, limit=60), style="italic red"))
            return
        table.add_line(
            name,
            Text(visible(entry.harness, limit=30)),
            Text(clock_text(entry.duration_us), justify="right"),
            Text(size_text(entry.bytes), justify="right"),
            Text(age_text(entry.recorded_at, self._now()), justify="right"),
            Text(visible(entry.scrub, limit=20)),
        )

    def on_data_table_row_selected(self, message: DataTable.RowSelected) -> None:
        """Open the chosen one."""
        self._choose(self.found[message.cursor_row].path)

    def action_ask_to_leave(self) -> None:
        """Ask whether to quit, because no screen is above the list."""
        self.app.push_screen(LeaveDialog())

    def action_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(HelpScreen(_KEYS, ""))
