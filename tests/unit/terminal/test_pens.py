"""SGR: which style a list of parameters selects."""

from __future__ import annotations

import pytest

from ptycassette.model.screen import DEFAULT_STYLE, Size, Style
from ptycassette.terminal import grid as _pens
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.grid import Pens


def style(sequence: str) -> Style:
    """The style of a character painted after ``sequence``."""
    emulator = PyteEmulator(Size(1, 4))
    emulator.feed((sequence + "x").encode())
    runs = emulator.snapshot().styles[0]
    return runs[0].style if runs else DEFAULT_STYLE


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("", DEFAULT_STYLE),
        (
            "1;2;3;5;7;8;9;53",
            Style(
                bold=True,
                dim=True,
                italic=True,
                blink=True,
                reverse=True,
                hidden=True,
                strike=True,
                overline=True,
            ),
        ),
        ("1;2;3;4;5;7;8;9;53;22;23;24;25;27;28;29;55", DEFAULT_STYLE),
        ("6", Style(blink=True)),
        ("31;42", Style(fg=1, bg=2)),
        ("91;102", Style(fg=9, bg=10)),
        ("31;42;39;49", DEFAULT_STYLE),
        ("1;;31", Style(fg=1)),
        ("38;5;200", Style(fg=200)),
        ("48:5:300", Style(bg=44)),
        ("38;2;1;2;3", Style(fg="#010203")),
        ("38:2::1:2:3", Style(fg="#010203")),
        ("38:2:1:2:3", Style(fg="#020300")),
        ("38:2:0:1:2:3", Style(fg="#010203")),
        ("58:2::1:2:3;58;5;7", Style(underline_color=7)),
        ("58;5;7;59", DEFAULT_STYLE),
        ("4", Style(underline="single")),
        ("4:0", DEFAULT_STYLE),
        ("4:3", Style(underline="curly")),
        ("4:9", Style(underline="single")),
        ("4:", Style(underline="single")),
        ("21", Style(underline="double")),
        ("38;5", Style(fg=0)),
        ("38;2;9", Style(fg="#090000")),
        ("38", DEFAULT_STYLE),
        ("38;7;1;2;3;4;31", Style(fg=1)),
        ("38;0;1;2;3;4;5;31", Style(fg=1)),
        ("38;5:9", Style(fg=9)),
        ("38;2:0:1:2:3", Style(fg="#010203")),
        ("1;77;4", Style(bold=True, underline="single")),
    ],
)
def test_parameters_select_a_style(parameters: str, expected: Style) -> None:
    """As xterm.js reads them; ``38:2`` takes its values after the colour space."""
    assert style(f"\x1b[{parameters}m") == expected


def test_a_reset_keeps_the_link() -> None:
    """Hyperlinks are no part of SGR."""
    assert style("\x1b]8;;http://a\x1b\\\x1b[1m\x1b[m") == Style(link="http://a")
    assert style("\x1b]8;;http://a\x1b\\\x1b]8;;\x1b\\") == DEFAULT_STYLE
    assert style("\x1b]8;http://a\x1b\\") == DEFAULT_STYLE
    assert style("\x1b]8;id=1;\x1b\\") == DEFAULT_STYLE


def test_pens_are_interned() -> None:
    """The same style is the same pen, however it was reached; what is far too long is none."""
    pens = Pens()
    red = pens.apply(pens.default, "\x1b[31m")

    assert pens.apply(red, "\x1b[m") is pens.default
    assert pens.apply(pens.default, "\x1b[1m\x1b[0;31m") is red
    assert pens.apply(pens.default, "\x1b[31m") is red
    assert pens.apply(red, f"\x1b[{'1;' * 50_000}m") is red
    assert pens.default.next["\x1b[31m"] is red


def test_a_protected_pen_is_another_one() -> None:
    """Of the same style; SGR changes it, and a reset ends its protection."""
    pens = Pens()
    kept = pens.protect(pens.apply(pens.default, "\x1b[31m"), protected=True)
    bold = pens.apply(kept, "\x1b[1m")

    assert [_pens.is_protected(pen.style) for pen in (kept, bold)] == [True, True]
    assert _pens.public_style(bold.style) == Style(fg=1, bold=True)
    assert pens.apply(bold, "\x1b[m") is pens.of(DEFAULT_STYLE)
    assert not _pens.is_protected(pens.protect(kept, protected=False).style)


@pytest.mark.parametrize(
    ("colours", "most_pens", "most_texts"),
    [
        (400, 64, 128),
        (400, 500, 128),
        pytest.param(40_000, 1 << 14, 1 << 15, marks=pytest.mark.slow),
    ],
)
def test_the_tables_of_pens_are_bounded(
    monkeypatch: pytest.MonkeyPatch, colours: int, most_pens: int, most_texts: int
) -> None:
    """A program that uses every colour once does not fill the memory, and gets each."""
    monkeypatch.setattr(_pens, "_PEN_LIMIT", most_pens)
    monkeypatch.setattr(_pens, "_NEXT_LIMIT", most_texts)
    pens = Pens()
    for number in range(colours):
        red, green = number >> 8 & 255, number & 255
        pen = pens.apply(pens.default, f"\x1b[48;2;{red};{green};1m")
        assert pen.style.bg == pen.erase.bg == f"#{red:02x}{green:02x}01"

    assert len(pens._pens) <= most_pens
    assert sum(len(pen.next) for pen in pens._pens.values()) <= most_texts
