"""The idle limit of a recording (``rec --idle-limit``) is obeyed wherever it is played."""

from __future__ import annotations

import asyncio
import io
import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image, ImageSequence
from textual.pilot import Pilot
from textual.widgets import Static

from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cli import main
from ptycassette.formats.export.registry import export_named
from ptycassette.model.records import Finished, FrameRecord, Output
from ptycassette.model.screen import Cursor, Size
from ptycassette.replaying.io import replayer
from ptycassette.testing import ManualClock, manifest_of, write_cassette

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import drive, press, recording

S = 1_000_000
PAUSE_S = 10.0
OWN = {"idle_limit_ms": 500}
IMPORTED = {"imported": {"from": "asciicast", "kept": {"idle_time_limit": 0.5}}}


def frame(t_us: int, text: str) -> FrameRecord:
    """A screen of one row."""
    return FrameRecord(
        seq=0, t_ms=t_us // 1000, t_us=t_us, text=(text,), size=Size(1, 20),
        cursor=Cursor(row=0, col=0), raw_start=0, raw_end=0, parser_offset=0,
    )  # fmt: skip


def recorded(path: Path, optional: dict[str, Any] | None) -> Path:
    """A recording with one pause of ten seconds."""
    manifest = msgspec.structs.replace(manifest_of(), optional=optional)
    items = (
        *(Output(0, b"one\r\n"), frame(0, "one")),
        *(Output(10 * S, b"two\r\n"), frame(10 * S, "two"), Finished(t_us=10 * S)),
    )
    write_cassette(path, *items, manifest=manifest)
    return path


def exported(path: Path, form: str) -> bytes:
    """What ``export`` writes without options."""
    with open_cassette(path) as cassette:
        return b"".join(export_named(form).recording(cassette))


def replayed(path: Path, **options: Any) -> float:
    """How long ``replay`` sleeps."""
    clock = ManualClock()
    with open_cassette(path) as cassette:
        list(replayer.replay(cassette, mode="realtime", clock=clock, sleeper=clock, **options))
    return clock.now_us() / S


def replayed_in_a_loop(path: Path) -> float:
    """How long ``areplay`` sleeps."""
    clock = ManualClock()

    class Sleeper:
        async def sleep(self, seconds: float) -> None:
            clock.sleep(seconds)

    async def played(cassette: Cassette) -> None:
        async for _ in replayer.areplay(cassette, mode="realtime", clock=clock, sleeper=Sleeper()):
            pass

    with open_cassette(path) as cassette:
        asyncio.run(played(cassette))
    return clock.now_us() / S


def played(path: Path) -> float:
    """How long ``play`` sleeps where stdout is not a terminal."""
    clock = ManualClock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replayer, "SystemSleeper", lambda: clock)
        patch.setattr(replayer, "MonotonicClock", lambda: clock)
        assert main(["play", "--speed", "1", str(path)]) == 0
    return clock.now_us() / S


def viewed(path: Path) -> float:
    """What the viewer shows as its limit; that of the pause if it shows none."""
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        texts.append(str(recording(pilot).query_one("#status", Static).render()))

    drive(path, scenario, size=(120, 24))
    found = re.search(r"idle \u2264([0-9.]+)s", texts[0])
    return PAUSE_S if found is None else float(found[1])


def of_the_page(path: Path) -> float:
    """What the script of the page takes."""
    found = re.search(rb'data-idle="(\d+)"', exported(path, "html"))
    assert found is not None
    return int(found[1]) / 1000


def of_the_svg(path: Path) -> float:
    """The length of the animation, without the time for which the last frame stays."""
    found = re.search(rb"animation:play ([0-9.]+)s", exported(path, "svg"))
    assert found is not None
    return float(found[1]) - 2.5


def of_the_film(form: str) -> Callable[[Path], float]:
    """How long the first frame of a moving picture stays."""

    def measured(path: Path) -> float:
        with Image.open(io.BytesIO(exported(path, form))) as film:
            return round(next(ImageSequence.Iterator(film)).info["duration"]) / 1000

    return measured


def of_the_header(form: str) -> Callable[[Path], float]:
    """What other players read in the header; the pause if it has no limit."""

    def said(path: Path) -> float:
        header = json.loads(exported(path, form).split(b"\n")[0])
        return float(header.get("idle_time_limit", PAUSE_S))

    return said


PLAYERS: dict[str, tuple[Callable[[Path], float], float]] = {
    "play": (played, PAUSE_S),
    "replay": (replayed, PAUSE_S),
    "areplay": (replayed_in_a_loop, PAUSE_S),
    "viewer": (viewed, PAUSE_S),
    "page": (of_the_page, 2.0),
    "svg": (of_the_svg, 2.0),
    "gif": (of_the_film("gif"), 2.0),
    "apng": (of_the_film("apng"), 2.0),
    "asciicast": (of_the_header("asciicast"), PAUSE_S),
    "asciicast-v3": (of_the_header("asciicast-v3"), PAUSE_S),
}
"""Each with how long the pause lasts where the recording has no limit."""


@pytest.mark.parametrize("player", PLAYERS)
def test_pauses_are_as_long_as_the_recording_allows(player: str, tmp_path: Path) -> None:
    """Half a second by its own limit, or that of an imported asciicast; else the usual length."""
    measured, usual = PLAYERS[player]
    limits = {"own": OWN, "imported": IMPORTED, "none": None, "odd": {"idle_limit_ms": "0.5"}}
    found = {name: measured(recorded(tmp_path / name, said)) for name, said in limits.items()}
    expected = {"own": 0.5, "imported": 0.5, "none": usual, "odd": usual}

    assert found == pytest.approx(expected, abs=0.02)


def test_another_limit_is_stronger(tmp_path: Path) -> None:
    """Also none at all."""
    path = recorded(tmp_path / "c", OWN)

    assert replayed(path, idle_limit=3.0) == pytest.approx(3.0)
    assert replayed(path, idle_limit=math.inf) == pytest.approx(PAUSE_S)


def test_the_viewer_comes_back_to_the_limit_of_the_recording(tmp_path: Path) -> None:
    """After all others, and pauses as recorded."""
    found: list[int | None] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        playback = recording(pilot).playback
        found.append(playback.idle_limit_us)
        for _ in range(6):
            await press(pilot, "i")
            found.append(playback.idle_limit_us)

    drive(recorded(tmp_path / "c", {"idle_limit_ms": 700}), scenario)

    assert found == [700_000, None, 2_000_000, 1_000_000, 500_000, 100_000, 700_000]
