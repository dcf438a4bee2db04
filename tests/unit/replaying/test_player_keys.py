"""Keys of the player, out of what a terminal sends."""

from __future__ import annotations

import pytest

from ptycassette.keys.reader import MAX_SEQUENCE_BYTES, KeyReader
from ptycassette.replaying.io.player_terminal import player_keys


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"q", ["q"]),
        (b" +.5", ["space", "+", ".", "5"]),
        (b"\x1b[C\x1b[D\x1bOA\x1bOB", ["right", "left", "up", "down"]),
        (b"\x1b[H\x1b[F", ["home", "end"]),
        (b"\x1b[1~\x1b[4~", ["home", "end"]),  # tmux
        (b"\x1b[7~\x1b[8~", ["home", "end"]),  # rxvt
        (b"\x03\x04\x1a\r", ["ctrl-c", "ctrl-d", "ctrl-z", "enter"]),
    ],
)
def test_keys_have_names(data: bytes, keys: list[str]) -> None:
    """Printable characters are themselves, the rest is named."""
    assert player_keys(KeyReader(alt=True), data) == keys


@pytest.mark.parametrize(
    "answer",
    [
        b"\x1b[?62;22c",  # primary device attributes
        b"\x1b[24;80R",  # cursor position
        b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",  # background colour
        b"\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
        b"\x1bP>|XTerm(388)q 5\x1b\\",  # name and version
        b"\x1b_Gi=1;OK q\x1b\\",  # kitty graphics
        b"\x1b[<0;5;5M",  # mouse
        b"\x1b[200~q \x1b[201~",  # a paste
        b"\x1b[M q!",  # the mouse, as X10 reports it
        b"\x1bq",  # alt-q
        b"\xc3\xa9",  # a letter outside of ASCII
    ],
)
def test_answers_of_a_terminal_are_no_keys(answer: bytes) -> None:
    """However an answer is split, no part of it counts as a key; the key behind it does."""
    for cut in range(1, len(answer)):
        reader = KeyReader(alt=True)
        assert player_keys(reader, answer[:cut]) + player_keys(reader, answer[cut:] + b"q") == ["q"]


def test_an_escape_alone_is_known_by_the_silence_behind_it() -> None:
    """It is incomplete until nothing more comes."""
    reader = KeyReader(alt=True)

    assert (player_keys(reader, b"\x1b"), reader.waits) == ([], True)
    assert (player_keys(reader, None), reader.waits) == (["escape"], False)


def test_what_is_cut_off_is_dropped_in_silence() -> None:
    """Half a sequence is no key."""
    reader = KeyReader(alt=True)
    player_keys(reader, b"\x1b[1;")

    assert (player_keys(reader, None), player_keys(reader, None)) == ([], [])


def test_an_endless_control_string_does_not_grow() -> None:
    """After a bound its bytes are taken as what they are."""
    reader = KeyReader(alt=True)
    player_keys(reader, b"\x1b]" + b"\x80" * (MAX_SEQUENCE_BYTES + 1))

    assert reader.waits is False
    assert player_keys(reader, b"q") == ["q"]
