"""The digest of a file, with and without a thread of its own."""

from __future__ import annotations

import threading
from hashlib import sha256

import pytest

from ptycassette.cassette.io.reader import WholeDigest

BLOCKS = [bytes([number]) * 100_000 for number in range(40)]


@pytest.mark.parametrize("size", [100, 8 << 20])
def test_the_digest_is_that_of_all_blocks_in_their_order(size: int) -> None:
    """Whether or not a thread computes it."""
    with WholeDigest(size) as digest:
        for block in BLOCKS:
            digest.update(memoryview(block))

        assert digest.hexdigest() == sha256(b"".join(BLOCKS)).hexdigest()


def test_no_thread_is_left_behind_by_an_error() -> None:
    """Whoever stops in the middle stops the thread too."""
    before = threading.active_count()

    def fail() -> None:
        with WholeDigest(8 << 20) as digest:
            digest.update(memoryview(b"x"))
            assert threading.active_count() == before + 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert threading.active_count() == before
