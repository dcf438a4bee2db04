"""The manifest fields on the origin of a recording: an edit, or a block of ``use_tape``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ptycassette.cassette.layout import is_sha256
from ptycassette.errors import UsageError
from ptycassette.model.records import Finished, JournalEvent, Manifest, Noted

EDITED_KEY: Final = "edited"

_OLD_MANIFESTS: Final = "migrated"
"""Holds whole manifests of earlier forms, with the digests of the output at that time."""


def refuse_in_process(manifest: Manifest, where: object) -> None:
    """Refuse to do with a recording of a block of ``use_tape`` what needs a program.

    Raises:
        UsageError: it is one.
    """
    if "in_process" in (manifest.optional or {}):
        raise UsageError(
            "this is the recording of a Python function, not of a program",
            where=str(where),
            hint="replay it with use_tape, see its turns with ptycassette play",
        )


def edits_of(manifest: Manifest) -> tuple[str, ...]:
    """The names of the edits, the first one first; empty for a recording that was not edited.

    A field of another form, in a cassette that another tool made, counts as empty.
    """
    said = (manifest.optional or {}).get(EDITED_KEY)
    if not isinstance(said, list):
        return ()
    names = [one.get("operation") for one in said if isinstance(one, dict)]
    return tuple(name for name in names if isinstance(name, str))


def without_old_digests(value: Any) -> Any:
    """The part of a document that stays when content was removed from its recording.

    A digest of the old content lets a reader check guesses about the removed part: a six-digit
    number is found in a second. So every member that is a SHA-256 is left out, at any depth, and
    so are manifests of earlier forms.

    Args:
        value: JSON on the origin of a recording (``optional.edited``, ``optional.imported``,
            ``metadata.fork``).
    """
    if isinstance(value, Mapping):
        return {
            name: without_old_digests(one)
            for name, one in value.items()
            if name != _OLD_MANIFESTS and not (isinstance(one, str) and is_sha256(one))
        }
    if isinstance(value, list | tuple):
        return [without_old_digests(one) for one in value]
    return value


def event_without_old_digests(event: JournalEvent) -> JournalEvent:
    """The event; where it names the parent of a fork, without the parent's digest."""
    replace = msgspec.structs.replace
    match event:
        case Noted(payload={"type": "fork"} as payload):
            return replace(event, payload=without_old_digests(payload))
        case Finished(metadata=dict(metadata)) if "fork" in metadata:
            origin = without_old_digests(metadata["fork"])
            return replace(event, metadata={**metadata, "fork": origin})
        case _:
            return event
