"""The report of one stand-in: an object for programs, lines for people. Pure.

The caller decides where it is written; never to the terminal that the driver reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ptycassette.model.events import ExitStatus
from ptycassette.model.visible_text import printable, visible
from ptycassette.replaying.divergence import Divergence, divergence_lines, divergence_object
from ptycassette.replaying.drift_picture import DriftPicture, picture_object
from ptycassette.replaying.standin.decisions import Unplayed

REPORT_VERSION = 1


class StandinReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run.

    ``result`` is ``running`` (it was killed, if nothing else follows), ``passed``,
    ``diverged``, ``unplayed`` (no divergence, but not everything was played) or
    ``failed`` (the stand-in itself; ``error`` says why). Shims also say ``recorded``, and,
    where they recorded only to compare, ``passed`` or ``drifted`` (see ``notes``, and ``drift``
    for the screens before and now). ``fault`` is what was made to go wrong (``--fault``), and
    ``fault_met`` whether the driver came so far.
    """

    result: str
    cassette: str
    cassette_id: str = ""
    argv: tuple[str, ...] = ()
    pid: int = 0
    divergences: tuple[Divergence, ...] = ()
    unplayed: Unplayed = Unplayed()
    early_eof: bool = False
    killed_by: str = ""
    exit: ExitStatus | None = None
    notes: tuple[str, ...] = ()
    drift: tuple[DriftPicture, ...] = ()
    error: str = ""
    fault: str = ""
    fault_met: bool = False


def report_object(report: StandinReport) -> dict[str, Any]:
    """The report as the documented JSON object."""
    return {
        "report": "ptycassette-stand-in",
        "version": REPORT_VERSION,
        "result": report.result,
        "cassette": report.cassette,
        "cassette_id": report.cassette_id,
        "argv": list(report.argv),
        "pid": report.pid,
        "divergences": [divergence_object(found) for found in report.divergences],
        "unplayed": msgspec.to_builtins(report.unplayed),
        "early_eof": report.early_eof,
        "killed_by": report.killed_by,
        "exit": msgspec.to_builtins(report.exit),
        "notes": list(report.notes),
        "drift": [picture_object(picture) for picture in report.drift],
        "error": report.error,
        "fault": report.fault,
        "fault_met": report.fault_met,
    }


def report_lines(report: StandinReport) -> Iterator[str]:
    """The report as lines of text, with control characters escaped."""
    yield f"stand-in for {visible(report.cassette)}: {report.result}"
    if report.argv:
        import shlex  # noqa: PLC0415 - few reports need it, and the stand-in starts fast

        yield f"  started as: {visible(shlex.join(report.argv))}"
    if report.fault:
        met = "" if report.fault_met else ", which was not met"
        yield f"  with the fault {visible(report.fault)}{met}"
    if report.error:  # put together from parts that are escaped; its lines are meant
        yield from (f"  {printable(line)}" for line in report.error.split("\n"))
    for found in report.divergences:
        yield from divergence_lines(found)
    left = report.unplayed
    if left:
        yield (
            f"  never played: {_counted(left.inputs, 'input')} and "
            f"{_counted(left.outputs, 'output')} ({_counted(left.output_bytes, 'byte')}), "
            f"from seq {left.first_seq} on"
        )
    if report.early_eof:
        yield "  the driver closed the terminal before everything was written"
    if report.killed_by:
        yield f"  ended by signal {visible(report.killed_by)}, which was not recorded"
    for note in report.notes:
        yield f"  note: {printable(note)}"  # parts of it are escaped already


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
