r"""Profiles: which queries a terminal answers, and with what.

``answers`` maps a question to its answer. Questions whose answer depends on the
state (``cpr``, ``decrqm``, ``cells``, colours) are answered when they are in the
map at all; their text in it is not used.

``profile_of(text)`` reads one that a user wrote, in TOML::

    name = "mine"
    extends = "xterm"            # or "dumb", which is where one begins without it
    unanswered = ["xtgettcap"]
    cell_pixels = [20, 10]

    [answers]
    da1 = "\u001b[?1;2c"

    [colors]
    background = [255, 255, 255]
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from ptycassette.model.resolved_types import resolved
from ptycassette.model.toml_text import parse_toml

Color = tuple[int, int, int]


class QueryProfile(msgspec.Struct, frozen=True, kw_only=True):
    """How a terminal answers queries.

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


XTERM: Final = QueryProfile(
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

DUMB: Final = QueryProfile(name="dumb")
"""Answers nothing."""

PROFILES: Final = {profile.name: profile for profile in (XTERM, DUMB)}

_QUESTIONS: Final = frozenset({*XTERM.answers, "answerback"})
_COLORS: Final = ("foreground", "background", "cursor")


class _Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A profile as a user writes it. Missing fields come from the profile it extends."""

    name: str
    extends: str = "dumb"
    unanswered: tuple[str, ...] = ()
    answers: dict[str, str] = {}
    capabilities: dict[str, str] = {}
    cell_pixels: tuple[int, int] | None = None
    colors: dict[str, Color] = {}
    palette: tuple[Color, ...] | None = None


def query_profile_of(text: str | bytes) -> QueryProfile:
    """The profile that a TOML text describes.

    Raises:
        ValueError: it is not TOML or not a profile; the message says what is wrong.
    """
    try:
        raw = parse_toml(text if isinstance(text, str) else text.decode())
        written = msgspec.convert(raw, resolved(_Written))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    base = PROFILES.get(written.extends)
    if base is None:
        raise ValueError(f"extends {written.extends!r}; there are: {', '.join(PROFILES)}")
    _check_names("question", {*written.unanswered, *written.answers}, _QUESTIONS)
    _check_names("colour", set(written.colors), _COLORS)
    answers = {**base.answers, **written.answers}
    profile = QueryProfile(
        name=written.name,
        answers={key: answer for key, answer in answers.items() if key not in written.unanswered},
        capabilities={**base.capabilities, **written.capabilities},
        cell_pixels=base.cell_pixels if written.cell_pixels is None else written.cell_pixels,
        colors={**base.colors, **written.colors},
        palette=base.palette if written.palette is None else written.palette,
    )
    parts = [part for color in (*profile.colors.values(), *profile.palette) for part in color]
    if not all(0 <= part <= 255 for part in parts) or min(profile.cell_pixels) < 1:
        raise ValueError("colours are three numbers from 0 to 255, pixels 1 or more")
    return profile


def _check_names(what: str, names: set[str], known: Collection[str]) -> None:
    unknown = sorted(names.difference(known))
    if unknown:
        raise ValueError(f"no such {what}: {unknown[0]!r}; there are: {', '.join(sorted(known))}")
