"""Recordings as pixels: each format, read back by Pillow, holds exactly what was drawn."""

from __future__ import annotations

import io
import itertools
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageStat

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import UsageError
from ptycassette.formats.export.pictures.io.fonts import Font
from ptycassette.formats.export.pictures.painter import Painter, Reel, reel_of
from ptycassette.formats.export.pictures.shapes import is_shape, shape
from ptycassette.formats.export.registry import export_named
from ptycassette.formats.export.svg import DARK, LIGHT, Pace, pace_of, paced
from ptycassette.model.records import Output, Typed
from ptycassette.model.screen import Size
from ptycassette.testing import manifest_of, write_cassette

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
STYLED = (
    "\x1b[1mbold\x1b[0m \x1b[2mdim\x1b[0m \x1b[3;4mitalic\x1b[0m \x1b[7mreverse\x1b[0m "
    "\x1b[8mhidden\x1b[0m \x1b[9;53mstruck\x1b[0m \x1b[38;5;208m\x1b[48;5;17mcube\x1b[0m\r\n"
    "\x1b[4:3;58;2;255;0;0mcurly\x1b[0m \x1b[4:2mdouble\x1b[0m e\u0301 \u65e5\u672c|\r\n"
    "\u2554\u2550\u2566\u2550\u2557 \u28ff \u2588\u2592 \u256d\u2500\u256e\r\n"
)
GRADIENT = "".join(
    f"\x1b[38;2;{n * 3};{255 - n * 3};99m\x1b[48;2;{n};{n * 3};200mw" for n in range(80)
)


@pytest.fixture(scope="module")
def font() -> Font:
    """The packaged one."""
    return Font()


@pytest.fixture
def styled(tmp_path: Path) -> Path:
    """All that cells can look like; then one word more, a scroll, and more colours than 255."""
    write_cassette(
        tmp_path / "styled",
        Output(0, STYLED.encode()),
        Typed(400_000, b"hi\r"),
        Output(500_000, b"more"),
        Output(900_000, b"\r\n" * 6 + STYLED.encode()),
        Output(1_500_000, GRADIENT.encode()),
        Output(1_900_000, b"\x1b[0m\x1b[2J\x1b[Hplain again"),
        manifest=manifest_of(size=Size(8, 80)),
    )
    return tmp_path / "styled"


def drawn(path: Path, font: Font, **options: Any) -> tuple[list[Image.Image], list[int]]:
    """Each frame of a recording drawn whole, in colours, and how long each stays."""
    with open_cassette(path, allow_unscrubbed=True) as source:
        pace = pace_of(manifest_of(), idle_limit=None, speed=None, start=None, end=None)
        reel = reel_of(source, pace, font.metrics, **options)
    frames = []
    for frame in reel.frames:
        (patch,) = Painter(Reel(reel.rows, [frame], reel.size), font, DARK).patches()
        frames.append(patch.image)
    return frames, reel.durations_us


def made(path: Path, kind: str, **options: Any) -> bytes:
    """A recording in a format."""
    with open_cassette(path, allow_unscrubbed=True) as source:
        return b"".join(export_named(kind).recording(source, **options))


def frames_of(data: bytes) -> Iterator[tuple[Image.Image, int]]:
    """The frames that Pillow reads, and their milliseconds."""
    image = Image.open(io.BytesIO(data))
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        yield image.convert("RGB"), round(image.info.get("duration", 0))


def furthest(one: Image.Image, other: Image.Image) -> int:
    """The largest difference of two pixels in one colour."""
    assert one.size == other.size
    return max(high for _, high in ImageChops.difference(one, other).getextrema())


@pytest.mark.parametrize("kind", ["gif", "webp", "apng"])
def test_an_emoji_is_as_it_was_drawn(kind: str, tmp_path: Path, font: Font) -> None:
    """Where a font has it in colours, too: then a GIF takes the nearest of a few of them."""
    write_cassette(
        tmp_path / "c",
        Output(0, "it works \U0001f389".encode()),
        Output(900_000, b"\r\nmore"),
        manifest=manifest_of(size=Size(4, 20)),
    )
    wanted, _ = drawn(tmp_path / "c", font)
    found = [image for image, _ in frames_of(made(tmp_path / "c", kind))]

    pairs = list(zip(found, wanted, strict=True))
    off = [max(ImageStat.Stat(ImageChops.difference(*pair)).mean) for pair in pairs]
    assert max(off) < (4 if kind == "gif" else 1e-9)


