"""A stdin that is no terminal: what must come before the recording goes on, and what differs."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ptycassette.cassette.timeline.match import Matching
from ptycassette.model.records import ExitStatus, Finished, JournalEvent, Output, Typed
from tests.examples import examples
from tests.standins import Rig

EXIT = ExitStatus(code=0, exited=True, signaled=False)


class Piped(Rig):
    """A stand-in for a recording with a pipe as stdin."""

    def __init__(self, *items: JournalEvent, strategy: str = "prompt", **options: object) -> None:
        super().__init__(
            *items,
            Finished(t_us=9, exit=EXIT),
            matching=Matching(strategy, conceal=lambda text: text.replace("secret", "xxxxxx")),
            size=None,
            stdin_is_stream=True,
            **options,  # type: ignore[arg-type]
        )

    def pipe(self, *pieces: bytes, ends: bool = True) -> Piped:
        """Send, and end the pipe."""
        for piece in pieces:
            self.send(piece)
        if ends:
            self.engine.input_ended(of_pipe=True)
        self.run()
        return self


WHOLE = (Typed(1, b"one\ntwo\n"), Typed(2, b"three", eof=True), Output(3, b"done", "stdout"))
CHAT = (
    Typed(1, b"a\n"), Output(2, b"A", "stdout"), Typed(3, b"bc", eof=False),
    Output(4, b"BC", "stdout"), Typed(5, b"", eof=True), Output(6, b"!", "stdout"),
)  # fmt: skip


@given(cuts=st.lists(st.integers(0, 13), max_size=5))
def test_law_of_pieces(cuts: list[int]) -> None:
    """However it comes, the same bytes pass; nothing is played before they are there."""
    text, places = b"one\ntwo\nthree", [0, *sorted(cuts), 13]
    rig = Piped(*WHOLE)
    rig.pipe(*(text[a:b] for a, b in itertools.pairwise(places)), ends=False)
    early = rig.output
    rig.pipe()

    assert (early, rig.output, rig.kinds) == (b"", b"done", [])


def test_answers_come_as_soon_as_they_are_due() -> None:
    """Each answer is played when as much has come as the program had read."""
    rig = Piped(*CHAT)
    played = [rig.pipe(piece, ends=False).output for piece in (b"a", b"\n", b"b", b"c")]

    assert played == [b"", b"A", b"A", b"ABC"]
    assert rig.pipe().output == b"ABC!"


@pytest.mark.parametrize("strategy", ["exact", "prompt", "normalised", "semantic"])
@pytest.mark.parametrize("sent", [b"one\n2\nthree", b"one\ntwo\nthree and more", b"", b"one\n"])
def test_other_text_diverges(strategy: str, sent: bytes) -> None:
    """Other bytes, more and fewer of them."""
    assert Piped(*WHOLE, strategy=strategy).pipe(sent).kinds == ["input-changed"]


def test_difference_is_found_before_the_end() -> None:
    """What cannot become the recorded text any more is not waited for."""
    assert Piped(*WHOLE).pipe(b"one\nt2", ends=False).kinds == ["input-changed"]


MESSAGE = b'{"id":1,"cwd":"/home/xxxxxx/work"}\n{"id":2}\n'


@pytest.mark.parametrize(
    ("strategy", "sent", "certain"),
    [
        ("prompt", b'{"id":1,"cwd":"/tmp/x"}\n', True),  # shorter, and different before a mask
        ("exact", b'{"id":1,"cwd":"/tmp', True),
        ("prompt", b'{"id":1,"cwd":"/home/secret/tmp"}\n', True),  # and behind it
        ("prompt", b'{"id":1,"cwd":"/home/secret/tmp', False),  # half a secret may be in it
        ("prompt", b'{"id":1,"cwd":"/home/secret/wo', False),
        ("prompt", b'{"id":1,"cwd":"/home/sec', False),
    ],
)
def test_a_difference_outside_of_masks_is_certain(
    strategy: str, sent: bytes, certain: bool
) -> None:
    """A mask is as long as what it stands for, so everything else has its place."""
    rig = Piped(Typed(1, MESSAGE, eof=True), strategy=strategy)

    assert rig.pipe(sent, ends=False).kinds == ["input-changed"] * certain


@pytest.mark.parametrize(("sent", "certain"), [(b"a  c", True), (b"a  b", False), (b"a \n", False)])
def test_folded_text_can_only_go_on_as_recorded(sent: bytes, certain: bool) -> None:
    """With the built-in normaliser; what a function or a score makes of it is known at the end."""
    for strategy, kinds in (("normalised", ["input-changed"] * certain), ("semantic", [])):
        rig = Piped(Typed(1, b"a b\nc\n", eof=True), strategy=strategy)

        assert rig.pipe(sent, ends=False).kinds == kinds


@given(text=st.text(st.sampled_from("ax0 7\n8é"), min_size=1, max_size=30), cut=st.integers(0, 40))
def test_law_of_beginnings(text: str, cut: int) -> None:
    """No beginning of the recorded text is a difference, with masks or without."""
    data = (text + "xxxxxx" + text).encode()
    rig = Piped(Typed(1, data, eof=True))
    sent = data.replace(b"xxxxxx", b"secret")[:cut]

    assert rig.pipe(sent, ends=False).kinds == []


TEXTS = st.text(st.sampled_from("aab \n\né\xa0"), min_size=1, max_size=7)
RESTS = [first + space for first in (b"", b"\xa9", b"\xa0") for space in (b"", b" ", b"\n")]
"""The rest of a character that was begun, and white space to go on with."""


def read_in_pieces(text: bytes, cuts: list[int], *, eof: bool) -> list[JournalEvent]:
    """A program that read ``text``, up to ends of lines and in pieces; then perhaps its end."""
    lines = [at + 1 for at, byte in enumerate(text) if byte == 10]
    places = sorted({0, len(text), *lines, *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    events: list[JournalEvent] = [Typed(at, piece) for at, piece in enumerate(pieces, 1)]
    return [*events, Typed(20, b"", eof=True)] if eof else events


@pytest.mark.parametrize("strategy", ["exact", "prompt", "normalised"])
@given(
    text=TEXTS, other=TEXTS, kept=st.integers(0, 12), more=st.integers(0, 3),
    cuts=st.lists(st.integers(1, 12), max_size=2), eof=st.booleans(),
)  # fmt: skip
@examples(400)
def test_law_of_open_input(
    *, strategy: str, text: str, other: str, kept: int, more: int, cuts: list[int], eof: bool
) -> None:
    """A difference is reported as soon as no continuation passes, and not before."""
    want = text.encode()
    assume(not re.search(rb"[^\x00-\x7f]{3}", want))  # it may be a mask, whose end is waited for
    sent = want[:kept] + other.encode()[:more]
    recorded = read_in_pieces(want, cuts, eof=eof)
    reported = bool(Piped(*recorded, strategy=strategy).pipe(sent, ends=False).kinds)
    ends = [b"", *(want[at:] for at in range(len(want)))]
    passes = any(
        not Piped(*recorded, strategy=strategy).pipe(sent + rest + end).kinds
        for rest in RESTS
        for end in ends
    )

    assert reported == (not passes)


@pytest.mark.parametrize("eof", [True, False])
def test_a_word_that_ended_too_early_is_a_difference(eof: bool) -> None:
    """White space is folded, and never goes away."""
    rig = Piped(Typed(1, b"alpha\nbeta\n", eof=eof), strategy="normalised")

    assert rig.pipe(b"al", ends=False).kinds == []
    assert rig.pipe(b"\n", ends=False).kinds == ["input-changed"]


def test_a_line_that_was_read_in_parts_is_compared_as_a_whole() -> None:
    """However the driver's parts fall."""
    parts = (
        Typed(1, b"al"),
        Output(2, b"-", "stdout"),
        Typed(3, b"pha\n"),
        Output(4, b"!", "stdout"),
    )
    for strategy in ("normalised", "semantic", "prompt"):
        for sent in ((b"alpha\n",), (b"a", b"lph", b"a\n"), (b"al", b"pha\n")):
            rig = Piped(*parts, strategy=strategy).pipe(*sent, ends=False)
            assert (rig.kinds, rig.output) == ([], b"-!")


