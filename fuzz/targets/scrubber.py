"""The scrubber of a session: lengths stay, and a declared value is nowhere in what it gives."""

from __future__ import annotations

from ptycassette.testing import scrub_chunks

KNOWN = "correct-horse-battery"
_CHANNELS = ("output", "input", "traffic")


def check(data: bytes) -> None:
    """Scrub it on the channel that the first byte says, cut in the middle."""
    channel, rest = _CHANNELS[(data[0] if data else 0) % 3], data[1:]
    middle = len(rest) // 2
    chunks = [rest[:middle], rest[middle:]]
    done = scrub_chunks(chunks, rows=5, cols=30, known=[KNOWN], channel=channel)
    assert [len(one) for one in done] == [len(one) for one in chunks], "the lengths have changed"
    assert KNOWN.encode() not in b"".join(done), "a declared value is left"
