"""What the manifest of an edited cassette says was done to which recordings."""

from __future__ import annotations

from typing import Final

from ptycassette.model import Manifest

EDITED_KEY: Final = "edited"


def edits_of(manifest: Manifest) -> tuple[str, ...]:
    """The names of the edits, the first one first; empty for a recording as it was made.

    What is not a list of edits, in a cassette that somebody else made, is none.
    """
    said = (manifest.optional or {}).get(EDITED_KEY)
    if not isinstance(said, list):
        return ()
    names = [one.get("operation") for one in said if isinstance(one, dict)]
    return tuple(name for name in names if isinstance(name, str))
