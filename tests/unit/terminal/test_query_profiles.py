"""Profiles that a user writes, and the emulators that answer so."""

from __future__ import annotations

from functools import partial

import pytest

from ptycassette.errors import UsageError
from ptycassette.model.ports import Emulator
from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator, answering, backend
from ptycassette.terminal.query_profiles import XTERM, query_profile_of

WRITTEN = """
name = "mine"
extends = "xterm"
unanswered = ["cpr"]
cell_pixels = [20, 10]
[answers]
da1 = "\\u001b[?1;2c"
answerback = "me"
[colors]
background = [255, 0, 16]
"""


def test_a_written_profile_extends_another_one() -> None:
    """What it says counts, what it takes away is gone, the rest is as it was."""
    profile = query_profile_of(WRITTEN)

    assert (profile.name, profile.cell_pixels) == ("mine", (20, 10))
    assert profile.answers["da1"] == "\x1b[?1;2c"
    assert set(profile.answers) == {*XTERM.answers, "answerback"} - {"cpr"}
    assert profile.colors == {**XTERM.colors, "background": (255, 0, 16)}
    assert (profile.palette, profile.capabilities) == (XTERM.palette, XTERM.capabilities)


def test_a_profile_without_a_base_answers_what_it_says_alone() -> None:
    """It begins with nothing."""
    profile = query_profile_of('name = "least"\npalette = [[1, 2, 3]]\n[answers]\ndsr = ""')

    assert profile.answers == {"dsr": ""}
    assert profile.palette == ((1, 2, 3),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "Invalid value"),
        ("extends = 'xterm'", "name"),
        ("name = 'x'\nextends = 'vt52'", "there are: xterm, dumb"),
        ("name = 'x'\nunanswered = ['cpu']", "no such question: 'cpu'"),
        ("name = 'x'\n[answers]\nda9 = ''", "no such question: 'da9'"),
        ("name = 'x'\n[colors]\nborder = [1, 2, 3]", "no such colour: 'border'"),
        ("name = 'x'\n[colors]\ncursor = [1, 2, 256]", "from 0 to 255"),
        ("name = 'x'\ncell_pixels = [0, 8]", "1 or more"),
        ("name = 'x'\nsurprise = 1", "surprise"),
    ],
)
def test_what_is_no_profile_is_refused(text: str, said: str) -> None:
    """And it is said why."""
    with pytest.raises(ValueError, match=said):
        query_profile_of(text)


@pytest.mark.parametrize("name", ["pyte", "ghostty"])
def test_emulators_answer_as_a_profile_says(name: str) -> None:
    """Both of ours."""
    try:
        factory = answering(backend(name), query_profile_of(WRITTEN))
    except UsageError as error:
        pytest.skip(str(error))
    emulator = factory(Size(5, 20))
    emulator.feed(b"\x1b[c\x1b[6n\x1b[16t\x05")

    assert emulator.answers() == b"\x1b[?1;2c\x1b[6;20;10tme"


def test_an_emulator_that_takes_no_profile_is_not_told() -> None:
    """It would answer something else than was asked for."""

    def stubborn(size: Size) -> Emulator:
        return PyteEmulator(size)

    with pytest.raises(UsageError, match="takes no profile"):
        answering(stubborn, XTERM)
    assert answering(partial(PyteEmulator), XTERM)(Size(1, 2)).size == Size(1, 2)
