"""Reruns for CI and for a browser: JUnit XML, and one HTML page that loads nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING

from ptycassette.cli._junit import JUnitCase, junit_xml
from ptycassette.model.events import moment_us
from ptycassette.model.visible_text import printable

if TYPE_CHECKING:
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.export.page.item import Item
    from ptycassette.rerun.report import RerunFinding, RerunReport

Reruns = Sequence[tuple[str, "RerunReport"]]
"""The path of each cassette, and what its rerun showed."""

_CHECKS = (
    *("tape", "requests", "screens", "draws", "inputs", "exit", "final text", "fingerprint"),
)


def rerun_junit(reruns: Reruns) -> bytes:
    """A suite for each cassette, a case for each thing that is compared."""
    return junit_xml("ptycassette rerun", ((path, _cases(report)) for path, report in reruns))


def _cases(report: RerunReport) -> Iterator[JUnitCase]:
    from ptycassette.rerun.report import findings_of

    findings = list(findings_of(report))
    for check in _CHECKS:
        found = [one for one in findings if one.check == check]
        lines = tuple(line for one in found for line in (one.text, *one.lines))
        yield JUnitCase("rerun", check, found[0].text if found else None, lines)


def rerun_html(reruns: Reruns) -> Iterator[bytes]:
    """The pieces of the page: of each cassette what differs, recorded and now side by side."""
    from ptycassette.cli._run_pages import played
    from ptycassette.export.page.runs import RunPart, run_page
    from ptycassette.export.page.styles import StyleClasses

    classes = StyleClasses()
    failed = sum(not report.passed for _, report in reruns)
    parts = [
        RunPart(
            name=path,
            passed=report.passed,
            found=_section(report),
            played=played(path, classes, partial(_items, report)),
        )
        for path, report in reruns
    ]
    return run_page(parts, classes, title=f"{len(reruns)} reruns, {failed} with differences")


def _items(report: RerunReport, cassette: Cassette) -> Iterator[Item]:
    """The differences at their moments: of a screen before its input, of a request at its entry."""
    from ptycassette.export.page.item import Item
    from ptycassette.rerun.report import findings_of
    from ptycassette.rerun.script import script_of

    final = cassette.final
    inputs = {
        step.number: (step.record.seq - 1, step.t_us) for step in script_of(cassette.events()).steps
    }
    tape = cassette.tape() if cassette.has_tape else ()
    entries = {one.entry.entry: (one.entry.seq, one.entry.t_us) for one in tape}
    end = (final.seq, moment_us(final))
    for finding in findings_of(report):
        place = end if finding.entry is None else entries.get(finding.entry, end)
        place = place if finding.input is None else inputs.get(finding.input, end)
        bodies: list[tuple[str, str]] = []
        if finding.sides is not None:
            texts = ("\n".join(_without_blank_end(rows)) for rows in finding.sides)
            bodies += zip(("recorded", "now"), texts, strict=True)
        elif finding.lines:
            bodies.append(("what differs", "\n".join(finding.lines)))
        yield Item(
            kind="divergence", seq=place[0], t_us=place[1], label=finding.check,
            text=finding.text, bodies=tuple(bodies),
        )  # fmt: skip


def _section(report: RerunReport) -> Iterator[str]:
    from ptycassette.rerun.report import findings_of, summary_lines

    yield "".join(f"<p>{_text(line)}</p>" for line in summary_lines(report))
    for finding in findings_of(report):
        yield f'<div class="why"><h3>{_text(finding.text)}</h3>'
        yield from _both(finding)
        yield "</div>"


def _both(finding: RerunFinding) -> Iterator[str]:
    """Both sides where there are two, else the lines."""
    if finding.sides is None:
        if finding.lines:
            yield f"<pre>{_text_of(finding.lines)}</pre>"
        return
    marked: list[list[str]] = [[], []]
    for old, new in zip_longest(*map(_without_blank_end, finding.sides), fillvalue=""):
        for rows, row, tag in ((marked[0], old, "del"), (marked[1], new, "ins")):
            rows.append(_text(row) if old == new else f"<{tag}>{_text(row) or ' '}</{tag}>")
    yield '<div class="pair">'
    for caption, rows in zip(("recorded", "now"), marked, strict=True):
        shown = "\n".join(rows)
        yield f"<figure><figcaption>{caption}</figcaption>"
        yield f'<pre class="screen">{shown}</pre></figure>'
    yield "</div>"


def _without_blank_end(rows: Sequence[str]) -> Sequence[str]:
    used = (number for number, row in enumerate(rows, 1) if row.strip())
    return rows[: max(used, default=0)]


def _text_of(lines: Sequence[str]) -> str:
    return "\n".join(map(_text, lines))


def _text(text: str) -> str:
    return escape(printable(text))
