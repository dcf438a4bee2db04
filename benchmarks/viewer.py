"""How quickly the viewer opens, seeks and plays, and what it holds.

The recordings under ``fixtures/agents`` are played one after the other, again and
again, until there is enough output; frames and scrub are those of the finaliser.

- open: from starting ``ptycassette view`` in a terminal to the first screen of the
  recording there, and the same inside a process that runs already; nothing waits for
  the index.
- seek: 300 random moments, after indexing, and while it is still going on: until
  something is shown (a stored frame where the exact screen takes long), how many of
  those were exact at once, and how long the exact screen of a late moment takes.
- the same, when the recording was opened before.
- playback: updates a second of the whole app at 120x40, at 1x, of a recording that
  changes a hundred times a second.
- memory: the most that a fresh process ever held, with the default setting.

``--large`` measures all of that on a recording of 1 GB, and nothing else: it needs 1.5 GB
below the temporary directory and some minutes, and has a table of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import random
import resource
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring import Report, Row, machine, percentile
from benchmarks.viewer_cassettes import make_cassette, make_large
from ptycassette import open_cassette
from ptycassette_viewer.app import RecordingScreen, ViewerApp
from ptycassette_viewer.cache import Cache
from ptycassette_viewer.seeker import Seeker, Shown
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.source import CassetteSource

__all__ = ["main"]

SEEKS = 300
DENSE_US = 10_000
LATE = 0.9
LARGE_LIMIT_S = 1_800


def opened(path: Path) -> ViewerSession:
    """A session, not started."""
    cassette = open_cassette(path, check="manifest", allow_unscrubbed=True)
    return ViewerSession(CassetteSource(cassette))


class Seeks:
    """Seeks through the viewer's own seeker; how long each takes until something is shown."""

    def __init__(self, session: ViewerSession) -> None:
        self.session = session
        self.shown: list[Shown] = []
        self.cpu: list[float] = []
        self._cpu = 0.0
        self.seeker = Seeker(session, self._deliver)
        self.seeker.start()

    def _deliver(self, shown: Shown) -> None:
        """In the thread of the seeker: its own time of the processor since the last screen."""
        now = time.thread_time()
        self.cpu.append(now - self._cpu)
        self._cpu = now
        self.shown.append(shown)

    def one(self, t_us: int, *, exact: bool = False) -> tuple[float, bool]:
        """Seconds until a screen (or the exact one) is shown, and whether it was exact at once."""
        self.shown.clear()
        start = time.perf_counter()
        self.seeker.request(t_us)
        while not self.shown or (exact and not self.shown[-1].exact):
            time.sleep(0.000_5)
        return time.perf_counter() - start, self.shown[0].exact


def seek_rows(path: Path, label: str) -> list[Row]:
    """Seeking while indexing and after it."""
    rows = []
    session = opened(path)
    numbers = random.Random(5)  # noqa: S311 - an order, no secret
    session.start()
    seeks = Seeks(session)
    duration_us = session.duration_us
    began = time.perf_counter()
    before: list[float] = []
    exact = 0
    while len(before) < SEEKS and not session.emulated.is_set():
        seconds, whole = seeks.one(numbers.randrange(duration_us))
        before.append(seconds)
        exact += whole
        time.sleep(0.02)
    if before:
        who = f"{exact} of {len(before)} exact at once"
        rows.append(
            row("seek while indexing until shown, p95", label, percentile(before, 0.95), who)
        )
    rows.append(row("CPU of that, p95", label, percentile(seeks.cpu, 0.95)))
    seeks.one(round(duration_us * LATE), exact=True)
    waited = time.perf_counter() - began
    rows.append(
        Row(what=f"exact screen at {LATE:.0%}, since opening", who=label, value=waited, unit="s")
    )
    while not session.emulated.is_set():
        time.sleep(0.1)
    spent = time.perf_counter() - began
    rows.append(Row(what="indexing, with all these seeks", who=label, value=spent, unit="s"))
    while session.progress.verified is None and session.problem is None:
        time.sleep(0.1)  # so that the time of the processor is that of the seeks
    seeks.cpu.clear()
    after = [seeks.one(numbers.randrange(duration_us))[0] for _ in range(SEEKS)]
    rows.append(row("seek after indexing, p50", label, percentile(after, 0.5)))
    rows.append(row("seek after indexing, p95", label, percentile(after, 0.95)))
    rows.append(row("CPU of that, p95", label, percentile(seeks.cpu, 0.95)))
    states = session.checkpoints
    rows.append(
        Row(what=f"{len(states)} states kept", who=label, value=states.bytes / 1e6, unit="MB")
    )
    seeks.seeker.close()
    session.close()
    return rows


