"""Make the pictures of the viewer, of pages and of exports that the documentation shows.

``python docs/make_screens.py`` makes all, with names behind it those of these names.
Each is the real app on a recording of ``fixtures/agents``, driven by its own keys. The report of
divergences is that of a real stand-in, which was asked about another file. Pages are those of
``ptycassette export``, in headless Chromium; without it, their pictures stay as they are. So does
that of characters where no font has CJK and coloured emoji.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ptycassette_viewer.app import CompareScreen, ViewerApp
from ptycassette_viewer.recording.playhead import PlayheadScreen

DOCS = Path(__file__).resolve().parent
AGENTS = Path("fixtures") / "agents"
OUT = DOCS / "screens"

# To the session's id in what Codex says of itself, and over it.
MASK_KEYS = " ".join(["g # 1 1 6 enter X", *["up"] * 15, *["right"] * 21, "space", *["right"] * 36])
# Name of the picture, recordings, size, keys.
SCREENS = (
    ("viewer", ("codex-tui",), (120, 36), "5"),
    ("viewer-events", ("codex-tui",), (150, 38), "5 p"),
    ("viewer-bytes", ("codex-tui",), (150, 38), "g # 7 6 enter p tab tab"),
    ("viewer-search", ("codex-tui",), (120, 36), "slash w a l n u t s enter n"),
    ("viewer-narrow", ("gemini-tui",), (80, 24), "7 p tab"),
    ("viewer-divergences", ("codex-tui",), (150, 38), "d p tab tab tab tab tab"),
    ("viewer-no-color", ("codex-tui",), (120, 36), "slash w a l n u t s enter n p tab"),
    ("viewer-mask", ("codex-tui",), (110, 36), MASK_KEYS),
    ("viewer-compare", ("aider-tui", "aider-logged-out"), (170, 38), "p W 6 d"),
    ("viewer-overlay", ("codex-tui", "codex-account"), (120, 38), "o 3 d d"),
    ("viewer-browse", ("",), (110, 24), ""),
)


# Name of the picture, recording, moment, size, media.
PAGES = (
    ("page", "tapes/codex-tape", 4.5, (1280, 780), {}),
    ("page-phone", "agents/codex-tui", 4.4, (390, 760), {"prefers-color-scheme": "dark"}),
)


def export_pictures(folder: Path, only: list[str]) -> None:
    """A film of a recording, and a picture of characters."""
    if not only or "codex" in only:
        words = ("--from", "1", "--to", "4.6", "--caption", "--overwrite")
        exported("agents/codex-tui", OUT / "codex.gif", *words)
    if only and "characters" not in only:
        return
    made, picture_ = folder / "characters.cassette", folder / "characters.png"
    command = (sys.executable, "-m", "ptycassette")
    recorded = (*command, "rec", "-q", "--headless", "--size", "76x10", str(made), "--")
    subprocess.run((*recorded, "bash", "docs/characters.sh"), check=True)
    done = subprocess.run(
        (*command, "export", str(made), str(picture_)), check=True, capture_output=True, text=True
    )
    if "no font" not in done.stderr:
        shutil.copyfile(picture_, OUT / "characters.png")


async def picture(
    names: tuple[str, ...],
    size: tuple[int, int],
    keys: list[str],
    title: str,
    report: Path | None = None,
) -> str:
    """The app after some keys, as SVG."""
    other = AGENTS / names[1] if len(names) > 1 else None
    app = ViewerApp(AGENTS / names[0], other=other, report=report)
    app.animation_level = "none"
    async with app.run_test(size=size) as pilot:
        await _rest(app)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.05)
        await app.workers.wait_for_complete()
        await _rest(app)
        await pilot.pause(0.5)
        return app.export_screenshot(title=title)


async def _rest(app: ViewerApp) -> None:
    """Until the background work is done and the screen asked for is shown."""
    for _ in range(2_000):
        await asyncio.sleep(0.01)
        screen = app.screen
        if isinstance(screen, PlayheadScreen):
            idle = all(seeker.idle for seeker in screen.seekers)
            known = all(session.progress.verified is not None for session in screen.sessions)
            compared = not isinstance(screen, CompareScreen) or screen.compared >= 1
            if idle and known and compared and screen.shown is not None and not screen.starting:
                return
        elif not app.workers:
            return


async def trace_picture(path: Path, size: tuple[int, int], title: str) -> str:
    """A trace of a failed test, as SVG."""
    app = ViewerApp(path, traces=(path,))
    app.animation_level = "none"
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.5)
        return app.export_screenshot(title=title)


def exported(recording: str, out: Path, *words: str) -> Path:
    """An export of a fixture."""
    command = (sys.executable, "-m", "ptycassette", "export", f"fixtures/{recording}", str(out))
    subprocess.run((*command, *words), check=True)
    return out


async def page_pictures(folder: Path, program: str, only: list[str]) -> None:
    """Pages in a browser, as PNG."""
    sys.path.insert(0, str(DOCS.parent))
    from tests.chromium import Browser, opened_tab  # noqa: PLC0415

    browser = Browser(program, folder / "profile")
    try:
        async with opened_tab(browser) as tab:
            for name, recording, moment, (width, height), media in PAGES:
                if only and name not in only:
                    continue
                page = exported(recording, folder / f"{name}.html")
                await tab.call(
                    "Emulation.setDeviceMetricsOverride",
                    width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
                )  # fmt: skip
                features = [{"name": name, "value": value} for name, value in media.items()]
                await tab.call("Emulation.setEmulatedMedia", features=features)
                await tab.call("Emulation.setScrollbarsHidden", hidden=True)
                await tab.open(f"{page.as_uri()}#t={moment}")
                (OUT / f"{name}.png").write_bytes(await tab.picture())
    finally:
        browser.close()


_TEST = """
import pytest

