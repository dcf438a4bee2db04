"""The hash of a screen: equal screens have equal hashes, on every machine, in every version.

SHA-256 over the screen's canonical JSON: size, rows, styles, cursor, title,
alternate screen, modes (sorted). Fields at their default are left out, so that a
style gaining a field does not change the hashes of screens that do not use it.
"""

from __future__ import annotations

import hashlib

import msgspec

from ptycassette.model import Screen

__all__ = ["screen_hash"]


def screen_hash(screen: Screen) -> str:
    """64 lower-case hexadecimal digits."""
    picture = {
        "size": screen.size,
        "rows": screen.rows,
        "styles": screen.styles,
        "cursor": screen.cursor,
        "title": screen.title,
        "alt_screen": screen.alt_screen,
        "modes": sorted(screen.modes),
    }
    return hashlib.sha256(msgspec.json.encode(picture, order="deterministic")).hexdigest()
