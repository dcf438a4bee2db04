"""Divergences as reports of stand-ins have them: for pages and viewers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import printable, visible

MOST_DIVERGENCES = 10_000


class ReportedSide(msgspec.Struct, frozen=True):
    """The expected or the actual side, as text."""

    text: str = ""


class ReportedDivergence(msgspec.Struct, frozen=True):
    """A divergence in a report; ``seq`` and ``t_ms`` are its place in the recording."""

    kind: str
    message: str
    seq: int
    t_ms: int
    expected: ReportedSide | None = None
    got: ReportedSide | None = None
    hint: str = ""

    @property
    def sides(self) -> Iterator[tuple[str, str]]:
        """``expected`` and ``got`` with their texts, as far as they are there."""
        for name, side in (("expected", self.expected), ("got", self.got)):
            if side is not None:
                yield name, side.text

    @property
    def line(self) -> str:
        """One line, safe to show."""
        return visible("  ".join((self.kind, *map(" ".join, self.sides))), limit=200)

    def lines(self) -> Iterator[str]:
        """A description, safe to show."""
        yield f"{visible(self.kind)} at seq {self.seq}, {self.t_ms} ms: {printable(self.message)}"
        for name, text in self.sides:
            yield f"  {name + ':':<10}{visible(text)}"
        if self.hint:
            yield f"  what to do: {printable(self.hint)}"


class _Report(msgspec.Struct, frozen=True):
    cassette_id: str = ""
    divergences: tuple[ReportedDivergence, ...] = ()


def reported_divergences(
    reports: Iterable[dict[str, Any]], cassette_id: str, *, where: str | None = None
) -> tuple[ReportedDivergence, ...]:
    """The divergences from one cassette, by place.

    Args:
        reports: as ``read_reports`` gives them.
        cassette_id: the id that they must name.
        where: they are from, for messages.

    Raises:
        UsageError: they are no such reports, or about other recordings.
    """
    try:
        read = [msgspec.convert(report, resolved(_Report)) for report in reports]
    except msgspec.ValidationError as exc:
        raise UsageError(f"not a report of a stand-in: {exc}", where=where) from exc
    own = [report for report in read if report.cassette_id == cassette_id]
    if not own:
        raise UsageError(
            "the report is about other recordings" if read else "there is no report",
            where=where,
            hint="give the file that PTYCASSETTE_REPORT named when the stand-in ran",
        )
    merged = sorted(
        (found for report in own for found in report.divergences), key=lambda found: found.seq
    )
    return tuple(merged[:MOST_DIVERGENCES])
