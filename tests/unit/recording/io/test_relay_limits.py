"""``relay.c`` states again what Python states; nothing is compiled here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptycassette.cassette import framing
from ptycassette.recording.io import compiled_relay
from ptycassette.recording.io import compiled_relay as relay_limits
from ptycassette.recording.io import journal_file as journal

SOURCE = Path(compiled_relay.__file__).with_name("relay.c").read_text(encoding="ascii")
STATED = {
    name: int(number) << int(shift or 0)
    for name, number, shift in re.findall(r"\b([A-Z_]+) = (\d+)(?: << (\d+))?(?=,| })", SOURCE)
}


@pytest.mark.parametrize("name", relay_limits.__all__)
def test_both_forms_of_the_loop_have_the_same_limits(name: str) -> None:
    """The caller's buffers are those that the compiled loop writes to."""
    assert STATED[name] == getattr(relay_limits, name)


@pytest.mark.parametrize("kind", ["KIND_BATCH", "KIND_KEY", "KIND_READ"])
def test_records_are_of_the_same_kinds(kind: str) -> None:
    """Whoever reads a journal cannot tell which form wrote it."""
    assert STATED[kind] == getattr(journal, f"_{kind}")


def test_heads_and_checksums_are_of_the_same_length() -> None:
    """The framing of a record."""
    assert STATED["HEAD_BYTES"] == framing._HEAD.size
    assert STATED["CRC_BYTES"] == framing._CRC.size


def test_a_run_ends_for_the_same_reasons() -> None:
    """The numbers of its answers."""
    assert STATED["KEY"] == compiled_relay._KEY
    assert STATED["JOURNAL_FAILED"] == compiled_relay._JOURNAL_FAILED
