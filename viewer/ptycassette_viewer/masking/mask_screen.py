"""The screen on which one says what to mask, sees what that will be, and writes a new recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen as TextualScreen
from textual.widgets import Footer

from ptycassette import Cassette, CassetteError, Screen
from ptycassette.viewing import (
    Cursor,
    Mask,
    Region,
    mask_cassette,
    preview_mask,
    printable,
    visible,
)
from ptycassette_viewer.dialogs import AskDialog, ErrorDialog, clock_text
from ptycassette_viewer.search import Query, compiled
from ptycassette_viewer.seeker import Shown
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.widgets.line import Line
from ptycassette_viewer.widgets.screen_view import ScreenView, row_text

# A screen on which one selects cells, with the keys and with the mouse.


_AROUND_WORDS = ".,:;!?()[]{}<>'\"`|\u2502"
_DOUBLE = 2


class SelectionView(ScreenView):
    """A screen with a cell that one moves, and the cells between it and the one where one began.

    Args:
        screen: what was shown.
    """

    class Changed(Message):
        """Other cells are selected; ``word`` if somebody clicked twice on one."""

        def __init__(self, *, word: bool = False) -> None:
            super().__init__()
            self.word = word

    def __init__(self, screen: Screen, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(follows=False, id=id)
        self.original = screen
        self.row = min(screen.cursor.row, screen.size.rows - 1)
        self.col = min(screen.cursor.col, screen.size.cols - 1)
        self._began: tuple[int, int] | None = None
        self._dragging = False
        self.paint(screen)

    def paint(self, screen: Screen, marked: dict[int, frozenset[int]] | None = None) -> None:
        """Show a screen of the same size, with the cell that one moves as its cursor."""
        cursor = Cursor(self.row, self.col, visible=True)
        self.different = marked or {}
        self.screen_shown = msgspec.structs.replace(screen, cursor=cursor)

    @property
    def selected(self) -> Region:
        """The selected cells."""
        row, col = self._began or (self.row, self.col)
        return Region(
            row=min(row, self.row) + 1,
            column=min(col, self.col) + 1,
            rows=abs(row - self.row) + 1,
            columns=abs(col - self.col) + 1,
        )

    @property
    def cells(self) -> dict[int, frozenset[int]]:
        """The same, by rows, counted from 0."""
        region = self.selected
        cols = frozenset(range(region.column - 1, region.column - 1 + region.columns))
        return dict.fromkeys(range(region.row - 1, region.row - 1 + region.rows), cols)

    @property
    def word(self) -> str:
        """The text that is selected in the row of the cell; of one cell the word there."""
        text, cols = row_text(self.original, self.row)
        region = self.selected
        low, high = region.column - 1, region.column - 1 + region.columns
        inside = [at for at, col in enumerate(cols) if low <= col < high]
        if region.columns > 1 or not inside or text[inside[0]].isspace():
            return "".join(text[at] for at in inside).strip()
        start, end = inside[0], inside[-1] + 1
        while start > 0 and not text[start - 1].isspace():
            start -= 1
        while end < len(text) and not text[end].isspace():
            end += 1
        return text[start:end].strip(_AROUND_WORDS)

    def move(self, cols: int, rows: int, *, select: bool) -> None:
        """Move the cell; with ``select``, what lies between is selected."""
        self._go(self.row + rows, self.col + cols, select=select or self._began is not None)

    def toggle(self) -> None:
        """Begin to select here, or forget what is selected."""
        self._began = None if self._began is not None else (self.row, self.col)
        self.post_message(self.Changed())

    def _go(self, row: int, col: int, *, select: bool) -> None:
        size = self.original.size
        if not select:
            self._began = None
        elif self._began is None:
            self._began = (self.row, self.col)
        self.row = min(max(0, row), size.rows - 1)
        self.col = min(max(0, col), size.cols - 1)
        self.show_row(self.row, self.col)
        self.post_message(self.Changed())

    def _cell(self, event: events.MouseEvent) -> tuple[int, int]:
        return event.y + self.scroll_offset.y, event.x + self.scroll_offset.x

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin where the mouse is."""
        self._go(*self._cell(event), select=False)
        self._dragging = True
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select up to where the mouse is."""
        if self._dragging and self._cell(event) != (self.row, self.col):
            self._go(*self._cell(event), select=True)

    def on_mouse_up(self, _: events.MouseUp) -> None:
        """Stop there."""
        self._dragging = False
        self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        """Two clicks are for a word."""
        if event.chain == _DOUBLE:
            self.post_message(self.Changed(word=True))


def changed_cells(before: Screen, after: Screen) -> dict[int, frozenset[int]]:
    """The cells whose text differs, by rows."""
    found: dict[int, frozenset[int]] = {}
    for row in range(before.size.rows):
        texts: list[dict[int, Any]] = []
        for screen in (before, after):
            text, cols = row_text(screen, row)
            texts.append(dict(zip(cols, text, strict=True)))
        old, new = texts
        differing = {col for col in {*old, *new} if old.get(col, " ") != new.get(col, " ")}
        if differing:
            found[row] = frozenset(differing)
    return found


Kind = Literal["region", "word", "exchange"]
_LOOK_AFTER_S = 0.2


def _key(key: str, action: str, description: str) -> Binding:
    return Binding(key, action, description, show=False)


class MaskScreen(TextualScreen[Path | None]):
    """Says what to mask. Its result is the new recording; None if there is none.

    Args:
        cassette: open; it stays as it is.
        session: its events.
        shown: the screen at the playhead.
    """

    DEFAULT_CSS = """
    MaskScreen #mask-top, MaskScreen #mask-status { height: 1; }
    MaskScreen SelectionView { height: 1fr; }
    """
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            _key(f"{shift}{name}", f"move({cols},{rows},{bool(shift)})", name)
            for shift in ("", "shift+")
            for name, cols, rows in (
                ("left", -1, 0), ("right", 1, 0), ("up", 0, -1), ("down", 0, 1),
            )
        ),
        Binding("space", "select", "Select"),
        Binding("r", "kind('region')", "Region"),
        Binding("w", "kind('word')", "Word"),
        Binding("e", "kind('exchange')", "Exchange"),
        Binding("t", "time", "Now or always"),
        Binding("enter", "write", "Write"),
        Binding("escape,q", "leave", "Leave", key_display="esc"),
    ]  # fmt: skip

    class Looked(Message):
        """How the screen will look; None with a reason if nothing is there to mask."""

        def __init__(self, what: Mask, screen: Screen | None, reason: str = "") -> None:
            super().__init__()
            self.what, self.screen, self.reason = what, screen, reason

    class Written(Message):
        """The new recording is there, or why it is not."""

        def __init__(self, path: Path, problem: CassetteError | None = None) -> None:
            super().__init__()
            self.path, self.problem = path, problem

    def __init__(self, cassette: Cassette, session: ViewerSession, shown: Shown) -> None:
        super().__init__()
        self._cassette = cassette
        self._session = session
        self._at = shown
        self.kind: Kind = "region"
        self.always = False
        self._reason = ""
        self._looking: Mask | None = None
        self._writing = False
        self._looked: tuple[Mask, Screen] | None = None
        self.view = SelectionView(shown.screen, id="mask-stage")
        self._top, self._status = Line(id="mask-top"), Line(id="mask-status")

    def compose(self) -> ComposeResult:
        """A title, the screen, what will be masked, the keys."""
        yield self._top
        yield self.view
        yield self._status
        yield Footer()

    def on_mount(self) -> None:
        """Say how it works."""
        self._top.show("Mask: arrows and space, or the mouse, select; what is masked is marked")
        self._change()

    # -- what --------------------------------------------------------------------------

    @property
    def what(self) -> Mask | None:
        """What is to be masked; None if there is no such thing here."""
        at_us = self._at.t_us
        if self.kind == "word":
            return Mask(words=(self.view.word,)) if self.view.word else None
        if self.kind == "exchange":
            stretch = self._exchange()
            return None if stretch is None else Mask(start_us=stretch[1], end_us=stretch[2])
        if self.always:
            return Mask(region=self.view.selected)
        return Mask(region=self.view.selected, start_us=at_us, end_us=at_us)

    def _exchange(self) -> tuple[int, int, int | None] | None:
        """The number of the exchange here, and its stretch."""
        cuts, index = self._session.exchanges, self._session.index
        place = cuts.place_of(self._at.seq)
        if place < 0:
            return None
        end_us = index.time_of(cuts.starts[place + 1]) if place + 1 < len(cuts) else None
        return cuts.number(place), index.time_of(cuts.starts[place]), end_us

    def _said(self) -> str:
        """What is to be masked, in words."""
        view, region = self.view, self.view.selected
        if self.kind == "word":
            if not self.view.word:
                return "word: none here"
            return f"word {visible(view.word, limit=60)}: wherever it is in the recording"
        if self.kind == "exchange":
            stretch = self._exchange()
            if stretch is None:
                return "exchange: none here"
            number, start_us, end_us = stretch
            end = "the end" if end_us is None else clock_text(end_us)
            when = f"{clock_text(start_us)} to {end}"
            return f"exchange {number}, {when}: all that was typed and printed"
        where = f"region {region.columns}x{region.rows} at {region.row},{region.column}"
        how = "all that was ever seen there" if self.always else "what is there now"
        return f"{where}: {how}, wherever it moves"

    def _change(self) -> None:
        """Show what is selected, and look how the screen will be."""
        self._reason = ""
        pattern = None
        if self.kind == "word" and self.view.word:
            pattern = compiled(Query(self.view.word, case=True))
        self.view.pattern = pattern
        self._paint()
        if self.kind != "word":
            self.set_timer(_LOOK_AFTER_S, self._look)

    def _paint(self) -> None:
        what = self.what
        screen, marked = self.view.original, {}
        if self._looked is not None and self._looked[0] == what:
            screen = self._looked[1]
            marked = changed_cells(self.view.original, screen)
        if self.kind == "region":
            for row, cols in self.view.cells.items():
                marked[row] = marked.get(row, frozenset()) | cols
        self.view.paint(screen, marked)
        more = f"  {self._reason}" if self._reason else ""
        busy = "  writing ..." if self._writing else ""
        self._status.show(self._said() + more + busy)

    def _look(self) -> None:
        """In a thread, one at a time: how the screen will look."""
        what = self.what
        known = self._looked is not None and self._looked[0] == what
        if what is None or what.words or known or self._looking is not None:
            return
        self._looking = what
        self.run_worker(lambda: self._preview(what), thread=True, group="look")

    def _preview(self, what: Mask) -> None:
        try:
            message = self.Looked(what, preview_mask(self._cassette, what, self._at.seq))
        except (CassetteError, OSError, ValueError) as problem:
            message = self.Looked(what, None, getattr(problem, "message", str(problem)))
        self.post_message(message)

    def on_mask_screen_looked(self, message: Looked) -> None:
        """Show it, and look again if something else is selected by now."""
        self._looking = None
        if message.what == self.what:
            self._reason = printable(message.reason, limit=60)
            if message.screen is not None:
                self._looked = (message.what, message.screen)
            self._paint()
        else:
            self._look()

    def on_selection_view_changed(self, message: SelectionView.Changed) -> None:
        """Follow."""
        if message.word:
            self.kind = "word"
        self._change()

    # -- keys --------------------------------------------------------------------------

    def action_move(self, cols: int, rows: int, select: bool) -> None:  # noqa: FBT001 - of a key
        """Move the cell, or select up to it."""
        self.view.move(cols, rows, select=select)

    def action_select(self) -> None:
        """Begin to select, or forget it."""
        self.view.toggle()

    def action_kind(self, kind: Kind) -> None:
        """Mask something else."""
        self.kind = kind
        self._change()

    def action_time(self) -> None:
        """Of a region: what is there now, or all that was ever there."""
        self.kind, self.always = "region", not self.always
        self._change()

    def action_write(self) -> None:
        """Ask where the new recording is to be."""
        if self.what is None or self._writing:
            return
        path = Path(self._cassette.path)
        name = path.with_name(f"{path.stem}-masked{path.suffix}")
        hint = f"{self._said()}; {path.name} stays as it is"
        self.app.push_screen(
            AskDialog("Write the masked recording to", hint=hint, value=str(name)), self._write
        )

    def _write(self, answer: str | None) -> None:
        what = self.what
        if not answer or what is None:
            return
        self._writing = True
        self._paint()
        target = Path(answer).expanduser()
        self.run_worker(lambda: self._mask(what, target), thread=True, group="write")

    def _mask(self, what: Mask, target: Path) -> None:
        problem: CassetteError | None = None
        try:
            mask_cassette(Path(self._cassette.path), what, target)
        except CassetteError as exc:
            problem = exc
        except OSError as exc:
            problem = CassetteError(f"cannot be written: {exc.strerror}", where=str(target))
        self.post_message(self.Written(target, problem))

    def on_mask_screen_written(self, message: Written) -> None:
        """Go back, or say why it could not be written."""
        self._writing = False
        if message.problem is None:
            self.dismiss(message.path)
            return
        self._paint()
        self.app.push_screen(ErrorDialog(message.problem))

    def action_leave(self) -> None:
        """Go back; nothing was written."""
        if not self._writing:
            self.dismiss(None)