class _Kept(CassetteSource):
    """A recording of which something may be kept, although it was not scrubbed."""

    identity = b"of a benchmark"


def again_rows(path: Path, label: str, folder: Path) -> list[Row]:
    """The first and the second time that a recording is opened, with a cache."""
    rows = []
    for which in ("first", "second"):
        start = time.perf_counter()
        cassette = open_cassette(path, check="manifest", allow_unscrubbed=True)
        session = ViewerSession(_Kept(cassette), cache=Cache(folder))
        session.start()
        seeks = Seeks(session)
        seeks.one(round(session.duration_us * LATE), exact=True)
        waited = time.perf_counter() - start
        what = f"exact screen at {LATE:.0%}, opened the {which} time"
        rows.append(Row(what=what, who=label, value=waited, unit="s"))
        session.join()
        seeks.seeker.close()
        session.close()
    kept = sum(file.stat().st_size for file in folder.iterdir())
    rows.append(Row(what="kept of it on disk", who=label, value=kept / 1e6, unit="MB"))
    return rows


def row(what: str, label: str, seconds: float, note: str = "") -> Row:
    """A time in milliseconds."""
    return Row(
        what=what, who=f"{label}; {note}" if note else label, value=seconds * 1000, unit="ms"
    )


def first_paint(path: Path) -> tuple[float, float]:
    """Seconds from starting the command to the first screen of the recording in its terminal.

    And the seconds of CPU that it has taken by then.
    """
    command = [sys.executable, "-m", "ptycassette", "view", "--allow-unscrubbed", str(path)]
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    try:
        while b"120x40" not in seen:  # the title line tells the size of the screen that is shown
            if not select.select([ours], [], [], 60)[0]:
                raise RuntimeError(f"nothing was painted: {seen[-500:]!r}")
            seen += os.read(ours, 65_536)
        waited = time.perf_counter() - start
    finally:
        process.kill()
        _, status, spent = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        os.close(ours)
    return waited, spent.ru_utime + spent.ru_stime


def paint_rows(path: Path, label: str) -> list[Row]:
    """The command alone, three times."""
    waits, spent = zip(*(first_paint(path) for _ in range(3)), strict=True)
    return [
        row("command to first screen", label, min(waits), f"slowest {max(waits):.1f} s"),
        row("CPU until then", label, min(spent)),
    ]


async def inner_paint(path: Path) -> float:
    """Seconds from making the app to the first screen of the recording."""
    start = time.perf_counter()
    app = ViewerApp(path, allow_unscrubbed=True)
    async with app.run_test(size=(120, 40)) as pilot:
        while True:
            screen = pilot.app.screen
            if isinstance(screen, RecordingScreen) and screen.shown is not None:
                return time.perf_counter() - start
            await asyncio.sleep(0.001)


async def playback_rate(path: Path, seconds: float) -> tuple[float, float]:
    """Different screens a second while playing, and milliseconds of CPU for each."""
    app = ViewerApp(path, allow_unscrubbed=True)
    async with app.run_test(size=(120, 46)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, RecordingScreen)
        while screen.session.progress.verified is None:  # noqa: ASYNC110 - set by a thread
            await asyncio.sleep(0.1)
        await pilot.press("space")
        count = 0
        last: Shown | None = None
        start, cpu = time.perf_counter(), time.process_time()
        while time.perf_counter() - start < seconds:
            await asyncio.sleep(0.004)
            if screen.shown is not last:
                last = screen.shown
                count += 1
        spent_ms = (time.process_time() - cpu) * 1000
        return count / (time.perf_counter() - start), spent_ms / max(1, count)


