"""Panes and cells of tables are read as screens of their own."""

from __future__ import annotations

import pytest

from ptycassette.scrub.panes import Pane, margins, may_have_panes, of_pane, pane_lines, panes
from ptycassette.scrub.rows import RowCopy
from ptycassette.testing import scrub_chunks

TOKEN = "sk-" + "ant-api03-dvwQYFKRfazD6-6x_YzL-dCi08wOhMIxwNHreL_aSIE-YS64kt2RUMot_ZnTtkJcsfBl"
PASSWORD = "6xNi3em3" + "hmrB1oC"


def copies(*texts: str) -> list[RowCopy]:
    """Rows of a screen of 40 columns."""
    return [RowCopy(text.ljust(40), [None] * 40, wrapped=False) for text in texts]


def found(*texts: str) -> list[tuple[Pane, list[str]]]:
    """The panes of rows, and what is in each, with its bar."""
    rows = copies(*texts)
    return [
        (pane, [line.shown for line in pane_lines(rows, pane)])
        for pane in panes([row.chars for row in rows], 40)
    ]


def test_texts_side_by_side_are_panes() -> None:
    """As long as the bar between them goes on."""
    rows = ("one line", "left side │ right side", "and more  │ and more", "left     │  other", "x")

    assert found(*rows) == [
        (Pane(1, 3, 0, 11), ["left side │", "and more  │"]),
        (Pane(1, 3, 11, 41), [" right side", " and more"]),
    ]


def test_a_box_alone_is_none_and_one_inside_of_another_is() -> None:
    """The rows of a box are read without borders anyway, of one border."""
    assert found("│ one      │", "│ two      │") == []
    assert [texts for _, texts in found("│ │ one    │ │", "│ │ two    │ │")] == [
        [" one    │", " two    │"]
    ]


def test_narrow_cells_and_empty_ones_are_none() -> None:
    """Nothing fits in them."""
    assert found("ab │ a longer text here", "cd │") == []


def test_a_wide_character_takes_two_cells() -> None:
    """So bars are found by their cells."""
    wide = [*"\u6f22", "", *" text    │ right side     "]
    rows = [wide, [*"   text    │ right side     "]]

    assert [pane[2:4] for pane in panes(rows, len(wide))] == [(0, 12), (12, len(wide) + 1)]


def shown(text: str, width: int, row: str) -> list[str]:
    """The rows of a pane of this width, among others as ``row`` says."""
    return [row.format(text[at : at + width].ljust(width)) for at in range(0, len(text), width)]


@pytest.mark.parametrize("said", ["key:  ", "the token         ", "a  key: ", "● key "])
@pytest.mark.parametrize(
    "row", ["into after this │ {}", "{} | and so on", "other  │{}│ docs passed", "│ a word │ {} │"]
)
def test_a_token_goes_on_in_its_pane_whatever_stands_before_it(said: str, row: str) -> None:
    """Two blanks part columns elsewhere."""
    text = "\r\n".join(shown(said + TOKEN, 34, row)).encode()
    (after,) = scrub_chunks([text], rows=24, cols=80)

    assert not any(TOKEN[at : at + 8].encode() in after for at in range(13, len(TOKEN) - 8))


@pytest.mark.parametrize(
    "text",
    [
        "slack: using " + "xo" + "xb-666972510273-4646869589693-5Vr67B2RmqsKs3U9i5kkGtpN",
        "aws_secret_access_key = " + "ikPI99LsI0TCl21PFFwqjeEnAJNEZ0lhTFrouRww",
        f"mysql --user=root --password={PASSWORD} shop",
        f"tool login --password {PASSWORD} --user bot",
        "api_secret =      " + "dvwQYFKRfazDYzLdCi08wOhMIxwNHreL",
    ],
)
@pytest.mark.parametrize("width", [18, 20, 23])
def test_names_and_prefixes_may_be_cut_in_a_cell_between_others(text: str, width: int) -> None:
    """A cell of a table, with text on both sides."""
    rows = "\r\n".join(shown(text, width, "│ docs   │ {} │ build  │")).encode()
    (after,) = scrub_chunks([rows], rows=24, cols=80)
    piece = text.removesuffix(" --user bot").removesuffix(" shop")[-6:].encode()

    assert piece not in after.replace(b" ", b"")


