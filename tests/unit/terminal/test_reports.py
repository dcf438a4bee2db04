"""Answers to queries, and the profiles that say which are given."""

from __future__ import annotations

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.query_profiles import DUMB, XTERM, QueryProfile

QUESTIONS = [
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[0c", b"\x1b[?62;22c"),
    (b"\x1b[1c", b""),
    (b"\x1bZ", b"\x1b[?62;22c"),
    (b"\x1b[>c", b"\x1b[>0;276;0c"),
    (b"\x1b[=c", b"\x1bP!|00000000\x1b\\"),
    (b"\x1b[>0q", b"\x1bP>|ptycassette\x1b\\"),
    (b"\x1b[5n", b"\x1b[0n"),
    (b"ab\x1b[6n", b"\x1b[1;3R"),
    (b"ab\x1b[?6n", b"\x1b[?1;3R"),
    (b"\x1b[3;5r\x1b[?6h\x1b[2;2H\x1b[6n", b"\x1b[2;2R"),
    (b"\x1b[?996n", b"\x1b[?997;1n"),
    (b"\x1b[?15n", b""),
    (b"\x1b[?2004$p", b"\x1b[?2004;2$y"),
    (b"\x1b[?2004h\x1b[?2004$p", b"\x1b[?2004;1$y"),
    (b"\x1b[?1049$p", b"\x1b[?1049;2$y"),
    (b"\x1b[?1049h\x1b[?1049$p", b"\x1b[?1049;1$y"),
    (b"\x1b[?8$p\x1b[?1048$p\x1b[?67$p", b"\x1b[?8;3$y\x1b[?1048;1$y\x1b[?67;4$y"),
    (b"\x1b[?2027$p", b"\x1b[?2027;3$y"),
    (b"\x1b[?4321$p", b"\x1b[?4321;0$y"),
    (b"\x1b[4$p\x1b[2$p\x1b[12$p\x1b[9$p", b"\x1b[4;2$y\x1b[2;4$y\x1b[12;3$y\x1b[9;0$y"),
    (b"\x1b[4h\x1b[4$p", b"\x1b[4;1$y"),
    (b"\x1b[?u", b"\x1b[?0u"),
    (b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", b"\x1b_Gi=31;ENOTSUPPORTED:no graphics\x1b\\"),
    (b"\x1b_Ga=q,i=x\x1b\\", b"\x1b_Gi=0;ENOTSUPPORTED:no graphics\x1b\\"),
    (b"\x1b_Ga=T;AAAA\x1b\\\x1b_x\x1b\\", b""),
    (b"\x1b[14t", b"\x1b[4;96;160t"),
    (b"\x1b[16t", b"\x1b[6;16;8t"),
    (b"\x1b[18t\x1b[19t", b"\x1b[8;6;20t\x1b[9;6;20t"),
    (b"\x1b]11;?\x07", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
    (
        b"\x1b]10;?;?;?;?\x07",
        b"\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\\x1b]12;rgb:e5e5/e5e5/e5e5\x1b\\",
    ),
    (b"\x1b]11;#ffffff\x07\x1b]17;?\x07", b""),
    (
        b"\x1b]4;1;?;196;?;244;?\x07",
        b"\x1b]4;1;rgb:cdcd/0000/0000\x1b\\\x1b]4;196;rgb:ffff/0000/0000\x1b\\\x1b]4;244;rgb:8080/8080/8080\x1b\\",
    ),
    (b"\x1b]4;256;?;x;?;1;red\x07", b""),
    (b"\x1bP$qm\x1b\\", b"\x1bP1$r0m\x1b\\"),
    (b"\x1b[2;4r\x1bP$qr\x1b\\", b"\x1bP1$r2;4r\x1b\\"),
    (b"\x1b[3 q\x1bP$q q\x1b\\", b"\x1bP1$r3 q\x1b\\"),
    (b'\x1bP$q"p\x1b\\\x1bP$q"q\x1b\\', b'\x1bP1$r61;1"p\x1b\\\x1bP1$r0"q\x1b\\'),
    (b"\x1bP$qx\x1b\\", b"\x1bP0$r\x1b\\"),
    (
        b"\x1bP+q544e;787878;zz\x1b\\",
        b"\x1bP1+r544e=787465726D2D323536636F6C6F72\x1b\\\x1bP0+r787878\x1b\\",
    ),
    (b"\x05", b""),
]


@pytest.mark.parametrize(("question", "answer"), QUESTIONS)
def test_the_xterm_profile_answers_and_the_dumb_one_does_not(
    question: bytes, answer: bytes
) -> None:
    """Six rows of twenty columns; each answer at once, and once."""
    emulator, dumb = PyteEmulator(Size(6, 20)), PyteEmulator(Size(6, 20), profile=DUMB)
    emulator.feed(question)
    dumb.feed(question)

    assert emulator.answers() == answer
    assert emulator.answers() == b""
    assert dumb.answers() == b""


def test_a_profile_of_ones_own_answers_what_it_says() -> None:
    """An answer can be changed, added and taken away."""
    mine = QueryProfile(
        name="mine", answers={"da1": "\x1b[?1;2c", "answerback": "me"}, cell_pixels=(20, 10)
    )
    emulator = PyteEmulator(Size(6, 20), profile=mine)
    emulator.feed(b"\x1b[c\x05\x1b[6n\x1b[16t")

    assert emulator.answers() == b"\x1b[?1;2cme"


def test_questions_are_told_as_signals_whoever_answers() -> None:
    """A driver can see that a program asked."""
    emulator = PyteEmulator(Size(6, 20), profile=DUMB)
    emulator.feed(b"\x1b[c\x1b[6n")

    assert [signal["query"] for signal in emulator.signals()] == ["da1", "cpr"]


@pytest.mark.slow
def test_unread_answers_are_bounded() -> None:
    """A program that asks ten thousand times gets a bounded number of answers."""
    emulator = PyteEmulator(Size(6, 20))
    emulator.feed(b"\x1b[5n" * 10_000)

    assert len(emulator.answers()) <= 4096 * 4


def test_the_profiles_answer_more_than_forty_questions_in_one_go() -> None:
    """A start-up storm of queries is answered completely, in order."""
    emulator = PyteEmulator(Size(6, 20), profile=XTERM)
    emulator.feed(b"".join(b"\x1b]4;%d;?\x07" % number for number in range(45)))

    assert emulator.answers().count(b"\x1b]4;") == 45
