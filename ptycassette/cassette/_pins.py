"""What a caller pins: this id, this digest, this emulator, and no other.

Checked in this order, after the manifest has been found valid. An emulator
that is required but missing is reported before one that differs.
"""

from __future__ import annotations

from typing import Any

from ptycassette.errors import (
    DigestPinError,
    EmulatorMissingError,
    EmulatorPinError,
    IdPinError,
)
from ptycassette.model.manifest import EmulatorId, Manifest
from ptycassette.model.visible_text import visible


def require_any_emulator(document: Any, required: EmulatorId | None, *, where: str) -> None:
    """Check in a manifest not yet validated that it names an emulator, if one is required.

    Raises:
        EmulatorMissingError: it names none.
    """
    if required is None:
        return
    terminal = document.get("terminal") if isinstance(document, dict) else None
    emulator = terminal.get("emulator") if isinstance(terminal, dict) else None
    if isinstance(emulator, dict) and emulator.get("name") and emulator.get("version"):
        return
    raise EmulatorMissingError(
        f"the emulator {_shown(required)} is required, and the manifest names none",
        where=where,
        hint="record it again with an emulator, or do not require one",
    )


def check_pins(
    manifest: Manifest,
    *,
    where: str,
    expect_id: str | None = None,
    expect_sha256: str | None = None,
    require_emulator: EmulatorId | None = None,
) -> None:
    """Check a valid manifest against what the caller pins; None pins nothing.

    An empty ``version`` in ``require_emulator`` allows any version.

    Raises:
        IdPinError: another id.
        DigestPinError: another digest of ``output.raw``.
        EmulatorPinError: another emulator, or another version of it.
    """
    hint = "it was recorded again or replaced: look at what changed, then update the pin"
    if expect_id is not None and manifest.id != expect_id:
        raise IdPinError(
            f"expected the id {visible(expect_id)}, and it is {visible(manifest.id, limit=200)}",
            where=where,
            hint=hint,
        )
    digest = manifest.content_digest.sha256
    if expect_sha256 is not None and digest != expect_sha256.lower():
        raise DigestPinError(
            f"expected the digest {visible(expect_sha256)}, and it is {digest}",
            where=where,
            hint=hint,
        )
    if require_emulator is None:
        return
    found = manifest.terminal.emulator
    same_version = require_emulator.version in {"", found.version}
    if found.name != require_emulator.name or not same_version:
        raise EmulatorPinError(
            f"the emulator {_shown(require_emulator)} is required, "
            f"and the frames were made by {_shown(found)}",
            where=where,
            hint="derive the frames again with the required emulator, or record again",
        )


def _shown(emulator: EmulatorId) -> str:
    return visible(f"{emulator.name} {emulator.version}".strip(), limit=200)
