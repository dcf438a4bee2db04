"""What the terminal was told: the same as the library finds, at the same events, and bounded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette import Size, open_cassette
from ptycassette.model.records import JournalEvent, Noted, Output, Resized
from ptycassette.testing import manifest_of, write_cassette
from ptycassette.viewing import TerminalSignal, terminal_signals, visible
from ptycassette_viewer.panels.lists import AllRows, SignalRows
from ptycassette_viewer.session.session import ROUTINE, Signals, ViewerSession, signal_text
from ptycassette_viewer.session.source import CassetteSource
from tests.examples import examples

PIECES = st.sampled_from(
    [
        *(
            b"text",
            b"\x07",
            b"\x1b]0;tit",
            b"le\x07",
            b"\x1b]9;done\x1b\\",
            b"\x1b[?25h\x1b[?2026l",
        ),
        *(b"\x1b]7501;state=idle\x07", b"\x1b[?1049h", b"\x1bc", b"\xe6\xbc", b"\x07" * 3_000),
        *(b"\x1b[", b"6n", b"\x1b]8;;http://x\x07"),
    ]
)
ITEMS = st.lists(
    st.one_of(
        st.builds(lambda data: Output(0, data), st.lists(PIECES, min_size=1).map(b"".join)),
        st.just(Resized(0, Size(9, 40))),
        st.just(Noted(0, {})),
    ),
    max_size=12,
)


def line_of(signal: TerminalSignal) -> tuple[int, str]:
    """Where a signal belongs, and what a list shows of it."""
    return signal.seq, visible(signal_text(signal.name, signal.data), limit=120)


def signals_by(session: ViewerSession) -> dict[str, list[tuple[int, str]]]:
    """What the viewer knows."""
    both = {"notable": session.signals.notable, "routine": session.signals.routine}
    return {
        name: [(seq, lines.line(number)) for number, seq in enumerate(lines.seqs)]
        for name, lines in both.items()
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where cassettes are written."""
    return tmp_path_factory.mktemp("told")


@pytest.mark.slow
@examples(60)
@given(items=ITEMS)
def test_signals_are_those_of_the_library(folder: Path, items: list[JournalEvent]) -> None:
    """Each at the output that completed it; and a row for each event and each that tells."""
    path = folder / str(len(list(folder.iterdir())))
    write_cassette(path, *items, manifest=manifest_of(size=Size(5, 20)))
    session = ViewerSession(CassetteSource(open_cassette(path, check="manifest")))
    session.run()
    truth = list(terminal_signals(session.source.events()))
    notable = [line_of(signal) for signal in truth if signal.name not in ROUTINE]
    rows = AllRows(session)
    listed = [(rows.seq(n), rows.line(n).plain) for n in range(rows.count())]
    session.close()

    assert signals_by(session) == {
        "notable": notable,
        "routine": [line_of(signal) for signal in truth if signal.name in ROUTINE],
    }
    assert [seq for seq, _ in listed] == sorted(
        [*range(1, session.index.count + 1), *(s for s, _ in notable)]
    )
    assert [line.split(maxsplit=3)[3] for _, line in listed if "terminal-signal" in line] == [
        line for _, line in notable
    ]


def test_recorded_signals_are_found(agents: Path, session_of: Callable[[Path], Any]) -> None:
    """Of a real session: its title and its turns."""
    session = session_of(agents / "codex-tui")
    lines = [line for _, line in signals_by(session)["notable"]]

    assert "title  text=work" in lines
    assert "turn  state=working  app=codex" in lines


def test_rows_find_their_events(
    make: Callable[..., Path], session_of: Callable[[Path], Any]
) -> None:
    """The place of an event is its own row, and the first signal of it, or the last before it."""
    session = session_of(make(Output(0, b"\x07\x07"), Noted(1, {}), Output(2, b"\x07")))
    rows, signals = AllRows(session), SignalRows(session, session.signals.notable)

    assert [rows.place(seq) for seq in (1, 2, 3, 4)] == [0, 3, 4, 6]
    assert [signals.place(seq) for seq in (0, 1, 2, 3, 4)] == [-1, 0, 1, 2, 2]


def test_what_is_kept_is_bounded() -> None:
    """Lines that are said again cost next to nothing; behind the budget they are counted."""
    signals = Signals(1_000)
    for number in range(100):
        signals.add(number, "title", {"text": f"{number}" * 50})
    titles = len(signals.notable)
    for number in range(100, 110):
        signals.add(number, "bell", {})

    assert 1 < titles < 5
    assert len(signals.notable) > titles + 5
    assert len(signals.notable) + signals.dropped == 110
