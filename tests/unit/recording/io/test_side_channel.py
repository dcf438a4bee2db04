"""The side channel: lines of anybody, validated and limited."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.errors import StorageError
from ptycassette.recording.io._side_channel import ServiceEventReader, SideChannel


def warnings(payloads: list[object]) -> list[object]:
    """The messages of the warnings among payloads."""
    return [p["message"] for p in payloads if isinstance(p, dict) and "message" in p]


def test_lines_come_whole_however_they_are_split() -> None:
    """Bytes may arrive one by one."""
    reader = ServiceEventReader()
    found = [p for byte in b'{"a": 1}\n\n[2]\n' for p in reader.feed(bytes([byte]))]

    assert found == [{"a": 1}, [2]]


def test_a_last_line_without_its_newline_counts() -> None:
    """A hook may end before it has written it."""
    reader = ServiceEventReader()

    assert [*reader.feed(b'{"a": 1}'), *reader.finish()] == [{"a": 1}]


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"\xff\xfe",
        b"{",
        b"[" * 100_000,
        b"1e999",
        b"NaN",
        b"[" * 40 + b"]" * 40,
    ],
)
def test_what_is_no_json_becomes_a_warning_without_its_content(line: bytes) -> None:
    """Whoever reads the cassette learns that something was left out, and how much."""
    reader = ServiceEventReader()
    (warning,) = reader.feed(line + b"\n")

    assert warning["type"] == "ptycassette.warning"
    assert str(len(line)) in warning["message"]
    assert "nonsense" not in warning["message"]


def test_a_line_that_is_too_long_is_left_out_and_the_next_is_read() -> None:
    """Also when it comes in pieces; memory stays bounded."""
    reader = ServiceEventReader(max_line_bytes=10)
    found = [p for _ in range(5) for p in reader.feed(b"x" * 8)]
    found += reader.feed(b"x\n[1]\n")

    assert warnings(found) == ["a line of 41 bytes was left out"]
    assert found[-1] == [1]
    assert reader._rest == b""


def test_after_too_many_events_the_rest_is_left_out_once() -> None:
    """One warning, then silence."""
    reader = ServiceEventReader(max_events=3)
    found = list(reader.feed(b"1\n2\n3\n4\n5\n"))

    assert found[:2] == [1, 2]
    assert warnings(found) == ["too many events; the rest is left out"]
    assert len(found) == 3


@given(st.lists(st.binary(max_size=50)))
def test_arbitrary_bytes_never_raise(blocks: list[bytes]) -> None:
    """Whatever a program writes there, the recording continues."""
    reader = ServiceEventReader(max_line_bytes=20)
    found = [p for block in blocks for p in reader.feed(block)]
    found += reader.finish()

    assert len(found) <= b"".join(blocks).count(b"\n") + 1


def test_what_is_appended_to_the_path_is_read(tmp_path: Path) -> None:
    """Several writers, one after the other, and nobody waits for a reader."""
    with SideChannel(tmp_path / "state") as channel:
        for number in range(3):
            with channel.path.open("a", encoding="ascii") as file:
                file.write(f"{number}\n")
        found = list(channel.read())
        left = list(channel.finish())

    assert (found, left) == ([0, 1, 2], [])
    assert not channel.path.exists()


def test_a_thread_hands_over_what_arrives(tmp_path: Path) -> None:
    """Until it is stopped; what comes later is for ``finish``."""
    got: list[object] = []
    seen = threading.Event()

    def take(payload: object) -> None:
        got.append(payload)
        seen.set()

    with SideChannel(tmp_path / "state") as channel:
        channel.start_thread(take)
        with channel.path.open("a", encoding="ascii") as file:
            file.write("1\n")
        seen.wait(10)
        channel.stop_thread()
        with channel.path.open("a", encoding="ascii") as file:
            file.write("2")
        left = list(channel.finish())

    assert (got, left) == ([1], [2])


def test_a_place_without_fifos_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left behind."""

    def refuse(path: object, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("ptycassette.recording.io._side_channel.os.mkfifo", refuse)
    with pytest.raises(StorageError, match="side channel"), SideChannel(tmp_path / "state"):
        pass

    assert list((tmp_path / "state" / "channels").iterdir()) == []
