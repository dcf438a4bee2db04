"""``ptycassette rerun CASSETTE [-- ARGV...]``: the real program again, offline, from its tape."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET  # only written here, never parsed

import click
import msgspec

from ptycassette.cli._options import (
    follow_links_option,
    json_option,
    opened,
)
from ptycassette.cli._present import json_text, write_lines
from ptycassette.cli._running_options import CommandWithProgram, program_options, run_options
from ptycassette.extras import needing_extra
from ptycassette.model.records import moment_us
from ptycassette.model.visible_text import printable, visible

if TYPE_CHECKING:
    from ptycassette.agents.rerun.io.options import RerunOptions
    from ptycassette.agents.rerun.report import RerunFinding, RerunReport
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.formats.export.page.recording import Item


DIFFER_STATUS = 1
DROVE_OTHERWISE = 125
"""With ``--tape-only``: a status of ours beside those of the program, as a stand-in's."""


@click.command("rerun", cls=CommandWithProgram, options_metavar="[OPTIONS]")
@click.argument("cassettes", metavar="CASSETTE... [-- ARGV...]", nargs=-1, required=True)
@program_options
@click.option(
    "--home",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Copy the files of this folder into the temporary home: your settings, hooks, prompts.",
)
@click.option(
    "--strict-order",
    is_flag=True,
    help="Require the requests of each conversation in their recorded order.",
)
@click.option(
    "--tape-only",
    is_flag=True,
    help="Type nothing: your own driver types, and the tape answers the program.",
)
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the report to FILE, as JSON.",
)
@click.option(
    "--faketime",
    is_flag=True,
    help="Start the program's clock at the time of the recording (needs libfaketime).",
)
@click.option(
    "--shared-network",
    is_flag=True,
    help="Keep the program in this machine's network (docs/tape.md).",
)
@click.option("--junit", metavar="FILE", type=click.Path(), help="Also write JUnit XML to FILE.")
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(),
    help="Also write a page to FILE that shows recorded and new screens.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing files of --junit and --html.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status has the result.")
@follow_links_option
@json_option
def command(cassettes: tuple[str, ...], quiet: bool, as_json: bool, **given: Any) -> int:
    """Run the recorded program again, offline, and report what differs.

    The real program starts in a temporary home, without network. Its requests are
    answered from the tape of CASSETTE, which `rec --tape` recorded; the recorded
    keys are typed when the screen is the recorded one. With ARGV it runs another
    version or configuration. Several cassettes, and directories of cassettes with a
    tape, run one after the other.

    Without --trust it only prints its plan and ends with 6, because a tape makes an
    agent call tools on this machine. Ends with 0 if nothing differs, with 1 if
    something does.

    With --tape-only the program gets the terminal, streams, signals and folder of
    this command; nothing is typed and no screens are compared. It ends with the
    program's status, or with 125 if requests differ, like a stand-in.

    Example: ptycassette rerun --trust hello.cassette

    Example: ptycassette rerun --trust hello.cassette -- ./codex-next --model gpt-5.2

    Example: ptycassette rerun --trust tests/cassettes --html changes.html --junit changes.xml

    Example: ptycassette rerun --trust --tape-only --report now.json hello.cassette
    """
    from ptycassette.agents.rerun.io.options import RerunOptions
    from ptycassette.system.files.whole_file import check_replaceable

    options = run_options(
        RerunOptions,
        given,
        home=given["home"],
        strict_order=given["strict_order"],
        shared_network=given["shared_network"],
        faketime=given["faketime"],
    )
    for name in ("junit", "html"):  # before minutes of work
        if given[name] is not None:
            check_replaceable(Path(given[name]), overwrite=given["overwrite"])
    paths = _with_tapes(cassettes)
    if given["tape_only"]:
        if len(paths) != 1:
            raise click.UsageError("--tape-only takes one cassette")
        return _drive(paths[0], options, report=given["report"], quiet=quiet)
    reruns = _all(paths, options, quiet=quiet or as_json)
    if given["report"] is not None or as_json:
        report = _json(reruns)
        if given["report"] is not None:
            _write(given["report"], report)
        if as_json:
            write_lines([report])
    _write_reports(reruns, junit=given["junit"], html=given["html"], overwrite=given["overwrite"])
    return 0 if all(report.passed for _, report in reruns) else DIFFER_STATUS


def _with_tapes(names: Sequence[str]) -> list[str]:
    """The cassettes of that name; for a directory, those in it that can be rerun.

    Raises:
        CassetteError: none exists, or one cannot be read.
    """
    from datetime import UTC, datetime

    from ptycassette.cassette.io.listing import listed_in
    from ptycassette.cassette.io.reader import open_cassette
    from ptycassette.errors import NotFoundError
    from ptycassette.tape.draws import drawn_in

    def has_draws(cassette: Cassette) -> bool:
        return bool(drawn_in(event.payload for event in cassette.service_events()).draws)

    found: list[str] = []
    for name in names:
        inside = listed_in(Path(name), now=datetime.now(UTC), recursive=True)
        paths = [one.path for one in inside if one.state in {"ok", "stale"}]
        if not paths or [Path(path) for path in paths] == [Path(name)]:
            found.append(name)  # its own errors are the best
            continue
        with_tape = []
        for path in paths:
            with open_cassette(path, check="manifest") as cassette:
                if cassette.has_tape or has_draws(cassette):
                    with_tape.append(path)
        if not with_tape:
            raise NotFoundError(
                f"none of {len(paths)} cassettes has a tape or draws", where=name, hint="rec --tape"
            )
        found += with_tape
    return found