def test_other_space_is_the_same_when_normalised() -> None:
    """Text is compared as the strategy says."""
    assert Piped(*WHOLE, strategy="normalised").pipe(b"one  \n two\nthree\n").kinds == []


def test_any_takes_all() -> None:
    """And still waits for the end."""
    rig = Piped(*WHOLE, strategy="any").pipe(b"what", ends=False)
    before = rig.output

    assert (before, rig.pipe().output, rig.kinds) == (b"", b"done", [])


def test_what_was_not_read_is_not_compared() -> None:
    """Without a recorded end, the rest of stdin is nobody's business."""
    rig = Piped(Typed(1, b"head\n"), Output(2, b"done", "stdout")).pipe(b"head\nand a tail")

    assert (rig.output, rig.kinds, rig.engine.most_input) == (b"done", [], 5)


def test_masks_stand_for_secrets() -> None:
    """The driver sends the secret; the recording has its mask."""
    masked = (Typed(1, b"key xxxxxx\n", eof=True), Output(2, b"done", "stdout"))

    assert Piped(*masked).pipe(b"key secret\n").kinds == []
    assert Piped(*masked).pipe(b"key others\n").kinds == ["input-changed"]


def test_lenient_goes_on() -> None:
    """The rest is compared from where the recording is."""
    rig = Piped(*CHAT, lenient=True).pipe(b"x\n", ends=False).pipe(b"bc")

    assert (rig.output, rig.kinds) == (b"ABC!", ["input-changed"])


def test_what_never_comes_is_given_up() -> None:
    """After the input timeout a lenient run goes on, and compares what comes then."""
    rig = Piped(*CHAT, lenient=True, input_timeout_us=1000)
    rig.run()
    rig.now = 2000
    rig.run()
    given_up = rig.output
    rig.pipe(b"bc")

    assert (given_up, rig.output, rig.kinds) == (b"A", b"ABC!", ["input-missing"])


@pytest.mark.parametrize("sent", [b"my secret\n", b"my xxxxxx\n"])
def test_a_secret_that_was_read_in_pieces_is_compared_as_a_whole(sent: bytes) -> None:
    """A shell reads byte by byte; of a part of a secret nobody knows that it is one."""
    pieces = (Typed(1, b"my xx"), Output(2, b"?", "stdout"), Typed(3, b"xxx"), Typed(4, b"x\n"))
    rig = Piped(*pieces, Output(5, b"done", "stdout"))

    assert rig.pipe(sent).kinds == []
    assert rig.output == b"?done"
    assert Piped(*pieces).pipe(sent.replace(b"\n", b"s\n")).kinds == ["input-changed"]
