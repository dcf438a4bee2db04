"""The page of a recording in a real browser: it plays, seeks and searches, and asks nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli.blame import played
from ptycassette.formats.export.page.runs import RunPart, run_page
from ptycassette.formats.export.page.styles import StyleClasses
from ptycassette.formats.export.registry import export_named
from ptycassette.model.records import FrameRecord, Noted, Output, Typed
from ptycassette.model.screen import Cursor, Size, Style, StyleRun
from ptycassette.pytest_plugin.traces.page import write_trace
from ptycassette.pytest_plugin.traces.trace import trace_object
from ptycassette.testing import manifest_of, write_cassette
from tests.chromium import Browser, Tab, opened_tab

pytestmark = [pytest.mark.slow, pytest.mark.integration]

CODEX = Path(__file__).resolve().parents[2] / "fixtures" / "agents" / "codex-tui"
with open_cassette(CODEX) as recorded:
    END_MS = recorded.final.duration_ms
    TYPED_MS = {one.bytes: one.t_ms for one in recorded.inputs()}  # the last of equal ones
TIME = "Number(document.querySelector('.seek').value)"
SHOWN = "document.querySelector('.view .screen').innerText"
UNTIL = """new Promise(done => {
  const look = () => WANTED ? done(true) : requestAnimationFrame(look);
  look();
})"""
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u202e"


@pytest.fixture
def browser(program: Callable[[str], str], tmp_path: Path) -> Iterator[Browser]:
    """Chromium."""
    found = Browser(program("chromium"), tmp_path / "profile")
    try:
        yield found
    finally:
        found.close()


def frame(t_ms: int, text: str) -> FrameRecord:
    """A stored frame."""
    return FrameRecord(
        seq=0, t_ms=t_ms, size=Size(1, 20), text=(text,), cursor=Cursor(0, 0), raw_start=0,
        raw_end=0, parser_offset=0, styles=((StyleRun(0, 3, Style(fg=1)),),),
    )  # fmt: skip


def page_of(cassette: Path, page: Path, **options: Any) -> str:
    """Write the page; its address."""
    with open_cassette(cassette) as source:
        page.write_bytes(b"".join(export_named("html").recording(source, **options)))
    return page.as_uri()


async def search(tab: Tab, words: str) -> None:
    """Search for this."""
    await tab.value(f"document.querySelector('.query').value = {json.dumps(words)}")
    await tab.value("document.querySelector('.query').dispatchEvent(new Event('input'))")


def looked_at(browser: Browser, url: str, look: Callable[[Tab], Awaitable[None]]) -> None:
    """Open it, look, and expect that it complained of nothing and asked for nothing else."""

    async def run() -> None:
        async with opened_tab(browser) as tab:
            await tab.open(url)
            await look(tab)
            assert tab.complaints == []
            assert {address.partition("#")[0] for address in tab.requests} == {
                url.partition("#")[0]
            }

    asyncio.run(run())


def test_it_plays_seeks_and_searches(browser: Browser, tmp_path: Path) -> None:
    """With keys and with the mouse, and the list follows."""

    async def look(tab: Tab) -> None:
        assert "OpenAI Codex" in await tab.value(SHOWN)
        await tab.press("9")
        await tab.press(" ")
        await tab.value(UNTIL.replace("WANTED", f"{TIME} >= {END_MS}"))
        assert "To continue this session" in await tab.value(SHOWN)
        await search(tab, "to CONTINUE")  # on the screen that is shown already
        assert await tab.value("document.querySelector('.view mark').textContent") == "To continue"
        await tab.press("[")
        assert await tab.value(TIME) == TYPED_MS[b"\x03"]
        here = "document.querySelector('.beside .here').textContent"
        assert "<ctrl-c>" in await tab.value(here)
        await tab.press("/")
        await search(tab, "walnuts")
        await tab.press("Escape")
        await tab.press("n")
        assert await tab.value("document.querySelector('.view mark').textContent") == "walnuts"
        assert " of " in await tab.value("document.querySelector('.hits').textContent")
        moment = TYPED_MS[b"/status"]
        await tab.value(f"document.querySelector('.beside a[data-t=\"{moment}\"]').click()")
        assert await tab.value(TIME) == moment
        await tab.press("0")
        await tab.press(".")
        assert 0 < await tab.value(TIME) < 1000

    looked_at(browser, page_of(CODEX, tmp_path / "a.html"), look)


def test_the_list_follows_in_a_low_window(browser: Browser, tmp_path: Path) -> None:
    """What happens now can be seen, also where the list reaches below the window."""
    row = "document.querySelector('.beside .here').getBoundingClientRect().bottom - innerHeight"

    async def run() -> None:
        async with opened_tab(browser) as tab:
            await tab.call(
                "Emulation.setDeviceMetricsOverride",
                width=1200, height=420, deviceScaleFactor=1, mobile=False,
            )  # fmt: skip
            await tab.open(page_of(CODEX, tmp_path / "a.html"))
            for moment in (*range(1300, END_MS, 200), END_MS):
                await tab.value(f"document.querySelector('.seek').value = {moment}")
                await tab.value("document.querySelector('.seek').dispatchEvent(new Event('input'))")
                assert await tab.value(f"({row}) || -1") <= 0

    asyncio.run(run())


def test_a_moment_can_be_named_in_the_address(browser: Browser, tmp_path: Path) -> None:
    """In seconds."""

    async def look(tab: Tab) -> None:
        assert await tab.value(TIME) == 3700
        assert "Token usage" in await tab.value(SHOWN)

    looked_at(browser, page_of(CODEX, tmp_path / "a.html") + "#t=3.7", look)


def test_it_fits_a_phone_and_can_be_zoomed(browser: Browser, tmp_path: Path) -> None:
    """Nothing is wider than the window, but for the screen when one zooms in."""
    overflow = "document.documentElement.scrollWidth - innerWidth"
    hidden = "(view => view.scrollWidth - view.clientWidth)(document.querySelector('.view'))"

    async def look(tab: Tab) -> None:
        assert await tab.value(overflow) <= 0
        assert await tab.value(hidden) <= 1
        await tab.press("z")
        assert await tab.value(overflow) <= 0
        assert await tab.value(hidden) > 100

    async def run() -> None:
        async with opened_tab(browser) as tab:
            await tab.call(
                "Emulation.setDeviceMetricsOverride",
                width=390, height=844, deviceScaleFactor=2, mobile=True,
            )  # fmt: skip
            await tab.open(page_of(CODEX, tmp_path / "a.html"))
            await look(tab)

    asyncio.run(run())


def test_without_scripts_the_screens_are_there(browser: Browser, tmp_path: Path) -> None:
    """The player is not, and links lead to screens."""

    async def run() -> None:
        async with opened_tab(browser) as tab:
            await tab.call("Emulation.setScriptExecutionDisabled", value=True)
            await tab.open(page_of(CODEX, tmp_path / "a.html"))
            tree = await tab.call("Accessibility.getFullAXTree")
            names = [node.get("name", {}).get("value", "") for node in tree["nodes"]]
            assert any("buy walnuts" in name for name in names)
            assert "Search" not in names

    asyncio.run(run())


def test_a_hostile_recording_stays_text(browser: Browser, tmp_path: Path) -> None:
    """On the screen, in the list, in the title, and as what is searched for."""
    evil = EVIL.encode()
    write_cassette(
        tmp_path / "c",
        Output(0, b"\x1b]2;" + evil + b"\x07" + evil),
        Typed(50_000, evil),
        Noted(60_000, {"type": EVIL, EVIL: [EVIL]}),
        Output(100_000, b"\r\n" + "\u6f22".encode() * 400 + b"\x1b[31m" + evil * 50),
        manifest=manifest_of(size=Size(20, 100), argv=(EVIL,)),
    )

    async def look(tab: Tab) -> None:
        assert "<img src=x onerror=alert(1)>" in await tab.value(SHOWN)
        await search(tab, "<img src=x onerror=alert(1)>")
        assert await tab.value("document.querySelectorAll('.view mark').length") > 0
        await tab.press("End")
        assert await tab.value("document.querySelectorAll('img, iframe, object').length") == 0
        assert await tab.value("document.scripts.length") == 2
        assert "\u202e" not in await tab.value("document.documentElement.textContent")

    looked_at(browser, page_of(tmp_path / "c", tmp_path / "a.html", title=EVIL), look)


def test_in_a_report_each_recording_plays(browser: Browser, tmp_path: Path) -> None:
    """Put together when its fold is opened; keys go to the one that was clicked last."""
    write_cassette(tmp_path / "a", Output(0, b"one"), Output(90_000, b" more"))
    write_cassette(tmp_path / "b", Output(0, b"two"), Output(90_000, b" more"))
    classes = StyleClasses()
    parts = [
        RunPart(name=name, passed=True, found=(), played=played(tmp_path / name, classes))
        for name in "ab"
    ]
    page = tmp_path / "page.html"
    page.write_bytes(b"".join(run_page(parts, classes, title="a run")))
    times = "[...document.querySelectorAll('.seek')].map(seek => seek.value)"

    async def look(tab: Tab) -> None:
        hidden = "[...document.querySelectorAll('.player')].map(player => player.hidden)"
        assert await tab.value(hidden) == [True, True]
        await tab.value(
            "document.querySelectorAll('.part > details').forEach(fold => fold.open = 1)"
        )
        await tab.value(UNTIL.replace("WANTED", "!document.querySelector('.player[hidden]')"))
        press = "document.querySelectorAll('.view')[1].dispatchEvent(new Event('pointerdown'))"
        await tab.value(press)
        await tab.press("End")
        assert await tab.value(times) == ["0", "90"]
        assert "two more" in await tab.value("document.querySelectorAll('.view')[1].innerText")

    looked_at(browser, page.as_uri(), look)


def test_a_trace_of_a_test_moves_its_slider(browser: Browser, tmp_path: Path) -> None:
    """Its policy allows no attribute that styles, and it needs none."""
    write_cassette(
        tmp_path / "c",
        *(
            Output(0, b"\x1b[31mone"),
            frame(1, "one"),
            Output(50_000, b" two"),
            frame(60, "one two"),
        ),
    )
    runs = [{"cassette": str(tmp_path / "c"), "action": "replay", "divergences": [],
             "unplayed": [], "notes": []}]  # fmt: skip
    page = write_trace(tmp_path / "t", trace_object("test_it", "failed", "no", runs))
    shown = "document.querySelector('.frame:not([hidden]) pre').innerText"

    async def look(tab: Tab) -> None:
        assert "one two" in await tab.value(shown)
        await tab.value("document.querySelector('.stage input').value = 0")
        await tab.value("document.querySelector('.stage input').dispatchEvent(new Event('input'))")
        assert "two" not in await tab.value(shown)

    looked_at(browser, page.as_uri(), look)
