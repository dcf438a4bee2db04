"""Films, read back with ffmpeg: every frame, at its time, looks like what was drawn."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.formats.export.pictures.io.fonts import Font
from ptycassette.formats.export.pictures.painter import Painter, Reel, reel_of
from ptycassette.formats.export.registry import export_named
from ptycassette.formats.export.svg import DARK, Pace

pytestmark = pytest.mark.integration
CODEX = Path(__file__).resolve().parents[2] / "fixtures" / "agents" / "codex-tui"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "codec"), [("mp4", "h264"), ("webm", "vp9")])
def test_a_film_shows_each_frame_when_it_is_due(
    kind: str, codec: str, program: Callable[[str], str], tmp_path: Path
) -> None:
    """The codecs lose a little; a frame that is another one would lose a lot."""
    ffmpeg, ffprobe = program("ffmpeg"), program("ffprobe")
    film = tmp_path / f"film.{kind}"
    font = Font()
    with open_cassette(CODEX) as source:
        film.write_bytes(b"".join(export_named(kind).recording(source, end=3.0)))
        reel = reel_of(source, Pace(end_us=3_000_000), font.metrics)
    asked = ("-of", "json", "-show_entries", "stream=codec_name,pix_fmt:frame=pts_time")
    told = json.loads(subprocess.check_output([ffprobe, "-v", "error", *asked, film]))
    subprocess.run(
        [ffmpeg, "-v", "error", "-i", film, "-fps_mode", "passthrough", tmp_path / "%03d.png"],
        check=True,
    )
    times = [float(frame["pts_time"]) for frame in told["frames"]]
    *shown, _tail = sorted(tmp_path.glob("*.png"))

    assert (told["streams"][0]["codec_name"], told["streams"][0]["pix_fmt"]) == (codec, "yuv420p")
    assert len(shown) == len(reel.frames) > 5
    assert times[:-1] == pytest.approx([t_us / 1e6 for t_us, _ in reel.frames], abs=0.002)
    assert times[-1] == pytest.approx(times[-2] + 2.4, abs=0.002)
    frames = [drawn(reel, number, font) for number in range(len(shown))]
    for number, file in enumerate(shown):
        off = [difference(Image.open(file).convert("RGB"), frame) for frame in frames]

        assert off[number] == min(off) < 4, (number, off)


def drawn(reel: Reel, number: int, font: Font) -> Image.Image:
    """A frame of a film, alone."""
    alone = Reel(reel.rows, [reel.frames[number]], reel.size)
    (patch,) = Painter(alone, font, DARK).patches()
    return patch.image


def difference(one: Image.Image, other: Image.Image) -> float:
    """Root of the mean of squares, of the colour in which it is largest."""
    return max(ImageStat.Stat(ImageChops.difference(one, other)).rms)
