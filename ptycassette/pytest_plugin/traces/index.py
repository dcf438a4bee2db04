"""The index of a run of pytest: its traces, with a link to each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec

from ptycassette.errors import CassetteError
from ptycassette.export.page.runs import RunPart, index_html
from ptycassette.export.page.shell import document, part, text
from ptycassette.model.json_values import NOT_JSON
from ptycassette.model.resolved_types import resolved
from ptycassette.pytest_plugin.traces.directories import INDEX, traces_at
from ptycassette.system.files.plain_file import read_plain
from ptycassette.system.files.whole_file import write_whole

_MOST_BYTES = 100_000_000


class _Run(msgspec.Struct, frozen=True):
    cassette: str = ""
    divergences: tuple[msgspec.Raw, ...] = ()


class _Trace(msgspec.Struct, frozen=True):
    """What the index says of a trace; the rest of the file is skipped."""

    test: str
    outcome: str
    runs: tuple[_Run, ...] = ()


def write_index(run: Path) -> Path | None:
    """Write the index of a run into its directory; None where there are fewer than two traces.

    Raises:
        StorageError: the disk refuses.
    """
    found = sorted(_read(traces_at(run)), key=lambda pair: (pair[1].outcome == "passed", pair[0]))
    if len(found) < 2:
        return None
    failed = sum(trace.outcome != "passed" for _, trace in found)
    title = f"{len(found)} tests left traces, {failed} failed"
    parts = (
        (quote(f"{path.parent.name}/trace.html"), RunPart(name=_name(trace), passed=_well(trace),
                                                          found=()))
        for path, trace in found
    )  # fmt: skip
    body = (f"<h1>{text(title)}</h1>", *index_html(parts))
    style = (part("page.css"), part("player.css"))
    pieces = document(body, title=title, style=style)
    write_whole(run / INDEX, (piece.encode("utf-8", "replace") for piece in pieces))
    return run / INDEX


def _read(paths: Sequence[Path]) -> Iterator[tuple[Path, _Trace]]:
    for path in paths:
        try:
            data = read_plain(path, max_bytes=_MOST_BYTES)
            yield path, msgspec.json.decode(data, type=resolved(_Trace))
        except (*NOT_JSON, CassetteError):
            continue  # another run deletes it, or it is not ours


def _name(trace: _Trace) -> str:
    count = sum(len(run.divergences) for run in trace.runs)
    cassettes = ", ".join(sorted({run.cassette.rpartition("/")[2] for run in trace.runs}))
    found = f"{count} divergences" if count > 1 else "1 divergence" if count else ""
    about = ", ".join(filter(None, (cassettes, found)))
    return f"{trace.test} ({about})" if about else trace.test


def _well(trace: _Trace) -> bool:
    return trace.outcome == "passed"
