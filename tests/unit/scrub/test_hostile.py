"""Input that is nothing but things to find: what is done for it grows as it does, no faster."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ptycassette.model import Output, SessionMeta, Size, Typed
from ptycassette.scrub import columns, default_scrubber, rows
from ptycassette.scrub.cells import OutputCells
from ptycassette.scrub.channels import OutputText
from ptycassette.scrub.finding import Finder
from ptycassette.scrub.growing import Floor, GrowingLiterals
from ptycassette.scrub.known import KnownValue, KnownValues
from ptycassette.scrub.rules import Rule, RuleSet
from ptycassette.scrub.search import Match, Searcher
from ptycassette.scrub.sought import Sought
from ptycassette.scrub.tally import Tally
from ptycassette.testing import scrub_chunks

BOTH = pytest.mark.parametrize("fast", [True, False])
LETTERS = "qP7xR2mK9vT4nB8sL3wZ"


def lines(count: int) -> bytes:
    """Assignments of values that are all different."""
    return b"".join(b"token=%s%04dZ\r\n" % (LETTERS[:6].encode(), n) for n in range(count))


@BOTH
def test_literals_come_in_any_number_of_batches(fast: bool) -> None:
    """Those of all batches are found in one order, the longest of a place first."""
    finder = GrowingLiterals(fast=fast)
    filler = [f"{number:05}" for number in range(4000)]
    for batch in (["@", "abab"], filler, ["ab"], ["baba"]):
        finder.add(batch)
        finder.find("")

    assert finder.find("xababab@03999") == [
        (1, -4), (1, -2), (2, -4), (3, -4), (3, -2), (5, -2), (7, -1), (8, -5),
    ]  # fmt: skip


@BOTH
def test_what_several_values_cover_is_one_hit(fast: bool) -> None:
    """A line that grows gives a value for each of its lengths."""
    known = KnownValues((KnownValue(LETTERS[:end]) for end in range(12, 21)), fast=fast)
    hits = known.in_squeezed(f"..{LETTERS}..{LETTERS[:14]}..")

    assert [(hit.start, hit.end) for hit in hits] == [(2, 22), (24, 38)]


def test_the_pieces_inside_of_a_hit_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many values are known: one piece leads to all of the value."""
    chance = random.Random(4)
    values = ["".join(chance.choices(string.ascii_letters, k=40)) for _ in range(300)]
    looked = 0
    behind = GrowingLiterals.behind

    def counted(self: GrowingLiterals, text: str, floor: Floor) -> Iterator[tuple[int, int]]:
        nonlocal looked
        for found in behind(self, text, floor):
            looked += 1
            yield found

    monkeypatch.setattr(GrowingLiterals, "behind", counted)
    hits = KnownValues(map(KnownValue, values)).in_squeezed("".join(values))

    assert [(hit.start, hit.end) for hit in hits] == [(at, at + 40) for at in range(0, 12000, 40)]
    assert looked < 2 * len(values)


def test_values_beside_one_another_are_hits_of_their_own() -> None:
    """Nobody knows them to be one."""
    known = KnownValues([KnownValue(LETTERS), KnownValue(LETTERS[::-1])])
    hits = known.in_squeezed(LETTERS + LETTERS[::-1])

    assert [(hit.start, hit.end) for hit in hits] == [(0, 20), (20, 40)]


def test_a_value_that_overlaps_another_goes_on_with_it() -> None:
    """Also where neither is the beginning of the other."""
    known = KnownValues([KnownValue(LETTERS[:16]), KnownValue(LETTERS[4:])])

    assert [(hit.start, hit.end) for hit in known.in_squeezed(LETTERS)] == [(0, 20)]


def patches_of(meta: SessionMeta, data: bytes) -> int:
    """How many hits were counted when ``data`` was searched."""
    rules = default_scrubber()._rules
    tally = Tally()
    finder = Finder(Searcher(rules=rules, known=KnownValues()), tally)
    finder.look(meta, lambda: iter([Output(0, data)]))
    return sum(tally.channels["output"].values())


