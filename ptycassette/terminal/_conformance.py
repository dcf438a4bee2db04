"""Conformance cases: where an emulator differs from the default one, and why, if known.

Tests of its own compare the default emulator with xterm.js, so it is the reference here. Each case
is one feature in a few bytes, on a screen of 5 rows by 20 columns; a step may be a size. The author
of another backend can call ``differences(factory)`` in a test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from ptycassette.model.ports import Emulator, EmulatorFactory
from ptycassette.model.screen import Screen, Size
from ptycassette.terminal.emulator import EMULATOR_NAME, default_emulator

Step = str | bytes | Size

SIZE: Final = Size(5, 20)

CASES: Final[dict[str, tuple[Step, ...]]] = {
    "text and line ends": ("hello\r\nworld",),
    "wrap": ("abcdefghijklmnopqrstuvwxyz",),
    "wrap pending, then a character": ("x" * 20 + "\x1b[1Ay",),
    "wide characters": ("漢字 ok\r\n" + "x" * 19 + "漢",),
    "half of a wide character overwritten": ("漢字\x1b[2Gx",),
    "clusters: ZWJ, VS16, marks": ("👩\u200d💻 ❤\ufe0f e\u0301 👍🏽|",),
    "flags": ("🇯🇵🇺🇸|",),
    "line drawing, SO and SI": ("\x1b(0lqqk\x1b(B\x1b)0\x0ex\x0fx",),
    "colours and attributes": ("\x1b[1;2;3;5;7;8;9;53mx\x1b[0;31;44my\x1b[38;5;200;48;2;1;2;3mz",),
    "underlines": ("\x1b[4:3ma\x1b[4:5mb\x1b[21mc\x1b[58:2::1:2:3;4md",),
    "erasing in a colour": ("\x1b[41m\x1b[2J\x1b[H\x1b[44m\x1b[K",),
    "cursor movement": ("\x1b[2;3Hx\x1b[A\x1b[2Dy\x1b[3Ez\x1b[Fw\x1b[9Gv\x1b[4du",),
    "erasing": ("abcdef\x1b[3D\x1b[1K\x1b[2;1Habc\x1b[1D\x1b[X\x1b[1J",),
    "insert and delete": ("abcdef\x1b[1G\x1b[2@\x1b[1C\x1b[P\x1b[4hXY\x1b[4l",),
    "lines": ("a\r\nb\r\nc\r\nd\x1b[2;1H\x1b[L\x1b[4;1H\x1b[M",),
    "margins": ("\x1b[2;3r\x1b[3;1Ha\nb\nc\x1b[r\x1b[5;1Hd",),
    "scrolling": ("a\r\nb\r\nc\x1b[S\x1b[2T\x1bM",),
    "origin mode": ("\x1b[2;4r\x1b[?6h\x1b[1;1Hx\x1b[9;1Hy\x1b[?6l",),
    "tabs": ("\ta\tb\x1b[Zc\x1b[3g\r\x1b[5C\x1bH\r\td",),
    "repetition": ("a\x1b[3b",),
    "saved cursor": ("ab\x1b7\x1b[3;3H\x1b[1m\x1b8c\x1b[s\x1b[H\x1b[ud",),
    "alternate screen": ("main\x1b[?1049h\x1b[Halt\x1b[?1049l!",),
    "alternate screen 47": ("main\x1b[?47h\x1b[Halt",),
    "autowrap off": ("\x1b[?7l" + "x" * 25 + "y",),
    "reverse wrap": ("x" * 22 + "\x1b[?45h\x08\x08\x08y",),
    "alignment": ("\x1b#8",),
    "soft reset": ("\x1b[4h\x1b[1m\x1b[2;3r\x1b[!pabc",),
    "full reset": ("abc\x1b[1m\x1b[?6h\x1bcd",),
    "new line mode": ("\x1b[20hab\ncd",),
    "title": ("\x1b]2;a title\x07x\x1b]0;another\x1b\\",),
    "links": ("\x1b]8;;http://a\x1b\\ab\x1b]8;;\x1b\\c",),
    "strings swallowed": ("a\x1bPq#0\x1b\\b\x1b_x\x1b\\c\x1b^y\x1b\\d\x1bXz\x1b\\e",),
    "unknown sequences": ('a\x1b[<u\x1b[=5;1u\x1b[>4;2m\x1b[?4m\x1b[1"pb\x1b Fc',),
    "CAN and SUB": ("a\x1b[3\x18b\x1b[4\x1ac",),
    "cursor hidden": ("\x1b[?25lx",),
    "grown wider": ("x" * 30 + "\r\ny", Size(5, 40)),
    "made narrower": ("x" * 15 + "\r\ny", Size(5, 10)),
    "made lower and higher": ("a\r\nb\r\nc\r\nd\r\ne", Size(3, 20), Size(6, 20)),
    "cursor saved with the wrap pending": ("\x1b[1;20HX\x1b7\x1b[3;5H\x1b8Y",),
    "erasing with the wrap pending": ("x" * 20 + "\x1b[Ky",),
    "half a flag": ("🇦|",),
    "a skin tone on its own": ("a🏽|",),
    "VS15": ("⌚\ufe0e|",),
    "a dash three em long": ("⸻|",),
    "DEL": ("a\x7fb",),
    "tab stop cleared by default": ("\x1b[9G\x1b[g\r\tx",),
    "malformed UTF-8": (b"a\xffb\xe2\x82c",),
}
"""The steps of each case, by its name."""

KNOWN: Final[dict[str, dict[str, str]]] = {
    "ghostty": {
        "soft reset": "DECSTR is ignored",
        "cursor saved with the wrap pending": "the wrap is still pending after DECRC, as in xterm",
        "erasing with the wrap pending": "EL ends a pending wrap, as in xterm",
        "half a flag": "one regional indicator takes two cells",
        "a skin tone on its own": "it joins only an emoji, and takes two cells",
        "VS15": "a character shown as text takes one cell",
        "a dash three em long": "U+2E3B takes two cells",
        "DEL": "DEL is painted",
        "tab stop cleared by default": "TBC without a parameter clears nothing",
        "malformed UTF-8": "U+FFFD replaces malformed bytes; xterm.js drops them",
    },
    "stock-pyte": {
        "wrap pending, then a character": "CUU ends the pending wrap, and no cell is overwritten",
        "wide characters": "a wide character that does not fit is cut in half, not wrapped",
        "half of a wide character overwritten": "the other half stays",
        "clusters: ZWJ, VS16, marks": "code points are counted, joiners and selectors dropped",
        "flags": "a flag takes four cells",
        "line drawing, SO and SI": "character sets are ignored in UTF-8",
        "colours and attributes": "no dim, hidden or overline; palette colours become RGB",
        "underlines": "colons end a sequence, whose rest is painted; one kind of underline",
        "erasing in a colour": "ED and EL of all but the cursor's row forget the colour",
        "scrolling": "SU and SD are ignored",
        "origin mode": "CUP beyond the margins is ignored",
        "tabs": "CBT is ignored",
        "repetition": "REP is ignored",
        "saved cursor": "SCOSC and SCORC are ignored",
        "alternate screen": "not supported",
        "alternate screen 47": "not supported",
        "reverse wrap": "BS stops at the margin",
        "soft reset": "DECSTR is painted",
        "links": "OSC 8 is dropped",
        "strings swallowed": "DCS, APC, PM and SOS are painted",
        "unknown sequences": "the rest of a sequence with <, =, > or an intermediate is painted",
        "grown wider": "lines are not wrapped again",
        "made narrower": "lines are cut",
        "made lower and higher": "rows that were taken from the top do not come back",
        "half a flag": "one regional indicator takes two cells",
        "a skin tone on its own": "it joins nothing, and takes two cells",
        "VS15": "the selector is dropped",
        "malformed UTF-8": "U+FFFD replaces malformed bytes; xterm.js drops them",
    },
}
"""Differences whose cause is known, by backend."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One case with another result. ``what`` names the fields; ``why`` is empty if unknown."""

    case: str
    what: tuple[str, ...]
    expected: Screen
    got: Screen
    why: str = ""

    def __str__(self) -> str:
        why = self.why or "not looked into"
        return f"{self.case}: {', '.join(self.what)} ({why})"


