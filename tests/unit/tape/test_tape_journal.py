"""The journal of a tape: what was noted is read back, after any crash."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.errors import JournalError, StorageError
from ptycassette.tape.io.journal_file import TapeJournalFile
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    ExchangeEnded,
    RequestBegun,
    RequestComplete,
    RequestData,
    SocketMessage,
    TapeItem,
)
from ptycassette.tape.journal_codec import TapeDecoder, TapeEncoder, TapeHead

HEAD = TapeHead(origin_us=7)
numbers = st.integers(0, 1 << 50)
headers = st.lists(st.tuples(st.text(max_size=4), st.text(max_size=4)), max_size=3).map(tuple)
items = st.one_of(
    st.builds(
        RequestBegun,
        t_us=numbers,
        exchange=numbers,
        connection=numbers,
        kind=st.sampled_from(["http", "websocket"]),
        method=st.text(max_size=4),
        upstream=st.text(max_size=4),
        target=st.text(max_size=4),
        headers=headers,
    ),
    st.builds(RequestData, t_us=numbers, exchange=numbers, data=st.binary(max_size=40)),
    st.builds(RequestComplete, t_us=numbers, exchange=numbers),
    st.builds(AnswerBegun, t_us=numbers, exchange=numbers, status=numbers, headers=headers),
    st.builds(AnswerData, t_us=numbers, exchange=numbers, data=st.binary(max_size=40)),
    st.builds(
        SocketMessage,
        t_us=numbers,
        exchange=numbers,
        sender=st.sampled_from(["client", "provider"]),
        data=st.binary(max_size=40),
        binary=st.booleans(),
    ),
    st.builds(ExchangeEnded, t_us=numbers, exchange=numbers, outcome=st.just("unreachable")),
)


def encode(content: list[TapeItem]) -> bytes:
    """A whole journal."""
    encoder = TapeEncoder(5)
    return encoder.begin(HEAD) + b"".join(map(encoder.item, content))


def decode(data: bytes, block: int = 64) -> list[TapeItem]:
    """The items of a journal that comes in blocks."""
    decoder = TapeDecoder()
    found: list[TapeItem] = []
    for at in range(0, len(data), block):
        found += decoder.feed(data[at : at + block])
    decoder.finish()
    return found


@given(st.lists(items, max_size=8), st.integers(1, 300))
def test_decoding_gives_back_what_was_encoded(content: list[TapeItem], block: int) -> None:
    """decode(encode(x)) = x, for any split into blocks."""
    assert decode(encode(content), block) == content


@given(st.lists(items, max_size=6), st.data())
def test_any_cut_leaves_a_prefix(content: list[TapeItem], data: st.DataObject) -> None:
    """A crash at any byte after the head leaves the first items, whole."""
    whole = encode(content)
    cut = data.draw(st.integers(len(encode([])), len(whole)))

    found = decode(whole[:cut])

    assert found == content[: len(found)]


@given(st.lists(items, max_size=5), st.binary(max_size=200), st.data())
def test_arbitrary_bytes_raise_only_the_declared_error(
    content: list[TapeItem], noise: bytes, data: st.DataObject
) -> None:
    """Bytes overwritten anywhere give a prefix or a JournalError."""
    whole = encode(content)
    at = data.draw(st.integers(0, len(whole)))
    try:
        found = decode(whole[:at] + noise + whole[at + len(noise) :])
    except JournalError:
        return

    assert found == content[: len(found)]


def test_damage_in_the_middle_is_an_error() -> None:
    """A flipped byte with whole records after it is no torn tail."""
    content: list[TapeItem] = [RequestComplete(t_us=1, exchange=n) for n in range(4)]
    whole = bytearray(encode(content))
    whole[len(encode(content[:1])) + 30] ^= 1

    with pytest.raises(JournalError, match="whole records after it"):
        decode(bytes(whole))


def test_a_growing_file_is_read_item_by_item(tmp_path: Path) -> None:
    """Each item is in the file as soon as ``note`` returns."""
    decoder, found = TapeDecoder(), []
    with TapeJournalFile(tmp_path / "a.tape", origin_us=3) as journal:
        reading = (tmp_path / "a.tape").open("rb", buffering=0)
        for number in range(3):
            journal.note(RequestComplete(t_us=number, exchange=number))
            found.append([item.exchange for item in decoder.feed(reading.read())])
        reading.close()

    assert found == [[0], [1], [2]]
    assert decoder.head == TapeHead(origin_us=3)


def test_a_full_disk_leaves_whole_records(tmp_path: Path) -> None:
    """What could not be written whole is cut off, and nothing is written after it."""
    calls = 0

    def write(fd: int, data: bytes | memoryview) -> int:
        nonlocal calls
        calls += 1
        if calls == 3:
            return os.write(fd, data[:7])
        if calls == 4:
            raise OSError(28, "No space left on device")
        return os.write(fd, data)

    journal = TapeJournalFile(tmp_path / "a.tape", origin_us=0, write=write)
    journal.note(RequestComplete(t_us=1, exchange=1))
    for _ in range(2):
        with pytest.raises(StorageError, match="No space left"):
            journal.note(RequestComplete(t_us=2, exchange=2))
    journal.close()

    assert decode((tmp_path / "a.tape").read_bytes()) == [RequestComplete(t_us=1, exchange=1)]


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    """Nor is a link followed."""
    (tmp_path / "a.tape").write_text("mine")
    (tmp_path / "b.tape").symlink_to(tmp_path / "elsewhere")
    for name in ("a.tape", "b.tape"):
        with pytest.raises(StorageError, match="File exists"):
            TapeJournalFile(tmp_path / name, origin_us=0)

    assert not (tmp_path / "elsewhere").exists()
