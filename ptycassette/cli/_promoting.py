"""Makes a fixture of a reviewed run: everything is checked before anything is written.

The evidence belongs to the run if it names its id and the digest of its manifest, which pins every
file, and lists the same calls. The copy is verified once more, and must pass the scenario that was
made from it. Then one rename publishes it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.repair import protect_from_git
from ptycassette.cassette.io.staging import Staging, disk_errors
from ptycassette.cassette.layout import is_litter
from ptycassette.cli._rec_evidence import answer_checks, manifest_sha256
from ptycassette.cli.tape import lines_of
from ptycassette.errors import ExistsError, NotFoundError, RefusedError, UnreadableError
from ptycassette.model.records import NOT_JSON
from ptycassette.model.resolved_types import resolved
from ptycassette.replaying.scenario.evaluation import parse_scenario
from ptycassette.replaying.scenario.io import evidence_of, run_scenario
from ptycassette.replaying.scenario.predicate import draft_expectations
from ptycassette.system.files.whole_file import copy_tree, read_plain

REVIEW = "review.json"
_MOST_BYTES = 64 << 20


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """``review.json``: who reviewed what, and when."""

    fixture: str
    id: str
    sha256: str
    manifest_sha256: str
    reviewed_by: str
    reviewed_at: str
    guard: dict[str, Any]
    redaction: dict[str, Any]


class Fixture(msgspec.Struct, frozen=True, kw_only=True):
    """A fixture to be published at ``target``."""

    run: Path
    target: Path
    review: Review
    scenario: str
    checks: int


def fixture_of(run: Path, evidence: Path | None, output: Path, *, reviewed_by: str) -> Fixture:
    """The fixture of a run.

    Raises:
        RefusedError: its guard does not have PASS, or the evidence belongs to another run.
        CassetteError: the run or its evidence cannot be read.
    """
    run = run.resolve() if run.name in {"", "..", "."} else run
    name = run.name.removesuffix(".cassette")
    place = evidence or run.with_name(f"{name}.evidence")
    if not place.is_dir():
        raise NotFoundError(
            "there is no evidence of the run",
            where=str(place),
            hint="record with --evidence DIR, then pass DIR with --evidence",
        )
    guard = _object(place / "guard.json")
    if guard.get("verdict") != "PASS" or guard.get("published") is not True:
        raise RefusedError(
            "the verdict of the guard is not PASS",
            where=str(place / "guard.json"),
            hint="record the run again",
        )
    session = _object(place / "session.json")
    with open_cassette(run) as cassette:
        manifest = cassette.manifest
        lines = lines_of(cassette)
        calls = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    digest = manifest_sha256(run)
    same = session.get("id") == manifest.id and session.get("manifest_sha256") == digest
    if not same or _read(place / "calls.jsonl") != calls:
        raise RefusedError(
            "the evidence is not that of this run, or one of them was changed since",
            where=str(place),
            hint="promote the run together with its evidence from rec --evidence",
        )
    failed = [check["check"] for check in answer_checks(lines) if not check["ok"]]
    if failed:
        raise RefusedError(
            f"a check of the run failed: {failed[0]}",
            where=str(run),
            hint="`ptycassette tape` lists its requests; record it again",
        )
    text = draft_expectations(evidence_of(run), name=name, cassette_path=f"{name}.cassette")
    return Fixture(
        run=run,
        target=output / name,
        review=Review(
            fixture=str(output / name),
            id=manifest.id,
            sha256=manifest.content_digest.sha256,
            manifest_sha256=digest,
            reviewed_by=reviewed_by,
            reviewed_at=datetime.now(UTC).isoformat(timespec="seconds"),
            guard=guard,
            redaction=_object(place / "redaction.json"),
        ),
        scenario=text,
        checks=sum(map(len, parse_scenario(text.encode(), where=name).groups.values())),
    )


def publish(fixture: Fixture, *, overwrite: bool) -> None:
    """Write a fixture, all of it or nothing.

    Raises:
        ExistsError: something is there that may not be replaced.
        RefusedError: the run was changed meanwhile.
        StorageError: the disk refuses.
    """
    target, name = fixture.target, fixture.target.name
    replaces = None
    if target.exists() or target.is_symlink():
        if not overwrite:
            raise ExistsError(
                "something exists there already", where=str(target), hint="--overwrite"
            )
        if target.is_symlink() or not (target / REVIEW).is_file():
            raise ExistsError("what is there is not a fixture of promote", where=str(target))
        replaces = target.stat(follow_symlinks=False)
    staging = Staging(target)
    try:
        cassette, scenario = f"{name}.cassette", staging.content / f"{name}.scenario.yaml"
        with disk_errors("writing the fixture", target):
            litter = [one for one in fixture.run.iterdir() if is_litter(one.name)]
            copy_tree(fixture.run, staging.content / cassette, without=litter)
            protect_from_git(staging.content / cassette)
            scenario.write_text(fixture.scenario, encoding="utf-8")
            review = msgspec.json.format(msgspec.json.encode(fixture.review), indent=2)
            (staging.content / REVIEW).write_bytes(review + b"\n")
        copied = manifest_sha256(staging.content / cassette)
        outcome = run_scenario(scenario)
        if copied != fixture.review.manifest_sha256 or not outcome.passed:
            raise RefusedError("it is not what was reviewed any more", where=str(fixture.run))
        staging.publish(replaces)
    finally:
        staging.remove()


def _object(path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(_read(path), type=resolved(dict[str, Any]))
    except NOT_JSON as exc:
        raise UnreadableError(f"it is not an object in JSON: {exc}", where=str(path)) from exc


def _read(path: Path) -> bytes:
    return read_plain(path, max_bytes=_MOST_BYTES, follow_links=False)