def differences(factory: EmulatorFactory) -> tuple[Difference, ...]:
    """The cases in which an emulator's screen differs from that of the default one.

    Compared are rows, cursor, title, size, styles and which buffer is shown.
    """
    found = []
    for name, steps in CASES.items():
        expected, emulator = default_emulator(SIZE), factory(SIZE)
        for each in (expected, emulator):
            _perform(each, steps)
        what = tuple(_differing(expected.snapshot(), emulator.snapshot()))
        if what:
            why = KNOWN.get(emulator.identity.name, {}).get(name, "")
            found.append(
                Difference(
                    case=name,
                    what=what,
                    expected=expected.snapshot(),
                    got=emulator.snapshot(),
                    why=why,
                )
            )
    return tuple(found)


def table_lines(found: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """A Markdown table of the default emulator and others: the cases in which any differs.

    Args:
        found: the differences of each other emulator by case, by its name.
    """
    total = len(CASES)
    yield f"| case | {EMULATOR_NAME} (the default) | " + " | ".join(found) + " |"
    yield "|---|---|" + "---|" * len(found)
    agreeing = [f"{total - len(cases)} of {total}" for cases in found.values()]
    yield f"| **as xterm.js** | {total} of {total} | " + " | ".join(agreeing) + " |"
    for case in CASES:
        cells = [cases.get(case, "") for cases in found.values()]
        if any(cells):
            yield f"| {case} | yes | " + " | ".join(cell or "yes" for cell in cells) + " |"


def _perform(emulator: Emulator, steps: tuple[Step, ...]) -> None:
    for step in steps:
        if isinstance(step, Size):
            emulator.resize(step)
        else:
            emulator.feed(step if isinstance(step, bytes) else step.encode())


def _differing(expected: Screen, got: Screen) -> list[str]:
    names = ("rows", "cursor", "title", "size", "alt_screen")
    unlike = [name for name in names if getattr(expected, name) != getattr(got, name)]
    if "rows" not in unlike and expected.styles != got.styles:
        unlike.append("styles")
    return unlike
