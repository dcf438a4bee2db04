"""Dialogs: errors, questions of one line, and the help page."""

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
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.screen import Screen as TextualScreen
from textual.widgets import Button, DataTable, Footer, Input, Label, Static

from ptycassette import CassetteError, open_cassette
from ptycassette.viewing import printable, visible

from .session.index import EventIndex, Kind
from .widgets.growing_table import GrowingTable

_CSS = """
    {name} {{ align: center middle; }}
    {name} > Vertical {{
        width: 70; max-width: 95%; height: auto; max-height: 90%;
        border: round $accent; background: $surface; padding: 1 2;
    }}
    {name} Button {{ margin-top: 1; }}
"""


def error_text(error: CassetteError) -> Text:
    """What happened, where, and what to do.

    Messages are escaped already; doing it again would double backslashes.
    """
    text = Text()
    text.append(_lines(error.message), style="bold")
    if error.where:
        text.append("\n\nwhere: ", style="dim")
        text.append(printable(error.where))
    if error.hint:
        text.append("\n\nwhat to do: ", style="dim")
        text.append(_lines(error.hint))
    return text


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n")[:30])


class ErrorDialog(ModalScreen[None]):
    """An error message. Enter, escape or the button closes it."""

    DEFAULT_CSS = _CSS.format(name="ErrorDialog")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "Close")]

    def __init__(self, error: CassetteError, *, title: str = "This did not work") -> None:
        super().__init__()
        self.error = error
        self._title = title

    def compose(self) -> ComposeResult:
        """The text and a button."""
        with Vertical():
            yield Label(Text(self._title, style="bold red"))
            with VerticalScroll(can_focus=False):
                yield Static(error_text(self.error), id="error-text")
            yield Button("OK", variant="primary", id="ok")

    def on_button_pressed(self) -> None:
        """Close."""
        self.dismiss()

    def action_close(self) -> None:
        """Close."""
        self.dismiss()


class AskDialog(ModalScreen[str | None]):
    """A dialog for one line of text; None when it is cancelled."""

    DEFAULT_CSS = _CSS.format(name="AskDialog")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Cancel")]

    def __init__(self, question: str, *, hint: str = "", value: str = "") -> None:
        super().__init__()
        self._question = question
        self._hint = hint
        self._value = value

    def compose(self) -> ComposeResult:
        """The question and a line to write on."""
        with Vertical():
            yield Label(self._question, markup=False)
            yield Input(value=self._value, id="answer")
            yield Static(Text(self._hint, style="dim"), id="hint")

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Answer."""
        self.dismiss(message.value)

    def action_close(self) -> None:
        """No answer."""
        self.dismiss(None)


class LeaveDialog(ModalScreen[bool]):
    """Asks whether to leave the viewer, after escape on the first screen."""

    DEFAULT_CSS = _CSS.format(name="LeaveDialog")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y,q", "answer(True)", "Leave"),
        Binding("escape,n", "answer(False)", "Stay"),
    ]

    def compose(self) -> ComposeResult:
        """The question, and the keys that answer it."""
        with Vertical():
            yield Label(Text("Leave the viewer?", style="bold"))
            yield Label(Text("enter, y or q leaves; escape or n stays", style="dim"))

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 - an action of a key
        """Leave, or stay."""
        if answer:
            self.app.exit()
        else:
            self.dismiss(False)


class HelpScreen(ModalScreen[None]):
    """All keys on one page."""

    DEFAULT_CSS = _CSS.format(name="HelpScreen")
    CSS = """
    HelpScreen > Vertical { height: 90%; padding: 0 2; }
    HelpScreen VerticalScroll { height: 1fr; scrollbar-size: 1 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "close", "Close")
    ]

    def __init__(self, keys: tuple[tuple[str, str], ...], legend: str) -> None:
        super().__init__()
        self._keys = keys
        self._legend = legend

    def compose(self) -> ComposeResult:
        """A table of keys."""
        text = Text()
        for key, meaning in self._keys:
            text.append(f"{key:>16}  ", style="bold")
            text.append(meaning + "\n")
        text.append("\n" + self._legend, style="dim")
        with Vertical():
            yield Label(Text("Keys", style="bold"))
            with VerticalScroll():
                yield Static(text)
            yield Label(Text("escape closes this; ctrl+p has all commands", style="dim"))

    def action_close(self) -> None:
        """Close."""
        self.dismiss()