@pytest.mark.parametrize("kind", ["gif", "webp", "apng"])
@pytest.mark.parametrize("recording", ["styled", "programs/vim.cassette", "programs/less.cassette"])
def test_a_film_holds_each_frame_as_it_was_drawn(
    kind: str, recording: str, styled: Path, font: Font
) -> None:
    """To the pixel, but for a GIF of more colours than it can hold; and each as long as it stays.

    Of the screen with a gradient, a GIF takes the nearest of 255 colours.
    """
    path = styled if recording == "styled" else FIXTURES / recording
    wanted, durations_us = drawn(path, font)
    found = list(frames_of(made(path, kind)))

    assert len(found) == len(wanted) > 1
    off = [furthest(shown, frame) for (shown, _), frame in zip(found, wanted, strict=True)]
    inexact = [number for number, by in enumerate(off) if by]
    assert len(inexact) <= (kind == "gif" and recording == "styled")
    assert all(off[number] < 64 for number in inexact)
    unit = 10_000 if kind == "gif" else 1_000
    times = itertools.accumulate(durations_us)
    shown_at = itertools.accumulate(ms * 1000 for _, ms in found)
    assert all(abs(shown - due) <= unit / 2 for shown, due in zip(shown_at, times, strict=True))


def test_a_still_is_the_last_screen_or_that_of_a_moment(styled: Path, font: Font) -> None:
    """With all its colours, however many."""
    wanted, _ = drawn(styled, font)
    last = Image.open(io.BytesIO(made(styled, "png"))).convert("RGB")
    full = Image.open(io.BytesIO(made(styled, "png", end=1.6))).convert("RGB")

    assert furthest(last, wanted[-1]) == 0
    assert furthest(full, wanted[-2]) == 0


def test_a_light_theme_speed_and_a_stretch_are_obeyed(styled: Path) -> None:
    """A stretch begins with the screen at its start; twice as fast is half as long."""
    whole = list(frames_of(made(styled, "webp")))
    part = list(frames_of(made(styled, "webp", start=0.6, end=1.6, speed=2.0, theme="light")))
    ground = part[0][0].getpixel((0, 0))

    assert len(part) == 3 < len(whole)
    assert sum(ms for _, ms in part[:-1]) == (1500 - 600) / 2
    assert "#{:02x}{:02x}{:02x}".format(*ground) == LIGHT.background != DARK.background


@pytest.mark.parametrize(("masked", "shown"), [(False, "hi<enter>"), (True, "(masked)")])
def test_a_caption_is_a_row_with_what_was_typed(
    masked: bool, shown: str, tmp_path: Path, font: Font
) -> None:
    """From when it was typed, below the screen, which stays as it was; secrets are not told."""
    typed = Typed(400_000, b"hi\r", masked=masked)
    write_cassette(tmp_path / "c", Output(0, b"ready"), typed, Output(500_000, b"more"))
    with open_cassette(tmp_path / "c", allow_unscrubbed=True) as source:
        reel = reel_of(source, Pace(), font.metrics, caption=True)
    captions = [
        (t_us, reel.rows[frame.caption][0].strip())
        for t_us, frame in reel.frames
        if frame.caption is not None
    ]
    plain, _ = drawn(tmp_path / "c", font)
    captioned, _ = drawn(tmp_path / "c", font, caption=True)
    bottom = plain[0].height - 8

    assert captions == [(0, ""), (400_000, shown), (500_000, shown)]
    assert (
        captioned[-1].crop((0, 0, 400, bottom)).tobytes()
        == plain[-1].crop((0, 0, 400, bottom)).tobytes()
    )


