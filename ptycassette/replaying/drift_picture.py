"""The screens of an exchange that drifted, on both sides."""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.model.screen import Screen
from ptycassette.replaying.drifts import DriftChange
from ptycassette.replaying.stored import screen_object


class DriftPicture(msgspec.Struct, frozen=True, kw_only=True):
    """An exchange that drifted: what changed, and the last screens of both sides.

    ``old`` and ``new`` are its numbers; 0 is before any input. A screen is None if that side has
    no such exchange.
    """

    old: int
    new: int
    changes: tuple[DriftChange, ...]
    before: Screen | None
    now: Screen | None


def picture_object(picture: DriftPicture) -> dict[str, Any]:
    """A picture as JSON."""
    return {
        "old": picture.old,
        "new": picture.new,
        "changes": [
            {"kind": one.kind, "what": one.what, "expected": one.expected, "got": one.got}
            for one in picture.changes
        ],
        "before": picture.before and screen_object(picture.before),
        "now": picture.now and screen_object(picture.now),
    }
