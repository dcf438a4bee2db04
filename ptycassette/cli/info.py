"""``ptycassette info CASSETTE``: a cassette on one screen."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import cassette_argument, json_option, opened
from ptycassette.cli._present import (
    count_text,
    field_lines,
    json_text,
    time_text,
    write_lines,
)
from ptycassette.keys.quantities import bytes_text
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.cassette.io.reader import Cassette, Verified
    from ptycassette.cli._reports import ImportedFrom, InfoReport
    from ptycassette.model.records import ExitStatus

FIELD_LIMIT = 200
SHOWN_OPTIONAL = (
    "artifacts", "edited", "imported", "manifest_digest", "streams", "tape", "title",
)  # fmt: skip
"""Optional parts of the manifest that have lines of their own."""


@click.command("info")
@cassette_argument
@json_option
def command(cassette: str, as_json: bool) -> None:
    """Describe CASSETTE: what was recorded, when, how long, what is in it.

    Checks every byte first; ends with 4 when it is not valid.

    Example: ptycassette info hello.cassette
    """
    with opened(cassette, allow_unscrubbed=True) as source:
        report = info_of(source, source.verify())
    write_lines([json_text(report)] if as_json else _lines(report))


def info_of(cassette: Cassette, verified: Verified) -> InfoReport:
    """Everything that ``info`` prints."""
    from ptycassette.cassette.edits import edits_of
    from ptycassette.cli._reports import InfoReport, StreamCounts
    from ptycassette.model.records import streams_of
    from ptycassette.model.screen import Size

    manifest, final = cassette.manifest, cassette.final
    optional = manifest.optional or {}
    title = optional.get("title")
    return InfoReport(
        path=str(cassette.path),
        id=manifest.id,
        version=manifest.version,
        sha256=manifest.content_digest.sha256,
        pinned=cassette.pinned,
        duration_us=final.duration_ms * 1000 if final.t_us is None else final.t_us,
        size=Size(rows=manifest.terminal.initial_rows, cols=manifest.terminal.initial_cols),
        term=manifest.terminal.term,
        locale=manifest.terminal.locale,
        emulator=manifest.terminal.emulator,
        harness=manifest.harness,
        command=manifest.command,
        timing=manifest.timing,
        provenance=manifest.provenance,
        streams=StreamCounts(
            inputs=verified.inputs,
            outputs=verified.outputs,
            frames=verified.frames,
            service_events=verified.service_events,
            output_bytes=verified.output_bytes,
            tape_entries=verified.tape_entries,
        ),
        standard_streams=streams_of(manifest),
        exit=final.exit,
        scrub=cassette.scrub_report,
        title=title if isinstance(title, str) else None,
        quota=cassette.quota,
        discovery=cassette.discovery,
        required_features=manifest.required_features or (),
        optional=tuple(sorted(optional)),
        edits=edits_of(manifest),
        imported=_imported(optional.get("imported")),
    )


def _imported(said: object) -> ImportedFrom | None:
    """The manifest's description of the imported file."""
    from ptycassette.cli._reports import ImportedFrom

    if not isinstance(said, dict):
        return None
    version = said.get("format_version")
    skipped = said.get("skipped")
    counts = skipped.values() if isinstance(skipped, dict) else ()
    return ImportedFrom(
        format=str(said.get("from", "")),
        format_version=None if version is None else str(version),
        made_by=made if isinstance(made := said.get("made_by"), str) else None,
        rebuilt=said.get("rebuilt") is True,
        skipped=sum(count for count in counts if isinstance(count, int)),
    )


def exit_text(status: ExitStatus | None) -> str:
    """How the program ended, in words."""
    if status is None:
        return "not recorded"
    if status.signaled:
        return f"by a signal: {_short(status.signal or 'unknown')}"
    return f"status {status.code}" if status.exited else "still running at the end"


def _short(text: str) -> str:
    return visible(text, limit=FIELD_LIMIT)


def _lines(report: InfoReport) -> Iterator[str]:
    yield _short(report.path)
    yield from field_lines(_fields(report))


