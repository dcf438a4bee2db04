"""Resizes show what no output showed: rows come together, and back from the history."""

from __future__ import annotations

import msgspec
import pytest

from ptycassette.model.records import JournalEvent, Output, Resized, SessionMeta
from ptycassette.model.screen import Size
from ptycassette.scrub.session import default_scrubber

PHRASE = "correct" + "horse" + "battery" + "staple"
# The first half wraps and scrolls out of sight; the second one is painted below, far later.
TORN = (
    "--" + "." * 6 + PHRASE[:12] + "," * 18 + "\r\n\r\n\r\n\x1b[1;1H" + PHRASE[12:] + "\x1b[4;1H"
).encode()
SIZES = [Size(4, 60), Size(8, 20)]


def torn(meta: SessionMeta, size: Size) -> tuple[SessionMeta, list[JournalEvent]]:
    """A session that shows the phrase only once its terminal has taken another size."""
    events: list[JournalEvent] = [Output(0, TORN), Resized(1000, size)]
    return msgspec.structs.replace(meta, size=Size(4, 20)), events


def test_what_no_size_brings_together_stays(meta: SessionMeta) -> None:
    """Without a resize the halves are words of two places."""
    narrow, events = torn(meta, Size(4, 20))
    first, _ = default_scrubber(known=[PHRASE]).events(narrow, lambda: iter(events))

    assert first == events[0]


@pytest.mark.parametrize("size", SIZES)
def test_what_a_resize_brings_together_is_scrubbed(meta: SessionMeta, size: Size) -> None:
    """In one row that was two, and in rows of which one had been out of sight."""
    narrow, events = torn(meta, size)
    first, _ = default_scrubber(known=[PHRASE]).events(narrow, lambda: iter(events))

    assert isinstance(first, Output)
    assert PHRASE[:12].encode() not in first.data
    assert PHRASE[12:].encode() not in first.data


@pytest.mark.parametrize("size", SIZES)
def test_verification_looks_after_a_resize(meta: SessionMeta, size: Size) -> None:
    """Although no output follows it."""
    narrow, events = torn(meta, size)
    findings = default_scrubber(known=[PHRASE]).verify(narrow, lambda: iter(events))

    assert [line.split(":")[0] for line in findings] == ["output"]
    assert "1 ms" in findings[0]
