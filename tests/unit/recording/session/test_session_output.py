"""What is done with output before the emulator sees it: scanning, keeping, shortening."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.model.ports import Emulator
from ptycassette.model.records import EmulatorId
from ptycassette.model.screen import Screen, Size
from ptycassette.recording.session._screen import LIMIT_BYTES, OutputBacklog, OutputScan, shorten
from ptycassette.recording.session.base import child_environment
from ptycassette.recording.session.core import SessionCore
from ptycassette.terminal.emulator import default_emulator
from ptycassette.testing import ManualClock, ScriptedPty
from tests.examples import examples

QUERIES = [
    b"\x1b[c",
    b"\x1b[>0c",
    b"\x1b[6n",
    b"\x1b[?6n",
    b"\x1b[x",
    b"\x1b[?2026$p",
    b"\x1b[18t",
    b"\x1b[>q",
    b"\x1b[?u",
    b"\x1b]11;?",
    b"\x1b]4;1;?",
    b"\x1bP+q544e",
    b"\x1bP$qm",
    b"\x1bZ",
    b"\x05",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_noticed_wherever_it_is_split(query: bytes) -> None:
    """In one chunk, and over every pair of chunks."""
    for cut in range(len(query)):
        scan = OutputScan()
        first = scan.feed(b"text\r\n" + query[:cut])

        assert first or scan.feed(query[cut:] + b" and more")


@pytest.mark.parametrize(
    "data", [b"plain\r\n", b"\x1b[31mred\x1b[0m\x1b[K", b"\x1b[2J\x1b[1;1H", b"\x1b]0;title\x07"]
)
def test_what_asks_nothing_is_not_taken_for_a_query(data: bytes) -> None:
    """Text, colours, cursor movement, titles."""
    assert not OutputScan().feed(data)


@given(st.integers(0, 30), st.booleans())
def test_modes_are_seen_wherever_they_are_split(cut: int, on: bool) -> None:
    """Several in one sequence, too."""
    data = b"ab\x1b[?25;1;2004" + (b"h" if on else b"l") + b"cd"
    scan = OutputScan()
    scan.application_cursor = scan.bracketed_paste = not on
    scan.feed(data[:cut])
    scan.feed(data[cut:])

    assert (scan.application_cursor, scan.bracketed_paste) == (on, on)


@pytest.mark.parametrize(
    ("reset", "cursor", "paste"), [(b"\x1bc", False, False), (b"\x1b[!p", False, True)]
)
def test_resets_reset(reset: bytes, cursor: bool, paste: bool) -> None:
    """RIS everything, DECSTR all but bracketed paste."""
    scan = OutputScan()
    scan.feed(b"\x1b[?1;2004h\x1b[2;5r" + reset)

    assert (scan.application_cursor, scan.bracketed_paste, scan.margins) == (cursor, paste, False)


def test_margins_are_known_until_they_are_reset() -> None:
    """CSI s without parameters saves the cursor, and is no margin."""
    scan = OutputScan()
    seen = []
    for data in (b"\x1b[s", b"\x1b[1;5r", b"\x1b[s", b"\x1b[r"):
        scan.feed(data)
        seen.append(scan.margins)

    assert seen == [False, True, True, False]


PIECES = st.sampled_from(
    [
        b"\r\n",
        b"\r\n",
        b"\r\n",
        b"\n",
        b"\r",
        b"\t",
        b"\x07",
        b"word ",
        b"0123456789abcdef",
        "é漢🙂".encode(),
        "e\u0301".encode(),
        b"\xff\xc3",
        b"\x1b[31m",
        b"\x1b[1;44m",
        b"\x1b[0m",
        b"\x1b[m",
        b"\x1b[0;7m",
        b"\x1b[39m",
        b"\x1b[K",
        b"\x1b[1K",
        b"\x1b[2K",
    ]
)
BEFORE = [
    b"",
    b"\x1b[3;5Hhere\x1b[44m",
    b"\x1b[?7l",
    b"\x1b[4h",
    b"\x1b[?1049h\x1b[2;2H",
    b"\x1b[?6h",
    b"\x1b[20h",
]


@pytest.mark.slow
@examples(300)
@given(st.sampled_from(BEFORE), st.lists(PIECES, min_size=20, max_size=150), st.integers(1, 5))
def test_shortened_output_shows_the_same_screen(
    before: bytes, pieces: list[bytes], rows: int
) -> None:
    """Cell by cell, styles and cursor included, whatever came before and whatever comes after."""
    numbered = [
        b"\r\n%d" % index if piece == b"\r\n" else piece for index, piece in enumerate(pieces)
    ]
    data = b"".join(numbered)
    whole, short = default_emulator(Size(rows, 12)), default_emulator(Size(rows, 12))
    for emulator, output in ((whole, data), (short, shorten(data, rows))):
        emulator.feed(before)
        emulator.feed(output)
        emulator.feed(b"after")

    assert short.snapshot() == whole.snapshot()


@pytest.mark.parametrize("rows", [1, 3, 24])
def test_of_a_flood_exactly_what_can_be_seen_is_kept(rows: int) -> None:
    """The last rows and the last colour, and hardly more."""
    lines = [b"\x1b[3%dm%d" % (index % 8, index) for index in range(300)]
    data = b"\r\n".join([*lines[:200], b"\x1b[7m", *[b"%d" % index for index in range(200)]])
    whole, short = default_emulator(Size(rows, 20)), default_emulator(Size(rows, 20))
    whole.feed(data)
    short.feed(shorten(data, rows))

    assert short.snapshot() == whole.snapshot()
    assert len(shorten(data, rows)) < len(data) * 0.9


def test_plain_floods_become_short() -> None:
    """As many lines as the screen has rows, twice, and the last colour."""
    flood = b"".join(b"\x1b[0;3%dmline %d\r\n" % (i % 8, i) for i in range(10_000))

    assert len(shorten(flood, 24)) < len(flood) / 50


@pytest.mark.parametrize(
    "unsafe",
    [b"\x1b[H", b"\x1b[2J", b"\x1b7", b"\x0e", b"\x08", b"\xc2\x9b5A", b"\x1b[5", b"\x1b]0;x\x07"],
)
def test_output_that_moves_about_is_left_alone(unsafe: bytes) -> None:
    """One such sequence anywhere, and nothing is dropped."""
    lines = b"line\r\n" * 500

    assert shorten(lines + unsafe + lines, 10) == lines + unsafe + lines


@pytest.mark.parametrize("data", [b"", b"x", b"a\r\n" * 12, b"a\n" * 500])
def test_output_without_a_place_to_cut_is_left_alone(data: bytes) -> None:
    """Too short, or without carriage returns."""
    assert shorten(data, 10) == data


def test_a_backlog_keeps_count() -> None:
    """Of bytes, through appending, taking and shortening."""
    backlog = OutputBacklog()
    backlog.append(b"l\r\n" * 5000)
    backlog.append(b"end")
    backlog.shorten(4)
    kept = b""
    while backlog:
        size = len(backlog)
        chunk = backlog.take()
        kept += chunk
        assert len(backlog) == size - len(chunk)

    assert kept == shorten(b"l\r\n" * 5000 + b"end", 4)


class Counting:
    """The default emulator, with the bytes that it was fed."""

    def __init__(self, size: Size) -> None:
        self.inner: Emulator = default_emulator(size)
        self.fed = 0

    @property
    def identity(self) -> EmulatorId:
        """As the inner one."""
        return self.inner.identity

    @property
    def size(self) -> Size:
        """As the inner one."""
        return self.inner.size

    @property
    def pending(self) -> int:
        """As the inner one."""
        return self.inner.pending

    def feed(self, data: bytes) -> None:
        """Count, and feed."""
        self.fed += len(data)
        self.inner.feed(data)

    def resize(self, size: Size) -> None:
        """As the inner one."""
        self.inner.resize(size)

    def snapshot(self) -> Screen:
        """As the inner one."""
        return self.inner.snapshot()

    def answers(self) -> bytes:
        """As the inner one."""
        return self.inner.answers()


def core_with(chunks: list[bytes]) -> tuple[SessionCore, Counting]:
    """A core that has read the chunks and rendered nothing of its own accord."""
    clock, emulator = ManualClock(), Counting(Size(24, 80))
    pty = ScriptedPty(clock)
    for chunk in chunks:
        pty.say(chunk)
    core = SessionCore(pty, clock=clock, emulator=emulator)
    while core.pump_output() or not core.behind:
        pass
    return core, emulator


def test_a_flood_is_not_rendered_line_by_line() -> None:
    """The screen is right, and the emulator saw next to nothing of 4 MB."""
    chunks = [b"%07d some text\r\n" % i * 40 for i in range(4000)]
    core, emulator = core_with([b"".join(chunks[i : i + 5]) for i in range(0, 4000, 5)])
    core.render()

    assert core.view().screen.rows[-2] == "0003999 some text"
    assert emulator.fed < 50_000


def test_a_flood_that_moves_about_is_rendered_and_not_kept() -> None:
    """The backlog stays small, whatever is in it."""
    chunk = b"\x1b[5;5Hx" * 2000
    core, emulator = core_with([chunk] * (3 * LIMIT_BYTES // len(chunk)))

    assert emulator.fed > 2 * LIMIT_BYTES
    assert len(core._screen._backlog) <= LIMIT_BYTES


def test_a_flood_within_margins_is_rendered() -> None:
    """Below a scroll region lines are written over each other: all of them count."""
    core, emulator = core_with([b"\x1b[1;5r\x1b[24;1H"])
    core.render()
    emulator.fed = 0
    chunks = [b"text %d\r\n" % index * 100 for index in range(100)]
    for chunk in chunks:
        core.pty.say(chunk)
    while core.pump_output():
        pass
    core.render()

    assert emulator.fed == sum(map(len, chunks))


def test_what_came_before_a_resize_is_rendered_in_the_old_size() -> None:
    """Although nobody had wanted to see it."""
    core, _ = core_with([b"x" * 100])
    core.resize(Size(24, 40))
    core.perform_requests()

    assert [len(row) for row in core.view().screen.rows[:3]] == [40, 20, 0]


def test_a_clean_environment_keeps_what_programs_need_and_nothing_else() -> None:
    """Names on the list, locales, what was asked for, and the terminal's own."""
    base = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "API_KEY": "k",
        "TERM": "dumb",
        "COLUMNS": "9",
        "LINES": "9",
    }

    assert child_environment(clean=True, base=base, extra={"A": "b"}) == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "TERM": "xterm-256color",
        "A": "b",
    }
    assert child_environment(clean=False, base=base, term="vt100") == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "API_KEY": "k",
        "TERM": "vt100",
    }


KEYBOARD = st.sampled_from(
    [b"\x1b[>1u", b"\x1b[>u", b"\x1b[>31u", b"\x1b[<u", b"\x1b[<2u", b"\x1b[=2;2u", b"\x1b[=1;3u",
     b"\x1b[=8u", b"\x1bc", b"\x1b[!p", b"\x1b[u", b"text", b"\x1b[?1049h", b"\x1b[?1049l",
     b"\x1b[?47h", b"\x1b[?1;1047l", b"\x1b[?1047;1h", b"\x1b[?1048h"]
)  # fmt: skip


@given(st.lists(KEYBOARD, max_size=12), st.integers(0, 200))
def test_the_session_has_the_keyboard_flags_that_the_emulator_confirms(
    sequences: list[bytes], cut: int
) -> None:
    """What the program is told and what it gets are one, wherever the output is split."""
    data = b"".join(sequences)
    emulator, scan = default_emulator(Size(5, 20)), OutputScan()
    emulator.feed(data)
    emulator.answers()
    emulator.feed(b"\x1b[?u")
    scan.feed(data[:cut])
    scan.feed(data[cut:])

    assert emulator.answers() == b"\x1b[?%du" % scan.keyboard.flags
