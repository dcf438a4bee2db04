"""What the page of a recording costs: to make, to send, to open and to seek in Chromium.

- codex: ``fixtures/agents/codex-tui``, a real session. The page is larger than what is shown in it
  by the player, the style and the list: the table has both.
- frames: output of real agent CLIs at 120x40, as much as gives a film of some thousand frames.
- log: 10 MB of coloured lines in a minute.

To make: from starting ``ptycassette export`` to its end, and the most memory that it held. To open:
from navigation until the page has loaded and a screen is in it. To seek: 300 random moments, each
from the event until its layout, and until the next picture of the browser, for which a browser
without a display waits up to 17 ms; and the time of the processor of the page's main thread, which
other programs on the machine do not change much.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring import Report, Row, machine, percentile, run
from benchmarks.viewer_cassettes import AGENTS, PAUSE_US, make_cassette
from ptycassette.model.records import Output
from ptycassette.model.screen import Size
from ptycassette.testing import manifest_of, write_cassette
from tests.chromium import Browser, Tab, opened_tab

__all__ = ["measure"]

_SEEK = """(async () => {
  const seek = document.querySelector('.seek'), times = [], end = Number(seek.max);
  const painted = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  let seed = 7;
  for (let n = 0; n < COUNT; n++) {
    seed = seed * 16807 % 2147483647;
    await painted();
    const start = performance.now();
    seek.value = end * seed / 2147483647;
    seek.dispatchEvent(new Event('input'));
    document.querySelector('.view').getBoundingClientRect();
    const laidOut = performance.now() - start;
    await painted();
    times.push([laidOut, performance.now() - start]);
  }
  return times;
})()"""
_OPENED = """(() => {
  const [page] = performance.getEntriesByType('navigation');
  const shown = document.querySelector('.view .screen').textContent.trim().length;
  return [page.loadEventEnd - page.startTime, shown];
})()"""
_SIZES = """(() => {
  const size = part => new Blob([part ? part.textContent : '']).size;
  const [film, style, script] = ['.film', 'head style', 'body > script'].map(
    name => size(document.querySelector(name)));
  return [film, style + script];
})()"""


def log(target: Path, size: int) -> Path:
    """``size`` bytes of lines with a coloured word, at 120x40, 3 KB every 20 ms."""
    written = 0
    outputs: list[Output] = []
    while written < size:
        lines = (
            f"{written + n:010d} \x1b[3{n % 7 + 1}mwhat\x1b[0m happened\r\n" for n in range(90)
        )
        outputs.append(Output(20_000 * len(outputs), "".join(lines).encode()))
        written += len(outputs[-1].data)
    write_cassette(target, *outputs, manifest=manifest_of(size=Size(40, 120)))
    return target


def exported(cassette: Path, page: Path) -> tuple[float, float, float]:
    """Seconds that the command took, those of the processor, and MB that it held at most."""
    command = [sys.executable, "-m", "ptycassette", "export", "--allow-unscrubbed"]
    start = time.perf_counter()
    process = subprocess.Popen([*command, str(cassette), str(page)])
    _, status, spent = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError("the page could not be made")
    seconds = time.perf_counter() - start
    return seconds, spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024


async def busy(tab: Tab) -> float:
    """Milliseconds of the processor that the page's main thread has taken, for all it does."""
    metrics = (await tab.call("Performance.getMetrics"))["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration")) * 1000


async def opened(browser: Browser, page: Path, seeks: int) -> dict[str, list[float]]:
    """Milliseconds until a page is open (three times), and of every seek; and its parts."""
    found: dict[str, list[float]] = {"open": []}
    async with opened_tab(browser) as tab:
        await tab.call("Performance.enable", timeDomain="threadTicks")
        for _ in range(3):
            await tab.open("about:blank")
            await tab.open(page.as_uri())
            waited, shown = await tab.value(_OPENED)
            found.setdefault("open CPU", []).append(await busy(tab))
            if not shown:
                raise RuntimeError("no screen is shown")
            found["open"].append(waited)
        before = await busy(tab)
        pairs = await tab.value(_SEEK.replace("COUNT", str(seeks)))
        found["laid out"], found["seek"] = (list(column) for column in zip(*pairs, strict=True))
        found["seek CPU"] = [(await busy(tab) - before) / seeks]
        found["frames"] = [await tab.value("JSON.parse(document.querySelector('.film').textContent)"
                                           ".frames.length")]  # fmt: skip
        found["parts"] = await tab.value(_SIZES)
        if tab.complaints:
            raise RuntimeError(f"the page complains: {tab.complaints}")
    return found


def rows_of(label: str, cassette: Path, folder: Path, program: str, seeks: int) -> list[Row]:
    """All of one recording."""
    page = folder / f"{label}.html"
    seconds, spent, held = exported(cassette, page)
    browser = Browser(program, folder / f"profile-{label}")
    try:
        found = asyncio.run(opened(browser, page, seeks))
    finally:
        browser.close()
    film, ours = found["parts"]
    kept = sum(file.stat().st_size for file in cassette.iterdir())
    figures = (
        ("cassette", kept / 1e3, "kB"),
        ("page", page.stat().st_size / 1e3, "kB"),
        ("of it the film", film / 1e3, "kB"),
        ("of it player and style", ours / 1e3, "kB"),
        ("frames", found["frames"][0], ""),
        ("to make", seconds, "s"),
        ("CPU of that", spent, "s"),
        ("memory to make", held, "MB"),
        ("to open, slowest of 3", max(found["open"]), "ms"),
        ("CPU of that", max(found["open CPU"]), "ms"),
        ("CPU of a seek, mean", found["seek CPU"][0], "ms"),
        ("to seek until laid out, p95", percentile(found["laid out"], 0.95), "ms"),
        ("to seek, p50", percentile(found["seek"], 0.5), "ms"),
        ("to seek, p95", percentile(found["seek"], 0.95), "ms"),
    )
    return [Row(what=what, who=label, value=value, unit=unit) for what, value, unit in figures]


def measure(*, quick: bool = False) -> Report:
    """Make, open and seek pages of three recordings."""
    report = Report(name="pages", title="The page of a recording", machine=machine())
    program = shutil.which("chromium")
    if program is None:
        report.notes.append("left out: Chromium is not installed")
        return report
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recordings = {"codex": AGENTS / "codex-tui"}
        frames = 1_000_000 if quick else 4_000_000
        recordings["frames"] = make_cassette(folder / "frames", frames, pause_us=PAUSE_US)
        recordings["log"] = log(folder / "log", 1_000_000 if quick else 10_000_000)
        for label, cassette in recordings.items():
            report.rows += rows_of(label, cassette, folder, program, 100 if quick else 300)
    return report


if __name__ == "__main__":
    run(measure)