def _fields(report: InfoReport) -> Iterator[tuple[str, str]]:
    if report.title:
        yield "title", _short(report.title)
    yield "recorded", _recorded(report)
    if report.imported is not None:
        yield "imported", _short(_origin(report.imported))
    if report.edits:
        yield "edited", _short(", ".join(report.edits))
    if report.command.argv:
        yield "command", _short(shlex.join(report.command.argv))
    yield "harness", _harness(report)
    in_process = "in_process" in report.optional
    if not in_process:
        yield from _terminal_and_streams(report)
    yield "duration", f"{time_text(report.duration_us)}, {_timing(report)}"
    yield from _counts(report)
    if not in_process:
        yield "ended", exit_text(report.exit)
    yield "scrubbed", _scrub(report)
    if report.quota is not None:
        yield "quota", _short(f"{report.quota.status} from {report.quota.source}")
    if report.discovery is not None:
        models = count_text(len(report.discovery.models or ()), "model")
        yield (
            "discovery",
            _short(f"{report.discovery.status} from {report.discovery.source}, {models}"),
        )
    if report.required_features:
        yield "requires", _short(", ".join(report.required_features))
    if others := [name for name in report.optional if name not in SHOWN_OPTIONAL]:
        yield "optional", _short(", ".join(others))
    yield "id", _short(report.id)
    pinned = "every file as pinned" if report.pinned else "as pinned; other files are not pinned"
    yield "sha256", f"{_short(report.sha256)}, {pinned}"


def _terminal_and_streams(report: InfoReport) -> Iterator[tuple[str, str]]:
    yield "terminal", _terminal(report)
    kinds = report.standard_streams
    if not kinds.only_terminal:
        yield "stdin", kinds.stdin
        yield "stdout", kinds.stdout
        yield "stderr", "the same as stdout" if kinds.merged else kinds.stderr


def _counts(report: InfoReport) -> Iterator[tuple[str, str]]:
    if "in_process" not in report.optional:
        yield "input", count_text(report.streams.inputs, "event")
        output = count_text(report.streams.outputs, "event")
        yield "output", f"{output}, {bytes_text(report.streams.output_bytes)}"
        yield "frames", str(report.streams.frames)
    if report.streams.service_events:
        yield "service", count_text(report.streams.service_events, "event")
    if "tape" in report.optional:
        yield "tape", f"{count_text(report.streams.tape_entries, 'question')} to providers"


def _recorded(report: InfoReport) -> str:
    made = report.provenance
    machine = "/".join(filter(None, (made.os, made.arch)))
    place = f" on {machine}" if machine else ""
    return _short(f"{made.recorded_at}{place} by {made.recorder_version}")


def _origin(imported: ImportedFrom) -> str:
    words = [" ".join(filter(None, (f"from {imported.format}", imported.format_version)))]
    if imported.made_by:
        words.append(f"made by {imported.made_by}")
    if imported.rebuilt:
        words.append("rebuilt: the file does not hold what was sent")
    if imported.skipped:
        words.append(f"{imported.skipped} skipped")
    return ", ".join(words)


def _harness(report: InfoReport) -> str:
    harness = report.harness
    words = [harness.name]
    if harness.binary_version:
        words.append(harness.binary_version)
    if harness.account_class:
        words.append(f"(account class {harness.account_class})")
    return _short(" ".join(words))


def _terminal(report: InfoReport) -> str:
    words = [str(report.size)]
    words.extend(word for word in (report.term, report.locale) if word)
    words.append(f"frames by {report.emulator.name} {report.emulator.version}")
    return _short(", ".join(words))


def _timing(report: InfoReport) -> str:
    timing = report.timing
    return _short(f"resolution {timing.resolution_ms} ms, replays {timing.replay_default}")


def _scrub(report: InfoReport) -> str:
    scrub = report.scrub
    if scrub.status == "unscrubbed":
        return "NO: it was recorded without scrubbing and may hold secrets"
    hits = sum((scrub.hit_counts or {}).values())
    rules = count_text(len(scrub.rules or ()), "rule")
    return _short(f"{scrub.status}, {rules}, {count_text(hits, 'hit')}")
