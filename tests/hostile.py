"""Hostile and broken inputs of imports and edits, run in a process of bounded time and memory.

A case is what is typed after ``ptycassette``, the files that are there, and what the message says.
``python -m tests.hostile FOLDER`` runs all cases in folders of their own and prints what came of
each, as JSON.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from ptycassette.cli.entry import main

ROOT = Path(__file__).resolve().parents[1]
CORRUPT = ROOT / "fixtures" / "corrupt"
GOOD = ROOT / "fixtures" / "programs" / "dialog.cassette"
MEMORY_BYTES = 3 << 30
"""Of address space, which is more than what is used: a Python with all libraries takes 0.6 GB."""
PROCESSOR_S = 240
"""Of all cases together."""

Make = Callable[[Path], object]


class Case(NamedTuple):
    """``words`` after the command's name; ``make`` gives the files; ``said`` is in the message."""

    words: tuple[str, ...]
    make: bytes | str | Make
    said: str


def _text(data: bytes | str) -> Make:
    content = data.encode() if isinstance(data, str) else data
    return lambda path: path.write_bytes(content)


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


def _database(*statements: str) -> Make:
    def make(path: Path) -> None:
        database = sqlite3.connect(path)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()

    return make


def _copy(source: Path, change: Make | None = None) -> Make:
    def make(path: Path) -> None:
        shutil.copytree(source, path)
        if change is not None:
            change(path)

    return make


def _trace(points: object) -> bytes:
    return zlib.compress(json.dumps({"tracePoints": points}).encode())


def _har(entry: dict[str, Any]) -> str:
    return json.dumps({"log": {"entries": [entry]}})


V2 = '{"version":2,"width":80,"height":24}\n[0.5,"o","hi"]\n'
HEAD = '{"version":2,"width":80,"height":24}\n'
LAUGHS = "\n".join(
    ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60))]
)
ENDLESS = "create view {} as with recursive n(i) as (select 1 union all select i + 1 from n) {}"
VIEWS = (
    ENDLESS.format(
        "part", "select i id, 'm' message_id, 's' session_id, i time_created, '{}' data from n"
    ),
    "create table message(id, data)", "create table session(id, parent_id)",
    "insert into message values('m', '{}')", "insert into session values('s', null)",
)  # fmt: skip
BINARY = {
    "request": {"method": "POST", "url": "https://h/"},
    "startedDateTime": "2026-01-01T00:00:00Z",
    "response": {"status": 200, "content": {"encoding": "base64", "text": "%%%"}},
}
BACKWARDS = [{"data": "", "time": 2}, {"data": "x", "time": 1}]

IMPORTS: dict[str, Case] = {
    # what is no file, or no end of one
    "folder": Case(("x.cast",), lambda path: path.mkdir(), "regular file"),
    "pipe": Case(("x.cast",), os.mkfifo, "regular file"),
    "device": Case(("x.cast",), lambda path: path.symlink_to("/dev/zero"), "x.cast"),
    "terabyte": Case(("x.cast",), _sparse, "bytes"),
    "terabyte-log": Case(("opencode.db",), _sparse, "bytes"),
    "nothing": Case(("x.cast",), lambda _: None, "x.cast"),
    "empty": Case(("x.cast",), "", "line 1"),
    "unknown": Case(("x.bin",), "hello", "--format"),
    "escapes-in-a-name": Case(("\x1b]0;owned\x07.bin",), "hello", "\\e]0;owned"),
    # terminal recordings
    "cast-nested": Case(("x.cast",), HEAD + "[" * 500_000, "line 2"),
    "cast-values": Case(("x.cast",), HEAD + '[1,"z",[' + "1," * 900_000 + "1]]", "line 2"),
    "cast-size": Case(("x.cast",), '{"version":2,"width":99999999,"height":1}\n', "99999999x1"),
    "cast-century": Case(("x.cast",), V2 + '[1e18,"o","x"]\n', "line 3"),
    "cast-escapes": Case(("x.cast",), V2 + '[1,"r","\\u001b[2J"]\n', "line 3: the resize"),
    "cast-line": Case(("x.cast",), V2 + '[1,"o","' + "x" * (17 << 20), "line 3"),
    "cast-1-torn": Case(("x.cast",), '{"version":1,"width":8,"height":2,"stdout":[[1,"a"', "trunc"),
    "cast-partial-nothing": Case(("x.cast", "--partial"), HEAD + "[1", "line 2"),
    "ttyrec-length": Case(("x.ttyrec",), b"\0" * 8 + b"\xff" * 4, "byte 0"),
    "ttyrec-back": Case(
        ("x.ttyrec",), b"\1\0\0\0" + b"\0" * 4 + b"\1\0\0\0a" + b"\0" * 8 + b"\1\0\0\0b", "byte 13"
    ),
    "typescript-alone": Case(("x.typescript",), "hi", "--timing"),
    "tui-test-bomb": Case(("x.tui-trace",), zlib.compress(b"[" * (1 << 28)), "larger than 64 MB"),
    "tui-test-torn": Case(("x.tui-trace",), _trace([])[:-9], "ends within"),
    "tui-test-times": Case(("x.tui-trace",), _trace(BACKWARDS), "tracePoints[1]"),
    "tui-test-none": Case(("x.tui-trace",), "hello", "byte 0"),
    # tapes of VHS
    "vhs-source": Case(("x.tape",), 'Type "x"\nSource "/etc/passwd"', "line 2: Source"),
    "vhs-repeats": Case(("x.tape",), "Up 19000\nUp 19000", "line 2"),
    "vhs-quote": Case(("x.tape",), 'Enter\n\nType "x', "line 3"),
    "vhs-newline-in-variable": Case(("x.tape",), "Env A=B x", "line 1"),
    "vhs-size": Case(("x.tape",), "Set FontSize 0 Set LetterSpacing 0 Enter", "settings"),
    "vhs-regex": Case(("x.tape",), "Enter\nWait+Screen /(a/", "line 2: not a regular expression"),
    "vhs-clipboard": Case(("x.tape",), "Paste", "line 1: Paste without Copy"),
    "vhs-shell": Case(("x.tape",), 'Set Shell "/tmp/evil"', "line 1: Shell"),
    # model traffic
    "har-nested": Case(("x.har",), "[" * 200_000, "JSON"),
    "har-base64": Case(("x.har",), _har(BINARY), "x.har"),
    "vcr-object": Case(("x.yaml",), "!!python/object/apply:os.system [touch owned]", "x.yaml"),
    "vcr-laughs": Case(("x.yaml",), LAUGHS, "x.yaml"),
    "otel-torn": Case(("x.otlp.jsonl",), '{"resourceSpans": []}\n{"a"', "line 2"),
    "trace-none": Case(("x.jsonl",), '{"request": 1}', "no request"),
    "cendor-version": Case(("x.cendor.json",), '{"version": 3, "entries": []}', "version is 3"),
    "cendor-nothing": Case(("x.cendor.json",), '{"version": 2, "entries": []}', "no call"),
    # session logs
    "log-of-nobody": Case(("x.jsonl", "-f", "session-log"), "{}", "--harness"),
    "log-unknown-harness": Case(("x.jsonl", "--harness", "../../etc/x"), "{}", "x"),
    "log-nested": Case(("x.jsonl", "--harness", "claude"), "[" * 200_000 + "\n{}", "x.jsonl"),
    "log-without-events": Case(("x.jsonl", "--harness", "codex"), "{}", "nothing in it"),
    "log-no-database": Case(("opencode.db",), b"SQLite format 3\0" + b"\xff" * 4096, "database"),
    "log-endless-view": Case(("opencode.db",), _database(*VIEWS), "is a view"),
    "log-of-nothing-to-add": Case(("x.jsonl", "--to", "none"), "{}", "x.jsonl"),
}

