"""The screen as text: rows joined, cells traced to their bytes, read before they are lost."""

from __future__ import annotations

import pytest

from ptycassette.model import Size
from ptycassette.screen import TracedEmulator
from ptycassette.scrub.cells import OutputCells
from ptycassette.scrub.joins import Line, continues
from ptycassette.scrub.mask import HEX, TEXT
from ptycassette.scrub.rows import RowCopy, ScreenView, Segment, joined_rows, line_of
from ptycassette.scrub.trace import FastTrace
from ptycassette.testing import scrub_chunks

STREAMS = [
    b"plain text\r\nand more",
    "wide 漢字 and │ boxes │ und Umlaute äöü".encode(),
    b"\x1b[31mred\x1b[0m\x1b[3;4Hmoved\x1b[2Dback",
    b"a long line that wraps around the margin because it is long enough to do that",
    b"\x1b[4hinsert\x1b[4l\rmode\x1b[2@xx\x1b[3P",
    b"rep\x1b[5b\x1b(0lqqk\x1b(Bascii",
    b"\x1b[?7lno wrap at all, the last column is written again and again",
    "e\u0301 \U0001f468\u200d\U0001f469 \u263a\ufe0f x".encode(),
    b"bad \xff\xfe bytes \xe2\x94 here",
    b"\x1b[?1049halt\x1b[?1049lmain\x1b[2J\x1b[Hagain",
    b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n\x1b[2;4r\x1b[4;1Hregion\n\n\x1bM\x1bMup",
]


def trace_of(data: bytes, step: int) -> FastTrace:
    """A fast trace fed in chunks."""
    trace = FastTrace(Size(6, 30), before_loss=lambda: None)
    for at in range(0, len(data), step):
        trace.feed(data[at : at + step])
    return trace


@pytest.mark.parametrize("step", [1, 5, 1000])
@pytest.mark.parametrize("data", STREAMS)
def test_the_fast_trace_gives_the_cells_of_the_slow_one(data: bytes, step: int) -> None:
    """The same characters from the same bytes, whichever way they were painted."""
    slow = TracedEmulator(Size(6, 30))
    slow.feed(data)
    fast = trace_of(data, step)
    starts = [
        [origin[0] if isinstance(origin, tuple) else origin for origin in row]
        for row in fast.origins()
    ]

    assert fast.snapshot().rows == slow.snapshot().rows
    assert starts == [[origin and origin[0] for origin in row] for row in slow.origins()]


def views(data: bytes) -> list[str]:
    """The lines that are read from the screen."""
    cells = OutputCells(Size(6, 30))
    found = [*cells.feed(data), *cells.rest()]
    return [line for view in found for line in view.text.split("\n")]


@pytest.mark.parametrize(
    "data",
    [
        b"se\x1b[3;1Hxx\x1b[1;3Hcret",
        b"\x1b[1;3Hcret\x1b[1;1Hse",
        b"cret\r\x1b[2@se\x1b[2J",
        b"\x1b[4hcret\rse\x1b[4l\r\x1b[K",
        b"\x1b[1;3Hcret\x1b[1;1Hse\x1b[1;1Hoverwritten",
        b"\x1b[1;3Hcret\x1b[1;1Hse\x1b[1;1H\x1b[L",
        b"\x1b[1;3Hcret\x1b[1;1Hse\x1b[1;1H\x1b[3X",
        b"\x1b[1;3Hcret\x1b[1;1Hse" + b"\r\n" * 9,
        b"\x1b[?1049h\x1b[1;3Hcret\x1b[1;1Hse\x1b[?1049l",
        b"\x1b[1;3Hcret\x1b[1;1Hse\x1bc",
        b"\x1b[1;3Hcret\x1b[1;1Hse\x1b[1;1H\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2",
        b"\x1b[1;3Hcret\x1b[1;1Hse\x1b[?1049h",
    ],
)
def test_a_row_is_read_before_it_is_lost(data: bytes) -> None:
    """Whatever destroys a row, it was seen whole."""
    assert any("secret" in line for line in views(data))


def test_a_resize_is_a_loss() -> None:
    """Rows are read before they are reflowed or cut."""
    cells = OutputCells(Size(6, 30))
    found = [
        *cells.feed(b"\x1b[?1049h\x1b[1;24Hcret\x1b[1;22Hse"),
        *cells.resize(Size(6, 10)),
        *cells.rest(),
    ]

    assert any("secret" in view.text for view in found)


def test_wrapped_rows_are_one_line() -> None:
    """The terminal marks the rows that it wrapped."""
    text = "x" * 25 + " secret-value"

    assert any("secret-value" in line for line in views(text.encode()))


def test_boxed_rows_are_one_line() -> None:
    """Borders and indentation are taken off where the text runs up to the margin."""
    box = "│ the key is sk-abcdef01234 │\r\n│ 56789                     │\r\n"

    assert any("sk-abcdef0123456789" in line for line in views(box.encode()))


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[2;1HSECOND2half\x1b[2;1H\x1b[LTOKEN = abcdefgh12345678ijkl\r\n$ ",
        b"\x1b[1;1HSECOND2half\x1b[1;1H\x1b[2L\x1b[2;1HTOKEN = abcdefgh12345678ijkl\r\n$ ",
        b"\x1b[1;1HSECOND2half\x1b[T\x1b[1;1HTOKEN = abcdefgh12345678ijkl\r\n$ ",
        b"\x1b[1;1HSECOND2half\x1b[1;1H\x1bMTOKEN = abcdefgh12345678ijkl\r\n$ ",
        b"TOKEN = abcdefgh12345678ijkl\r\nother text\r\nSECOND2half\x1b[2;1H\x1b[M",
        b"TOKEN = abcdefgh12345678ijkl\r\nother text\r\nSECOND2half\x1b[2;1H\x1b[M$ ",
        b"\x1b[2;4r\x1b[4;1HTOKEN = abcdefgh12345678ijkl\r\nSECOND2half\r\n\r\n\r\n\r\n",
    ],
)
def test_rows_that_come_to_stand_together_are_one_line(data: bytes) -> None:
    """Though one of them was read before the other was there, and is lost before it is."""
    assert any("abcdefgh12345678ijklSECOND2half" in line for line in views(data))


@pytest.mark.parametrize(
    "label",
    ['"token":', "Cookie:", "api_key =", "curl -u", "login --token", "bob password", "Bearer"],
)
@pytest.mark.parametrize("border", ["", "│ "])
def test_a_value_goes_with_the_name_at_the_end_of_the_row_above(label: str, border: str) -> None:
    """A program that breaks lines between words breaks there when the value is long."""
    rows = f"{border}{label}\r\n{border}aB3dE5gH7jK9mN1pQ3\r\nmore\r\n".encode()

    assert f"{label} aB3dE5gH7jK9mN1pQ3" in views(rows)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("Reading", "aB3dE5gH7jK9mN1pQ3"),
        ("Digest:", "aB3dE5gH7jK9mN1pQ3"),
        ("Token:", "short1"),
        ("Token:", "configuration-of-it"),
        ("the password", "/usr/share/doc/x3"),
    ],
)
def test_other_rows_are_lines_of_their_own(label: str, value: str) -> None:
    """Words that name nothing, and what does not look generated."""
    assert {label, value} <= set(views(f"{label}\r\n{value}\r\n".encode()))


def test_at_the_end_the_screen_is_read_as_a_whole() -> None:
    """What is told by several rows may have been painted row by row."""
    rows = ["one", "two", "three", "four"]
    data = "".join(f"\x1b[2;1H\x1b[L{text}" for text in reversed(rows))

    assert "one two three four" in " ".join(views(data.encode()))


def test_a_row_that_seems_to_go_on_is_also_read_alone() -> None:
    """Joined to the row before, a token would hide behind the end of a word."""
    rows = b"a line up to the margin, docs\r\nTOKEN01ABCDEF\r\n"

    assert {"a line up to the margin, docsTOKEN01ABCDEF", "TOKEN01ABCDEF"} <= set(views(rows))


def test_sentences_are_not_joined() -> None:
    """A row that ends in the middle of the screen is a line of its own."""
    assert "Done." in views(b"token: abcdefghij0123\r\nDone.\r\n")


CUT = "nf" + "p_" + "XWECIx5vzqWX71AEcV8" + "u9xkyTB3iUKPly"  # of a token, most of it


def row(text: str, *, wrapped: bool = False, first: int = 0) -> Line:
    """A row of the screen whose cells came from consecutive bytes."""
    origins = [first + number for number in range(len(text))]
    return line_of(RowCopy(list(text), origins, wrapped))


@pytest.mark.parametrize(
    ("above", "below", "joined"),
    [
        ("abcdefghijkl0123456789", "a1b2c3d4", True),
        ("abcdefghijkl0123456789", "Done.", True),
        ("abcdefghijkl01        ", "Done.", False),
        ("abcdefghij01          ", "a1b2", True),
        ("                      ", "a1b2", False),
        ("abcdefghij01          ", "      ", False),
        ("short 1               ", "a1b2c3", False),
        ("abcdefghij01          ", "https://x.y/1", False),
        ("abcdefghij01          ", "XyzKLm", True),
        ("log in with the passw", "ord is a2b4c6", True),
        ("export DB_PASSW", "ORD=a2b4c6", True),
        ("it will pass", "overs", False),
        ("bob password di", "qe6g0U57CY7YXbvjCpRZ", True),
        ("bob password di", "and then", False),
        ("https://me:mV3Qke957bdWgg", "A@git.example/x", True),
        ("https://hooks.example/service", "s/T5D9ECL/BIR3J4", True),
        ("http://h.example/?token=a1b2c3", "http://h.example/?token=d4", False),
        ("https://docs.example/guide", "src/main.py", False),
        ("logged in as bob.b@example", ".io (Pro)", True),
        ("logged in as bob.b@example.io", "and then", False),
        ('"accountUuid": "c4c9a917-33e2-4794-d987d4e4bc', '57"', True),
        ('"accountUuid": "c4c9a917-33e2-4794-d987d4e4bc"', '57"', False),
        (CUT, "ogS here", True),
        (CUT, "Then here", False),
        ("passphrase: horse-anchor-staple", "52", True),
        ("passphrase: horse", "52", False),
        ("wrote horse-anchor-staple", "52", False),
        (CUT, "Horipbww", True),
        (CUT, "Makefile", False),
        (CUT, "src/horipbww", False),
        (CUT, "src/main.rs here", False),
        (CUT, "`./well-known:` here", False),
        ("token=aB3cD4eF5gH6iJ7k", "token=Lm8nO9pQ0rS1tU2v", False),
        ("29f88512-004a-40bf-a30b-8bfa65d3306", "2", True),
        ("id: 29f", "88512-004a-40bf-a30b-8bfa65d33062", True),
        ("id: 29f88512-004a-40bf-a30b-8bfa65d3306", "2 of them", True),
        ("id: 29f88512-004a-40bf-a30b-8bfa65d33061", "2", False),
        ("proxy http://svc:K-hEAS8voCi", "@10.0.0.5:3128 set", True),
        ("see http://h.example/docs.git", "git@h.example:a/b", False),
        ("a secret: K-hEA", "S8voCi-Z0MY", True),
        ("a secret: hidden", "S8voCi-Z0MY", False),
        ("the key: SK5b454f1fdf5369988aacab29", "38002619", True),
        ("the commit 5b454f1fdf5369988aacab2938002619", "38002619", False),
        ("Logged in as bob.b57@fastmail.f", "m", True),
        ("  2: export TOKEN=aB3cD4eF5gH6", "   : iJ7kLm8nO9pQ0rS1tU2v", True),
        ("00000000: 646f 673a 2027  dog: '", "00000010: 7074 677a 456a  ptgzEj", False),
        ("AAAAAAAAD4eF5gH6iJ7k0z", "AAAAAAAAO9pQ0rS1tU2v", True),
        ("+ # = aB3cD4eF5gH6iJ7k", "+ # = 8nO9pQ0rS1tU2v", True),
    ],
)
def test_rows_are_joined_where_a_token_seems_broken(above: str, below: str, joined: bool) -> None:
    """At the margin always, elsewhere when the next row goes on like a token."""
    width = 22 if len(above.rstrip()) == 22 else 60
    assert continues(row(above.rstrip().ljust(width)), row(below.ljust(width))) is joined


def test_cells_lead_back_to_their_bytes() -> None:
    """Cells of several bytes, of several characters, and of none."""
    copy = RowCopy(
        ["a", "漢", "", "e\u0301", "\0", "b", "c"],
        [5, (6, 9), (6, 9), (20, 26), None, (30, 40), (50, 51)],
        wrapped=False,
    )

    assert copy.sources() == [5, 6, 7, 8, 20, -1, -1, -1, 30, 50]


def test_lines_of_rows_keep_their_order() -> None:
    """Rows that belong together give one text with one segment each."""
    lines = [
        row("first row".ljust(40)),
        row("one".ljust(3), first=10),
        row("two", wrapped=True, first=20),
    ]
    texts = [text for text, _ in joined_rows(lines)]

    assert texts == ["first row", "onetwo"]


REPAINT = b"".join(b"\x1b[%d;1Hrow number %d" % (row, row) for row in range(1, 7)) + b"\x1b[2J"


def characters(*, found: bool = False, forget: bool = False) -> int:
    """How many characters are searched when a screen is painted over and over."""
    cells = OutputCells(Size(6, 30))
    total = 0
    for _ in range(4):
        for view in cells.feed(REPAINT * 1000):
            total += len(view.text)
            view.found = found
        if forget:
            cells.forget()
    return total


def test_a_picture_in_which_nothing_was_found_is_searched_once() -> None:
    """A program that paints the same again and again costs what it painted first."""
    once, always = characters(), characters(found=True)

    assert once < always / 3


def test_a_picture_is_searched_again_when_more_is_known() -> None:
    """What was nothing may be something now."""
    assert characters() < characters(forget=True)


def test_a_short_value_may_be_broken_behind_its_first_letters() -> None:
    """By a program that wraps before the margin; a name behind such words is none."""
    shown = b"machine git.example.com login builder password Kok\r\n6BhVyVYoKD8ah\r\n"
    other = b"machine git.example.com asks for the password for\r\nuser12345678 of it\r\n"

    assert b"6BhV" not in b"".join(scrub_chunks([shown], rows=15, cols=60))
    assert scrub_chunks([other], rows=15, cols=60) == [other]


def test_scattered_cells_are_written_over_once() -> None:
    """However many pictures show them; with what masks them as it stands there."""
    line = line_of(RowCopy(list("aB3dE5gH"), [*range(0, 16, 2)], wrapped=False))
    seen: set[tuple[str, tuple[int, ...]]] = set()
    one, other = (
        ScreenView(line.text, starts=[0], segments=[Segment(line.row, 0, 8)], seen=seen)
        for _ in range(2)
    )
    patches = list(one.patches(0, 8, TEXT))

    assert patches == [(offset, b"x") for offset in range(0, 16, 2)]
    assert list(other.patches(0, 8, TEXT)) == []
    assert len(list(other.patches(0, 8, HEX))) == len(patches)
    assert len(list(other.patches(0, 6, TEXT))) == 6