def test_frames_are_shown_by_the_pace() -> None:
    """Pauses are shortened as recorded, then all is so many times as fast; equals fall away."""
    frames = [(0, "a"), (1_000_000, "b"), (1_010_000, "c"), (9_000_000, "c"), (10_000_000, "d")]
    stretch = Pace(start_us=1_050_000, end_us=9_500_000)

    assert paced(frames, Pace()) == [(0, "a"), (1_000_000, "c"), (4_010_000, "d")]
    assert paced(frames, Pace(speed=2.0))[-1] == (2_005_000, "d")
    assert paced(frames, stretch) == [(0, "c")]
    assert paced(frames[2:], Pace(idle_limit_us=9_000_000)) == [(0, "c"), (8_990_000, "d")]


BOX = [chr(code) for code in range(0x2500, 0x2580)]


def arms(char: str, width: int, height: int) -> dict[str, bytes]:
    """What the four edges of a cell look like."""
    image = shape(char, width, height)
    return {
        "left": image.crop((0, 0, 1, height)).tobytes(),
        "right": image.crop((width - 1, 0, width, height)).tobytes(),
        "top": image.crop((0, 0, width, 1)).tobytes(),
        "bottom": image.crop((0, height - 1, width, height)).tobytes(),
    }


@pytest.mark.parametrize("size", [(9, 21), (8, 16), (14, 29), (5, 11)])
def test_box_characters_meet_at_every_edge(size: tuple[int, int]) -> None:
    """Whatever reaches an edge does so where the straight line of that weight does.

    The lines are taken from the characters that are nothing but such an arm.
    """
    ends = {
        "left": {bytes(size[1]), *(arms(char, *size)["left"] for char in "\u2500\u2501\u2550")},
        "top": {bytes(size[0]), *(arms(char, *size)["top"] for char in "\u2502\u2503\u2551")},
    }
    lined = [
        char for char in BOX
        if "DASH" not in unicodedata.name(char) and "DIAGONAL" not in unicodedata.name(char)
    ]  # fmt: skip
    for char in lined:
        edges = arms(char, *size)

        assert {edges["left"], edges["right"]} <= ends["left"], char
        assert {edges["top"], edges["bottom"]} <= ends["top"], char


def test_a_box_character_is_in_one_piece_with_the_arms_of_its_name() -> None:
    """Ink is connected (that of double lines through its gap), and an arm is where it is named."""
    words = {"LEFT": "left", "RIGHT": "right", "UP": "top", "DOWN": "bottom"}
    both = {"HORIZONTAL": ("left", "right"), "VERTICAL": ("top", "bottom")}
    for char in BOX:
        name = unicodedata.name(char)
        if "DASH" in name or "DIAGONAL" in name:
            continue
        wanted = {edge for word, edge in words.items() if word in name.split()}
        wanted |= {edge for word, pair in both.items() if word in name.split() for edge in pair}
        found = {edge for edge, line in arms(char, 9, 21).items() if any(line)}

        assert found == wanted, name


def test_parts_of_a_block_make_a_block() -> None:
    """Halves, quadrants, eighths and sextants fill a cell without a gap, in every size."""
    wholes = (
        "\u2580\u2584",
        "\u258c\u2590",
        "\u2598\u259d\u2596\u2597",
        "\u259a\u259e",
        "\u259b\u2597",
        "\U0001fb00\U0001fb01\U0001fb03\U0001fb07\U0001fb0f\U0001fb1e",
    )
    for width, height in itertools.product((5, 8, 9, 14), (11, 16, 21)):
        for whole in wholes:
            found = Image.new("L", (width, height))
            for char in whole:
                assert is_shape(char)
                found = ImageChops.add(found, shape(char, width, height))

            assert found.getextrema() == (255, 255), (whole, width, height)


def test_without_pillow_the_way_to_install_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an extra."""
    for name in [
        one for one in sys.modules if one.startswith("ptycassette.formats.export.pictures")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UsageError, match="Pillow") as wrong:
        export_named("png").recording(object())  # type: ignore[arg-type]

    assert "ptycassette[pictures]" in str(wrong.value)
