"""What a child says of its origin: the parent, the place, the change, the proof. Pure.

It is a service event of type ``fork`` where the change was made, so all before it is the verified
prefix and all after it is the delta; and ``metadata.fork`` of ``final.json``, which says the same
in a place that is found at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible

FORK = "fork"
"""The type of the service event, and the name in the metadata."""


class ParentOf(msgspec.Struct, frozen=True, kw_only=True):
    """Which recording was forked: its id, and the SHA-256 of its ``manifest.json``.

    The digest is empty in a child from which an edit removed something: it would let a reader
    check guesses about what was removed.
    """

    id: str
    manifest_sha256: str = ""


class PrefixProof(msgspec.Struct, frozen=True, kw_only=True):
    """What was verified before the change.

    Attributes:
        entries: the entries of the parent's tape that were asked for and equal.
        fingerprint: recomputed from what was asked and served for these; empty without a tape.
        screens: how many screens were awaited and equal.
        inputs: how many inputs were sent.
    """

    entries: tuple[int, ...] = ()
    fingerprint: str = ""
    screens: int = 0
    inputs: int = 0


class ForkRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a child.

    Attributes:
        type: of the service event.
        parent: which recording.
        at: the place, ``exchange:3`` or ``tape:2``.
        change: what was changed, and ``value`` to what.
        tail: who answered afterwards.
        prefix: what was verified.
    """

    type: str = FORK
    parent: ParentOf
    at: str
    change: str
    value: str
    tail: str
    prefix: PrefixProof

    @property
    def changed(self) -> str:
        """The change for people: ``input=TEXT``, or ``skip``."""
        return f"{self.change}={self.value}" if self.value else self.change

    @property
    def line(self) -> str:
        """Place, change and proof in one line, safe to show."""
        change = visible(self.changed, limit=60)
        return (
            f"at {visible(self.at, limit=20)}: {change} ({visible(self.tail, limit=20)};"
            f" verified: requests {len(self.prefix.entries)}, screens {self.prefix.screens})"
        )


def fork_of(metadata: Mapping[str, Any] | None) -> ForkRecord | None:
    """The origin that a final record tells; None where it tells none, or nonsense."""
    said = (metadata or {}).get(FORK)
    if said is None:
        return None
    try:
        return msgspec.convert(said, resolved(ForkRecord))
    except msgspec.ValidationError:
        return None
