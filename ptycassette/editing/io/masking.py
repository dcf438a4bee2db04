"""Masks on disk: a cassette in, a new one out; and how a screen of it will look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ptycassette.cassette.io.reader import Cassette
from ptycassette.editing.io.editing import Edited, Operation, edit_cassettes, take_of
from ptycassette.editing.masking import Mask, Region, mask, masked_screen
from ptycassette.editing.session import BadEditError
from ptycassette.errors import UsageError
from ptycassette.model.screen import Screen
from ptycassette.scrub.search._known import SHORTEST_KNOWN


def mask_cassette(path: Path, what: Mask, target: Path, *, overwrite: bool = False) -> Edited:
    """Publish a cassette in which something is masked; the old one stays as it is.

    Args:
        path: of the cassette.
        what: to mask.
        target: where the new cassette will be.
        overwrite: replace the cassette that is there.

    Raises:
        UsageError: a word is too short, or nothing is there.
        CassetteError: it cannot be read, or the new one cannot be written.
    """
    for word in what.words:
        if len(word.strip()) < SHORTEST_KNOWN:
            raise UsageError(
                f"a word has {SHORTEST_KNOWN} characters or more: shorter ones are part of other"
                " words",
                hint="mask the region in which it is shown",
            )
    operation = Operation(
        name="mask",
        arguments=_said(what),
        of=lambda takes: mask(takes[0], what),
        hidden=what.words,
    )
    return edit_cassettes([path], operation, target, overwrite=overwrite)


def _said(what: Mask) -> dict[str, Any]:
    """What the manifest says; not the words."""
    if what.words:
        return {"what": "words"}
    stretch: dict[str, Any] = {"start_us": what.start_us}
    if what.end_us is not None:
        stretch["end_us"] = what.end_us
    if what.region is None:
        return {"what": "stretch", **stretch}
    return {"what": "region", **stretch, "region": region_text(what.region)}


def region_text(region: Region) -> str:
    """A region as the option ``--region`` takes it."""
    return f"{region.row},{region.column}:{region.columns}x{region.rows}"


def preview_mask(cassette: Cassette, what: Mask, seq: int) -> Screen:
    """The screen after an event, as it will look with a region or a stretch masked.

    Args:
        cassette: open.
        what: to mask; no words.
        seq: of the event.

    Raises:
        UsageError: nothing is there to mask.
        CassetteError: it cannot be read.
    """
    paintings = sum(
        event.kind == "output" or getattr(event.record, "kind", "") == "resize"
        for event in cassette.events()
        if event.seq <= seq
    )
    try:
        return masked_screen(take_of(cassette), what, paintings)
    except BadEditError as exc:
        raise UsageError(str(exc)) from exc