def _all(paths: Sequence[str], options: RerunOptions, *, quiet: bool) -> Reruns:
    """Run all of them; print the output of each when it is over."""
    from ptycassette.agents.rerun.report import report_lines

    with needing_extra("tape"):
        from ptycassette.agents.rerun.io.driving import rerun

    reruns: list[tuple[str, RerunReport]] = []
    for path in paths:
        with opened(path) as recording:
            report = rerun(recording, options)
        reruns.append((path, report))
        if quiet:
            continue
        if len(paths) > 1:
            write_lines([f"{visible(path)}:"])
        write_lines(report_lines(report))
    return reruns


def _drive(path: str, options: RerunOptions, *, report: Path | None, quiet: bool) -> int:
    """``--tape-only``: our parent process drives the program."""
    from ptycassette.agents.rerun.report import report_lines
    from ptycassette.recording.io.recording import shell_status

    with needing_extra("tape"):
        from ptycassette.agents.rerun.io.driving import run_tape_only

    with opened(path) as recording:
        ran = run_tape_only(recording, options)
    if report is not None:
        _write(report, _json([(path, ran.report)]))
    if ran.findings and not quiet and not sys.stderr.isatty():
        with suppress(OSError):  # the terminal may be gone
            for line in report_lines(ran.report):
                click.echo(line, err=True)
    return DROVE_OTHERWISE if ran.findings else shell_status(ran.exit)


def _json(reruns: Reruns) -> str:
    """A single report as it is; several with the path of each."""
    from ptycassette.agents.rerun.report import report_json

    if len(reruns) == 1:
        return json_text(report_json(reruns[0][1]))
    return json_text(
        {
            "passed": all(report.passed for _, report in reruns),
            "reruns": [{"cassette": path, **report_json(report)} for path, report in reruns],
        }
    )


def _write_reports(reruns: Reruns, *, junit: str | None, html: str | None, overwrite: bool) -> None:
    from ptycassette.system.files.whole_file import write_whole

    if junit is not None:
        write_whole(junit, [rerun_junit(reruns)], overwrite=overwrite)
    if html is not None:
        write_whole(html, rerun_html(reruns), overwrite=overwrite)


def _write(path: Path, report: str) -> None:
    from ptycassette.system.files.whole_file import write_whole

    write_whole(path, [f"{report}\n".encode()])


# JUnit XML as CI systems read it.


class JUnitCase(msgspec.Struct, frozen=True):
    """A check: its group, its name, and if it failed, why, and what was there instead."""

    group: str
    name: str
    failure: str | None = None
    lines: tuple[str, ...] = ()


def junit_xml(name: str, suites: Iterable[tuple[str, Iterable[JUnitCase]]]) -> bytes:
    """A report: of each suite its name and its checks."""
    root = ET.Element("testsuites", name=name)
    for title, checks in suites:
        cases = list(checks)
        suite = ET.SubElement(
            root,
            "testsuite",
            name=visible(title),
            tests=str(len(cases)),
            failures=str(sum(one.failure is not None for one in cases)),
        )
        for one in cases:
            case = ET.SubElement(
                suite, "testcase", classname=visible(one.group), name=visible(one.name)
            )
            if one.failure is not None:
                failure = ET.SubElement(case, "failure", message=printable(one.failure))
                failure.text = "\n".join(visible(line) for line in one.lines)
    text: str = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


# Reruns for CI and for a browser: JUnit XML, and one HTML page that loads nothing.


Reruns = Sequence[tuple[str, "RerunReport"]]
"""The path of each cassette, and what its rerun showed."""

_CHECKS = (
    *("tape", "requests", "screens", "draws", "inputs", "exit", "final text", "fingerprint"),
)


def rerun_junit(reruns: Reruns) -> bytes:
    """A suite for each cassette, a case for each thing that is compared."""
    return junit_xml("ptycassette rerun", ((path, _cases(report)) for path, report in reruns))


def _cases(report: RerunReport) -> Iterator[JUnitCase]:
    from ptycassette.agents.rerun.report import findings_of

    findings = list(findings_of(report))
    for check in _CHECKS:
        found = [one for one in findings if one.check == check]
        lines = tuple(line for one in found for line in (one.text, *one.lines))
        yield JUnitCase("rerun", check, found[0].text if found else None, lines)


def rerun_html(reruns: Reruns) -> Iterator[bytes]:
    """The pieces of the page: of each cassette what differs, recorded and now side by side."""
    from ptycassette.cli.blame import played
    from ptycassette.formats.export.page.runs import RunPart, run_page
    from ptycassette.formats.export.page.styles import StyleClasses

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
    from ptycassette.agents.rerun.report import findings_of
    from ptycassette.agents.rerun.script import script_of
    from ptycassette.formats.export.page.recording import Item

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
    from ptycassette.agents.rerun.report import findings_of, summary_lines

    yield "".join(f"<p>{_text(line)}</p>" for line in summary_lines(report))
    for finding in findings_of(report):
        yield f'<div class="why"><h3>{_text(finding.text)}</h3>'
        yield from _both(finding)
        yield "</div>"


def _both(finding: RerunFinding) -> Iterator[str]:
    """Both sides if there are two, else the lines."""
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
