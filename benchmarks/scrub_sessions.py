"""What scrubbing changes where nothing is secret: ``python -m benchmarks.scrub_sessions``.

Sessions come from programs of this machine: manuals, a log with patches, listings of
packages and files, builds and tests, sources printed in colours and paged through in
``less`` and ``vim``, and the recordings in ``fixtures/``. What is changed is counted by rule,
and shown with ``--show``: here, values are no secrets.
"""

from __future__ import annotations

import argparse
import os
import select
import shutil
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from ptyprocess.ptyprocess import PtyProcess
from rich.console import Console
from rich.syntax import Syntax

from ptycassette.model.records import Harness, Output, SessionMeta
from ptycassette.model.screen import Size
from ptycassette.scrub.session import default_scrubber

ROOT = Path(__file__).resolve().parents[1]
STDLIB = Path(sysconfig.get_path("stdlib"))
ROWS, COLS = 40, 120
PIECE = 1 << 20
MOST = 3 * PIECE
PAGES = 60
MANUALS = (  # noqa: SIM905 - a list of words reads better
    "bash git git-config git-rebase git-log ls tar find gcc curl ssh rsync less vim awk sed grep "
    "make perl openssl apt dpkg systemctl ffmpeg cmake python3 ps top mount"
).split()
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": os.environ.get("HOME", "/"),
    "LANG": "C.UTF-8",
    "TERM": "xterm-256color",
    "COLUMNS": str(COLS),
    "MANPAGER": "cat",
    "MAN_KEEP_FORMATTING": "1",
    "GIT_PAGER": "cat",
    "CLICOLOR_FORCE": "1",
}
COMMANDS = {
    "git log": [
        "git", "log", "-p", "--color=always", "--format=commit %H%n%n    %s%n%b", "-n", "120",
        "--", "ptycassette", "viewer",
    ],
    "git stat": ["git", "log", "--stat", "--color=always", "--format=%h %s"],
    "pip list": [sys.executable, "-m", "pip", "list", "-v"],
    "pip freeze": [sys.executable, "-m", "pip", "freeze"],
    "pip inspect": [sys.executable, "-m", "pip", "inspect"],
    "npm ls": ["npm", "ls", "-g", "--all", "--long"],
    "npm json": ["npm", "ls", "-g", "--all", "--json"],
    "ls": ["ls", "-laR", "--color=always", str(STDLIB)],
    "find": ["find", "/usr/lib", "-newermt", "2000-01-01", "-size", "+1k"],
    "dpkg": ["dpkg", "-l"],
    "apt": ["apt-cache", "show", "python3", "git", "openssl", "curl", "nodejs"],
    "gcc": ["gcc", "-Q", "--help=optimizers", "--help=warnings", "--help=target"],
    "gcc -v": ["gcc", "-v", "-E", "-x", "c", "/dev/null"],
    "compile": [sys.executable, "-m", "compileall", "-f", "-d", "lib", str(STDLIB / "json")],
    "pytest": [
        sys.executable, "-m", "pytest", "-v", "--color=yes", "-p", "no:cacheprovider",
        str(ROOT / "tests" / "unit" / "model"),
    ],
    "sysconfig": [sys.executable, "-m", "sysconfig"],
    "sha256sum": ["sh", "-c", f"sha256sum {STDLIB}/*.py"],
    "xxd": ["sh", "-c", f"xxd {sys.executable} | head -4000"],
    "base64": ["sh", "-c", f"base64 {sys.executable} | head -4000"],
    "objdump": ["sh", "-c", f"objdump -d {shutil.which('env')} | head -20000"],
    "strace-like": ["sh", "-c", "cat /proc/self/maps /proc/cpuinfo /proc/mounts"],
}  # fmt: skip


