"""One trace: the steps of a test and the events of its recording, with the screen of each."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import ClassVar

import msgspec
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.screen import Screen as TextualScreen
from textual.widgets import ContentSwitcher, DataTable, Footer, Static, Tab, Tabs

from ptycassette import CassetteError, Screen, Size
from ptycassette.viewing import Cursor, ReportedDivergence, StyleRun, printable, read_plain, visible
from ptycassette_viewer.comparison.differences import differing_cells
from ptycassette_viewer.dialogs import HelpScreen, LeaveDialog, age_text, clock_text
from ptycassette_viewer.kinds import KIND_STYLES
from ptycassette_viewer.recording.playhead import PanesScreen
from ptycassette_viewer.widgets.divider import Divider
from ptycassette_viewer.widgets.growing_table import GrowingTable
from ptycassette_viewer.widgets.line import Line
from ptycassette_viewer.widgets.screen_view import ADDED, DIFFERENT, ScreenView
from ptycassette_viewer.widgets.virtual_list import VirtualList

# The JSON of a trace: untrusted, so it is read with limits. Text is escaped when shown.


_MAX_BYTES = 100_000_000
_MAX_ROWS = 1_000
_MAX_COLS = 1_000


class KeptScreen(msgspec.Struct, frozen=True):
    """A screen down to its last row that is not empty."""

    rows: tuple[str, ...] = ()
    cols: int = 80
    styles: tuple[tuple[StyleRun, ...], ...] = ()

    def screen(self) -> Screen:
        """The screen for the viewer."""
        rows = self.rows[:_MAX_ROWS]
        return Screen(
            size=Size(max(1, len(rows)), min(max(1, self.cols), _MAX_COLS)),
            rows=rows or ("",),
            styles=self.styles[:_MAX_ROWS],
            cursor=Cursor(0, 0, visible=False),
        )


class Place(msgspec.Struct, frozen=True):
    """A line of a file."""

    file: str
    line: int


class Step(msgspec.Struct, frozen=True):
    """A call of the test; ``screen`` is a number in the run's screens."""

    name: str
    detail: str = ""
    places: tuple[Place, ...] = ()
    t_ms: int = 0
    start_seq: int | None = None
    seq: int | None = None
    error: str = ""
    screen: int | None = None


class TraceEvent(msgspec.Struct, frozen=True):
    """An event of the recording, or consecutive output."""

    seq: int
    t_ms: int
    kind: str
    last_seq: int = 0
    exchange: int = 0
    text: str = ""
    bytes: int = 0


class Frame(KeptScreen, frozen=True):
    """A stored frame."""

    seq: int = 0
    t_ms: int = 0


class Diverged(msgspec.Struct, frozen=True):
    """Where the run diverged: what the driver saw, and how the recording continued."""

    now: KeptScreen
    recorded: KeptScreen
    exchange: int = 0
    seq: int = 0


class Recorded(msgspec.Struct, frozen=True):
    """The recording in a trace."""

    events: tuple[TraceEvent, ...] = ()
    frames: tuple[Frame, ...] = ()
    diverged: Diverged | None = None
    error: str = ""


class Change(msgspec.Struct, frozen=True):
    """One change of an exchange."""

    kind: str
    what: str
    expected: str = ""
    got: str = ""


class Drifted(msgspec.Struct, frozen=True):
    """An exchange that differs between the cassette and the new recording."""

    old: int = 0
    new: int = 0
    changes: tuple[Change, ...] = ()
    before: KeptScreen | None = None
    now: KeptScreen | None = None


