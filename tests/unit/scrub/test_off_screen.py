"""What is longer than the screen: rows that went off it are read with those that go on."""

from __future__ import annotations

import base64
import random

import pytest

from ptycassette.screen.widths import width_mode
from ptycassette.scrub.unread import ENOUGH_ROWS, UnreadTerminal
from ptycassette.testing import scrub_chunks

TOKEN = "sk-" + "proj-" + (
    "gtD7fGUOv8fwNfBb0jXxUJR4QQAAabVVloZaXZxmCu1VShIqmArIntn9oX98WHgCtzC1uwB5FXZPf7stg7NvlE3L"
    "aruSrjLnonWKTn9UGKzEesg61SHE_qaQQ0NV3vTH1lS6V6-o9jl8zSOwW_rX"
)  # fmt: skip
WIDTH = 26


def cut(text: str) -> list[str]:
    """Its pieces."""
    return [text[at : at + WIDTH] for at in range(0, len(text), WIDTH)]


def left(chunks: list[str], *, rows: int, cols: int) -> list[str]:
    """What of the token can still be read."""
    scrubbed = b"".join(scrub_chunks([chunk.encode() for chunk in chunks], rows=rows, cols=cols))
    pieces = (TOKEN[at : at + 8] for at in range(len(TOKEN) - 7))
    return [piece for piece in pieces if piece in scrubbed.decode()]


@pytest.mark.parametrize("rows", [3, 4, 5, 6, 8])
def test_a_box_may_scroll_off_while_it_is_printed(rows: int) -> None:
    """Its first rows are gone when the last one comes."""
    box = "".join(f"\u2502 {part.ljust(WIDTH)} \u2502\r\n" for part in cut(f"KEY={TOKEN}"))

    assert left(["make build\r\n", box, "total 48\r\n" * rows], rows=rows, cols=38) == []


@pytest.mark.parametrize("rows", [4, 5, 6])
def test_a_pager_may_be_scrolled_back(rows: int) -> None:
    """The last rows of the token are gone when the first one comes."""
    painted = [f"\x1b[H\x1bM{part}" for part in reversed(cut(f"KEY={TOKEN}"))]

    assert left(["\x1b[?1049h\x1b[H\x1b[J", *painted], rows=rows, cols=WIDTH) == []


KEY = base64.b64encode(random.Random(5).randbytes(210)).decode()


@pytest.mark.parametrize("rows", [4, 6, 9])
@pytest.mark.parametrize("value", [KEY, TOKEN], ids=["unshaped", "shaped"])
def test_a_pager_may_go_through_what_is_longer_than_its_page(value: str, rows: int) -> None:
    """Row by row: the last page that shows the name is long gone when the last row comes."""
    lines = ["first", *cut(f"client-key-data: {value}"), *(["a line"] * rows)]
    pages = (lines[at : at + rows] for at in range(len(lines) - rows + 1))
    shown = "".join("\x1b[H\x1b[J" + "\r\n".join(page) for page in pages)
    (scrubbed,) = scrub_chunks([f"\x1b[?1049h{shown}".encode()], rows=rows, cols=WIDTH)

    pieces = (value[at : at + 8] for at in range(8, len(value) - 7))
    assert [piece for piece in pieces if piece in scrubbed.decode()] == []


def terminal() -> UnreadTerminal:
    """A small one that shows a letter in each row, with the cursor in the first."""
    made = UnreadTerminal(4, 3, width_mode=width_mode("cluster"))
    made.before_loss = lambda: None
    for row, letter in zip(made.buf.rows, "abc", strict=True):
        row.chars[0] = letter
    return made


def test_rows_that_fall_off_at_the_bottom_are_kept_in_order() -> None:
    """Until the screen scrolls the other way."""
    shown = terminal()
    shown.reverse_index()
    shown.reverse_index()

    assert [row.chars[0] for row in shown.below] == ["b", "c"]

    shown.buf.y = 2
    shown.index()

    assert shown.below == ()


def test_of_a_part_of_the_screen_none_is_kept() -> None:
    """Other rows stand below it."""
    shown = terminal()
    shown.set_margins(1, 2)
    shown.reverse_index()

    assert shown.below == ()


GITHUB = "gh" + "p_Ik2zwEQ3fwcepYyNGfB51YbmwxAscRuzOl8Q"
BACKWARDS = "".join(
    f"\x1b[1;{column + 1}H{char}" for column, char in reversed(list(enumerate(GITHUB)))
)
"""Typed from the right to the left, so that only the screen shows it."""


def typed(shown: str, rows: int, *, after: str = "") -> int:
    """How many characters of the token stand where they were typed, when that is scrubbed."""
    scrubbed = b"".join(scrub_chunks([shown.encode()], rows=rows, cols=44)).decode()
    painted = [part[:1] for part in scrubbed[len(after) :].split("H")[1 : len(GITHUB) + 1]]
    return sum(a == b for a, b in zip(reversed(painted), GITHUB, strict=True))


@pytest.mark.parametrize(
    "event",
    ["", "\x1b[3J", "\x1bc", "\x1b[?1049h", "\x1b#8", "\x1b[2J\x1b[3J", "\x1b[2;3r\x1b[3;1H\n\n",
     "\x1b[1;3r\x1b[3;1H\n\n", "\x1b[9S"],
)  # fmt: skip
@pytest.mark.parametrize("rows", [4, 9])
def test_what_waits_off_a_low_screen_is_read_whatever_comes(event: str, rows: int) -> None:
    """Before the history is cleared, or nobody knows any more what stands in it."""
    scrolled = "\x1b[4H" + "\r\n" * (rows + 2)
    shown = f"{BACKWARDS}{scrolled}{event}{'a line' * 3}\r\n"

    assert typed(shown, rows) <= len("ghp_") + 3


def test_what_waits_is_read_before_only_a_part_of_the_screen_scrolls() -> None:
    """The row that goes was read before, and stands in the history behind what was not."""
    read = "\r\none\r\ntwo\r\nthree\x1b[4Hfour."
    scrolled = "\x1b[4H\n\x1b[1;3r\x1b[3;1H\n\x1b[r\x1b[4H"
    shown = f"{read}{BACKWARDS}{scrolled}{'a line' * 3}\r\n"

    assert typed(shown, 4, after=read) <= len("ghp_") + 3


def test_low_screens_are_read_as_seldom_as_others() -> None:
    """What scrolls off waits until there are enough rows; nothing is read in between."""
    looks: list[int] = []
    shown = terminal()
    shown.before_loss = lambda: looks.append(shown.waiting)
    for _ in range(4 * ENOUGH_ROWS):
        shown.buf.rows[0].view = None
        shown.index()
        if not shown.waiting:
            for row in shown.buf.rows:
                row.text(4)
    assert set(looks) == {ENOUGH_ROWS - 3}
    assert len(looks) == 4


def test_nothing_waits_any_more_when_the_other_screen_comes() -> None:
    """Even if there is no time to read it: that one has no history."""
    shown = terminal()
    for _ in range(4):
        shown.index()
    assert shown.waiting == 2
    shown.set_mode(1049, private=True)

    assert shown.waiting == 0
    assert shown.kept() == []
