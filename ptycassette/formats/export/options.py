"""Define each option of the exports once, for all formats that support it."""

from __future__ import annotations

from typing import Literal

import msgspec


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
