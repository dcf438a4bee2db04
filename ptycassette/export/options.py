"""The options of exports: each once, for all formats that take it."""

from __future__ import annotations

from typing import Literal

import msgspec


class ExportOption(msgspec.Struct, frozen=True, kw_only=True):
    """An option of ``ptycassette export``; makers get its value as the keyword ``name``.

    ``kind`` is the kind of its value: a text, a time in seconds, a number of rows, nothing
    (``flag``), one of ``choices``, of which the first is the default, a range of numbers (a pair),
    reports of stand-ins, of which makers get the content, a number above 0 (``factor``), or a
    height in pixels. ``short`` is one letter, or empty; ``spelled`` is the option where it cannot
    be a keyword of Python, as ``from``.
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
        """Its spelling on the command line."""
        return f"--{self.spelled or self.name.replace('_', '-')}"


EXPORT_OPTIONS = (
    ExportOption(name="title", short="t", kind="text", help="A title for the picture or the file."),
    ExportOption(
        name="idle_limit",
        short="i",
        kind="seconds",
        help="Shorten pauses to this (pictures, html: 2 s unless given).",
    ),
    ExportOption(name="theme", kind="choice", choices=("dark", "light"), help="The colours."),
    ExportOption(name="speed", kind="factor", help="So many times as fast as recorded."),
    ExportOption(name="start", spelled="from", kind="seconds", help="From this moment on."),
    ExportOption(
        name="end", spelled="to", kind="seconds", help="Until this moment; png: the screen then."
    ),
    ExportOption(name="caption", kind="flag", help="Below the screen, what was typed."),
    ExportOption(
        name="font",
        kind="text",
        help="Files or families of fonts, with commas: for the text, then for what that one lacks.",
    ),
    ExportOption(name="font_size", kind="pixels", help="Height of the font (15 unless given)."),
    ExportOption(name="still", kind="flag", help="The last frame alone, no animation."),
    ExportOption(name="with_input", kind="flag", help="Also what was typed."),
    ExportOption(
        name="scrollback",
        kind="rows",
        help="Above the last screen, up to so many rows that scrolled off (10000 unless given).",
    ),
    ExportOption(
        name="frames", kind="flag", help="Instead of the session every frame, below its time."
    ),
    ExportOption(
        name="all",
        kind="flag",
        help="Every line that was ever shown, once each: also what scrolled off or was erased.",
    ),
    ExportOption(
        name="exchanges",
        kind="range",
        help="Only these exchanges: 3-7, or 3.",
    ),
    ExportOption(
        name="report",
        kind="reports",
        help="Also the divergences in this report of a stand-in, or directory of reports.",
    ),
)
