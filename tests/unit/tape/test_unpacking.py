"""Bodies without their content encoding: what unpacks to too much is cut off, in every encoding."""

from __future__ import annotations

import gzip
import random
import sys
import zlib
from collections.abc import Callable
from types import SimpleNamespace

import brotli
import pytest
from backports import zstd

from ptycassette.tape.unpacking import ALWAYS_UNPACKED_BYTES, MOST_TIMES, unpacker_for

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: bytes(brotli.compress(data, quality=5)),
    "zstd": zstd.compress,
    "gzip, gzip": lambda data: gzip.compress(gzip.compress(data)),
    "gzip, br": lambda data: bytes(brotli.compress(gzip.compress(data), quality=5)),
}


def unpacked(data: bytes, encoding: str, pieces: int) -> tuple[int, str | None]:
    """How many bytes come out of it, fed in so many pieces, and what is wrong with it."""
    unpacker = unpacker_for(encoding)
    step = -(-len(data) // pieces)
    length = sum(
        len(piece)
        for at in range(0, len(data), step)
        for piece in unpacker.feed(data[at : at + step])
    )
    unpacker.end()
    return length, unpacker.problem


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("encoding", PACKERS)
def test_a_bomb_is_cut_off(encoding: str, pieces: int) -> None:
    """64 MiB of zeros out of a few kilobytes: only the beginning is kept, and the reason."""
    packed = PACKERS[encoding](bytes(64 << 20))
    length, problem = unpacked(packed, encoding, pieces)

    assert length <= max(ALWAYS_UNPACKED_BYTES, MOST_TIMES * len(packed))
    assert problem is not None
    assert "unpack to more than" in problem


@pytest.mark.parametrize("encoding", PACKERS)
def test_a_repetitive_text_is_unpacked_whole(encoding: str) -> None:
    """12 MB of lines of a log that differ in a time and a number."""
    dice = random.Random(1)
    lines = (
        f"2026-11-27T10:00:{n % 60:02} INFO step {dice.random():.9f} ok\n" for n in range(250_000)
    )
    text = "".join(lines).encode()

    assert unpacked(PACKERS[encoding](text), encoding, 3) == (len(text), None)


@pytest.mark.parametrize("encoding", PACKERS)
def test_small_bodies_may_be_of_one_byte(encoding: str) -> None:
    """8 MiB are always accepted."""
    blanks = b" " * ALWAYS_UNPACKED_BYTES

    assert unpacked(PACKERS[encoding](blanks), encoding, 1) == (len(blanks), None)


class OldDecompressor:
    """That of brotli before 1.2: it takes no limit."""

    def __init__(self) -> None:
        self._decompressor = brotli.Decompressor()
        self.is_finished = self._decompressor.is_finished

    def process(self, data: bytes, /) -> bytes:
        """All of it at once."""
        return bytes(self._decompressor.process(data))


@pytest.fixture
def old_brotli(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that another package pins."""
    old = SimpleNamespace(Decompressor=OldDecompressor)
    monkeypatch.setitem(sys.modules, "brotli", old)


@pytest.mark.usefixtures("old_brotli")
def test_an_old_brotli_has_a_bound_too() -> None:
    """By few bytes at once."""
    text = random.Random(1).randbytes(3000) * 3

    assert unpacked(brotli.compress(text), "br", 2) == (len(text), None)
    test_a_bomb_is_cut_off("br", 1)
