"""Profiles: which queries a terminal answers, and with what.

``answers`` maps a question to its answer. Questions whose answer depends on the
state (``cpr``, ``decrqm``, ``cells``, colours) are answered when they are in the
map at all; their text in it is not used.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["DUMB", "PROFILES", "XTERM", "Profile"]

Color = tuple[int, int, int]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a terminal says of itself.

    ``cell_pixels`` is height and width. ``colors`` has ``foreground``,
    ``background`` and ``cursor``; ``palette`` the first 16 colours.
    ``capabilities`` are those of XTGETTCAP.
    """

    name: str
    answers: dict[str, str] = {}
    capabilities: dict[str, str] = {}
    cell_pixels: tuple[int, int] = (16, 8)
    colors: dict[str, Color] = {}
    palette: tuple[Color, ...] = ()


XTERM: Final = Profile(
    name="xterm",
    answers={
        "da1": "\x1b[?62;22c",
        "da2": "\x1b[>0;276;0c",
        "da3": "\x1bP!|00000000\x1b\\",
        "xtversion": "\x1bP>|ptycassette\x1b\\",
        "dsr": "",
        "cpr": "",
        "decrqm": "",
        "decrqss": "",
        "kitty-keyboard": "",
        "kitty-graphics": "",
        "pixels": "",
        "cell-pixels": "",
        "cells": "",
        "palette": "",
        "foreground": "",
        "background": "",
        "cursor": "",
        "color-scheme": "\x1b[?997;1n",
        "xtgettcap": "",
    },
    capabilities={
        "TN": "xterm-256color",
        "name": "xterm-256color",
        "Co": "256",
        "colors": "256",
        "RGB": "8",
    },
    colors={"foreground": (229, 229, 229), "background": (0, 0, 0), "cursor": (229, 229, 229)},
    palette=(
        (0, 0, 0),
        (205, 0, 0),
        (0, 205, 0),
        (205, 205, 0),
        (0, 0, 238),
        (205, 0, 205),
        (0, 205, 205),
        (229, 229, 229),
        (127, 127, 127),
        (255, 0, 0),
        (0, 255, 0),
        (255, 255, 0),
        (92, 92, 255),
        (255, 0, 255),
        (0, 255, 255),
        (255, 255, 255),
    ),
)
"""A modern xterm-like terminal with a dark background."""

DUMB: Final = Profile(name="dumb")
"""Answers nothing."""

PROFILES: Final = {profile.name: profile for profile in (XTERM, DUMB)}
