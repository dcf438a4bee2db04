"""What came of a fork. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ptycassette.fork.record import ForkRecord
from ptycassette.model.events import ExitStatus
from ptycassette.model.visible_text import printable


class ForkReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a fork.

    Attributes:
        child: where the new cassette is.
        argv: what was run, scrubbed.
        guard: what kept the program off the network; the server passes the tail's questions on.
        origin: what the child says of its parent, the change and the verified prefix.
        requests: how many questions came after the change.
        unanswered: of these, those that had no answer.
        refused: what a live tail did not send, and why.
        inputs: how many inputs were sent after the change.
        left: how many were not, because the program had ended.
        exit: how the program ended.
        raised: of code in ``use_tape``: the exception that left its block, or its command.
        notes: what else a reader should know.
    """

    child: str
    argv: tuple[str, ...]
    guard: str
    origin: ForkRecord
    requests: int = 0
    unanswered: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    inputs: int = 0
    left: int = 0
    exit: ExitStatus | None = None
    raised: str = ""
    notes: tuple[str, ...] = ()


def fork_lines(report: ForkReport) -> Iterator[str]:
    """The report for people; what comes from programs is shown without control characters."""
    origin = report.origin
    proof = origin.prefix
    yield (
        f"verified up to {origin.at}: requests {len(proof.entries)}, screens {proof.screens},"
        f" inputs {proof.inputs}"
    )
    yield printable(f"changed: {origin.changed}"[:300])
    yield (
        f"then ({origin.tail}): requests {report.requests}, without an answer"
        f" {len(report.unanswered)}; inputs {report.inputs}, not sent {report.left};"
        f" exit: {_exit(report.exit)}"
    )
    yield f"network: {report.guard}"
    yield from (f"note: {printable(note)}" for note in (*report.notes, *report.refused))
    yield printable(f"child: {report.child}")


def fork_json(report: ForkReport) -> dict[str, Any]:
    """The report for programs."""
    made: dict[str, Any] = msgspec.to_builtins(report)
    return made


def _exit(status: ExitStatus | None) -> str:
    if status is None:
        return "no end"
    return f"signal {status.signal}" if status.signaled else f"status {status.code}"
