"""A line of the list beside the screen."""

from __future__ import annotations

from typing import Literal

import msgspec

ItemKind = Literal[
    "input", "terminal", "resize", "signal", "service", "model", "tool", "message", "end",
    "divergence",
]  # fmt: skip


class Item(msgspec.Struct, kw_only=True):
    """A line of the list. ``label`` is ours; ``text`` and ``bodies`` are as others wrote them.

    ``seq`` is its place; None for that of the last event before its time.
    """

    kind: ItemKind
    seq: int | None
    t_us: int
    label: str
    text: str = ""
    bodies: tuple[tuple[str, str], ...] = ()
    """Of each its title and what is in it, in lines."""
