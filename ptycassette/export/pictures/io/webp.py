"""An animated WebP without loss, made patch by patch.

Pillow compresses each patch; libwebp's writer of animations compares whole frames again. Source:
RFC 9649, section 2.7. The length of the file stands at its beginning, so the compressed patches
wait in a temporary file.
"""

from __future__ import annotations

import io
import struct
import tempfile
from collections.abc import Iterable, Iterator

from PIL import Image

from ptycassette.export.pictures.painter import Patch

_ANIMATED = 0x02
_NO_BLENDING = 0x02
_IN_MEMORY = 32 << 20
_PIECE = 1 << 20
_LONGEST_MS = (1 << 24) - 1


def webp_pieces(
    size: tuple[int, int], patches: Iterable[Patch], durations_us: Iterable[int]
) -> Iterator[bytes]:
    """The file in pieces, of patches in colours that begin and end at even pixels."""
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as waiting:
        t_us = 0
        for patch, duration_us in zip(patches, durations_us, strict=True):
            ms = round((t_us + duration_us) / 1000) - round(t_us / 1000)
            t_us += duration_us
            (x, y), (width, height) = patch.at, patch.image.size
            head = b"".join(
                value.to_bytes(3, "little")
                for value in (x // 2, y // 2, width - 1, height - 1, min(ms, _LONGEST_MS))
            )
            waiting.write(_chunk(b"ANMF", head + bytes([_NO_BLENDING]) + _pixels(patch.image)))
        canvas = b"".join((side - 1).to_bytes(3, "little") for side in size)
        start = b"WEBP" + _chunk(b"VP8X", bytes([_ANIMATED, 0, 0, 0]) + canvas)
        start += _chunk(b"ANIM", struct.pack("<IH", 0xFFFFFFFF, 0))
        yield b"RIFF" + struct.pack("<I", len(start) + waiting.tell()) + start
        waiting.seek(0)
        while piece := waiting.read(_PIECE):
            yield piece


def _pixels(image: Image.Image) -> bytes:
    """The chunks of a still WebP, without the file around them."""
    made = io.BytesIO()
    image.save(made, "WEBP", lossless=True, quality=50, method=1)
    return made.getvalue()[12:]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
