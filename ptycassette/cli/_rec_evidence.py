"""The final report of ``rec --tape``, and the files that ``--evidence`` writes for a reviewer.

The directory holds ``session.json`` (what ran, how it ended, what it used), ``calls.jsonl`` (one
line a question, without bodies), ``redaction.json`` (what scrubbing removed, by rule),
``guard.json`` (PASS or FAIL, and why), and ``error-summary.json`` if questions went wrong. All
of it is made from the scrubbed cassette. If the guard has FAIL, no cassette was published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ptycassette.errors import CassetteError, ExistsError

if TYPE_CHECKING:
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.cli._reports import TapeLine

_REFUSED_STATUS = 6
_FINDINGS_SHOWN = 3
_ERRORS = 400
_MOST_MANIFEST = 64 << 20


class Reviewed:
    """The result of the block of ``evidence``: ``saved`` is whether a cassette exists."""

    saved = True


@contextmanager
def evidence(folder: str | None, cassette: Callable[[], Path]) -> Iterator[Reviewed]:
    """Write the evidence of the recording that the block makes.

    Raises:
        ExistsError: on entering: something is there already.
        StorageError: the disk refuses.
    """
    reviewed = Reviewed()
    if folder is None:
        yield reviewed
        return
    from ptycassette.cassette.io.staging import disk_errors

    place = Path(folder)
    with disk_errors("making the directory", place):
        try:
            place.mkdir(parents=True)
        except FileExistsError as exc:
            raise ExistsError("something exists there already", where=folder) from exc
    try:
        yield reviewed
    except CassetteError as exc:
        _write_failure(place, type(exc).__name__, exc.message)
        raise
    if reviewed.saved:
        _write_all(place, cassette())
    else:
        _write_failure(place, "KeyboardInterrupt", "saving was stopped; nothing was published")


def _write_failure(place: Path, error: str, message: str) -> None:
    reasons = [{"error": error, "message": message}]
    _write(place / "guard.json", {"verdict": "FAIL", "published": False, "reasons": reasons})


def _write_all(place: Path, path: Path) -> None:
    from ptycassette.cassette.io.reader import open_cassette
    from ptycassette.cli.tape import lines_of

    with open_cassette(path, allow_unscrubbed=True) as cassette:
        lines = lines_of(cassette)
        scrub = cassette.scrub_report
        clean = scrub.status != "unscrubbed"
        _write(place / "session.json", _session(cassette))
        _write(place / "redaction.json", msgspec.to_builtins(scrub))
        checks = [
            {"check": "every digest holds, every body of the tape is whole", "ok": True},
            {"check": "scrubbed, read once more, and nothing was left", "ok": clean},
            {"check": "the tape answers its own questions, and only rightly", "ok": True},
            *answer_checks(lines),
        ]
        verdict = "PASS" if all(check["ok"] for check in checks) else "FAIL"
        _write(place / "guard.json", {"verdict": verdict, "published": True, "checks": checks})
    calls = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    _write_bytes(place / "calls.jsonl", calls)
    wrong = unanswered(lines)
    if wrong:
        _write(place / "error-summary.json", {"errors": msgspec.to_builtins(wrong)})


def answer_checks(lines: Sequence[TapeLine]) -> list[dict[str, Any]]:
    """Whether a tape shows a run worth keeping: checks as ``guard.json`` lists them."""
    refused = sum(line.outcome == "refused" for line in lines)
    answered = any(not _went_wrong(line) for line in lines)
    return [
        {"check": "no request was refused (budget, forbidden input, approval)", "ok": not refused},
        {"check": "the model answered at least one request without an error", "ok": answered},
    ]


def _session(cassette: Cassette) -> dict[str, Any]:
    manifest, final = cassette.manifest, cassette.final
    said = msgspec.to_builtins(manifest)
    return {
        "cassette": cassette.path.name,
        "id": manifest.id,
        "sha256": manifest.content_digest.sha256,
        "manifest_sha256": manifest_sha256(cassette.path),
        "harness": said["harness"],
        "command": said["command"],
        "provenance": said["provenance"],
        "duration_ms": final.duration_ms,
        "exit": msgspec.to_builtins(final.exit),
        "usage": final.usage,
        "cost_usd": final.cost_usd,
        "tape": (final.metadata or {}).get("tape"),
    }


def manifest_sha256(cassette: Path) -> str:
    """The digest of the manifest of a cassette, which pins all its files."""
    from ptycassette.cassette.layout import MANIFEST
    from ptycassette.system.files.whole_file import read_plain

    return hashlib.sha256(read_plain(cassette / MANIFEST, max_bytes=_MOST_MANIFEST)).hexdigest()


def unanswered(lines: Iterable[TapeLine]) -> list[TapeLine]:
    """The questions that went wrong, and were not answered when they were asked again."""
    last: dict[str, TapeLine] = {}
    for line in lines:
        # Keep nothing of unsent text that could distinguish two questions.
        known = line.key if line.outcome != "refused" else ""
        last[known or str(line.entry)] = line
    return [line for line in last.values() if _went_wrong(line)]


def _went_wrong(line: TapeLine) -> bool:
    """Whether the question had no answer, or an error.

    A client may leave before the answer's end.
    """
    if line.status is not None and line.status >= _ERRORS:
        return True
    left = line.outcome == "client-gone" and line.received_bytes > 0
    return line.outcome != "complete" and not left


def _may_be_asked_again(line: TapeLine) -> bool:
    """Whether the provider failed, not the question."""
    from ptycassette.tape.retries import may_be_asked_again

    return line.status is None or may_be_asked_again(line.status)


def tape_lines(
    cassette: Path, reports: tuple[str, ...], *, insists: bool = False
) -> tuple[list[str], int | None]:
    """The report on the tape of a cassette, and the status if it differs from the program's.

    Args:
        cassette: its directory.
        reports: lines of the proxy.
        insists: whether every question must have an answer, with retries.
    """
    from ptycassette.cassette.io.reader import open_cassette
    from ptycassette.cli._present import count_text
    from ptycassette.cli.tape import lines_of
    from ptycassette.model.visible_text import visible

    missing = 0
    with open_cassette(cassette, check="manifest", allow_unscrubbed=True) as source:
        if insists:
            missing = len([one for one in unanswered(lines_of(source)) if _may_be_asked_again(one)])
        outcomes = ((source.final.metadata or {}).get("tape") or {}).get("outcomes") or {}
        findings = ((source.manifest.optional or {}).get("tape") or {}).get("findings") or []
    said = [*reports]
    said += [
        visible(f"tape: entry {one['entry']}: {one['message']}", limit=300)
        for one in findings[:_FINDINGS_SHOWN]
    ]
    if len(findings) > _FINDINGS_SHOWN:
        said.append(f"tape: and {len(findings) - _FINDINGS_SHOWN} more, in the manifest")
    refused = outcomes.get("refused", 0)
    if refused:
        said.append(f"tape: {count_text(refused, 'request was', 'requests were')} not sent")
    if missing:
        said.append(f"tape: {count_text(missing, 'question')} got no answer but an error")
    return said, _REFUSED_STATUS if refused or missing else None


def _write(path: Path, value: Any) -> None:
    _write_bytes(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def _write_bytes(path: Path, data: bytes) -> None:
    from ptycassette.cassette.io.staging import disk_errors

    with disk_errors("writing", path):
        path.write_bytes(data)
