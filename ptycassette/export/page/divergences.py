"""Divergences in reports of stand-ins, as items of the list beside the screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ptycassette.errors import UsageError
from ptycassette.export.page.item import Item
from ptycassette.model import resolved


class _Said(msgspec.Struct, frozen=True):
    text: str = ""


class _Divergence(msgspec.Struct, frozen=True):
    kind: str
    message: str
    seq: int
    t_ms: int
    expected: _Said | None = None
    got: _Said | None = None
    hint: str = ""


class _Report(msgspec.Struct, frozen=True):
    cassette_id: str = ""
    divergences: tuple[_Divergence, ...] = ()


def reported_items(reports: Iterable[dict[str, Any]], cassette_id: str) -> list[Item]:
    """The divergences from one cassette.

    Args:
        reports: as stand-ins write them.
        cassette_id: the id that they must name.

    Raises:
        UsageError: they are no such reports, or about other recordings.
    """
    try:
        read = [msgspec.convert(report, resolved(_Report)) for report in reports]
    except msgspec.ValidationError as exc:
        raise UsageError(f"no report of a stand-in: {exc}") from exc
    own = [report for report in read if report.cassette_id == cassette_id]
    if not own:
        raise UsageError(
            "the report is about other recordings" if read else "there is no report",
            hint="give the file that PTYCASSETTE_REPORT named when the stand-in ran",
        )
    return [_item(found) for report in own for found in report.divergences]


def _item(found: _Divergence) -> Item:
    return Item(
        kind="divergence",
        seq=found.seq,
        t_us=found.t_ms * 1000,
        label="divergence",
        text=f"{found.kind}: {found.message}",
        bodies=(("what to do", "\n".join(_lines(found))),),
    )


def _lines(found: _Divergence) -> Iterator[str]:
    for name, said in (("expected", found.expected), ("got", found.got)):
        if said is not None:
            yield f"{name}: {said.text}"
    if found.hint:
        yield found.hint
