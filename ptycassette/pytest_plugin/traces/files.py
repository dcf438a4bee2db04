"""Writes a trace as three files: HTML, JSON, Markdown.

The page is one file without references, so that it can be sent alone. The JSON has the texts of a
recording unchanged; in the page and the Markdown, characters that hide, act, or would be markup
are escaped.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ptycassette.cassette.io.staging import disk_errors
from ptycassette.pytest_plugin.traces._markdown import trace_markdown
from ptycassette.pytest_plugin.traces._page import trace_page
from ptycassette.pytest_plugin.traces.directories import MARK
from ptycassette.system.files.whole_file import write_whole

_IGNORED = b"# What failed tests leave here is not for the repository.\n*\n"
_MARKED = b"ptycassette deletes the traces in here when newer runs have left theirs.\n"
_UNSAFE = re.compile(r"[^\w.-]+")


def write_trace(place: Path, trace: dict[str, Any], *, run: str = "") -> Path:
    """Write the three files into a directory of the test's own; returns the HTML page.

    Args:
        place: the directory of all traces.
        trace: of ``trace_object``.
        run: the name of the run of pytest, from ``run_name``; its directory is below ``place``.

    Raises:
        StorageError: the disk or the directory refuses.
    """
    name = _UNSAFE.sub("_", trace["test"]).encode()[-200:].decode("utf-8", "ignore")
    directory = place / run / name.strip("_.")
    new = not place.exists()
    with disk_errors("making the directory of the trace", directory):
        directory.mkdir(parents=True, exist_ok=True)
    if new:
        write_whole(place / ".gitignore", [_IGNORED])
    if run and not (place / run / MARK).exists():
        write_whole(place / run / MARK, [_MARKED])
    page = directory / "trace.html"
    for path, text in (
        (directory / "trace.json", json.dumps(trace, indent=1, ensure_ascii=True)),
        (directory / "trace.md", "\n".join(trace_markdown(trace))),
        (page, trace_page(trace)),
    ):
        write_whole(path, [text.encode("utf-8", "backslashreplace"), b"\n"])
    return page