# The position of the playhead during playback. No clock, no Textual.


SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 100.0)
IDLE_LIMITS_US = (None, 2_000_000, 1_000_000, 500_000, 100_000)
_HAPPENING: tuple[Kind, ...] = (
    "output",
    "input",
    "resize",
    "signal",
    "answer",
    "service-event",
    "final",
)
_MAX_TICK_S = 0.25


class Playback:
    """The playhead's place in time, whether it moves, and how fast.

    Pauses are shortened to ``idle_limit_s``, the limit of the recording, until the user chooses
    another one.
    """

    def __init__(self, index: EventIndex, *, idle_limit_s: float | None = None) -> None:
        self._index = index
        self.t_us = 0
        self.seq = 0
        self.playing = False
        self.speed = 1.0
        self.collapsed = False
        self.idle_limit_us = None if idle_limit_s is None else round(idle_limit_s * 1_000_000)
        self._idle_limits_us = tuple(dict.fromkeys((self.idle_limit_us, *IDLE_LIMITS_US)))

    def place(self, t_us: int, seq: int | None = None) -> None:
        """Put the playhead somewhere; ``seq`` None is the last event at that time."""
        self.t_us = max(0, t_us)
        self.seq = self._index.at(self.t_us) if seq is None else seq

    def faster(self) -> None:
        """The next speed up."""
        self.speed = next((speed for speed in SPEEDS if speed > self.speed), SPEEDS[-1])

    def slower(self) -> None:
        """The next speed down."""
        self.speed = next((s for s in reversed(SPEEDS) if s < self.speed), SPEEDS[0])

    def next_idle_limit(self) -> None:
        """Switch to the next idle limit of the list, cyclically."""
        limits = self._idle_limits_us
        place = limits.index(self.idle_limit_us) if self.idle_limit_us in limits else 0
        self.idle_limit_us = limits[(place + 1) % len(limits)]

    def tick(self, elapsed_s: float, *, end_us: int) -> None:
        """Let time pass, up to ``end_us``."""
        if not self.playing:
            return
        if self.collapsed:
            self._tick_collapsed()
        else:
            self._tick_realtime(min(elapsed_s, _MAX_TICK_S))
        if self.t_us >= end_us:
            self.place(end_us)
            self.playing = False

    def _tick_collapsed(self) -> None:
        for _ in range(max(1, round(self.speed))):
            following = self._index.after(self.seq, *_HAPPENING)
            if following is None:
                return
            self.seq, self.t_us = following, self._index.time_of(following)

    def _tick_realtime(self, elapsed_s: float) -> None:
        left_us = round(elapsed_s * self.speed * 1_000_000)
        limit_us = self.idle_limit_us
        while limit_us is not None:
            seq = self._index.at(self.t_us)
            following = self._index.after(seq, *_HAPPENING)
            if following is None:
                break
            last = self._index.before(seq + 1, *_HAPPENING)
            pause_us = 0 if last is None else self._index.time_of(last)
            next_us = self._index.time_of(following)
            waits_until_us = max(self.t_us, min(next_us, pause_us + limit_us))
            if waits_until_us - self.t_us >= left_us:
                break
            left_us -= waits_until_us - self.t_us
            self.t_us = next_us
        self.t_us += left_us
        self.seq = self._index.at(self.t_us)


def clock_text(t_us: int) -> str:
    """A time as text: ``1:02.345``, with hours if there are any."""
    total_ms = t_us // 1000
    minutes, ms = divmod(total_ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{ms // 1000:02d}.{ms % 1000:03d}"
    return f"{hours}:{minutes:02d}:{seconds}" if hours else f"{minutes}:{seconds}"


# The cassettes of a directory: size, length, harness, age, scrub status; enter opens one.


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
