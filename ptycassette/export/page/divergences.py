"""Divergences in reports of stand-ins, as items of the list beside the screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptycassette.export.page.item import Item
from ptycassette.replaying.standin.reported import ReportedDivergence, reported_divergences


def reported_items(reports: Iterable[dict[str, Any]], cassette_id: str) -> list[Item]:
    """The divergences from one cassette; see ``reported_divergences``.

    Raises:
        UsageError: they are no such reports, or about other recordings.
    """
    return [_item(found) for found in reported_divergences(reports, cassette_id)]


def _item(found: ReportedDivergence) -> Item:
    lines = [f"{name}: {text}" for name, text in found.sides]
    return Item(
        kind="divergence",
        seq=found.seq,
        t_us=found.t_ms * 1000,
        label="divergence",
        text=f"{found.kind}: {found.message}",
        bodies=(("what to do", "\n".join([*lines, *filter(None, [found.hint])])),),
    )