async def held(path: Path, limit_s: float) -> dict[str, float]:
    """Open it in the app and seek about until all is indexed, and then again; what that took."""
    start = time.perf_counter()
    app = ViewerApp(path, allow_unscrubbed=True)
    numbers = random.Random(6)  # noqa: S311 - an order, no secret
    before: list[float] = []
    async with app.run_test(size=(120, 46)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, RecordingScreen)
        while screen.shown is None:  # noqa: ASYNC110 - set by a message
            await asyncio.sleep(0.001)
        painted = time.perf_counter() - start
        session = screen.session
        while not session.emulated.is_set() and time.perf_counter() - start < limit_s:
            before.append(await app_seek(screen, numbers, exact=False))
            await asyncio.sleep(0.2)
        indexed_s = time.perf_counter() - start
        while session.progress.verified is None and time.perf_counter() - start < limit_s:  # noqa: ASYNC110 - set by a thread
            await asyncio.sleep(0.1)
        after = [await app_seek(screen, numbers, exact=True) for _ in range(SEEKS)]
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return {
            "paint_s": painted,
            "before_s": percentile(before, 0.95) if before else 0.0,
            "after_s": percentile(after, 0.95),
            "share": session.progress.emulated,
            "indexed_s": indexed_s,
            "events": session.index.count,
            "rss_mb": most / 1e6,
        }


async def app_seek(screen: RecordingScreen, numbers: random.Random, *, exact: bool) -> float:
    """Seconds until the app shows something of a random moment, or the exact screen of it."""
    t_us = numbers.randrange(screen.session.duration_us)
    last, began = screen.shown, time.perf_counter()
    screen.go_to(t_us)
    while screen.shown is last or (exact and not (screen.shown and screen.shown.exact)):  # noqa: ASYNC110 - set by a message
        await asyncio.sleep(0.001)
    return time.perf_counter() - began


def held_rows(path: Path, label: str, limit_s: float) -> list[Row]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.viewer", "--held", str(path), str(limit_s)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    indexed = f"{label}, {found['events']} events, {found['share']:.0%} indexed"
    return [
        row("first screen, app running", label, found["paint_s"]),
        row("seek while indexing until shown in the app, p95", label, found["before_s"]),
        Row(what="indexing, app running", who=indexed, value=found["indexed_s"], unit="s"),
        row("seek after indexing in the app, p95", label, found["after_s"]),
        Row(what="most memory ever held", who=indexed, value=found["rss_mb"], unit="MB"),
    ]


def measured(folder: Path, *, quick: bool) -> list[Row]:
    """All rows but those of ``--large``."""
    dense = make_cassette(folder / "dense", 2_000_000, pause_us=DENSE_US)
    rate, cpu_ms = asyncio.run(playback_rate(dense, 2.0 if quick else 10.0))
    rows = [
        Row(what="playback at 120x40, 1x", who="100 changes a second", value=rate, unit="1/s"),
        Row(what="CPU per update", who="100 changes a second", value=cpu_ms, unit="ms"),
    ]
    for size in (1,) if quick else (10, 50, 100):
        path = make_cassette(folder / str(size), size * 1_000_000)
        label = f"{size} MB"
        rows.extend(paint_rows(path, label))
        rows.append(row("app to first screen", label, asyncio.run(inner_paint(path))))
        if size != 100:
            rows.extend(seek_rows(path, label))
            rows.extend(again_rows(path, label, folder / f"cache-{size}"))
            rows.extend(held_rows(path, label, 120))
    return rows


def measured_large(folder: Path) -> list[Row]:
    """The rows of ``--large``."""
    path = make_large(folder / "large", 1_000_000_000)
    return [*paint_rows(path, "1 GB"), *held_rows(path, "1 GB", LARGE_LIMIT_S)]


def main(arguments: list[str]) -> int:
    """Measure and print."""
    if "--held" in arguments:
        path, limit_s = arguments[-2:]
        print(json.dumps(asyncio.run(held(Path(path), float(limit_s)))))
        return 0
    quick, large = "--quick" in arguments, "--large" in arguments
    report = Report(
        name="viewer-large" if large else "viewer",
        title="Looking at a recording of 1 GB" if large else "Looking at recordings",
        machine=machine(),
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        report.rows = measured_large(place) if large else measured(place, quick=quick)
    report.show()
    if not quick:
        report.save()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
