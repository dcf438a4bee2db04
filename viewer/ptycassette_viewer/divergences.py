"""Divergences from the reports of stand-ins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from ptycassette import CassetteError, printable, read_reports, visible

_MAX_DIVERGENCES = 10_000


class _Said(msgspec.Struct, frozen=True):
    text: str = ""


class ReportedDivergence(msgspec.Struct, frozen=True):
    """A divergence in a report; ``seq`` is the place in the recording."""

    kind: str
    message: str
    seq: int
    t_ms: int
    expected: _Said | None = None
    got: _Said | None = None
    hint: str = ""

    @property
    def line(self) -> str:
        """One line, safe to show."""
        parts = [self.kind]
        if self.expected is not None:
            parts.append(f"expected {self.expected.text}")
        if self.got is not None:
            parts.append(f"got {self.got.text}")
        return visible("  ".join(parts), limit=200)

    def lines(self) -> Iterator[str]:
        """A description, safe to show."""
        yield f"{visible(self.kind)} at seq {self.seq}, {self.t_ms} ms: {printable(self.message)}"
        for name, said in (("expected", self.expected), ("got", self.got)):
            if said is not None:
                yield f"  {name + ':':<10}{visible(said.text)}"
        if self.hint:
            yield f"  what to do: {printable(self.hint)}"


class _Report(msgspec.Struct, frozen=True):
    cassette_id: str = ""
    divergences: tuple[ReportedDivergence, ...] = ()


def divergences_of(cassette_id: str, path: Path) -> tuple[ReportedDivergence, ...]:
    """The divergences from one cassette in a report, or in a directory of reports, by place.

    Raises:
        CassetteError: there is no report, it is invalid, or it is about other
            recordings.
    """
    reports = []
    for found in read_reports(path):
        try:
            reports.append(msgspec.convert(found, _Report))
        except msgspec.ValidationError as exc:
            raise CassetteError(f"no report of a stand-in: {exc}", where=str(path)) from exc
    own = [report for report in reports if report.cassette_id == cassette_id]
    if not own:
        raise CassetteError(
            "the report is about other recordings" if reports else "there is no report",
            where=str(path),
            hint="give the file that PTYCASSETTE_REPORT named when the stand-in ran",
        )
    merged = sorted(
        (found for report in own for found in report.divergences), key=lambda found: found.seq
    )
    return tuple(merged[:_MAX_DIVERGENCES])
