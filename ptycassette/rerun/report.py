"""What a new run of the real program showed, held against its recording. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Any, Literal

import msgspec

from ptycassette.model.events import ExitStatus
from ptycassette.model.manifest import same_version
from ptycassette.model.visible_text import printable

_MOST_ROWS = 12


class RequestMiss(msgspec.Struct, frozen=True, kw_only=True):
    """A question that is not on the tape.

    ``nearest`` is the entry that is most like it, None when none is left; ``differences`` say at
    which places of the body, scrubbed.
    """

    method: str
    target: str
    nearest: int | None
    differences: tuple[str, ...]
    message: str

    def __str__(self) -> str:
        asked = f"{self.method} {self.target}".strip() or "in a message over the WebSocket"
        near = "" if self.nearest is None else f"; the nearest is entry {self.nearest}"
        return printable(f"request {asked} is not on the tape{near}")


class ScreenChange(msgspec.Struct, frozen=True, kw_only=True):
    """A screen that is not the recorded one: before input ``number``, or at the end (0)."""

    number: int
    expected: tuple[str, ...]
    got: tuple[str, ...]


class VersionChange(msgspec.Struct, frozen=True, kw_only=True):
    """The program is another version than the recorded one: what each says that it is."""

    recorded: str
    now: str

    def __str__(self) -> str:
        return printable(f"the program is another one: recorded {self.recorded}, now {self.now}")


def version_change(recorded: str | None, now: str | None) -> VersionChange | None:
    """Both, where both are known and not the same."""
    if recorded is None or now is None or same_version(recorded, now):
        return None
    return VersionChange(recorded=recorded, now=now)


def version_notes(recorded: str | None, now: str | None) -> list[str]:
    """What is to be said where the version now is not known, and the recorded one is."""
    if recorded is None or now is not None:
        return []
    return [f"the program did not say its version; recorded was {printable(recorded, limit=100)}"]


class RerunReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a rerun.

    Attributes:
        argv: what was run, scrubbed.
        guard: what kept the program off the network.
        entries: how many questions the tape has.
        matched: how many of them were asked again.
        damage: what is wrong with the tape itself.
        misses: questions that the tape does not have.
        unasked: entries of the tape that were never asked for.
        inputs: how many inputs were sent, of how many.
        clock: how the clock of the program was set; empty if it was not asked for.
        draws: how many draws the recording has.
        draw_changes: what was drawn that was not recorded.
        screens: how many screens were compared.
        changes: screens that differ.
        expected_exit, exit: how the program ended, recorded and now; None when it did not. An end
            that was not recorded, as in an import, is not compared.
        expected_text, final_text: its last answer, where its profile knows it.
        expected_fingerprint, fingerprint: of what was received and served, in its order.
        version: set if the program is another version; no difference in itself.
        notes: what else a reader should know.
    """

    argv: tuple[str, ...]
    guard: str
    entries: int
    matched: int
    damage: tuple[str, ...] = ()
    misses: tuple[RequestMiss, ...] = ()
    unasked: tuple[int, ...] = ()
    inputs: int = 0
    recorded_inputs: int = 0
    clock: str = ""
    draws: int = 0
    draw_changes: tuple[str, ...] = ()
    screens: int = 0
    changes: tuple[ScreenChange, ...] = ()
    expected_exit: ExitStatus | None = None
    exit: ExitStatus | None = None
    expected_text: str | None = None
    final_text: str | None = None
    expected_fingerprint: str = ""
    fingerprint: str = ""
    version: VersionChange | None = None
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return not any(True for _ in findings_of(self))


class RerunFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One difference.

    Attributes:
        check: what was compared.
        text: the difference in one line.
        lines: the places, for people.
        sides: both texts as they are, row by row, recorded and now, where there are two.
        entry: of the tape that it is about.
        input: before which it was seen. Where there is neither, it was seen at the end.
    """

    check: Literal[
        "tape", "requests", "screens", "draws", "inputs", "exit", "final text", "fingerprint"
    ]
    text: str
    lines: tuple[str, ...] = ()
    sides: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    entry: int | None = None
    input: int | None = None


def report_lines(report: RerunReport) -> Iterator[str]:
    """The report for people; what comes from programs is shown without control characters."""
    yield from summary_lines(report)
    yield from finding_lines(report)
    yield "passed" if report.passed else "FAILED"


def summary_lines(report: RerunReport) -> Iterator[str]:
    """How much was compared, and how it was run."""
    yield (
        f"requests: {report.matched} of {report.entries} on the tape asked for"
        f" and equal; screens: {report.screens - len(report.changes)} of {report.screens} equal;"
        f" inputs: {report.inputs} of {report.recorded_inputs} sent"
    )
    yield f"network: {report.guard}"
    if report.version is not None:
        yield f"version: {report.version}"
    if report.clock:
        yield f"clock: {printable(report.clock)}"
    if report.draws:
        yield f"draws: {report.draws} in the recording"
    yield from (f"note: {note}" for note in report.notes)


def report_json(report: RerunReport) -> dict[str, Any]:
    """The report for programs."""
    return {**msgspec.to_builtins(report), "passed": report.passed}


def finding_lines(report: RerunReport) -> Iterator[str]:
    """Every difference, in lines."""
    for finding in findings_of(report):
        yield printable(finding.text)
        yield from (f"  {printable(line)}" for line in finding.lines)


def findings_of(report: RerunReport) -> Iterator[RerunFinding]:
    """Every difference."""
    for line in report.damage:
        yield RerunFinding(check="tape", text=f"tape: {line}")
    for miss in report.misses:
        yield RerunFinding(
            check="requests",
            text=str(miss),
            lines=miss.differences or (miss.message,),
            entry=miss.nearest,
        )
    for entry in report.unasked:
        yield RerunFinding(
            check="requests",
            text=f"request: entry {entry} of the tape was never asked for",
            entry=entry,
        )
    for change in report.changes:
        where = f"before input {change.number}" if change.number else "at the end"
        yield RerunFinding(
            check="screens",
            text=f"screen: {where} it is not the recorded one",
            lines=tuple(_diff(change.expected, change.got)),
            sides=(change.expected, change.got),
            input=change.number or None,
        )
    for line in report.draw_changes:
        yield RerunFinding(check="draws", text=f"draws: {line}")
    if report.inputs < report.recorded_inputs:
        left = report.recorded_inputs - report.inputs
        yield RerunFinding(check="inputs", text=f"inputs: {left} were not sent")
    if report.expected_exit is not None and report.exit != report.expected_exit:
        was, now = _exit(report.expected_exit), _exit(report.exit)
        yield RerunFinding(check="exit", text=f"exit: expected {was}, got {now}")
    if report.final_text != report.expected_text:
        was_rows, now_rows = (
            tuple((text or "").splitlines()) for text in (report.expected_text, report.final_text)
        )
        yield RerunFinding(
            check="final text",
            text="final text: it is not the recorded one",
            lines=tuple(_diff(was_rows, now_rows)),
            sides=(was_rows, now_rows),
        )
    if not report.misses and report.fingerprint != report.expected_fingerprint:
        yield RerunFinding(
            check="fingerprint",
            text="fingerprint: what was asked and served is not what was recorded, or not in its "
            "order",
        )


def _diff(expected: Sequence[str], got: Sequence[str]) -> list[str]:
    lines = list(unified_diff(list(expected), list(got), "recorded", "now", lineterm="", n=1))[2:]
    return [*lines[:_MOST_ROWS], *(["..."] if len(lines) > _MOST_ROWS else [])]


def _exit(status: ExitStatus | None) -> str:
    if status is None:
        return "no end"
    return f"signal {status.signal}" if status.signaled else f"status {status.code}"
