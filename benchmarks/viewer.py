"""How quickly the viewer opens and seeks, and what it holds, on output of real agent CLIs.

The recordings under ``fixtures/agents`` are played one after the other, again and
again, until there is enough output; frames and scrub are those of the finaliser.

- open: from the command to the first screen shown, indexing not waited for.
- seek: 300 random moments, after indexing, and while it is still going on
  (then, where a stored frame is shown first, until that frame).
- playback: updates a second of the whole app at 120x40, without a terminal.
- memory: the growth of the process over what it held before.
"""

from __future__ import annotations

import asyncio
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Report, Row, machine, percentile
from ptycassette import OutputRecord, open_cassette
from ptycassette.host.clock import random_id
from ptycassette.host.finalising import Finaliser
from ptycassette.model import (
    ExitStatus,
    Finished,
    Harness,
    JournalEvent,
    Output,
    SessionMeta,
    Size,
    Typed,
)
from ptycassette_viewer.app import ViewerApp
from ptycassette_viewer.recording_screen import RecordingScreen
from ptycassette_viewer.seeker import Seeker, Shown
from ptycassette_viewer.session import CassetteSource, Session

__all__ = ["main", "make_cassette"]

AGENTS = Path(__file__).resolve().parents[1] / "fixtures" / "agents"
PLAYED = ("codex-tui", "gemini-tui", "opencode-tui", "aider-tui")
PAUSE_US = 250_000
SEEKS = 300


def recorded() -> list[tuple[int, bytes, bool]]:
    """Gap, bytes and whether it is output, of all the recordings played in turn."""
    found = []
    for name in PLAYED:
        with open_cassette(AGENTS / name, check="manifest") as cassette:
            last_us = 0
            for event in cassette.events():
                if event.data:
                    is_output = isinstance(event.record, OutputRecord)
                    found.append((event.t_us - last_us, event.data, is_output))
                    last_us = event.t_us
    return found


def journal(size: int) -> Iterator[JournalEvent]:
    """Events with ``size`` bytes of output."""
    pieces = recorded()
    t_us = written = 0
    while True:
        for gap_us, data, is_output in pieces:
            t_us += min(gap_us, PAUSE_US)
            yield Output(t_us, data) if is_output else Typed(t_us, data)
            written += len(data) * is_output
            if written >= size:
                status = ExitStatus(code=0, exited=True, signaled=False)
                yield Finished(t_us=t_us, exit=status)
                return


def make_cassette(target: Path, size: int) -> Path:
    """A cassette with ``size`` bytes of output at 120x40."""
    meta = SessionMeta(
        id=random_id(),
        argv=("program",),
        size=Size(40, 120),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="program"),
        recorder_version="benchmark",
        os="any",
        arch="any",
        options={"scrub": False},
    )
    Finaliser().publish(meta, lambda: journal(size), target)
    return target


def opened(path: Path) -> Session:
    """A session, not started."""
    cassette = open_cassette(path, check="manifest", allow_unscrubbed=True)
    return Session(CassetteSource(cassette))


class Seeks:
    """Seeks through the viewer's own seeker; how long each takes until something is shown."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.shown: list[Shown] = []
        self.seeker = Seeker(session, self.shown.append)
        self.seeker.start()

    def one(self, t_us: int) -> tuple[float, bool]:
        """Seconds until a screen is shown, and whether it was the exact one."""
        self.shown.clear()
        start = time.perf_counter()
        self.seeker.request(t_us)
        while not self.shown:
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
    before, exact = [], 0
    while len(before) < SEEKS and not session.emulated.is_set():
        seconds, whole = seeks.one(numbers.randrange(duration_us))
        before.append(seconds)
        exact += whole
        time.sleep(0.02)
    if before:
        who = f"{exact} of {len(before)} exact at once"
        rows.append(row("seek while indexing, p95", label, percentile(before, 0.95), who))
    started = time.perf_counter()
    while not session.emulated.is_set():
        time.sleep(0.1)
    rows.append(
        Row(what="rest of the indexing", who=label, value=time.perf_counter() - started, unit="s")
    )
    while session.progress.verified is None and session.problem is None:
        time.sleep(0.1)  # so that the time of the processor is that of the seeks
    cpu = time.process_time()
    after = [seeks.one(numbers.randrange(duration_us))[0] for _ in range(SEEKS)]
    spent = (time.process_time() - cpu) / SEEKS
    rows.append(row("CPU per seek after indexing, mean", label, spent))
    rows.append(row("seek after indexing, p50", label, percentile(after, 0.5)))
    rows.append(row("seek after indexing, p95", label, percentile(after, 0.95)))
    states = session.checkpoints
    rows.append(
        Row(what=f"{len(states)} states kept", who=label, value=states.bytes / 1e6, unit="MB")
    )
    seeks.seeker.close()
    session.close()
    return rows


def row(what: str, label: str, seconds: float, note: str = "") -> Row:
    """A time in milliseconds."""
    return Row(
        what=what, who=f"{label}; {note}" if note else label, value=seconds * 1000, unit="ms"
    )


async def first_paint(path: Path) -> float:
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
    """Different screens a second while playing at 4x, and milliseconds of CPU for each."""
    app = ViewerApp(path, allow_unscrubbed=True)
    async with app.run_test(size=(120, 46)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, RecordingScreen)
        while not screen.session.emulated.is_set():  # noqa: ASYNC110 - set by a thread
            await asyncio.sleep(0.1)
        await pilot.press("plus", "plus", "space")
        count = 0
        last: Shown | None = None
        start, cpu = time.perf_counter(), time.process_time()
        while time.perf_counter() - start < seconds:
            await asyncio.sleep(0.005)
            if screen.shown is not last:
                last = screen.shown
                count += 1
        spent_ms = (time.process_time() - cpu) * 1000
        return count / (time.perf_counter() - start), spent_ms / max(1, count)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    quick = "--quick" in arguments
    sizes = (1,) if quick else (10, 50, 100)
    report = Report(
        name="viewer", title="Looking at recordings", machine=machine(), notes=[], rows=[]
    )
    with tempfile.TemporaryDirectory() as folder:
        small = make_cassette(Path(folder) / "small", 1_000_000)
        rate, cpu_ms = asyncio.run(playback_rate(small, 2.0 if quick else 8.0))
        report.rows.append(Row(what="playback at 120x40", who="1 MB, 4x", value=rate, unit="1/s"))
        report.rows.append(Row(what="CPU per update", who="1 MB, 4x", value=cpu_ms, unit="ms"))
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for size in sizes:
            path = make_cassette(Path(folder) / str(size), size * 1_000_000)
            paint = asyncio.run(first_paint(path))
            report.rows.append(row("open to first paint", f"{size} MB", paint))
            if size != 100:
                report.rows.extend(seek_rows(path, f"{size} MB"))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held
        report.rows.append(
            Row(what="memory above the start", who="at most", value=grown / 1024, unit="MB")
        )
    report.show()
    if not quick:
        report.save()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