def test_a_name_alone_in_a_row_of_a_pane_tells_of_the_row_below() -> None:
    """All of it, not as much as the name is long."""
    value = "dvwQYFKRfazDYzLdCi08wOhMIxwNHreL"
    rows = f'left text │ "token":\r\nleft text │ {value}\r\n'.encode()

    assert value[-8:].encode() not in scrub_chunks([rows], rows=24, cols=80)[0]


@pytest.mark.parametrize("row", ["│ │ {:38} │ │", "| a    | {:38} |", "│ left │ {:38} │"])
def test_an_account_below_its_name_in_a_cell_is_found(row: str) -> None:
    """Which is looked for across rows, as in a box."""
    uuid = "29f88512-004a-40bf-" + "a30b-8bfa65d33062"
    rows = "\r\n".join(map(row.format, ("Organization ID:", uuid))).encode()

    assert b"8bfa65d33062" not in scrub_chunks([rows], rows=24, cols=80)[0]


def test_words_and_names_in_cells_are_no_text_of_use() -> None:
    """The longest cell of a column fills it."""
    rows = copies(
        "aws_secret_access_key │ a", "aws_region            │ b", "passedmerge           │ c"
    )
    (pane, _) = panes([row.chars for row in rows], 40)
    lines = pane_lines(rows, pane)

    assert not of_pane(lines, [0, 1])
    assert not of_pane(lines, [1])


def behind(*texts: str) -> list[tuple[Pane, list[str]]]:
    """What stands behind the margins of rows."""
    rows = copies(*texts)
    return [
        (pane, [line.shown for line in pane_lines(rows, pane)])
        for pane in margins([row.chars for row in rows], 40)
    ]


def test_what_stands_behind_one_sign_is_a_pane() -> None:
    """In the same column of several rows, behind numbers too."""
    assert behind("+one", "+two", "-six", "# x", "#") == [
        (Pane(0, 2, 1, 40), ["one", "two"]),
        (Pane(3, 5, 1, 40), [" x", ""]),
    ]
    assert behind("  98\u2192one", "  99\u2192two", "   1\u00b7six") == [
        (Pane(0, 2, 5, 40), ["one", "two"])
    ]
    assert behind("+one", "+--two", "+------+") == [(Pane(0, 2, 1, 40), ["one", "--two"])]
    assert behind("  445 +  one", "      +  two") == [(Pane(0, 2, 7, 40), ["  one", "  two"])]


def test_a_box_may_be_drawn_with_any_sign() -> None:
    """A bar stands for it at the right."""
    assert behind("+*****+", "* one *", "* two *", "+*****+") == [
        (Pane(1, 3, 1, 6, closed=True), [" one \u2502", " two \u2502"])
    ]


@pytest.mark.parametrize(
    "rows",
    [
        ("words", "and words"),
        ("+ one", "- two"),
        ("+ one", " + two"),
        ("\u2502 one \u2502", "\u2502 two \u2502"),
        ("--option", "--other"),
        (":quit", ":write"),
    ],
)
def test_other_rows_have_no_margin(rows: tuple[str, ...]) -> None:
    """Of a box whose borders are taken off anyway neither."""
    assert behind(*rows) == []


def test_rows_that_have_nothing_of_a_pane_are_told_at_once() -> None:
    """Bars in several rows may part panes, one sign before halves of a token too."""
    assert may_have_panes(["a \u2502 b", "x", "c | d"])
    assert may_have_panes(["x", "+a", "+7b"])
    assert not may_have_panes(["x", "+a", "+b"])
    assert not may_have_panes(["+a", "x", "+7b"])
    assert not may_have_panes(["a \u2502 b", "words"])
    assert not may_have_panes(["\u2502 a box \u2502", "\u2502 alone \u2502", "a bar \u2502"])


@pytest.mark.parametrize("sign", ["+", "-", "#", "* ", ": ", "\u00b7", "\u23d0 ", "$ ", "7\u2192"])
def test_a_token_broken_behind_a_sign_is_masked(sign: str) -> None:
    """However the program marks its rows."""
    rows = [f"{sign}{TOKEN[at : at + 30]}" for at in range(0, len(TOKEN), 30)]
    scrubbed = b"".join(scrub_chunks(["\r\n".join(rows).encode()], rows=24, cols=80)).decode()

    for row, left in zip(rows, scrubbed.split("\r\n"), strict=True):
        masked = "x" * (len(row) - len(sign))
        assert left.endswith(masked)
        assert len(left) == len(row)
