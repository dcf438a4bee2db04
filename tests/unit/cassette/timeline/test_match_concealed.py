"""Recorded text with masks in it, compared with what the driver sends."""

from __future__ import annotations

import pytest

from ptycassette.cassette.timeline.match import MOST_STEPS, Matching, read_entries
from ptycassette.keys.reader import KeyReader
from ptycassette.model.records import InputRecord


def conceal(text: str) -> str:
    """What a recording makes of a text."""
    return text.replace("hunter2", "xxxxxxx")


def matched(recorded: bytes, sent: bytes, strategy: str = "prompt") -> str:
    """How the comparison ends."""
    (entry,) = read_entries([InputRecord(seq=1, t_ms=0, kind="input", bytes=recorded)])
    matcher = Matching(strategy, conceal=conceal).matcher(entry)
    for key in KeyReader().feed(sent):
        if matcher.state == "open":
            matcher.feed(key)
    return matcher.state


@pytest.mark.parametrize("strategy", ["prompt", "exact", "normalised"])
@pytest.mark.parametrize(
    ("recorded", "sent", "state"),
    [
        (b"say xxxxxxx!\r", b"say hunter2!\r", "matched"),
        (b"say xxxxxxx!\r", b"say hunter3!\r", "mismatch"),
        (b"say xxxxxxx!\r", b"say xxxxxxx!\r", "matched"),
        (b"say hunter3!\r", b"say hunter2!\r", "mismatch"),
    ],
)
def test_what_is_sent_is_compared_as_it_would_be_recorded(
    strategy: str, recorded: bytes, sent: bytes, state: str
) -> None:
    """A mask matches what would be masked, and nothing else."""
    assert matched(recorded, sent, strategy) == state


def test_echo_between_keys_plays_as_the_keys_come() -> None:
    """Before anybody knows what of them is secret."""
    (entry,) = read_entries([InputRecord(seq=1, t_ms=0, kind="input", bytes=b"xxxxxxx\r")])
    matcher = Matching(conceal=conceal).matcher(entry)
    for number, key in enumerate(KeyReader().feed(b"hunter2"), 1):
        matcher.feed(key)

        assert matcher.satisfied == number


def test_a_line_that_never_ends_is_cut() -> None:
    """Each step keeps the line up to it, which would take memory that grows with its square."""
    inputs = [
        InputRecord(seq=n, t_ms=0, kind="input", bytes=b"a") for n in range(1, 4 * MOST_STEPS)
    ]
    entries = read_entries(inputs)

    assert max(len(entry.steps) for entry in entries) == MOST_STEPS
    assert b"".join(entry.raw for entry in entries) == b"a" * len(inputs)
