"""``export --all``: every line that was ever shown, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.formats.export.shown_lines import shown_lines
from ptycassette.model.records import Output
from ptycassette.model.screen import Size
from ptycassette.replaying.scenario.predicate import normaliser_of
from ptycassette.testing import manifest_of, write_cassette

FIXTURES = Path(__file__).parents[4] / "fixtures"
STEP_US = 100_000
SHOWN = {
    "more lines than the screen has rows, in one piece": (
        [b"".join(b"%d\r\n" % n for n in range(300))],
        [str(n) for n in range(300)],
    ),
    "the same text twice at once": ([b"ok\r\nok\r\n"], ["ok", "ok"]),
    "the same text again, after it was erased": (
        [b"ok", b"\x1b[2J\x1b[Hother", b"\x1b[2J\x1b[Hok"],
        ["ok", "other"],
    ),
    "erased in the piece in which it was printed": (
        [b"first\x1b[2J\x1b[Hsecond"],
        ["first", "second"],
    ),
    "scrolled off, and the scrollback erased": (
        [b"1\r\n2\r\n3\r\n4\r\n5\r\n", b"\x1b[2J\x1b[3J\x1b[Hend"],
        ["1", "2", "3", "4", "5", "end"],
    ),
    "overwritten in its place": ([b"download", b"\rstopped!"], ["download", "stopped!"]),
    "typed letter by letter, corrected": ([b"$ l", b"s", b"x", b"\b \b"], ["$ lsx"]),
    "a spinner and a clock": ([b"\xe2\xa0\x8b work 1s", b"\r\xe2\xa0\x99 work 2s"], ["⠙ work 2s"]),
    "on the alternate screen, before and after": (
        [b"before\r\n", b"\x1b[?1049h\x1b[Hinside", b"\x1b[Hchanged", b"\x1b[?1049l", b"after"],
        ["before", "inside", "changed", "after"],
    ),
    "a wrapped line whose beginning scrolled off": (
        [b"a" * 25 + b"\r\n1\r\n2\r\n", b"3\r\n4"],
        ["a" * 25, "1", "2", "3", "4"],
    ),
    "a prompt that was written and comes back": (
        [b"$ ", b"\r\x1b[Kls", b"\r\x1b[K$ ", b"ls"],
        ["$ ", "ls", "$ ls"],
    ),
    "a blank line between": ([b"one\r\n\r\ntwo"], ["one", "", "two"]),
}  # fmt: skip


@pytest.mark.parametrize("case", SHOWN)
def test_every_line_is_there_once(case: str, tmp_path: Path) -> None:
    """On a screen of four rows and 20 columns, a step each 100 ms."""
    written, expected = SHOWN[case]
    outputs = (Output(n * STEP_US, data) for n, data in enumerate(written))
    write_cassette(tmp_path / "c", *outputs, manifest=manifest_of(size=Size(rows=4, cols=20)))

    with open_cassette(tmp_path / "c") as cassette:
        assert list(shown_lines(cassette)) == [line.rstrip() for line in expected]


@pytest.mark.parametrize(
    "name",
    ["agents/codex-tui", "agents/gemini-tui", "programs/less.cassette", "programs/vim.cassette"],
)
def test_nothing_that_a_frame_shows_is_missing(name: str) -> None:
    """Every row of every stored frame is in a line, but for spinners and clocks."""
    same = normaliser_of(("spinner", "duration", "clock"))
    with open_cassette(FIXTURES / name) as cassette:
        known = same("\n".join(shown_lines(cassette)))
        rows = {row.rstrip() for frame in cassette.frames() for row in frame.text}

    assert len(rows) > 5
    assert [row for row in rows if same(row) not in known] == []
