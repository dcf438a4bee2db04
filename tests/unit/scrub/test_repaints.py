"""What is painted again amid other rows is joined, and looked at, as the first time."""

from __future__ import annotations

import re

import pytest

from ptycassette.model import JournalEvent, Output, SessionMeta
from ptycassette.scrub import cells, default_scrubber, verify


@pytest.fixture
def long_key(key: str) -> str:
    """As long as the two rows of a pane."""
    return key[:-2] + "Vb4Nn8Kd3F" + "AA"


SEQUENCE = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")


def backwards(row: int, text: str) -> str:
    """Paints a text from its end to its beginning, so that only the screen can be read."""
    return "".join(f"\x1b[{row};{3 + at}H{text[at]}" for at in reversed(range(len(text))))


def repainted(key: str, times: int = 6) -> list[JournalEvent]:
    """Two rows of a pane that a key is broken over, painted again and again amid other rows."""
    first, last = key[:70], key[70:]
    events: list[JournalEvent] = []
    for number in range(times):
        pane = f"\x1b[5;1H│ {'':70} │\x1b[6;1H│ {'':70} │{backwards(5, first)}{backwards(6, last)}"
        rows = "".join(f"\x1b[{row};1H{number} of text in row {row}" for row in range(8, 12))
        events.append(Output(number, f"\x1b[2J{rows}{pane}".encode()))
    return events


def scrubbed(meta: SessionMeta, events: list[JournalEvent]) -> list[JournalEvent]:
    """The events as they come out of a scrubber."""
    return [*default_scrubber().events(meta, lambda: iter(events))]


def test_a_repainted_secret_goes_each_time(meta: SessionMeta, long_key: str) -> None:
    """Rows that were joined before lead to the bytes of this time."""
    after = scrubbed(meta, repainted(long_key))
    shown = [SEQUENCE.sub(b"", event.data) for event in after if isinstance(event, Output)]

    assert len(shown) == 6
    assert not any(
        long_key[at : at + 4][::-1].encode() in text for at in (30, 76) for text in shown
    )


def test_forgetting_joined_rows_changes_nothing(
    meta: SessionMeta, long_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It only takes longer."""
    events = repainted(long_key)
    after = scrubbed(meta, events)
    monkeypatch.setattr(cells, "_MOST_KNOWN", 1)

    assert scrubbed(meta, events) == after


def test_verification_forgets_joined_rows_too(
    meta: SessionMeta, long_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And finds what it would find."""
    events = repainted(long_key)
    findings = default_scrubber().verify(meta, lambda: iter(events))
    monkeypatch.setattr(verify, "_MOST_GROUPS", 0)

    assert findings
    assert default_scrubber().verify(meta, lambda: iter(events)) == findings


def test_verification_looks_at_what_scrolls_in(meta: SessionMeta) -> None:
    """With the rows above that it may belong to, however many these are."""
    phrase = "correcthorsebatterystaple" * 20  # seven rows, each of which comes alone
    pieces = [phrase[at : at + 80] for at in range(0, len(phrase), 80)]
    lines = "".join(f"line {number}\r\n" for number in range(40))
    events: list[JournalEvent] = [
        Output(number, text.encode()) for number, text in enumerate([lines, *pieces])
    ]
    findings = default_scrubber(known=[phrase]).verify(meta, lambda: iter(events))

    assert any(line.startswith("screen: ") for line in findings)
