"""What is longer than the screen: rows that went off it are read with those that go on."""

from __future__ import annotations

import pytest

from ptycassette.screen.widths import width_mode
from ptycassette.scrub.unread import UnreadTerminal
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