def printed(argv: list[str]) -> bytes:
    """What a program prints, as a terminal would get it."""
    try:
        done = subprocess.run(
            argv,
            env=ENVIRONMENT,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def paged(argv: list[str], key: bytes, last: bytes) -> bytes:
    """What a full-screen program paints while somebody pages through a file."""
    if shutil.which(argv[0]) is None:
        return b""
    start: Any = PtyProcess.spawn  # it has no types
    child = start(argv, env=ENVIRONMENT, dimensions=(ROWS, COLS))
    seen = bytearray()
    for keys in [b"", *[key] * PAGES, last]:
        if keys:
            os.write(child.fd, keys)
        ends = time.monotonic() + 2
        while time.monotonic() < ends and select.select([child.fd], [], [], 0.05)[0]:
            try:
                seen += os.read(child.fd, 65536)
            except OSError:
                break
    child.close(force=True)
    return bytes(seen)


def coloured(path: Path) -> bytes:
    """A source file in colours with line numbers."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(
            file=nowhere, record=True, force_terminal=True, color_system="256", width=COLS
        )
        console.print(Syntax.from_path(str(path), line_numbers=True))
        return console.export_text(styles=True).replace("\n", "\r\n").encode()


def sources() -> Iterator[Path]:
    """Sources without their tests, whose keys and passwords are there to be found."""
    folders = [STDLIB, Path(sysconfig.get_path("purelib")), ROOT / "ptycassette"]
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).parts
            if not {"test", "tests", "idlelib", "site-packages"} & set(inside[:-1]):
                yield path


def sessions() -> Iterator[tuple[str, bytes]]:
    """Kind and bytes, the small ones first."""
    for path in sorted((ROOT / "fixtures").rglob("output.raw")):
        if path.is_file():
            yield "fixtures", path.read_bytes()
    for name, argv in COMMANDS.items():
        yield name, printed(argv)[:MOST]
    for page in MANUALS:
        yield "man", printed(["man", page])
    every = list(sources())
    for number, path in enumerate(every[:: max(1, len(every) // 12)]):
        if number % 2:
            yield "less", paged(["less", "-R", str(path)], b" ", b"q")
        else:
            yield (
                "vim",
                paged(["vim", "-u", "NONE", "-c", "syntax on", str(path)], b"\x06", b":q\r"),
            )
    for number, path in enumerate(islice(cycle(every), len(every) * 3)):
        yield "cat", path.read_bytes().replace(b"\n", b"\r\n")
        if number % 16 == 0 and path.stat().st_size < 1 << 16:
            yield "colours", coloured(path)


def merged() -> Iterator[tuple[str, bytes]]:
    """The sessions, small ones of a kind put together."""
    held: dict[str, bytearray] = {}
    for kind, data in sessions():
        part = held.setdefault(kind, bytearray())
        part += data
        if len(part) >= PIECE:
            yield kind, bytes(part)
            part.clear()
    for kind, part in held.items():
        if part:
            yield kind, bytes(part)


def scrubbed(data: bytes) -> tuple[bytes, dict[str, int]]:
    """One session, scrubbed, and hits by rule."""
    meta = SessionMeta(
        id="00000000-0000-4000-8000-000000000001",
        argv=("program",),
        size=Size(ROWS, COLS),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="program"),
    )
    scrubber = default_scrubber()
    chunks = [Output(at, data[at : at + 4096]) for at in range(0, len(data), 4096)]
    after = [
        event.data
        for event in scrubber.events(meta, lambda: iter(chunks))
        if isinstance(event, Output)
    ]
    return b"".join(after), scrubber.report().hit_counts or {}


def stretches(before: bytes, after: bytes) -> Iterator[tuple[int, int]]:
    """Where two equally long texts differ; what is close together is one stretch."""
    start = end = -1
    for at in (at for at in range(len(before)) if before[at] != after[at]):
        if start >= 0 and at - end > 8:
            yield start, end
            start = at
        start = at if start < 0 else start
        end = at + 1
    if start >= 0:
        yield start, end


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=float, default=50)
    parser.add_argument("--show", type=int, default=0, help="stretches to show of each kind")
    options = parser.parse_args()
    sizes: Counter[str] = Counter()
    changes: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    started = time.process_time()
    for kind, data in merged():
        after, hits = scrubbed(data)
        if len(after) != len(data):
            raise SystemExit(f"{kind}: {len(data)} bytes became {len(after)}")
        shown = 0
        if after != data:
            for start, end in stretches(data, after):
                changes[kind] += sum(data[at] != after[at] for at in range(start, end))
                shown += 1
                if shown <= options.show:
                    around = data[max(0, start - 40) : end + 20]
                    print(f"{kind}: {around!r} -> {after[start:end]!r}")
        rules.update(hits)
        sizes[kind] += len(data)
        if sum(sizes.values()) >= options.mib * (1 << 20):
            break
    took = time.process_time() - started
    for kind, size in sizes.most_common():
        print(f"{kind:12} {size:10} bytes, {changes[kind]:6} changed ({changes[kind] / size:.4%})")
    print("hits: " + ", ".join(f"{name} {count}" for name, count in rules.most_common()))
    size, changed = sum(sizes.values()), sum(changes.values())
    print(
        f"secret-free sessions: {size / 1e6:.1f} MB, {changed} bytes changed "
        f"({changed / size:.4%}), {took:.0f} s of the processor with making them"
    )


if __name__ == "__main__":
    main()