@pytest.mark.ptycassette("codex-tui")
def test_the_note_is_read(ptycassette_session):
    codex = ptycassette_session
    codex.wait_for_text("Ask Codex")
    codex.submit("What does todo.txt say?")
    codex.wait_for_text("walnuts")
"""


def failed_trace(folder: Path) -> Path:
    """The trace of a test that asked something else than was recorded."""
    test = folder / "test_notes.py"
    test.write_text(_TEST, encoding="utf-8")
    shutil.copytree(AGENTS / "codex-tui", folder / "cassettes" / "codex-tui")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    (found,) = folder.glob(".ptycassette-traces/*/*/trace.json")
    return found


def diverged(folder: Path) -> Path:
    """The report of a stand-in that was asked something else than was recorded."""
    report = folder / "report.json"
    subprocess.run(
        [
            *(sys.executable, "-m", "ptycassette", "stand-in", "--lenient", "--ignore-size"),
            *("--report", str(report), str(AGENTS / "codex-tui")),
        ],
        input=b"What does todo.txt say?\r",
        capture_output=True,
        check=False,
        timeout=60,
    )
    return report


def main(only: list[str]) -> None:
    """Write all pictures, or some of them."""
    os.chdir(DOCS.parent)  # so that the pictures show short paths
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if not only or "viewer-trace" in only:
            trace = failed_trace(Path(folder))
            svg = asyncio.run(trace_picture(trace, (140, 36), "ptycassette view trace"))
            (OUT / "viewer-trace.svg").write_text(svg, encoding="utf-8")
        chromium = shutil.which("chromium")
        if chromium and (not only or {name for name, *_ in PAGES} & {*only}):
            asyncio.run(page_pictures(Path(folder), chromium, only))
        export_pictures(Path(folder), only)
        report = diverged(Path(folder))
        for name, recordings, size, keys in SCREENS:
            if only and name not in only:
                continue
            words = " ".join(str(Path("fixtures") / "agents" / word) for word in recordings)
            title = f"ptycassette view {words}".rstrip("/")
            shown = report if name.endswith("divergences") else None
            title += " --report report.json" if shown else ""
            os.environ.pop("NO_COLOR", None)
            if name.endswith("no-color"):
                os.environ["NO_COLOR"] = "1"
            svg = asyncio.run(picture(recordings, size, keys.split(), title, shown))
            (OUT / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
