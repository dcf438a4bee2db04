"""Laws of the journal codec."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ptycassette.errors import JournalError
from ptycassette.model.records import (
    Harness,
    JournalEvent,
    Noted,
    Output,
    Resized,
    SessionMeta,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.recording.io.journal_file import JournalDecoder, JournalEncoder
from tests.examples import examples

META = SessionMeta(id="i", argv=("a",), size=Size(1, 1), recorded_at="r", harness=Harness(name="h"))
times = st.integers(0, 1 << 50)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
events = st.one_of(
    st.builds(Output, times, st.binary(min_size=1, max_size=60)),
    st.builds(Typed, times, st.binary(max_size=20), source=st.sampled_from(["user", "driver"])),
    st.builds(Resized, times, st.builds(Size, st.integers(1, 999), st.integers(1, 999))),
    st.builds(Signalled, times, st.sampled_from(["int", "term"])),
    st.builds(Noted, times, json_values),
)


def encode(content: list[JournalEvent], salt: int) -> bytes:
    """A whole journal."""
    encoder = JournalEncoder(salt)
    return encoder.begin(META) + b"".join(map(encoder.event, content))


def decode(data: bytes, block: int) -> list[JournalEvent]:
    """The events of a journal that comes in blocks."""
    decoder = JournalDecoder()
    found: list[JournalEvent] = []
    for at in range(0, len(data), block):
        found += decoder.feed(data[at : at + block])
    decoder.finish()
    return found


@given(st.lists(events, max_size=8), st.integers(0, 2**32 - 1), st.integers(1, 300))
def test_decoding_gives_back_what_was_encoded(
    content: list[JournalEvent], salt: int, block: int
) -> None:
    """decode(encode(x)) = x, for any split into blocks."""
    assert decode(encode(content, salt), block) == content


@given(st.lists(events, max_size=6), st.data())
def test_any_cut_leaves_a_prefix(content: list[JournalEvent], data: st.DataObject) -> None:
    """A crash at any byte after the head leaves the first events, whole."""
    whole = encode(content, 5)
    cut = data.draw(st.integers(len(encode([], 5)), len(whole)))

    found = decode(whole[:cut], 64)

    assert found == content[: len(found)]


@examples(300)
@given(st.lists(events, max_size=5), st.binary(max_size=200), st.data())
def test_arbitrary_bytes_raise_only_the_declared_error(
    content: list[JournalEvent], noise: bytes, data: st.DataObject
) -> None:
    """Bytes overwritten anywhere give a prefix or a JournalError."""
    whole = encode(content, 6)
    at = data.draw(st.integers(0, len(whole)))
    broken = whole[:at] + noise + whole[at + len(noise) :]
    try:
        found = decode(broken, 50)
    except JournalError:
        return

    assert found == content[: len(found)]
