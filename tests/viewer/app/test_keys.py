"""Every key of the main screen does what the help says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, Input, Static

from ptycassette import Size
from ptycassette.model.records import Noted, Output, Resized, Signalled, Typed
from ptycassette_viewer.app import RecordingScreen, ViewerApp
from ptycassette_viewer.dialogs import AskDialog, HelpScreen
from ptycassette_viewer.widgets.screen_view import ScreenView, Timeline

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import Clock, drive, press, recording, settled, until

S = 1_000_000
MARKS_LINE = 0
"""Of the timeline in a low window."""
EVENTS = (
    Output(1 * S, b"$ "),
    Typed(10 * S, b"ls\r"),
    Output(11 * S, b"ls\r\nwalnuts\r\n$ "),
    Noted(12 * S, {"type": "turn", "tokens": 3}),
    Resized(20 * S, Size(20, 60)),
    Typed(30 * S, b"date\r"),
    Output(31 * S, b"date\r\nmonday\r\n$ "),
    Signalled(35 * S, "int"),
    Output(40 * S, b"walnuts again"),
)


@pytest.fixture
def path(make: Callable[..., Path]) -> Path:
    """A short recording: seq 1 to 9 and the final event, 40 seconds."""
    return make(*EVENTS)


def marks_of(line: str) -> str:
    """The marks alone: in a low window they are over the density of output."""
    return "".join(char for char in line if not "\u2581" <= char <= "\u2588").replace(" ", "")


def keys_lead_to(path: Path, keys: str) -> RecordingScreen:
    """The main screen after some keys, from the start."""
    found: list[RecordingScreen] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, *keys.split())
        found.append(recording(pilot))

    drive(path, scenario)
    return found[0]


LEADING = (
    ("end", 10, 40),
    ("end home", 0, 0),
    ("5", 5, 20),
    ("9", 8, 36),
    ("right", 1, 5),
    ("shift+right", 6, 30),
    ("end left", 8, 35),
    ("end shift+left", 2, 10),
    ("full_stop full_stop", 2, 10),
    ("end comma", 9, 40),
    ("right_square_bracket", 2, 10),
    ("right_square_bracket right_square_bracket", 6, 30),
    ("end left_square_bracket", 6, 30),
    ("e", 1, 1),
    ("e e", 2, 10),
    ("e e e", 5, 20),
    ("end E", 8, 35),
    ("end E E", 5, 20),
    ("g # 7 enter", 7, 31),
    ("g 1 2 full_stop 5 enter", 4, 12.5),
    ("g 1 2 escape", 0, 0),
)
"""Keys pressed at the start, and the event and the second to which they lead."""


def test_keys_move_the_playhead(path: Path) -> None:
    """Where each key leads, and what is shown is the exact screen of that event."""
    found: list[tuple[str, int, float]] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        for keys, *_ in LEADING:
            await press(pilot, "home", *keys.split())
            screen = recording(pilot)
            assert screen.shown is not None
            assert screen.shown.seq == screen.playback.seq, keys
            found.append((keys, screen.playback.seq, screen.playback.t_us / S))

    drive(path, scenario)

    assert found == [*LEADING]


def test_frames_are_stepped_through(agents: Path) -> None:
    """F and F lead from stored frame to stored frame."""
    seqs: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        for key in ("f", "f", "F"):
            await press(pilot, key)
            seqs.append(recording(pilot).playback.seq)

    drive(agents / "llm-tui", scenario)

    assert seqs[0] < seqs[1]
    assert seqs[2] == seqs[0]


@pytest.mark.slow
def test_nothing_there_is_said(path: Path) -> None:
    """A key that leads nowhere says so and moves nothing."""
    screen = keys_lead_to(path, "left_square_bracket")

    assert (screen.playback.seq, screen._said) == (0, "there is none")


def test_space_plays_by_the_clock_and_pauses(path: Path) -> None:
    """Time goes by as the clock does, times the speed, and stands still when paused."""
    clock = Clock()
    times: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        screen = recording(pilot)
        await pilot.press("plus", "plus", "space")
        for _ in range(4):
            clock.now += 0.2
            screen.tick()
        times.append(screen.playback.t_us)
        await pilot.press("space")
        clock.now += 5
        screen.tick()
        times.append(screen.playback.t_us)
        await settled(pilot)

    drive(path, scenario, clock=clock)

    assert times == [3_200_000, 3_200_000]


def test_collapsed_plays_without_waiting(path: Path) -> None:
    """Each tick shows the next event; the end stops it."""
    clock = Clock()
    seqs: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        screen = recording(pilot)
        await pilot.press("c")
        screen.playback.playing = True
        for _ in range(12):
            screen.tick()
            seqs.append(screen.playback.seq)
        await settled(pilot)
        assert not screen.playback.playing

    drive(path, scenario, clock=clock)

    assert seqs == [1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 10, 10]


def test_speeds_and_idle_limits_are_shown(path: Path) -> None:
    """The status line says how it would play."""
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "minus", "i", "g", "escape")
        texts.append(str(recording(pilot).query_one("#status", Static).render()))

    drive(path, scenario)

    assert texts[0].startswith("\u2016 0:00.000 / 0:40.000  0.5x  ")
    assert "idle \u22642s" in texts[0]


@pytest.mark.slow
def test_the_screen_shown_is_the_recorded_one(path: Path) -> None:
    """After the end, the last output is there, at the recorded size."""
    screen = keys_lead_to(path, "end")

    assert screen.shown is not None
    assert screen.shown.screen.size == Size(20, 60)
    assert "walnuts again" in screen.shown.screen.text


def test_a_click_on_the_timeline_seeks_and_dragging_goes_on(path: Path) -> None:
    """The middle of the bar is the middle of the recording."""
    times: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await pilot.click(Timeline, offset=(79, 1))
        await settled(pilot)
        times.append(recording(pilot).playback.t_us)
        await pilot.mouse_down(Timeline, offset=(10, 1))
        await pilot.hover(Timeline, offset=(40, 1))
        await pilot.mouse_up(Timeline, offset=(40, 1))
        await settled(pilot)
        times.append(recording(pilot).playback.t_us)

    drive(path, scenario)

    assert times == [40 * S, 40 * 40 * S // 79]


@pytest.mark.slow
def test_marks_stand_on_the_timeline(path: Path) -> None:
    """Inputs, the resize, the signal, the service event and the end have their shapes."""
    lines: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        lines.append(recording(pilot).query_one(Timeline).render_line(MARKS_LINE).text)

    drive(path, scenario)

    assert marks_of(lines[0]) == "\u25b2\u25cf\u2194\u25b2!\u25a0"
    assert lines[0].index("\u2194") == 20 * 79 // 40


@pytest.mark.slow
def test_what_the_terminal_was_told_is_marked(make: Callable[..., Path]) -> None:
    """Once it was found; everything else in the same place comes first, and modes have no mark."""
    path = make(
        Output(1 * S, b"\x1b]2;a title\x07"),
        Output(2 * S, b"\x1b[?25l"),
        Typed(3 * S, b"x"),
        Output(3 * S, b"\x07"),
        Output(4 * S, b"end"),
    )
    lines: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        recording(pilot).refresh_progress()
        lines.append(recording(pilot).query_one(Timeline).render_line(MARKS_LINE).text)

    drive(path, scenario)

    assert marks_of(lines[0]) == "\u25e6\u25b2\u25a0"


def test_panels_open_step_and_close(path: Path) -> None:
    """P opens them, tab and shift+tab go from one to the next."""
    seen: list[str | None] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        for key in ("p", "tab", "tab", "shift+tab"):
            await press(pilot, key)
            seen.append(recording(pilot).query_one(ContentSwitcher).current)
        await press(pilot, "p")
        seen.append("open" if recording(pilot).query_one("#panels").has_class("open") else None)

    drive(path, scenario)

    assert seen == ["events", "exchanges", "bytes", "exchanges", None]


def test_help_lists_every_key(path: Path) -> None:
    """? shows the page, and it names the keys that are bound."""
    stacks: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "question_mark")
        stacks.append(type(pilot.app.screen).__name__)
        await press(pilot, "escape")
        stacks.append(type(pilot.app.screen).__name__)

    drive(path, scenario)

    assert stacks == [HelpScreen.__name__, RecordingScreen.__name__]


@pytest.mark.slow
def test_hjkl_scroll_a_screen_larger_than_the_window(make: Callable[..., Path]) -> None:
    """The recorded screen keeps its size; the window moves over it."""
    path = make(Output(0, b"x" * 200), size=Size(50, 200))
    offsets: list[tuple[int, int]] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        view = recording(pilot).query_one(ScreenView)
        for key in ("l", "j", "h", "k"):
            await press(pilot, key)
            offsets.append((int(view.scroll_offset.x), int(view.scroll_offset.y)))

    drive(path, scenario)

    assert offsets == [(8, 0), (8, 4), (0, 4), (0, 0)]


@pytest.mark.slow
def test_the_cursor_stays_in_view_until_somebody_scrolls(make: Callable[..., Path]) -> None:
    """In a window that is smaller than the recorded screen."""
    path = make(Output(S, b"\x1b[40;1Hdown"), Output(2 * S, b"\x1b[2;1Hup"), size=Size(50, 60))
    tops: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        view = recording(pilot).query_one(ScreenView)
        for key in ("full_stop", "full_stop", "j", "comma"):
            await press(pilot, key)
            tops.append(int(view.scroll_offset.y))

    drive(path, scenario)

    # 19 rows fit; the cursor is in row 39, then in row 1, each with three rows around it.
    assert tops == [24, 0, 4, 4]


@pytest.mark.slow
def test_q_quits(path: Path) -> None:
    """The app ends, with status 0."""

    async def scenario(pilot: Pilot[Any]) -> None:
        await pilot.press("q")
        await pilot.pause()

    app: ViewerApp = drive(path, scenario)

    assert app.return_code == 0


def test_escape_leads_up_and_asks_before_it_quits(path: Path) -> None:
    """It forgets the search, closes the panels, asks; and again, and again, nothing is lost."""
    seen: list[tuple[bool, bool, str]] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "p", "slash", *"walnuts", "enter")
        for _ in range(4):
            await press(pilot, "escape")
            screen = recording(pilot)
            panels = screen.query_one("#panels").has_class("open")
            searched = screen.stage.pattern is not None
            seen.append((searched, panels, type(pilot.app.screen).__name__))
        await press(pilot, "escape", "enter")

    app = drive(path, scenario)

    assert seen == [
        (False, True, "RecordingScreen"),
        (False, False, "RecordingScreen"),
        (False, False, "LeaveDialog"),
        (False, False, "RecordingScreen"),
    ]
    assert app.return_code == 0


def test_it_starts_at_the_first_thing_to_see(make: Callable[..., Path]) -> None:
    """Behind the burst that paints it, and not on an empty screen; keys come first."""
    blank = Output(S, b"\x1b[?1049h\x1b[2J")
    path = make(
        blank,
        Output(2 * S, b"one"),
        Output(2 * S + 20_000, b" two"),
        Output(9 * S, b" three"),
    )
    empty = make(blank, Output(2 * S, b"  \r\n"), name="empty")
    places: list[tuple[int, int]] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        playback = recording(pilot).playback
        places.append((playback.seq, playback.t_us))

    drive(path, scenario, start_us=None)
    drive(empty, scenario, start_us=None)
    drive(path, scenario, start_us=S)

    assert places == [(3, 2_020_000), (0, 0), (1, S)]


def test_marks_have_the_colours_of_their_kinds(path: Path) -> None:
    """As in the list of events."""
    colours: dict[str, str] = {}

    async def scenario(pilot: Pilot[Any]) -> None:
        for segment in recording(pilot).query_one(Timeline).render_line(MARKS_LINE):
            if segment.text.strip() and segment.style is not None and segment.style.color:
                colours[segment.text.strip()] = segment.style.color.name

    drive(path, scenario)

    assert colours["\u25b2"] == "#b87000"
    assert colours["!"] == "red"
    assert colours["\u2194"] == "magenta"
    assert colours["\u25cf"] == "blue"


@pytest.mark.slow
def test_q_quits_while_a_search_is_shown(path: Path) -> None:
    """Escape forgets the search first; q does not wait for that."""
    apps: list[bool] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "slash", *"walnuts", "enter")
        await press(pilot, "escape", "slash", *"walnuts", "enter")
        apps.append(pilot.app.is_running and recording(pilot).stage.pattern is not None)
        await pilot.press("q")

    app = drive(path, scenario)

    assert apps == [True]
    assert app.return_code == 0


def test_searching_goes_from_hit_to_hit(path: Path) -> None:
    """/ finds text in output; n and N go round; escape forgets it."""
    seqs: list[int] = []
    strips: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "slash", *"walnuts", "enter")
        await pilot.app.workers.wait_for_complete()
        await settled(pilot)
        screen = recording(pilot)
        for key in ("g", "escape", "n", "n", "N"):
            await press(pilot, key)
            seqs.append(screen.playback.seq)
        strips.append(screen.query_one(Timeline).render_line(MARKS_LINE).text)
        await press(pilot, "escape")
        assert screen.query_one(ScreenView).pattern is None

    drive(path, scenario)

    assert seqs == [3, 3, 9, 3, 9]
    assert strips[0].count("/") == 2


@pytest.mark.slow
def test_a_search_leads_to_the_next_hit_from_where_one_is(path: Path) -> None:
    """Not back to the start of the recording, although hits come in order of time."""
    seqs: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "5", "slash", *"walnuts", "enter")
        await pilot.app.workers.wait_for_complete()
        await settled(pilot)
        seqs.append(recording(pilot).playback.seq)

    drive(path, scenario)

    assert seqs == [9]


def test_an_expression_that_never_ends_leaves_the_app_alive(make: Callable[..., Path]) -> None:
    """Keys are answered, highlights are left out, and the status says why."""
    rows = b"".join(b"\x1b[%d;1H%d" % (row, row) + b"a" * 60 + b"b" for row in range(1, 24))
    path = make(Output(0, rows), Output(S, b"\x1b[2J"), *(Output(S + n, rows) for n in range(3)))
    said: list[str | None] = []

    async def search(pilot: Pilot[Any]) -> None:
        await pilot.press("slash")
        await pilot.pause()
        pilot.app.screen.query_one(Input).value = "/(a|aa)+$/"
        await pilot.press("enter")

    async def scenario(pilot: Pilot[Any]) -> None:
        await search(pilot)
        await press(pilot, "full_stop")
        assert recording(pilot).playback.seq == 2
        await pilot.app.workers.wait_for_complete()
        await search(pilot)  # again, because a step takes the message away, whichever came first
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        said.append(recording(pilot)._said)

    drive(path, scenario)

    assert said == ["this expression takes too long: the search was given up"]


def test_a_wrong_expression_is_said(path: Path) -> None:
    """No traceback, a word."""
    said: list[str | None] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await pilot.press("slash")
        await pilot.pause()
        pilot.app.screen.query_one(Input).value = "/a(/"
        await pilot.press("enter")
        await settled(pilot)
        said.append(recording(pilot)._said)

    drive(path, scenario)

    assert said[0] is not None
    assert "not a regular expression" in said[0]


def test_notes_are_kept_beside_the_cassette(path: Path) -> None:
    """M sets one, the marker keys find it, M removes it; the cassette is not touched."""
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    counts: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        screen = recording(pilot)
        await press(pilot, "right_square_bracket", "m", *"hi", "enter", "end")
        assert screen.annotations is not None
        counts.append(len(screen.annotations.notes))
        await press(pilot, "quotation_mark")
        assert (screen.playback.seq, screen.playback.t_us) == (2, 10 * S)
        assert "\u25c6" in screen.query_one(Timeline).render_line(MARKS_LINE).text
        await press(pilot, "home", "apostrophe", "M")
        counts.append(len(screen.annotations.notes))

    drive(path, scenario)

    assert counts == [1, 0]
    assert path.with_name("made.notes.json").exists()
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


@pytest.mark.sampled(4)
@pytest.mark.parametrize("suffix", ["txt", "ansi", "svg", "html", "md", "cast"])
def test_what_is_on_screen_is_exported(path: Path, tmp_path: Path, suffix: str) -> None:
    """X asks for a name; the suffix says how, and whether it is the whole recording."""
    target = tmp_path / f"out.{suffix}"

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "end")
        await pilot.press("x")
        await pilot.pause()
        assert isinstance(pilot.app.screen, AskDialog)
        pilot.app.screen.query_one(Input).value = str(target)
        await pilot.press("enter")
        await until(pilot, target.exists)
        await pilot.app.workers.wait_for_complete()

    drive(path, scenario)

    assert "walnuts" in target.read_text(encoding="utf-8")


def test_the_text_on_screen_is_copied(path: Path) -> None:
    """Y hands the text to the clipboard."""
    app = drive(path, lambda pilot: press(pilot, "end", "y"))

    assert "walnuts again" in app.clipboard


@pytest.mark.slow
def test_the_command_palette_has_what_keys_do(path: Path) -> None:
    """Its commands are those of the screen, and they work."""
    seqs: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        screen = recording(pilot)
        commands = {item.title: item for item in pilot.app.get_system_commands(screen)}
        names = [item.title for item in pilot.app.get_system_commands(screen)]
        assert len(names) == len(set(names))
        assert {"Play", "Next input", "Search", "Mark", "Export", "Theme"} <= set(commands)
        await commands["Next input"].callback()
        await settled(pilot)
        seqs.append(screen.playback.seq)

    drive(path, scenario)

    assert seqs == [2]