class RunTrace(msgspec.Struct, frozen=True):
    """One use of a recording."""

    cassette: str
    action: str = ""
    divergences: tuple[ReportedDivergence, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    screens: tuple[KeptScreen, ...] = ()
    drift: tuple[Drifted, ...] = ()
    recordings: tuple[Recorded, ...] = ()

    @property
    def recorded(self) -> Recorded:
        """Its recording."""
        return self.recordings[0] if self.recordings else Recorded()


class Trace(msgspec.Struct, frozen=True):
    """A trace of a test."""

    report: str
    test: str
    outcome: str
    message: str = ""
    steps: tuple[Step, ...] = ()
    runs: tuple[RunTrace, ...] = ()

    @property
    def headline(self) -> str:
        """A summary: the first divergence, the drift, or the message."""
        for run in self.runs:
            if run.divergences:
                return run.divergences[0].line
            if run.drift:
                return "drifted: " + ", ".join(_named(one) for one in run.drift)
            if run.errors:
                return run.errors[0]
        errors = [line for line in self.message.split("\n") if line.startswith("E ")]
        return (errors[0][1:] if errors else self.message.strip().partition("\n")[0]).strip()


def _named(drifted: Drifted) -> str:
    number = drifted.old or drifted.new
    return f"input {number}" if number else "before any input"


def read_trace(path: Path) -> Trace:
    """The trace at ``path``.

    Raises:
        CassetteError: it cannot be read, is too large, or is not a trace.
    """
    try:
        data = read_plain(path, max_bytes=_MAX_BYTES)
    except CassetteError as exc:
        raise CassetteError(f"cannot be read: {exc.message}", where=str(path)) from exc
    try:
        trace = msgspec.json.decode(data, type=Trace)
    except (ValueError, RecursionError) as exc:
        raise CassetteError(f"not a trace of a test: {exc}", where=str(path)) from exc
    if trace.report != "ptycassette-trace":
        raise CassetteError("not a trace of a test", where=str(path))
    return trace


# A trace as a list of rows: drift, the steps of the test, the events of the recording.


_DIVERGED = "bold red"


class TraceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list.

    ``first`` and ``second`` are the screens before and now, or expected and got, if there are
    two. ``seq`` is the place in the recording.
    """

    line: Text
    caption: str
    first: Screen | None = None
    second: Screen | None = None
    run: int = 0
    seq: int = 0
    matters: bool = False


def trace_rows(trace: Trace) -> list[TraceRow]:
    """All rows."""
    rows = [row for number, run in enumerate(trace.runs) for row in _run_rows(number, run)]
    return rows + [_step_row(0, RunTrace(cassette=""), step) for step in trace.steps]


def start_of(rows: list[TraceRow]) -> int:
    """The row to start at: a divergence, a failure, drift, or else the first row."""
    return next((number for number, row in enumerate(rows) if row.matters), 0)


def _run_rows(number: int, run: RunTrace) -> Iterator[TraceRow]:
    name = f"{run.cassette} ({run.action})"
    yield TraceRow(line=Text(visible(name, limit=200), style="bold"), caption="", run=number)
    for drifted in run.drift:
        yield from _drift_rows(number, drifted)
    diverged = run.recorded.diverged
    for item in _in_order(run):
        if isinstance(item, Step):
            yield _step_row(number, run, item)
            continue
        here = diverged is not None and item.exchange and item.exchange == diverged.exchange
        yield _event_row(number, run, item, diverged=bool(here))
    if diverged is not None and not diverged.exchange:
        yield _diverged_row(number, run, Text("here it diverged", style=_DIVERGED))


def _in_order(run: RunTrace) -> list[Step | TraceEvent]:
    """Steps and events, a step after the events that were there when it began."""
    events, placed = run.recorded.events, []
    last = 0
    for step in run.steps:
        if step.start_seq is not None:
            last = max(last, step.start_seq)
        elif step.t_ms:
            last = max((e.seq for e in events if e.t_ms < step.t_ms), default=last)
        placed.append((last, 1, step))
    both: list[tuple[int, int, Step | TraceEvent]] = [*placed, *((e.seq, 0, e) for e in events)]
    return [item for _, _, item in sorted(both, key=lambda one: one[:2])]


def _step_row(number: int, run: RunTrace, step: Step) -> TraceRow:
    call = step.detail if step.name == "line" else f"{step.name}({step.detail})"
    where = step.places[0] if step.places else None
    text = Text("    the test ", end="", no_wrap=True, style="dim")
    text.append(visible(call, limit=100), style=_DIVERGED if step.error else "bold")
    if where is not None:
        text.append(f"  {visible(where.file.rpartition('/')[2], limit=60)}:{where.line}")
    if step.error:
        text.append(f"  {visible(step.error.partition(chr(10))[0], limit=120)}", style="red")
    known = step.screen is not None and 0 <= step.screen < len(run.screens)
    screen = run.screens[step.screen].screen() if known and step.screen is not None else None
    diverged = run.recorded.diverged
    if step.error and diverged is not None:
        return _diverged_row(number, run, text, now=screen)
    return TraceRow(
        line=text, caption="this run, after that step", first=screen, run=number,
        seq=step.seq or 0, matters=bool(step.error),
    )  # fmt: skip


def _event_row(number: int, run: RunTrace, event: TraceEvent, *, diverged: bool) -> TraceRow:
    style = next((shown for kind, shown in KIND_STYLES.items() if kind == event.kind), "")
    text = Text(f"{clock_text(event.t_ms * 1000):>12} ", end="", no_wrap=True)
    what = f"input {event.exchange}" if event.exchange else event.kind
    text.append(f"{visible(what, limit=20)}  ", style=style)
    text.append(visible(event.text, limit=160), style=_DIVERGED if diverged else "")
    if diverged and not run.steps:
        return _diverged_row(number, run, text)
    last = max(event.last_seq, event.seq)
    frames = [frame for frame in run.recorded.frames if frame.seq <= last]
    return TraceRow(
        line=text, caption="the recording, there", run=number, seq=last,
        first=frames[-1].screen() if frames else None,
    )  # fmt: skip


def _diverged_row(number: int, run: RunTrace, text: Text, *, now: Screen | None = None) -> TraceRow:
    diverged = run.recorded.diverged
    if diverged is None:
        return TraceRow(line=text, caption="", run=number)
    after = f"after its input {diverged.exchange}" if diverged.exchange else "there"
    return TraceRow(
        line=text, caption=f"- the recording, {after}   + this run, where it stopped", run=number,
        first=diverged.recorded.screen(), second=now or diverged.now.screen(),
        seq=diverged.seq, matters=True,
    )  # fmt: skip


def _drift_rows(number: int, drifted: Drifted) -> Iterator[TraceRow]:
    which = drifted.old or drifted.new
    where = f"input {which}" if which else "before any input"
    for change in drifted.changes:
        for line in _change_lines(where, change):
            yield TraceRow(
                line=line, caption=f"- {where}, before   + now", run=number,
                first=_shown(drifted.before), second=_shown(drifted.now), matters=True,
            )  # fmt: skip


def _change_lines(where: str, change: Change) -> Iterator[Text]:
    line = Text(f"{where} {visible(change.kind, limit=20)}: ", end="", style=_DIVERGED)
    yield line.append(visible(change.what, limit=100), style="")
    for sign, said, style in (("-", change.expected, "red"), ("+", change.got, "green")):
        for row in said.rstrip("\n").split("\n")[:20] if said else ():
            yield Text(f"    {sign} {visible(row, limit=160)}", end="", style=style)


def _shown(screen: KeptScreen | None) -> Screen | None:
    return None if screen is None else screen.screen()


_MAX_LINES = 2_000
_VIEWS = ("overlaid", "first", "second")
_HELP = (
    ("up down", "previous, next step or event"),
    ("o", "where there are two screens: overlaid (- and +), the first, the second"),
    ("tab", "steps, divergences, what the test said"),
    ("c", "open the cassette at this moment"),
    ("b", "open the page of the trace in a browser"),
    ("h j k l", "scroll a screen larger than the window"),
    ("W", "wrap rows wider than the window, or scroll them"),
    ("< >", "move the line between screen and list (or drag it)"),
    ("z", "zoom: the screen alone, the list alone, all"),
    ("escape q", "back to the list; escape asks before it quits"),
)


_NOTHING = Screen(size=Size(1, 1), rows=("",), cursor=Cursor(0, 0, visible=False))


class TraceScreen(PanesScreen):
    """A trace.

    Args:
        trace: the trace.
        path: of its file.
        open_cassette: called with a path and the event to start at.
    """

    CSS = (
        PanesScreen.CSS
        + """
    #timeline {
        height: 3; background: $surface; color: $text; padding: 0 1;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    #timeline.low { height: 2; }
    """
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "overlay", "Overlay"),
        Binding("tab", "tab(1)", "Next tab", show=False),
        Binding("shift+tab", "tab(-1)", "Last tab", show=False),
        Binding("c", "cassette", "Cassette"),
        Binding("b", "browser", "Browser"),
        Binding("h", "scroll(-8,0)", "Scroll left", show=False),
        Binding("l", "scroll(8,0)", "Scroll right", show=False),
        Binding("k", "scroll(0,-4)", "Scroll up", show=False),
        Binding("j", "scroll(0,4)", "Scroll down", show=False),
        Binding("W", "wrap", "Wrap long rows", show=False),
        Binding("less_than_sign", "resize(-1)", "Move the divider left or up", show=False),
        Binding("greater_than_sign", "resize(1)", "Move the divider right or down", show=False),
        Binding("z", "zoom", "Zoom", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("escape", "up", "Back", show=False),
        Binding("q", "leave", "Back"),
    ]

    def __init__(
        self, trace: Trace, path: Path, open_cassette: Callable[[Path, int], None]
    ) -> None:
        super().__init__()
        self._trace = trace
        self._path = path
        self._open_cassette = open_cassette
        self.panels_open = True
        self.rows = trace_rows(trace)
        self.stage = ScreenView(id="stage", follows=False)
        self.list = VirtualList(lambda: len(self.rows), self._row, width=240, id="steps")
        self._view = _VIEWS[0]
        self._top, self._status = Line(id="top"), Line(id="status")

    def _row(self, number: int) -> Text:
        return self.rows[number].line

    def compose(self) -> ComposeResult:
        """The test, the screen and the list, the reason of the failure, the status, the keys."""
        yield self._top
        with Container(id="body"):
            yield self.stage
            yield Divider(id="divider")
            with Vertical(id="panels"):
                names = ("Steps", "Divergences", "Said")
                tabs = Tabs(*(Tab(name, id=f"tab-{name.lower()}") for name in names))
                tabs.can_focus = False
                yield tabs
                with ContentSwitcher(initial="steps"):
                    yield self.list
                    yield VerticalScroll(Static(self._divergences()), id="divergences")
                    yield VerticalScroll(Static(_text(self._trace.message)), id="said")
        yield Static(self._why(), id="timeline", markup=False)
        yield self._status
        yield Footer()

    def on_mount(self) -> None:
        """Go to the most important row."""
        self.place_panes()
        self._top.show(f"{visible(self._trace.test)}: {visible(self._trace.outcome, limit=20)}")
        self.list.update(start_of(self.rows))
        self.list.focus()
        self._show()

    def _why(self) -> Text:
        """The first divergence, or what the trace is about."""
        found = next((run.divergences[0] for run in self._trace.runs if run.divergences), None)
        if found is None:
            return Text(printable(self._trace.headline, limit=400))
        text = Text().append(visible(found.kind), style="bold red")
        if found.expected is not None and found.got is not None:
            text.append_text(_both(visible(found.expected.text), visible(found.got.text)))
        text.append(f"\nwhat to do: {printable(found.hint)}" if found.hint else "", style="")
        return text.append(f"\n{printable(found.message)}", style="dim")

    def _divergences(self) -> Text:
        lines: list[str] = []
        for run in self._trace.runs:
            for found in run.divergences:
                lines += [*found.lines(), ""]
            lines += [printable(line) for text in run.errors for line in text.split("\n")]
            lines += [printable(note) for note in run.notes]
        return Text("\n".join(lines[:_MAX_LINES]) or "nothing diverged")

    # -- what is shown -----------------------------------------------------------------

    @property
    def _here(self) -> TraceRow | None:
        return self.rows[self.list.cursor] if self.rows else None

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Show the screen of the row."""
        message.stop()
        self._show()

    def _show(self) -> None:
        row = self._here
        if row is None:
            return
        both = row.first is not None and row.second is not None
        first, over = row.first or row.second, row.second if both else None
        caption = row.caption
        if both and self._view != "overlaid":
            parts = caption.split("   ")
            which = self._view == "second"
            first, over = (row.second if which else row.first), None
            caption = parts[which][2:] if len(parts) > 1 else caption
        self._paint(first, over)
        self._status.show(caption if first is not None else "no screen was kept of this")

    def _paint(self, screen: Screen | None, over: Screen | None) -> None:
        view = self.stage
        view.over = None
        view.different = differing_cells(screen, over) if screen and over else {}
        view.screen_shown = screen or _NOTHING
        view.over = over

    # -- keys --------------------------------------------------------------------------

    def action_overlay(self) -> None:
        """Both screens in one, the first, the second."""
        self._view = _VIEWS[(_VIEWS.index(self._view) + 1) % len(_VIEWS)]
        self._show()

    def action_tab(self, by: int) -> None:
        """The next or last tab."""
        tabs = self.query_one(Tabs)
        tabs.action_next_tab() if by > 0 else tabs.action_previous_tab()

    def on_tabs_tab_activated(self, message: Tabs.TabActivated) -> None:
        """Show the chosen tab."""
        name = (message.tab.id or "").removeprefix("tab-")
        self.query_one(ContentSwitcher).current = name
        self.query_one(f"#{name}").focus()

    def action_cassette(self) -> None:
        """Open the recording at this moment."""
        row = self._here
        if row is None or not self._trace.runs:
            self._status.show("no cassette belongs to this")
            return
        name = self._trace.runs[row.run].cassette.removeprefix("$PWD/")
        places = [Path.cwd(), *self._path.resolve().parents]
        found = next((place / name for place in places if (place / name).exists()), Path(name))
        self._open_cassette(found, row.seq)

    def action_browser(self) -> None:
        """Open the page in a browser."""
        page = self._path.with_name("trace.html").resolve()
        opened = page.is_file() and _has_windows() and webbrowser.open(page.as_uri())
        said = "opened" if opened else "no browser was found; open"
        self._status.show(f"{said} {printable(str(page))}")

    def action_wrap(self) -> None:
        """Wrap rows that are wider than the window, or scroll them."""
        self.stage.wrap = not self.stage.wrap

    def action_scroll(self, cols: int, rows: int) -> None:
        """Scroll the screen."""
        self.stage.scroll_by(cols, rows)

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen(_HELP, ""))

    def action_up(self) -> None:
        """End the zoom; go back to the list, or ask whether to quit."""
        if self.zoomed is not None:
            self.zoom(None)
        elif len(self.app.screen_stack) > 2:
            self.dismiss()
        else:
            self.app.push_screen(LeaveDialog())

    def action_leave(self) -> None:
        """Go back to the list, or quit."""
        if len(self.app.screen_stack) > 2:
            self.dismiss()
        else:
            self.app.exit()


def _both(expected: str, got: str) -> Text:
    """Expected and actual text, with differing characters marked."""
    sides = Text("  expected ", style=""), Text("  got ", style="not bold")
    matcher = SequenceMatcher(None, expected, got, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        for side, part, style in (
            (sides[0], expected[i1:i2], DIFFERENT), (sides[1], got[j1:j2], ADDED),
        ):  # fmt: skip
            side.append(part, style="" if tag == "equal" else style)
    return sides[0].append_text(sides[1])


def _has_windows() -> bool:
    """Whether a browser would open a window of its own, instead of drawing over this one."""
    shown = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"} & set(os.environ)
    return bool(shown) or sys.platform in {"darwin", "win32"}


def _text(message: str) -> Text:
    lines = message.split("\n")[:_MAX_LINES]
    return Text("\n".join(printable(line, limit=400) for line in lines) or "nothing")


# A list of traces, the newest first; enter opens one.


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
