"""Describe the origin of a fork, its result, and the tree of recordings. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ptycassette.model.records import ExitStatus
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import printable, visible

# The origin of a child: the parent, the place, the change, the proof. Pure.


FORK = "fork"
"""The type of the service event, and the name in the metadata."""


class ParentOf(msgspec.Struct, frozen=True, kw_only=True):
    """The recording that was forked: its id, and the SHA-256 of its ``manifest.json``.

    The digest is empty in a child from which an edit removed something: with it a reader could
    check guesses about the removed text.
    """

    id: str
    manifest_sha256: str = ""


class PrefixProof(msgspec.Struct, frozen=True, kw_only=True):
    """The verified part before the change.

    Attributes:
        entries: the entries of the parent's tape that were asked for and equal.
        fingerprint: recomputed from their questions and answers; empty without a tape.
        screens: how many screens were awaited and equal.
        inputs: how many inputs were sent.
    """

    entries: tuple[int, ...] = ()
    fingerprint: str = ""
    screens: int = 0
    inputs: int = 0


class ForkRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a child.

    Attributes:
        type: the type of the service event.
        parent: the recording that was forked.
        at: the place, ``exchange:3`` or ``tape:2``.
        change: the kind of change, and ``value``, its value.
        tail: the source of answers after the change.
        prefix: the verified part.
    """

    type: str = FORK
    parent: ParentOf
    at: str
    change: str
    value: str
    tail: str
    prefix: PrefixProof

    @property
    def changed(self) -> str:
        """The change for people: ``input=TEXT``, or ``skip``."""
        return f"{self.change}={self.value}" if self.value else self.change

    @property
    def line(self) -> str:
        """Place, change and proof in one line, safe to show."""
        change = visible(self.changed, limit=60)
        return (
            f"at {visible(self.at, limit=20)}: {change} ({visible(self.tail, limit=20)};"
            f" verified: requests {len(self.prefix.entries)}, screens {self.prefix.screens})"
        )


def fork_of(metadata: Mapping[str, Any] | None) -> ForkRecord | None:
    """The origin in a final record; None if there is none, or it is invalid."""
    said = (metadata or {}).get(FORK)
    if said is None:
        return None
    try:
        return msgspec.convert(said, resolved(ForkRecord))
    except msgspec.ValidationError:
        return None


class ForkReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a fork.

    Attributes:
        child: the path of the new cassette.
        argv: the command line, scrubbed.
        guard: what kept the program off the network; the server passes the tail's questions on.
        origin: the parent, the change and the verified prefix, as in the child.
        requests: how many questions came after the change.
        unanswered: how many of these had no answer.
        refused: what a live tail did not send, and why.
        inputs: how many inputs were sent after the change.
        left: how many were not sent, because the program had ended.
        exit: how the program ended.
        raised: for code in ``use_tape``: the exception that left its block, or its command.
        notes: further remarks for the reader.
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
    """The report for people; control characters from programs are escaped."""
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


# The origins of recordings: parents and children, by the digests of their manifests. Pure.


_SHORT = 12


class Descent(msgspec.Struct, frozen=True, kw_only=True):
    """A recording and its origin, if it is a child. ``sha256`` is the manifest's digest."""

    path: str
    id: str
    sha256: str
    origin: ForkRecord | None = None


def lineage_lines(recordings: Sequence[Descent]) -> Iterator[str]:
    """Trees: each child is indented by two columns below its parent; missing parents are marked."""
    for root, children in _roots(recordings):
        if isinstance(root, Descent):
            yield from _tree(root, recordings, depth=0)
            continue
        yield f"missing parent {root[:_SHORT]} (id {visible(children[0].id, limit=40)})"
        for child in children[1:]:
            yield from _tree(child, recordings, depth=1)


def lineage_json(recordings: Sequence[Descent]) -> dict[str, Any]:
    """The same for programs: each recording with its origin."""
    known = {one.sha256 for one in recordings}
    return {
        "recordings": [
            {
                **msgspec.to_builtins(one),
                "parent_found": one.origin is not None
                and one.origin.parent.manifest_sha256 in known,
            }
            for one in recordings
        ]
    }


def related(recordings: Sequence[Descent], path: str) -> list[Descent]:
    """All recordings in the same tree as the one with this path."""
    wanted = {one.sha256 for one in recordings if one.path == path}
    wanted |= {_parent(one) for one in recordings if one.path == path} - {""}
    while True:
        more = {
            digest
            for one in recordings
            if wanted & {one.sha256, _parent(one)}
            for digest in (one.sha256, _parent(one))
            if digest
        }
        if more <= wanted:
            return [one for one in recordings if one.sha256 in wanted]
        wanted |= more


def _roots(
    recordings: Sequence[Descent],
) -> Iterator[tuple[Descent | str, Sequence[Descent]]]:
    """Recordings without a parent, and missing parents, each with their children."""
    known = {one.sha256 for one in recordings}
    missing: dict[str, list[Descent]] = {}
    for one in recordings:
        if one.origin is None:
            yield one, ()
        elif _parent(one) not in known:
            first = Descent(path="", id=one.origin.parent.id, sha256=_parent(one))
            missing.setdefault(_parent(one), [first]).append(one)
    yield from missing.items()


def _tree(one: Descent, recordings: Sequence[Descent], *, depth: int) -> Iterator[str]:
    said = "" if one.origin is None else f"  {one.origin.line}"
    yield f"{'  ' * depth}{visible(one.path)}  {one.sha256[:_SHORT]}{said}"
    for child in recordings:
        if _parent(child) == one.sha256 and child.sha256 != one.sha256:
            yield from _tree(child, recordings, depth=depth + 1)


def _parent(one: Descent) -> str:
    return "" if one.origin is None else one.origin.parent.manifest_sha256
