"""Writes and reads the report files of stand-ins."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ptycassette.errors import RecordError, StorageError
from ptycassette.model.json_values import native, storable
from ptycassette.replaying.standin._report import StandinReport, report_lines, report_object
from ptycassette.system.files.plain_file import read_plain
from ptycassette.system.files.whole_file import check_replaceable, write_whole

_UNSAFE = re.compile(r"[^\w.-]+")
MAX_REPORT_BYTES = 64 << 20


def write_report(path: str, report: StandinReport) -> None:
    """Write a report as JSON to ``path``, and as text beside it (``.txt``).

    A directory (or a path that ends in a slash) gets two files per process. Nothing
    is written when ``path`` is empty. Readers never see half a report. Only
    regular files are replaced, never ``/dev/null``, a pipe or a link.

    Raises:
        ExistsError: there is such a file.
        StorageError: the disk or the directory refuses.
    """
    if not path:
        return
    try:
        target = _target(path, report)
        text = "".join(f"{line}\n" for line in report_lines(report))
        beside = target.with_name(f"{target.name.removesuffix('.json')}.txt")
        check_replaceable(beside)
        check_replaceable(target)
        _replace(target, json.dumps(storable(native(report_object(report))), indent=2) + "\n")
        _replace(beside, text)
    except (OSError, StorageError) as exc:
        why = exc.message if isinstance(exc, StorageError) else f"cannot be written: {exc.strerror}"
        raise StorageError(
            f"the report {why}", where=path,
            hint="name a file or a directory that may be written in PTYCASSETTE_REPORT",
        ) from exc  # fmt: skip


def read_reports(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The reports in a file or a directory, in the order in which the stand-ins started.

    Raises:
        RecordError: a file is not a report.
        UnsafeFileError, UnreadableError, LimitError: it cannot be read.
    """
    place = Path(path)
    if place.is_dir():
        files = sorted(place.glob("*.json"), key=lambda file: (_started_ns(file), file.name))
    else:
        files = [place] if place.exists() else []
    for file in files:
        try:
            report = json.loads(read_plain(file, max_bytes=MAX_REPORT_BYTES))
            kind = report["report"]
        except (ValueError, TypeError, KeyError, RecursionError) as exc:
            raise RecordError("no report of a stand-in", where=str(file)) from exc
        if kind != "ptycassette-stand-in":
            raise RecordError("a report, but not of a stand-in", where=str(file))
        yield report


def _target(path: str, report: StandinReport) -> Path:
    place = Path(path)
    if not (path.endswith("/") or place.is_dir()):
        return place
    place.mkdir(parents=True, exist_ok=True)
    name = _UNSAFE.sub("_", Path(report.cassette).name)[:80] or "stand-in"
    return place / f"{name}-{report.pid}.json"


def _replace(target: Path, text: str) -> None:
    write_whole(target, [text.encode("utf-8", "backslashreplace")], durable=False)


def _started_ns(file: Path) -> int:
    return file.stat().st_mtime_ns
