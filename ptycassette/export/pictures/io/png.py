"""PNG, still and animated, written patch by patch.

Pillow compresses each patch; its own writer of animations holds all frames. Source: PNG, third
edition (W3C 2025), 11.3.6 for animations.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable, Iterator

from PIL import Image

from ptycassette.export.pictures.painter import Patch

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TRUE_COLOR = 2
_DENOMINATORS = (1000, 100)
"""Of delays, which are 16 bits: milliseconds up to 65 s, or else centiseconds."""


def png_file(patch: Patch) -> bytes:
    """One whole frame as a PNG."""
    image = patch.image
    if patch.palette is not None:
        image.putpalette(patch.palette)
    made = io.BytesIO()
    image.save(made, "PNG", optimize=True)
    return made.getvalue()


def apng_pieces(
    size: tuple[int, int],
    patches: Iterable[Patch],
    durations_us: list[int],
    *,
    level: int = 6,
) -> Iterator[bytes]:
    """An animated PNG in pieces, for ever again, of patches in colours.

    ``level`` is that of zlib: 1 is fast, 9 is small.
    """
    yield _SIGNATURE + _chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, _TRUE_COLOR, 0, 0, 0))
    yield _chunk(b"acTL", struct.pack(">II", len(durations_us), 0))
    number = t_us = 0
    for patch, duration_us in zip(patches, durations_us, strict=True):
        ms = round((t_us + duration_us) / 1000) - round(t_us / 1000)
        t_us += duration_us
        unit = _DENOMINATORS[ms > 0xFFFF]
        head = (number, *patch.image.size, *patch.at, ms * unit // 1000, unit, 0, 0)
        yield _chunk(b"fcTL", struct.pack(">IIIIIHHBB", *head))
        number += 1
        for data in _data(patch.image, level):
            if number == 1:
                yield _chunk(b"IDAT", data)
            else:
                yield _chunk(b"fdAT", struct.pack(">I", number) + data)
                number += 1
    yield _chunk(b"IEND", b"")


def _data(image: Image.Image, level: int) -> Iterator[bytes]:
    """The compressed pixels, as Pillow makes them, in one piece."""
    made = io.BytesIO()
    image.save(made, "PNG", compress_level=level)
    data, at, found = made.getvalue(), len(_SIGNATURE), []
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        if data[at + 4 : at + 8] == b"IDAT":
            found.append(data[at + 8 : at + 8 + length])
        at += length + 12
    yield b"".join(found)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
