"""What an imported recording said that a cassette has no field of its own for."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ptycassette.model.manifest import Manifest

_SHELL = ("sh", "-c")


def kept_of(manifest: Manifest) -> Mapping[str, Any]:
    """What the header of an imported asciicast said; empty for other cassettes."""
    imported = (manifest.optional or {}).get("imported")
    kept = imported.get("kept") if isinstance(imported, dict) else None
    return kept if isinstance(kept, dict) else {}


def command_line(argv: Sequence[str]) -> str:
    """The line that makes a shell run ``argv``; of ``sh -c LINE``, as imports have it, the line.

    ``shlex.split`` gives the words again.
    """
    if tuple(argv[:2]) == _SHELL and len(argv) == len(_SHELL) + 1:
        return argv[2]
    return shlex.join(argv)


def marker_label(payload: Any) -> str | None:
    """The label of a service event that is a marker of an asciicast; None for others."""
    if isinstance(payload, dict) and payload.get("type") == "marker":
        label = payload.get("label")
        return label if isinstance(label, str) else None
    return None
