"""Fonts by name and by character, as fontconfig (``fc-match``) knows them, where it is there."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import msgspec
from PIL import ImageFont

from ptycassette.system.interpreter import program_of_ours

_FORMAT = "%{file}\\n%{index}\\n%{weight}\\n%{slant}\\n%{color}\\n%{family}\\n"
_BOLD = 180
"""The weight that fontconfig calls demibold, and all above it."""
_INDEX = 0xFFFF
"""What is above are named instances of a variable font."""


class FontFile(msgspec.Struct, frozen=True):
    """A font in a file; ``coloured`` if it holds pictures."""

    path: str
    index: int = 0
    bold: bool = False
    italic: bool = False
    coloured: bool = False


def named(name: str, *, bold: bool = False, italic: bool = False) -> FontFile | None:
    """A file, or a family; None if there is none of that name, or no such weight in a file."""
    if Path(name).is_file():
        return None if bold or italic else FontFile(str(Path(name)), coloured=_holds_pictures(name))
    style = f":weight={200 if bold else 80}:slant={100 if italic else 0}"
    found = _matched(f"{_escaped(name)}{style}")
    if found is not None and (name == "monospace" or name.casefold() in found[1].casefold()):
        return found[0]
    if bold or italic:
        return None
    try:
        return FontFile(str(ImageFont.truetype(name).path))  # in the folders that Pillow knows
    except OSError:
        return None


def with_character(char: str, *, picture: bool) -> FontFile | None:
    """A font that has a character, the one that fontconfig thinks fits best."""
    family = "emoji" if picture else "monospace"
    found = _matched(f"{family}:charset={ord(char):x}")
    return found[0] if found else None


@cache
def _matched(pattern: str) -> tuple[FontFile, str] | None:
    """The file that fontconfig names for a pattern, and its family."""
    program = program_of_ours("fc-match")
    if program is None:
        return None
    command = [program, "--format", _FORMAT, "--", pattern]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        path, index, weight, slant, color, family = done.stdout.split("\n")[:6]
        file = FontFile(
            path,
            int(index) & _INDEX,
            bold=_number(weight) >= _BOLD,
            italic=_number(slant) > 0,
            coloured=color == "True",
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return file, family


def _number(text: str) -> float:
    """The weight of a variable font is a range, of which we take the beginning."""
    return float(text.strip("[]").split(" ")[0] or 0)


def _escaped(name: str) -> str:
    return "".join(f"\\{char}" if char in "\\-:,=" else char for char in name)


def _holds_pictures(path: str) -> bool:
    """Whether a file is a font of pictures: it has no outlines to scale."""
    try:
        ImageFont.truetype(path, 15)
    except OSError:
        return True
    return False
