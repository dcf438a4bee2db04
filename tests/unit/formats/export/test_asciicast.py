"""Cassettes as asciicast files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ptycassette.formats.export.asciicast import asciicast
from ptycassette.model.records import (
    Command,
    ContentDigest,
    EmulatorId,
    Event,
    ExitStatus,
    FinalRecord,
    Harness,
    InputRecord,
    Manifest,
    OutputRecord,
    Provenance,
    ServiceEventRecord,
    Terminal,
    Timing,
)
from ptycassette.model.screen import Size


def manifest(**changes: Any) -> Manifest:
    """A manifest of 24 rows and 80 columns."""
    fields: dict[str, Any] = {
        "version": 1,
        "id": "x",
        "content_digest": ContentDigest("0" * 64),
        "harness": Harness(name="bash"),
        "command": Command(workdir_policy="inherited", argv=("bash", "-l")),
        "terminal": Terminal(
            initial_rows=24, initial_cols=80, emulator=EmulatorId("e", "1"), term="xterm"
        ),
        "timing": Timing(
            resolution_ms=1, clock_policy="monotonic-elapsed", replay_default="realtime"
        ),
        "provenance": Provenance(
            os="linux", arch="amd64", recorded_at="1970-01-01T00:01:40Z", recorder_version="1"
        ),
    }
    return Manifest(**(fields | changes))


def out(seq: int, t_us: int, data: bytes) -> Event:
    """An output event."""
    record = OutputRecord(seq=seq, t_ms=t_us // 1000, offset=0, length=len(data))
    return Event(seq, t_us, "output", record, data)


def typed(seq: int, t_us: int, data: bytes, source: str = "user") -> Event:
    """An input event."""
    record = InputRecord(seq=seq, t_ms=t_us // 1000, kind="input", bytes=data, source=source)
    return Event(seq, t_us, "input", record, data)


def final(seq: int, t_us: int, status: ExitStatus | None = None) -> Event:
    """The last event."""
    record = FinalRecord(seq=seq, t_ms=t_us // 1000, duration_ms=0, exit=status)
    return Event(seq, t_us, "final", record)


def lines(events: Iterable[Event], **options: Any) -> list[Any]:
    """The parsed lines after the header."""
    return [json.loads(line) for line in asciicast(manifest(), events, **options)][1:]


def test_the_header_of_version_2_describes_the_terminal() -> None:
    """Size, term, command, title and the moment of recording."""
    header = json.loads(next(iter(asciicast(manifest(), [], title="hi", idle_limit_s=2))))

    assert header == {
        "version": 2,
        "width": 80,
        "height": 24,
        "env": {"TERM": "xterm"},
        "timestamp": 100,
        "idle_time_limit": 2.0,
        "command": "bash -l",
        "title": "hi",
    }


def test_the_header_of_version_3_keeps_the_terminal_together() -> None:
    """Size and type stand under ``term``."""
    header = json.loads(next(iter(asciicast(manifest(), [], version=3))))

    assert header["version"] == 3
    assert header["term"] == {"cols": 80, "rows": 24, "type": "xterm"}


def test_what_a_manifest_does_not_say_is_left_out() -> None:
    """No command, no term, no readable time: no such keys."""
    bare = manifest(
        command=Command(workdir_policy="x"),
        terminal=Terminal(initial_rows=2, initial_cols=3, emulator=EmulatorId("e", "1")),
        provenance=Provenance(os="x", arch="x", recorded_at="soon", recorder_version="1"),
    )

    assert json.loads(next(iter(asciicast(bare, [])))) == {"version": 2, "width": 3, "height": 2}
    assert json.loads(next(iter(asciicast(bare, [], version=3)))) == {
        "version": 3,
        "term": {"cols": 3, "rows": 2},
    }


def test_version_2_stamps_with_elapsed_seconds() -> None:
    """Microseconds are kept."""
    assert lines([out(1, 1, b"a"), out(2, 1_500_000, b"b")]) == [
        [0.000001, "o", "a"],
        [1.5, "o", "b"],
    ]


def test_version_3_stamps_with_intervals_and_says_the_exit() -> None:
    """Each time counts from the event before."""
    ended = ExitStatus(code=7, exited=True, signaled=False)
    events = [out(1, 500_000, b"a"), out(2, 750_000, b"b"), final(3, 1_000_000, ended)]

    assert lines(events, version=3) == [[0.5, "o", "a"], [0.25, "o", "b"], [0.25, "x", "7"]]


def test_a_killed_program_has_no_exit_code_to_write() -> None:
    """The code of version 3 is for programs that exited."""
    killed = ExitStatus(code=-1, signal="killed", exited=False, signaled=True)

    assert lines([final(1, 0, killed)], version=3) == []


def test_a_character_split_over_chunks_stays_whole() -> None:
    """Its first byte waits for the second."""
    assert lines([out(1, 0, b"caf\xc3"), out(2, 1000, b"\xa9")]) == [
        [0.0, "o", "caf"],
        [0.001, "o", "é"],
    ]


def test_what_is_no_text_is_replaced() -> None:
    """Asciicast holds text; a byte that is none becomes U+FFFD, also at the very end."""
    assert lines([out(1, 0, b"a\xffb"), out(2, 1000, b"\xe2\x82")]) == [
        [0.0, "o", "a\ufffdb"],
        [0.001, "o", "\ufffd"],
    ]


def test_a_resize_is_an_event() -> None:
    """``COLSxROWS``, as asciicast spells it."""
    record = InputRecord(seq=1, t_ms=0, kind="resize", size=Size(30, 100))

    assert lines([Event(1, 0, "input", record)]) == [[0.0, "r", "100x30"]]


def test_input_is_written_only_when_asked_for() -> None:
    """What the terminal answered was typed by nobody and never is."""
    events = [typed(1, 0, b"ls\r"), typed(2, 0, b"\x1b[1;1R", source="terminal")]

    assert lines(events) == []
    assert lines(events, with_input=True) == [[0.0, "i", "ls\r"]]


def test_signals_and_service_events_have_no_code() -> None:
    """They are passed over."""
    signal = InputRecord(seq=1, t_ms=0, kind="signal", signal="int")
    service = ServiceEventRecord(seq=2, t_ms=0, payload={"a": 1})

    assert lines([Event(1, 0, "input", signal), Event(2, 0, "service-event", service)]) == []