@pytest.mark.parametrize(
    "data", [lines(20), b"\r\n".join(line.hex().encode() for line in lines(20).splitlines())]
)
def test_a_text_is_searched_once(
    meta: SessionMeta, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    """What rules find in it, decoded too, is known when it is searched for what is known."""
    searched: list[str] = []
    search = Searcher.search

    def counted(self: Searcher, text: str, **how: Any) -> Iterator[Match]:
        searched.append(text)
        return search(self, text, **how)

    monkeypatch.setattr(Searcher, "search", counted)
    patches_of(meta, data)

    assert searched.count(data.decode().replace("\r\n", "\n")) == 1


def test_a_text_is_searched_again_for_what_known_values_make_readable(
    meta: SessionMeta,
) -> None:
    """Rules find something there when the text was searched for what is known already."""
    value = "\xfc\xe9\xf1\xdf\xf8\xe5\xe6"
    rule = Rule(name="r", pattern="k=(?P<s>[0-9]{3})", anchors=("k=",))
    known = KnownValues([KnownValue(value)])
    finder = Finder(Searcher(rules=RuleSet([rule]), known=known), Tally())
    hidden = base64.b64encode(value.encode() + b"\x83k=417\x83")
    data = b"a 417 " + hidden + b"\r\n"
    finder.look(meta, lambda: iter([Typed(0, data)]))

    assert finder.input.apply(data, 0).startswith(b"a xxx ")


def test_a_line_that_grows_has_as_many_hits_as_repaints(meta: SessionMeta) -> None:
    """Not as many as characters: a piece for each length of the value that was learnt."""
    repaints = [f"\rexport API_TOKEN={(LETTERS * 20)[:end]}" for end in range(20, 300)]

    assert patches_of(meta, "".join(repaints).encode()) < 8 * len(repaints)


def test_a_name_ends_the_value_before_it() -> None:
    """Rows that look like one token are read as one; the names of the next ones stay."""
    scrubbed = b"".join(scrub_chunks([lines(60)], rows=24, cols=80))

    assert scrubbed == b"token=xxxxxxxxxxx\r\n" * 60


def test_what_is_read_of_the_screen_stays_within_a_multiple_of_the_output() -> None:
    """A cell that turns on a screen full of one line has that line read at every turn."""
    cells = OutputCells(Size(24, 80))
    turns = b"".join(b"\r%c" % (97 + number % 26) for number in range(40_000))
    data = b"a1" * 900 + turns
    read = sum(len(view.text) for view in (*cells.feed(data), *cells.rest()))

    assert 10 * len(data) < read < 30 * len(data)


def test_a_text_is_judged_once() -> None:
    """What a program paints again and again costs a look-up."""
    asked: list[str] = []

    def accept(text: str) -> bool:
        asked.append(text)
        return text != "k=00000000"

    rule = Rule(name="r", pattern="k=[0-9]{8}", anchors=("k=",), accept=accept)
    found = RuleSet([rule]).find("k=12345678 k=00000000 " * 50)

    assert len(found) == 50
    assert sorted(asked) == ["k=00000000", "k=12345678"]


def test_rules_of_one_name_are_judged_apart() -> None:
    """One may take as its beginning what is public for the other."""
    rules = RuleSet(
        [
            Rule(name="r", pattern="k=(?P<s>xxx[0-9]{8})", anchors=("k=",), public=3),
            Rule(name="r", pattern="xxx[0-9]{8}", anchors=("xxx",), edge=False),
        ]
    )
    searcher = Searcher(rules=rules, known=KnownValues())
    found = [len(list(searcher.search(text))) for text in ("k=xxx12345678", "xxx12345678")]

    assert found == [1, 0]


@pytest.mark.parametrize(
    "line",
    [
        lambda value: f'"token":"{value}",'.encode(),
        lambda value: f"token={value} ".encode().hex().encode(),
        lambda value: f"token%3D%{ord(value[0]):02x}{value[1:]}\r\n".encode(),
    ],
)
def test_letters_alone_pass_where_rows_cut_them(
    meta: SessionMeta, line: Callable[[str], bytes]
) -> None:
    """What the scrubber takes for a name, verification does too; and nothing is masked twice."""
    chance = random.Random(5)
    values = ("".join(chance.choices(string.ascii_letters, k=12)) for _ in range(500))
    events = [Output(0, b"".join(map(line, values)))]
    after = list(default_scrubber().events(meta, lambda: iter(events)))

    assert default_scrubber().verify(meta, lambda: iter(after)) == ()
    assert list(default_scrubber().events(meta, lambda: iter(after))) == after


def test_a_text_that_comes_again_is_asked_for_what_is_known_since() -> None:
    """What looking at it gave is kept, not what was unknown then."""
    value = "correct horse battery"
    text = base64.b64encode(f"a {value} b".encode()).decode()
    searcher = Searcher(rules=RuleSet(()), known=KnownValues())

    assert list(searcher.search(text)) == []
    searcher.known.add(KnownValue(value))
    assert len(list(searcher.search(text))) == 1
    searcher.known = KnownValues([KnownValue("another phrase")])
    assert list(searcher.search(text)) == []


def test_the_name_of_the_next_value_is_not_learnt_with_the_one_before() -> None:
    """Quoted-printable takes =82 for a byte, and glues what stands around it: there alone."""
    values = ["Z9vhj9", "82mV83", "3DqT5e", "kT4bR9", "Lw8cV2"]
    page = "".join(f"password={value}\r\n" for value in values).encode()
    (after,) = scrub_chunks([page], rows=24, cols=80)

    assert after.endswith(b"password=xxxxxx\r\n" * 3)


def test_nobody_looks_again_where_nothing_was_searched_before(meta: SessionMeta) -> None:
    """Whatever was learnt in the first text that there was."""
    looks = 0

    def source() -> Iterator[Output]:
        nonlocal looks
        looks += 1
        yield Output(0, base64.b64encode(b"token=o|d|\x83%4\r\n") + b"\r\n" + b"." * 70_000)

    finder = Finder(Searcher(rules=default_scrubber()._rules, known=KnownValues()), Tally())
    finder.look(meta, source)
    finder.look_again(meta, source)

    assert len(finder.output) > 0
    assert looks == 1


@pytest.mark.parametrize("make", [lambda text: text, lambda text: text.encode().hex()])
def test_nobody_looks_again_where_all_was_found(
    meta: SessionMeta, make: Callable[[str], str]
) -> None:
    """Tokens on lines that follow each other look like longer ones, of which no more is new."""
    looks = 0
    chance = random.Random(3)
    tokens = ("".join(chance.choices(string.ascii_letters, k=36)) for _ in range(3000))
    data = "".join(make(f"ghp_{token}") + "\r\n" for token in tokens).encode()

    def source() -> Iterator[Output]:
        nonlocal looks
        looks += 1
        yield from (Output(0, data[at : at + 4096]) for at in range(0, len(data), 4096))

    list(default_scrubber().events(meta, source))

    assert looks == 2


@pytest.mark.parametrize("last", ["pwd=aB3$x9", "pwd=aB3$x9  | right"])
def test_rows_without_columns_are_not_followed_down(
    monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    """They are joined as lines already; only rows near one with columns are looked at."""
    looks = 0
    look = columns.goes_on

    def counted(*where: Any) -> Any:
        nonlocal looks
        looks += 1
        return look(*where)

    monkeypatch.setattr(rows, "goes_on", counted)
    shown = [*["pwd=aB3$x9qR7vZ2mK4tL8"] * 200, last]
    list(
        rows.joined_rows(
            [rows.line_of(rows.RowCopy(row.ljust(80), (), wrapped=False)) for row in shown]
        )
    )

    assert looks < 900


def test_a_block_of_output_ends_with_a_whole_word() -> None:
    """No part of a value is learnt; and the blocks end where those of the screen do."""
    text = OutputText()
    data = lines(12_000)
    printed = [view.text for view in text.feed(data)][::2]
    rest = next(view.text for view in text.rest())

    assert all(part.endswith("Z\n") for part in printed)
    assert len(printed) == len(data) // (1 << 16)
    assert len(rest) < (1 << 16)


def test_a_long_run_of_digits_is_not_read_again_for_each_value_in_it() -> None:
    """What is read of it stays within a few times its length."""
    sought = Sought()
    value = "\xfc\xe9\xf1\xdf\xf8\xe5\xe6"
    sought.add(value)
    text = base64.b64encode((value + "abcde").encode("latin-1") * 4000).decode()
    read = [decoded.text for decoded in sought.views(text)]

    assert sum(part.count(value) for part in read) >= 4000
    assert sum(map(len, read)) < 6 * len(text)


def test_a_decoded_text_may_be_empty() -> None:
    """Of marks alone nothing is left without what has no cell."""
    shown = b"\xcc\x80\xcc\xa0\x1b[@\xcc\x80"

    assert scrub_chunks([shown], rows=24, cols=80) == [shown]
