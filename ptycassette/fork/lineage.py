"""Where recordings come from: parents and children, by the digests of their manifests. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ptycassette.fork.record import ForkRecord
from ptycassette.model.visible_text import visible

_SHORT = 12


class Descent(msgspec.Struct, frozen=True, kw_only=True):
    """A recording and its origin, None if it is no child. ``sha256`` is of its manifest."""

    path: str
    id: str
    sha256: str
    origin: ForkRecord | None = None


def lineage_lines(recordings: Sequence[Descent]) -> Iterator[str]:
    """Trees: each child two columns to the right of its parent, missing parents said."""
    for root, children in _roots(recordings):
        if isinstance(root, Descent):
            yield from _tree(root, recordings, depth=0)
            continue
        yield f"missing parent {root[:_SHORT]} (id {visible(children[0].id, limit=40)})"
        for child in children[1:]:
            yield from _tree(child, recordings, depth=1)


def lineage_json(recordings: Sequence[Descent]) -> dict[str, Any]:
    """The same for programs: each recording with its origin."""
    known = {one.sha256 for one in recordings}
    return {
        "recordings": [
            {
                **msgspec.to_builtins(one),
                "parent_found": one.origin is not None
                and one.origin.parent.manifest_sha256 in known,
            }
            for one in recordings
        ]
    }


def related(recordings: Sequence[Descent], path: str) -> list[Descent]:
    """The recordings of the tree that the one of this path belongs to."""
    wanted = {one.sha256 for one in recordings if one.path == path}
    wanted |= {_parent(one) for one in recordings if one.path == path} - {""}
    while True:
        more = {
            digest
            for one in recordings
            if wanted & {one.sha256, _parent(one)}
            for digest in (one.sha256, _parent(one))
            if digest
        }
        if more <= wanted:
            return [one for one in recordings if one.sha256 in wanted]
        wanted |= more


def _roots(
    recordings: Sequence[Descent],
) -> Iterator[tuple[Descent | str, Sequence[Descent]]]:
    """Recordings without a parent, and parents that are not there, with their children."""
    known = {one.sha256 for one in recordings}
    missing: dict[str, list[Descent]] = {}
    for one in recordings:
        if one.origin is None:
            yield one, ()
        elif _parent(one) not in known:
            first = Descent(path="", id=one.origin.parent.id, sha256=_parent(one))
            missing.setdefault(_parent(one), [first]).append(one)
    yield from missing.items()


def _tree(one: Descent, recordings: Sequence[Descent], *, depth: int) -> Iterator[str]:
    said = "" if one.origin is None else f"  {one.origin.line}"
    yield f"{'  ' * depth}{visible(one.path)}  {one.sha256[:_SHORT]}{said}"
    for child in recordings:
        if _parent(child) == one.sha256 and child.sha256 != one.sha256:
            yield from _tree(child, recordings, depth=depth + 1)


def _parent(one: Descent) -> str:
    return "" if one.origin is None else one.origin.parent.manifest_sha256
