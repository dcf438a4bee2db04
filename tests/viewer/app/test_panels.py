"""The panels: what each says about the moment at the playhead."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.scroll_view import ScrollView
from textual.widgets import ContentSwitcher, Static, Tree

from ptycassette import Size
from ptycassette.model.records import Noted, Output, Resized, Signalled, Typed
from ptycassette_viewer.panels.lists import EventsPanel, document_lines
from ptycassette_viewer.session.session import service_line
from ptycassette_viewer.widgets.virtual_list import VirtualList

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import drive, press, recording, until

S = 1_000_000


@pytest.fixture
def path(make: Callable[..., Path]) -> Path:
    """One event of each kind."""
    return make(
        Output(1 * S, b"\x1b[1;31m$ \x1b[0m"),
        Typed(2 * S, b"ls\r", key="enter"),
        Typed(2 * S, b"\x1b[0n", source="terminal"),
        Output(3 * S, b"ls\r\nnote.txt\r\n"),
        Noted(4 * S, {"type": "turn", "deep": {"list": [1, {"x": "evil\x1b]0;t\x07"}]}}),
        Resized(5 * S, Size(30, 100)),
        Signalled(6 * S, "int"),
    )


def text_of(widget: VirtualList) -> list[str]:
    """The rows that are painted."""
    lines = [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]
    return [line for line in lines if line]


def panel_lines(path: Path, name: str, *steps: str) -> list[list[str]]:
    """What the list of a panel shows after the keys of each step, at the end of the recording."""
    found: list[list[str]] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "end", "p")
        while recording(pilot).query_one(ContentSwitcher).current != name:
            await press(pilot, "tab")
        for keys in steps or ("",):
            await press(pilot, *keys.split())
            found.append(text_of(recording(pilot).query_one(f"#{name} VirtualList", VirtualList)))

    drive(path, scenario, size=(140, 40))
    return found


def test_events_are_listed_with_what_they_are(path: Path) -> None:
    """Time, seq, kind and what it says, nothing of it active; A goes from filter to filter."""
    lines, *filtered = panel_lines(path, "events", "", "a", "a", "a a a")
    words = [line.split(maxsplit=3) for line in lines]

    assert [word[1:3] for word in words] == [
        ["1", "output"],
        ["2", "input"],
        ["3", "answer"],
        ["4", "output"],
        ["5", "service-event"],
        ["6", "resize"],
        ["7", "signal"],
        ["8", "final"],
    ]
    assert "\\e[1;31m$ " in lines[0]
    assert "<enter> ls\\r" in lines[1]
    assert [[line.split()[2] for line in some] for some in filtered] == [
        ["output", "output"],
        ["input"],
        ["resize"],
    ]


def test_choosing_an_event_goes_there(path: Path) -> None:
    """Up, down, page keys and clicks move the playhead; w stops following."""
    seqs: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "end", "p")
        for key in ("up", "up", "down", "pageup", "pagedown", "enter"):
            await press(pilot, key)
            seqs.append(recording(pilot).playback.seq)
        await pilot.click("#events-list", offset=(5, 1))
        await press(pilot, "enter")
        seqs.append(recording(pilot).playback.seq)
        await press(pilot, "w", "end")
        panel = recording(pilot).query_one(EventsPanel)
        assert (panel.follow, panel.list.cursor) == (False, 1)

    drive(path, scenario, size=(140, 40))

    assert seqs == [7, 6, 7, 1, 8, 8, 2]


@pytest.fixture
def telling(make: Callable[..., Path]) -> Path:
    """Two outputs that tell the terminal something, and modes."""
    return make(
        Output(1 * S, b"\x1b[?25l\x1b]0;a\\b\x1b\\\x07"),
        Typed(2 * S, b"x"),
        Output(3 * S, b"\x1b]9;done\x07"),
    )


@pytest.mark.slow
def test_what_the_terminal_was_told_is_listed(telling: Path) -> None:
    """Behind the output that told it; modes in a list of their own, at the end of the filters."""
    lines, eighth, ninth = panel_lines(telling, "events", "", "a " * 8, "a")

    assert [line.split()[1:3] for line in lines] == [
        ["1", "output"],
        ["1", "terminal-signal"],
        ["1", "terminal-signal"],
        ["2", "input"],
        ["3", "output"],
        ["3", "terminal-signal"],
        ["4", "final"],
    ]
    assert [line.split(maxsplit=3)[3] for line in eighth] == [
        "title  text=a\\\\b",
        "bell",
        "notification  body=done",
    ]
    assert [line.split(maxsplit=3)[3] for line in ninth] == [
        "mode  mode=?25  on=0",
        "icon  text=a\\\\b",
    ]


def test_rows_of_one_event_are_walked_through(telling: Path) -> None:
    """Down leads from row to row, also where some belong to the same event, and up again."""
    found: list[tuple[int, int]] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "full_stop", "p")
        panel = recording(pilot).query_one(EventsPanel)
        for key in ("down", "down", "down", "down", "up", "up"):
            await press(pilot, key)
            found.append((panel.list.cursor, recording(pilot).playback.seq))

    drive(telling, scenario, size=(140, 40))

    assert found == [(1, 1), (2, 1), (3, 2), (4, 3), (3, 2), (2, 1)]


def test_exchanges_are_listed(path: Path) -> None:
    """Prompt and what came back."""
    (lines,) = panel_lines(path, "exchanges")

    assert lines[0].split()[0] == "0"
    assert "before any input" in lines[0]
    assert "ls\\r" in lines[1]
    assert "14 bytes came back" in lines[1]


@pytest.mark.slow
def test_inputs_are_listed_without_answers_of_the_terminal(path: Path) -> None:
    """What was typed alone."""
    (lines,) = panel_lines(path, "input")

    assert len(lines) == 1
    assert "<enter>" in lines[0]


@pytest.mark.slow
def test_bytes_are_explained_in_words(path: Path) -> None:
    """Escaped, in words, and in hex."""
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "full_stop", "p", "tab", "tab")
        texts.append(str(recording(pilot).query_one("#bytes-text", Static).render()))
        await press(pilot, "home")
        texts.append(str(recording(pilot).query_one("#bytes .panel-title", Static).render()))

    drive(path, scenario, size=(140, 40))

    assert "\\e[1;31m  SGR: bold, red" in texts[0]
    assert "1b 5b 31 3b 33 31 6d" in texts[0]
    assert texts[1] == "no output yet"


@pytest.mark.slow
def test_lines_of_hex_fit_into_the_panel(path: Path) -> None:
    """All thirteen bytes where there is room, also when the window changes its size."""

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "full_stop", "p", "tab", "tab")
        body = recording(pilot).query_one("#bytes-text", Static)

        def fits(per_line: int) -> bool:
            lines = [line for line in str(body.render()).splitlines() if line.startswith("0000")]
            return (
                len(lines[0].split("  ")[1].split()) == per_line
                and max(map(len, lines)) <= body.content_size.width
            )

        for size, per_line in (((80, 24), 13), ((130, 35), 8), ((200, 40), 13)):
            await pilot.resize_terminal(*size)
            await until(pilot, partial(fits, per_line))

    drive(path, scenario, size=(100, 30))


def test_service_events_open_as_a_tree(path: Path) -> None:
    """Down to the values, made visible."""
    labels: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "p", "tab", "tab", "tab", "tab")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        tree = recording(pilot).query_one(Tree)
        node = tree.root.children[0]
        for _ in range(5):
            labels.append(str(node.label))
            node.expand()
            await pilot.pause()
            if not node.children:
                break
            node = node.children[-1]
        assert tree.has_focus
        await press(pilot, "down", "enter")
        assert recording(pilot).playback.seq == 5

    drive(path, scenario, size=(140, 40))

    assert "turn" in labels[0]
    assert labels[1:] == [
        "deep: 1 entries",
        "list: 2 entries",
        "1: 1 entries",
        'x: "evil\\u001b]0;t\\u0007"',
    ]


@pytest.mark.parametrize(
    ("payload", "line"),
    [
        (
            {
                "type": "model-request",
                "entry": 1,
                "method": "POST",
                "target": "/v1/m",
                "model": "m",
            },
            "→ [1] POST /v1/m m",
        ),
        ({"type": "model-answer", "entry": 1, "status": 529}, "← [1] 529"),
        ({"type": "model-end", "entry": 1, "outcome": "provider-gone"}, "· [1] provider-gone"),
        ({"type": "tool-call", "entry": 1, "call_id": "c", "name": "run"}, "← [1] calls run (c)"),
        ({"type": "tool-result", "entry": 2, "call_id": "c\x1b"}, "→ [2] result of c\\e"),
        ({"type": "turn", "deep": 1}, 'turn {"deep":1}'),
    ],
)
def test_the_traffic_of_a_tape_is_listed_in_words(payload: dict[str, Any], line: str) -> None:
    """All else by its type; nothing raw."""
    assert service_line(payload) == line


def test_the_traffic_of_a_tape_is_shown() -> None:
    """Questions and answers in the list, and the body of one that is opened."""
    tape = Path(__file__).parents[3] / "fixtures" / "v1" / "tape"
    labels: list[str] = []
    bodies: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "p", "tab", "tab", "tab", "tab")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        for node in recording(pilot).query_one(Tree).root.children:
            labels.append(str(node.label).split(maxsplit=1)[1])
            node.expand()
            await pilot.pause()
            for child in node.children:
                if str(child.label).startswith("body: "):
                    child.expand()
                    await pilot.pause()
                    bodies.extend(str(one.label) for one in child.children)

    drive(tape, scenario, size=(140, 40))

    assert labels[:3] == ["→ [1] message", "← [1] message", "· [1]"]
    assert bodies == [
        'model: "m"',
        'input: "hi"',
        'data: {"type":"response.created"}',
        'data: {"type":"response.completed"}',
        'type: "response.create"',
    ]


@pytest.mark.slow
def test_documents_are_shown(path: Path) -> None:
    """Each as JSON."""
    wanted = {
        "final": '"duration_ms"',
        "scrub": '"status": "clean"',
        "probes": '"quota": null',
        "manifest": '"version": 1',
    }
    missing: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "p", "shift+tab")
        for name, part in wanted.items():
            while recording(pilot).query_one(ContentSwitcher).current != name:
                await press(pilot, "shift+tab")
            if part not in str(recording(pilot).query(f"#{name} Static").last(Static).render()):
                missing.append(name)

    drive(path, scenario, size=(140, 40))

    assert missing == []


def test_documents_are_made_visible() -> None:
    """Nothing in a manifest reaches the terminal as it is."""
    lines = document_lines({"a": "x\x1b[2J\u202e"})

    assert lines == ["{", '  "a": "x\\u001b[2J\\u202e"', "}"]


def test_nothing_recorded_is_said() -> None:
    """No empty panel."""
    assert document_lines(None) == ["nothing was recorded"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(150, 30), (80, 24)])
def test_a_list_that_opens_shows_the_event_at_the_playhead(
    make: Callable[..., Path], size: tuple[int, int]
) -> None:
    """However far down it is."""
    path = make(*(Output(number * S, b"line %d\r\n" % number) for number in range(200)))
    lines: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "5", "p")
        lines.extend(text_of(recording(pilot).query_one("#events-list", VirtualList)))

    drive(path, scenario, size=size)

    assert [line for line in lines if line.split()[1] == "100"]


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [(150, 30), (80, 24)])
def test_no_panel_reaches_out_of_its_place(path: Path, size: tuple[int, int]) -> None:
    """The last rows and the scrollbars of each are in sight."""
    ends: dict[str, tuple[int, int]] = {}

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "p")
        place = recording(pilot).query_one("#panels").content_region
        while (name := recording(pilot).query_one(ContentSwitcher).current or "") not in ends:
            inner = recording(pilot).query(f"#{name} *").results(ScrollView | VerticalScroll)
            ends[name] = (max(widget.region.bottom for widget in inner), place.bottom)
            await press(pilot, "tab")

    drive(path, scenario, size=size)

    assert len(ends) == 9
    assert [name for name, (last, border) in ends.items() if last > border] == []