EDITS: dict[str, Case] = {
    "cut-nothing": Case(("edit", "cut", "c", "--from", "900"), _copy(GOOD), "c"),
    "cut-backwards": Case(("edit", "cut", "c", "--from", "2", "--to", "1"), _copy(GOOD), ""),
    "cut-exchanges": Case(
        ("edit", "cut", "c", "--exchanges", "7-9"), _copy(GOOD), "no exchanges 7-9"
    ),
    "trim-huge": Case(("edit", "trim", "c", "--exchanges", "1-" + "9" * 40), _copy(GOOD), "3-5"),
    "speed-zero": Case(("edit", "speed", "c", "0"), _copy(GOOD), ""),
    "speed-nan": Case(("edit", "speed", "c", "nan"), _copy(GOOD), ""),
    "idle-endless": Case(("edit", "idle", "c", "1e400"), _copy(GOOD), ""),
    "annotate-late": Case(("edit", "annotate", "c", "x", "--at", "1e9"), _copy(GOOD), ""),
    "mask-region": Case(("edit", "mask", "c", "--region", "0,0:0x0"), _copy(GOOD), ""),
    "mask-file": Case(("edit", "mask", "c", "--word-file", "none"), _copy(GOOD), "none"),
    "join-torn": Case(("edit", "join", "c", "c"), _copy(CORRUPT / "line-truncated"), ""),
    "edit-bomb": Case(("edit", "speed", "c", "2"), _copy(CORRUPT / "tape-ratio"), ""),
    "edit-newer": Case(
        ("edit", "idle", "c", "1"), _copy(CORRUPT / "version-higher"), "version is 2"
    ),
    "edit-link": Case(("edit", "idle", "c", "1"), lambda path: path.symlink_to(GOOD), "link"),
    "edit-diagnostic": Case(
        ("edit", "idle", "c", "1"), _copy(CORRUPT / "diagnostic"), "diagnostic"
    ),
    "migrate-newer": Case(("migrate", "c"), _copy(CORRUPT / "version-higher"), "version is 2"),
    "migrate-tampered": Case(("migrate", "c"), _copy(CORRUPT / "output-digest"), "sha256"),
}


def cases() -> dict[str, Case]:
    """All of them, by name; the words are those of a whole command."""
    imports = {
        f"import-{name}": one._replace(words=("import", *one.words))
        for name, one in IMPORTS.items()
    }
    return {**imports, **EDITS}


def _run(case: Case, folder: Path) -> dict[str, Any]:
    """Run one case in a folder of its own."""
    folder.mkdir()
    os.chdir(folder)
    path = folder / case.words[2 if case.words[0] == "edit" else 1]
    make = case.make if callable(case.make) else _text(case.make)
    make(path)
    before = _listed(folder)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([*case.words, "-o", "new"])
    return {"status": status, "said": err.getvalue(), "left": sorted(_listed(folder) - before)}


def _listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def _main(folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
    done = {name: _run(case, folder / name) for name, case in cases().items()}
    sys.stdout.write(json.dumps(done))


if __name__ == "__main__":
    _main(Path(sys.argv[1]).resolve())
