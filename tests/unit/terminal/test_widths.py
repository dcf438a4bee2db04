"""How wide characters are, and what joins into one cell."""

from __future__ import annotations

import unicodedata

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.widths import (
    EXTEND,
    HANGUL_LV,
    HANGUL_LVT,
    NO_JOIN,
    PICTOGRAPH,
    WidthModeName,
    split_cells,
    split_clusters,
    width_mode,
)

CLUSTERS = [
    # text, cells in cluster mode, cells in code point mode
    ("e\u0301", 1, 1),
    ("漢", 2, 2),
    ("👍", 2, 2),
    ("👍🏽", 2, 4),
    ("☝🏽", 2, 3),
    ("|🏽", 1, 3),
    ("👩\u200d💻", 2, 4),
    ("❤\ufe0f", 2, 1),
    ("a\ufe0f", 1, 1),
    ("1\ufe0f\u20e3", 2, 1),
    ("🇯🇵", 2, 2),
    ("🇯", 1, 1),
    ("\u1112\u1161\u11ab", 2, 2),
    ("한", 2, 2),
    ("กำ", 1, 2),
    ("a\u200bb", 2, 2),
    ("a\u00adb", 2, 3),
    ("\U0001fae8", 2, 1),
]


@pytest.mark.parametrize(("text", "cluster", "codepoint"), CLUSTERS)
def test_a_text_takes_the_cells_of_its_mode(text: str, cluster: int, codepoint: int) -> None:
    """The cursor moves by the width that the mode gives the text."""
    for mode, cells in (("cluster", cluster), ("codepoint", codepoint)):
        emulator = PyteEmulator(Size(2, 20), width=mode)  # type: ignore[arg-type]
        emulator.feed(text.encode())

        assert emulator.snapshot().cursor.col == cells, mode


@pytest.mark.parametrize(("text", "cluster", "_codepoint"), CLUSTERS)
def test_cutting_a_text_into_cells_measures_as_the_emulator_does(
    text: str, cluster: int, _codepoint: int
) -> None:
    """Text read from a screen is cut into the cells that it was painted in."""
    assert len(split_cells(text)) == cluster
    assert "".join(split_cells(text)) == text


def test_clusters_are_told_with_their_cells() -> None:
    """Wide ones count twice, joined ones once."""
    assert split_clusters("a漢e\u0301👩\u200d💻") == [
        (1, "a"),
        (2, "漢"),
        (1, "e\u0301"),
        (2, "👩\u200d💻"),
    ]


def test_marks_of_the_unicode_database_join() -> None:
    """Every nonspacing mark that Python's database knows is of a joining kind."""
    mode = width_mode("cluster")
    marks = [chr(code) for code in range(0x300, 0x2FFF) if unicodedata.category(chr(code)) == "Mn"]
    strays = [char for char in marks if not mode.step(char, 0, 1, "a")[2]]

    assert len(marks) > 900
    assert strays == []


def test_wide_characters_of_the_unicode_database_are_wide() -> None:
    """Ideographs and syllables of East Asian Width W or F are two cells wide in both modes."""
    for name in ("cluster", "codepoint"):
        mode = width_mode(name)  # type: ignore[arg-type]
        wide = [
            char
            for char in map(chr, range(0x3400, 0xFFFF))
            if unicodedata.east_asian_width(char) in "WF" and unicodedata.category(char) == "Lo"
        ]

        assert len(wide) > 30_000
        assert [char for char in wide if mode.classify(char)[1] != 2] == []


def test_hangul_syllables_are_told_apart_by_their_tail() -> None:
    """A syllable without a final consonant takes one more; one with it does not take a vowel."""
    mode = width_mode("cluster")

    assert mode.classify("가") == (HANGUL_LV, 2)
    assert mode.classify("각") == (HANGUL_LVT, 2)
    assert mode.step("\u11a8", HANGUL_LV, 2, "가") == (7, 2, True)
    assert mode.step("\u1161", HANGUL_LVT, 2, "각")[0] == 6


def test_nothing_joins_across_a_control_function() -> None:
    """A mark after an escape sequence gets a cell of its own."""
    emulator = PyteEmulator(Size(2, 10))
    emulator.feed("a\x1b[1m\u0301b".encode())

    assert emulator.cells()[0][:4] == ["a", "\u0301", "b", " "]


def test_runs_tell_narrow_wide_and_special_characters_apart() -> None:
    """The run expression covers any text. Marks go with a narrow base; joiners come singly."""
    runs = width_mode("cluster").runs
    groups = [(m.lastindex, m.group()) for m in runs.finditer("aé\u0301─漢字👍👍\u0301x\u200d")]

    assert groups == [
        (1, "aé\u0301─"),
        (2, "漢字"),
        (2, "👍👍"),
        (3, "\u0301"),
        (1, "x"),
        (4, "\u200d"),
    ]


def test_kinds_have_their_widths() -> None:
    """A few classifications, and the kind of "nothing before"."""
    mode = width_mode("cluster")

    assert mode.classify("\u0301") == (EXTEND, 0)
    assert mode.classify("👍") == (PICTOGRAPH, 2)
    assert mode.step("\u0301", NO_JOIN, 0, "") == (EXTEND, 0, False)


def test_an_unknown_mode_is_refused() -> None:
    """The message names the modes that there are."""
    name: WidthModeName = "wide"  # type: ignore[assignment]

    with pytest.raises(ValueError, match="one of cluster, codepoint"):
        width_mode(name)


def test_the_memo_of_classifications_is_bounded() -> None:
    """Asking for a hundred thousand different characters keeps no more than the limit."""
    mode = width_mode("codepoint")
    for code in range(0x20000, 0x20000 + 70_000):
        mode.classify(chr(code))

    assert len(mode._memo) <= 1 << 16
