"""Stored frames, kept while indexing: something to show before the exact screen is known."""

from __future__ import annotations

import zlib
from bisect import bisect_right

import msgspec

from ptycassette import FrameRecord, Screen, screen_of

__all__ = ["Previews"]


class Previews:
    """Frames by time, compressed; when the budget is spent, every second one is dropped."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._stride = 1
        self._seen = 0
        self._kept: tuple[list[int], list[bytes]] = ([], [])
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(FrameRecord)

    def add(self, t_us: int, frame: FrameRecord) -> None:
        """Keep a frame."""
        self._seen += 1
        if self._seen % self._stride:
            return
        data = zlib.compress(self._encoder.encode(frame), 1)
        times, frames = self._kept
        times.append(t_us)
        frames.append(data)
        self._bytes += len(data)
        if self._bytes > self._max_bytes:
            self._stride *= 2
            self._kept = times[1::2], frames[1::2]  # replaced as a whole: readers see one or other
            self._bytes = sum(map(len, self._kept[1]))

    def at(self, t_us: int) -> tuple[int, Screen] | None:
        """The last frame kept at or before ``t_us``, and when it was."""
        times, frames = self._kept
        place = min(bisect_right(times, t_us), len(frames))
        if not place:
            return None
        return times[place - 1], screen_of(self._decoder.decode(zlib.decompress(frames[place - 1])))
