"""Laws of reading the screen: every cell is read before it is lost, and none for nothing."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptycassette.model import Size
from ptycassette.scrub.cells import OutputCells
from ptycassette.scrub.trace import FastTrace

# Without DECAWM each character replaces the last one: that one stood there for no time.
WORDS = st.text(alphabet="abcdefgh", min_size=1, max_size=30)
MOVES = st.builds("\x1b[{};{}H".format, st.integers(1, 6), st.integers(1, 22))
EDITS = st.builds("\x1b[{}{}".format, st.integers(1, 6), st.sampled_from("PXLM@STGCDZ"))
OTHERS = st.sampled_from(
    [
        "\r", "\r\n", "\t", "\b", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[J", "\x1b[31m",
        "\x1bM", "\x1bD", "\x1b#8", "\x1b[2 @", "\x1b[4h", "\x1b[4l", "\x1b[2b", "\x1b(0", "\x1b(B",
        "\x1b[2;3r", "\x1b[r", "\x1b[?6h", "\x1b[?6l", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?45h",
        "é漢", "漢字", "aé", "\u0301", "e\u0301", "\u2764\ufe0f",
    ]
)  # fmt: skip
STREAMS = st.lists(st.one_of(WORDS, MOVES, EDITS, OTHERS), max_size=20).map("".join)
SIZES = st.sampled_from([Size(3, 12), Size(5, 20), Size(24, 30)])


class Reader:
    """Reads as little as it has to, and notes where what it read came from."""

    def __init__(self, size: Size) -> None:
        self.read: set[int] = set()
        self.looks = 0
        self._cols = size.cols
        self.trace = FastTrace(size, before_loss=self.look)

    def look(self) -> None:
        """Read what is unread."""
        self.looks += 1
        terminal = self.trace.terminal
        for row in (*terminal.kept(), *terminal.buf.rows):
            if row.view is None:
                self.read |= painted(row.origins or [])
                row.text(self._cols)
        terminal.waiting = 0

    def run(self, data: bytes) -> set[int]:
        """Everything that was read of what ``data`` paints."""
        self.trace.feed(data)
        self.look()
        terminal = self.trace.terminal
        if terminal.buf is not terminal.main:
            terminal.buf = terminal.main
            self.look()
        return self.read


def painted(origins: list[object]) -> set[int]:
    """The offsets of the bytes that painted cells."""
    spans = (
        o if isinstance(o, tuple) else (o, o + 1) for o in origins if isinstance(o, int | tuple)
    )
    return {at for span in spans for at in range(*span)}


def ever_shown(data: bytes, size: Size, *, letters: bool = False) -> set[int]:
    """The same for all cells that there were after any byte; or for those with a letter."""
    trace = FastTrace(size, before_loss=lambda: None)
    shown: set[int] = set()
    for at in range(len(data)):
        trace.feed(data[at : at + 1])
        for row in trace.terminal.buf.rows:
            origins = zip(row.chars, row.origins or [], strict=True)
            shown |= painted([o for char, o in origins if char.isalnum() or not letters])
    return shown


@settings(max_examples=300, deadline=None)
@given(STREAMS, SIZES)
@example("\x1b[1;9Hx\x1b[1;1Habc\x1b[31mdefghij", Size(3, 12))
@example("\x1b[4h\x1b[1;8Habcdefgh\r漢", Size(3, 12))
@example("token\r\x1b(0qqqqq", Size(3, 12))
@example("a\x1b[2;1Htoken\x1b[1;2H\x1b[20b", Size(3, 12))
@example("abcdefghijkl\x1b[1;8HX\x1b[1;3Hpq\x1b[1;3Hrs", Size(3, 12))
@example("abcdefghijkl\x1b[1;8HX\x1b[1;3H\x1b(0a\x1b(B\x1b[1;8Hz", Size(3, 12))
@example("\x1b[2;1Habcdef\x1b[2;1HX\x1b[1;12H\x1b[4hpq\x1b[4l\x1b[2;1HZ", Size(3, 12))
@example("\x1b[2;1Habcdefghijkl\x1b[1;12H\x1b[4hp" + "q" * 20, Size(3, 12))
@example("\x1b[2;1Habcdef\x1b[1;1H" + "word" * 6, Size(3, 12))
@example("abcdef\x1b[1;5Hyz\x1b[1;4He\u0301\x1b[1;4Hq", Size(3, 12))
def test_every_cell_is_read_before_it_is_lost(stream: str, size: Size) -> None:
    """Whatever is painted where, in whichever order."""
    data = stream.encode()

    assert ever_shown(data, size) <= Reader(size).run(data)


@settings(max_examples=200, deadline=None)
@given(STREAMS, SIZES)
@example("alpha\r\nbeta\r\ngamma\x1b[1;1HX\x1b[1;2HY\x1b[3;1HZ\x1b[2J", Size(5, 20))
def test_every_letter_that_was_shown_is_in_a_view(stream: str, size: Size) -> None:
    """Rows that were read stand between others that were not."""
    data = stream.encode()
    cells = OutputCells(size)
    seen: set[int] = set()
    for view in (*cells.feed(data), *cells.rest()):
        seen |= {
            at
            for _, length, first in view.pieces(0, len(view.text))
            for at in range(first, first + length)
        }

    assert ever_shown(data, size, letters=True) <= seen


def looks(stream: str) -> int:
    """How often the screen is read while this is painted on a row that was read."""
    reader = Reader(Size(5, 40))
    reader.trace.feed(b"some words that stood here before them\r")
    reader.look()
    before = reader.looks
    reader.trace.feed(stream.encode())
    return reader.looks - before


def test_what_was_read_may_go_without_being_read_again() -> None:
    """The rest of a row behind something shorter, and what is between two new words."""
    assert looks("other\x1b[K") == 0
    assert looks("other\x1b[20Gwords\x1b[10Gand\x1b[K") == 1
    assert looks("other\x1b[20Gwords\x1b[30Gbehind\x1b[K") == 0
    assert looks("\x1b[31mo\x1b[32mther\x1b[0m words \x1b[20Gagain") == 0
    assert looks("漢字e\u0301\u0301f漢\x1b[K") == 0


def test_what_is_put_into_a_word_has_it_read_before() -> None:
    """It parts the word; what goes on behind it parts nothing more."""
    assert looks("other\x1b[4h\x1b[3G\x1b[31mab\x1b[32mcd") == 1
    assert looks("\x1b[4habc\x1b[32mdef") == 0


def test_what_nobody_had_time_to_read_is_still_unread() -> None:
    """Whatever is done to it: where it stands now nobody knows."""
    reader = Reader(Size(5, 40))
    reader.trace.feed(b"words\r")
    reader.look()
    reader.trace.terminal.before_loss = lambda: None
    reader.trace.feed(b"other\r\x1b[10@\x1b[8G")
    reader.trace.terminal.before_loss = reader.look
    reader.trace.feed(b"\x1b[K")

    assert reader.looks == 2


def test_rows_that_have_other_neighbours_are_read_again() -> None:
    """Also those of which only some cells were painted since then."""
    reader = Reader(Size(5, 40))
    reader.trace.feed(b"words\r")
    reader.look()
    reader.trace.feed(b"oth")
    reader.trace.unread()
    reader.trace.feed(b"\x1b[K")

    assert reader.looks == 2


def test_what_is_painted_over_is_read_once() -> None:
    """Not at each word that replaces a piece of it."""
    assert looks("other\rsome\x1b[31mthing\x1b[32m else") == 1
    assert looks("other\x1b[1Gsome\x1b[1Gnone") == 2
