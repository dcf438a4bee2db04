"""Define each option of the exports once, for all formats that support it."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from ptycassette.errors import UsageError
from ptycassette.keys.quantities import parse_time

MAX_ROWS = 1_000_000
MAX_SPEED = 1000
FONT_PIXELS = (6, 72)
"""The smallest and the largest height of a font."""


class ExportOption(msgspec.Struct, frozen=True, kw_only=True):
    """An option of ``ptycassette export``; makers get its value as the keyword ``name``.

    ``kind`` is the kind of its value: a text, a time in seconds, a number of rows, no value
    (``flag``), one of ``choices`` (the first is the default), a range of numbers (a pair), files
    with reports of stand-ins (makers get their content), a number above 0 (``factor``), or a height
    in pixels. ``short`` is one letter, or empty; ``spelled`` is the name of an option that cannot
    be a keyword of Python, such as ``from``.
    """

    name: str
    kind: Literal[
        "text", "seconds", "rows", "flag", "choice", "range", "reports", "factor", "pixels"
    ]
    help: str
    short: str = ""
    choices: tuple[str, ...] = ()
    spelled: str = ""

    @property
    def flag(self) -> str:
        """The spelling of the option on the command line."""
        return f"--{self.spelled or self.name.replace('_', '-')}"

    def checked(self, value: object) -> Any:
        """A value that Python code gave, as makers take it. None is always allowed.

        A time is a number of seconds or a text such as ``1m30s``; a range a number, or a pair.
        Reports are passed on.

        Raises:
            UsageError: the option does not take this value.
        """
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        match self.kind:
            case _ if value is None:
                return None
            case "text":
                wanted, fits = "a text", isinstance(value, str)
            case "flag":
                wanted, fits = "True or False", isinstance(value, bool)
            case "choice":
                wanted, fits = f"one of {', '.join(self.choices)}", value in self.choices
            case "seconds":
                if isinstance(value, str):
                    try:
                        return parse_time(value)
                    except ValueError as wrong:
                        raise UsageError(f"{self.name}: {wrong}") from wrong
                wanted, fits = "a number of seconds, 0 or more", is_number and _within(value, 0)
            case "factor":
                wanted = f"a number above 0, at most {MAX_SPEED}"
                fits = is_number and value != 0 and _within(value, 0, MAX_SPEED)
            case "rows" | "pixels":
                least, most = (0, MAX_ROWS) if self.kind == "rows" else FONT_PIXELS
                wanted = f"a whole number from {least} to {most}"
                fits = is_number and isinstance(value, int) and _within(value, least, most)
            case "range":
                pair = (value, value) if is_number else value
                wanted = "a number from 1, or a pair of them such as (3, 7)"
                fits = _is_range(pair)
                value = pair
            case "reports":
                return value
        if not fits:
            raise UsageError(f"{self.name} cannot be {value!r}", hint=f"give {wanted}")
        return value


def _within(value: Any, least: float, most: float = math.inf) -> bool:
    return math.isfinite(value) and least <= value <= most


def _is_range(pair: object) -> bool:
    match pair:
        case (int(first), int(last)):
            return 0 < first <= last
    return False


EXPORT_OPTIONS = (
    ExportOption(
        name="title",
        short="t",
        kind="text",
        help="Set the title of the file. Default: the title of the recording.",
    ),
    ExportOption(
        name="idle_limit",
        short="i",
        kind="seconds",
        help="Shorten longer pauses to this time. Default: the limit of the recording (rec -i);"
        " pictures and html without one use 2 s.",
    ),
    ExportOption(name="theme", kind="choice", choices=("dark", "light"), help="Use these colours."),
    ExportOption(name="speed", kind="factor", help="Play FACTOR times faster than recorded."),
    ExportOption(
        name="start", spelled="from", kind="seconds", help="Start at this time (12.5, 250ms, 1:02)."
    ),
    ExportOption(
        name="end",
        spelled="to",
        kind="seconds",
        help="End at this time; png: show the screen at this time.",
    ),
    ExportOption(name="caption", kind="flag", help="Show the typed input below the screen."),
    ExportOption(
        name="font",
        kind="text",
        help="Use these fonts, by file or family, separated by commas; the next one fills the gaps"
        " of the one before.",
    ),
    ExportOption(
        name="font_size", kind="pixels", help="Set the height of the font to PIXELS. Default: 15."
    ),
    ExportOption(name="still", kind="flag", help="Write only the last frame, without animation."),
    ExportOption(name="with_input", kind="flag", help="Also write the typed input."),
    ExportOption(
        name="scrollback",
        kind="rows",
        help="Write up to ROWS scrolled-off rows above the last screen. Default: 10000.",
    ),
    ExportOption(
        name="frames", kind="flag", help="Write every frame below its time, instead of the session."
    ),
    ExportOption(
        name="all",
        kind="flag",
        help="Write every line that was ever on screen, once, also if it scrolled off or was"
        " erased.",
    ),
    ExportOption(
        name="exchanges",
        kind="range",
        help="Write only exchanges N to M, or N.",
    ),
    ExportOption(
        name="report",
        kind="reports",
        help="Also show the divergences in this report of a stand-in, or in a directory of"
        " reports.",
    ),
)
