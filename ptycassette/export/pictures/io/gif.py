"""An animated GIF, written patch by patch.

Pillow compresses each patch; its own writer of animations holds all frames, compares them again
and looks up palettes again. Source: GIF89a, sections 18 to 26; Netscape's extension for the loop.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from PIL import Image, ImageChops
from PIL.GifImagePlugin import getdata

from ptycassette.export.pictures.inks import UNCHANGED
from ptycassette.export.pictures.painter import Patch

_NO_DISPOSAL = 1 << 2
_TRANSPARENT = 1
_SAME = [255] + [0] * 255
"""From a difference to a mask of where there is none."""


def gif_pieces(
    size: tuple[int, int],
    patches: Iterable[Patch],
    durations_us: Iterable[int],
    palette: bytes | None,
) -> Iterator[bytes]:
    """The file in pieces; ``palette`` is the one of most patches, if there is such a one."""
    table = 0xF7 if palette else 0x70  # 256 colours of 8 bits
    yield b"GIF89a" + struct.pack("<HHBBB", *size, table, 0, 0) + (palette or b"")
    yield b"\x21\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<H", 0) + b"\0"
    t_us = 0
    for patch, duration_us in zip(patches, durations_us, strict=True):
        centiseconds = round((t_us + duration_us) / 10_000) - round(t_us / 10_000)
        t_us += duration_us
        image, colors = _numbered(patch)
        flags = _NO_DISPOSAL | (_TRANSPARENT if patch.before is not None else 0)
        yield struct.pack("<3sBBHBB", b"\x21\xf9\x04", flags, 0, 0, 0, 0)[:4] + struct.pack(
            "<HBB", centiseconds, UNCHANGED, 0
        )
        image.putpalette(colors)
        yield b"".join(getdata(image, patch.at, include_color_table=colors != palette))
    yield b";"


def _numbered(patch: Patch) -> tuple[Image.Image, bytes]:
    """A patch in numbers of a palette, without what does not change."""
    image, before = patch.image, patch.before
    if patch.palette is None:  # more colours than a palette has
        few = image.quantize(UNCHANGED, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        colors = bytes(few.getpalette() or []).ljust(768, b"\0")
        image = Image.frombytes("L", few.size, few.tobytes())
    else:
        colors = patch.palette
        image = image.copy()
    if before is not None:
        difference = ImageChops.difference(patch.image, before)
        if difference.mode != "L":
            red, green, blue = difference.split()
            difference = ImageChops.lighter(ImageChops.lighter(red, green), blue)
        image.paste(UNCHANGED, (0, 0), difference.point(_SAME))
    return image, colors
