"""One trace: the steps of a test and the events of its recording, with the screen of each."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.widgets import ContentSwitcher, Footer, Static, Tab, Tabs

from ptycassette import Cursor, Screen, Size, printable, visible
from ptycassette_viewer.comparison.matching import differing_cells
from ptycassette_viewer.dialogs import HelpScreen, LeaveDialog
from ptycassette_viewer.recording.panes import PanesScreen
from ptycassette_viewer.traces.trace_file import Trace
from ptycassette_viewer.traces.trace_rows import TraceRow, start_of, trace_rows
from ptycassette_viewer.widgets.cells import ADDED, DIFFERENT
from ptycassette_viewer.widgets.divider import Divider
from ptycassette_viewer.widgets.line import Line
from ptycassette_viewer.widgets.screen_view import ScreenView
from ptycassette_viewer.widgets.virtual_list import VirtualList

_MAX_LINES = 2_000
_VIEWS = ("overlaid", "first", "second")
_HELP = (
    ("up down", "last, next step or event"),
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
