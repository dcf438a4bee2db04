"""Every check of a cassette, as a value."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ptycassette.cassette.io.verdict import KEEP_MISMATCHES, verify_cassette
from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.errors import DigestError, EmulatorPinError, NotFoundError, UnscrubbedError
from ptycassette.model.records import Finished, FrameRecord, Output, ScrubReport
from ptycassette.model.screen import Cursor, Size
from ptycassette.terminal.emulator import default_emulator
from ptycassette.testing import events_of, manifest_of, write_cassette

SIZE = Size(rows=2, cols=10)


def _frame(*text: str) -> FrameRecord:
    return FrameRecord(
        seq=0,
        t_ms=0,
        size=SIZE,
        text=text,
        cursor=Cursor(row=0, col=2),
        raw_start=0,
        raw_end=2,
        parser_offset=2,
    )


def _write(path: Path, *frames: FrameRecord) -> Path:
    manifest = manifest_of(size=SIZE)
    terminal = msgspec.structs.replace(manifest.terminal, emulator=default_emulator(SIZE).identity)
    write_cassette(
        path,
        Output(0, b"hi"),
        *frames,
        manifest=msgspec.structs.replace(manifest, terminal=terminal),
    )
    return path


def test_a_valid_cassette_is_ok(tmp_path: Path) -> None:
    """With counts, and no frames made again unless asked for."""
    verdict = verify_cassette(str(_write(tmp_path / "c", _frame("hi", ""))))

    assert verdict.ok
    assert verdict.verified is not None
    assert (verdict.verified.frames, verdict.rederived) == (1, None)


def test_frames_are_made_again_on_demand(tmp_path: Path) -> None:
    """With the emulator that made them."""
    path = _write(tmp_path / "c", _frame("hi", ""))
    verdict = verify_cassette(str(path), emulator=default_emulator)

    assert verdict.ok
    assert verdict.rederived == 1


def test_a_frame_that_cannot_be_made_again_is_a_finding(tmp_path: Path) -> None:
    """What is stored, what should be, and where; many are counted."""
    path = _write(tmp_path / "c", *[_frame("ho", "")] * (KEEP_MISMATCHES + 3))
    verdict = verify_cassette(str(path), emulator=default_emulator)

    assert not verdict.ok
    assert (verdict.mismatch_count, len(verdict.mismatches)) == (
        KEEP_MISMATCHES + 3,
        KEEP_MISMATCHES,
    )
    first = verdict.mismatches[0]
    assert (first.seq, first.field, first.stored, first.derived) == (2, "text[0]", "ho", "hi")


def test_frames_of_another_emulator_are_not_compared(tmp_path: Path) -> None:
    """That is an error of its own."""
    write_cassette(tmp_path / "c", Output(0, b"x"))
    verdict = verify_cassette(str(tmp_path / "c"), emulator=default_emulator)

    assert isinstance(verdict.error, EmulatorPinError)
    assert verdict.verified is not None


def test_a_broken_cassette_is_an_error_and_no_exception(tmp_path: Path) -> None:
    """With what was known of it until then."""
    path = _write(tmp_path / "c")
    (path / "output.raw").write_bytes(b"ho")
    verdict = verify_cassette(str(path))

    assert isinstance(verdict.error, DigestError)
    assert (verdict.ok, verdict.verified) == (False, None)
    assert verdict.id is not None


def test_nothing_there_is_an_error(tmp_path: Path) -> None:
    """Found before anything else."""
    verdict = verify_cassette(str(tmp_path / "none"))

    assert isinstance(verdict.error, NotFoundError)
    assert verdict.id is None


@pytest.mark.parametrize("allowed", [False, True])
def test_what_was_never_scrubbed_needs_leave(tmp_path: Path, *, allowed: bool) -> None:
    """Refused, unless the caller allows it."""
    with CassetteWriter(tmp_path / "c") as writer:
        for event in events_of(Output(0, b"x"), Finished(t_us=1)):
            writer.add(event.record, event.data)
        writer.put(ScrubReport(status="unscrubbed"))
        writer.publish(manifest_of())
    verdict = verify_cassette(str(tmp_path / "c"), allow_unscrubbed=allowed)

    assert verdict.ok is allowed
    assert isinstance(verdict.error, UnscrubbedError) is not allowed


def test_progress_and_stages_are_told(tmp_path: Path) -> None:
    """Bytes first, then frames."""
    path = _write(tmp_path / "c", _frame("hi", ""))
    told: list[object] = []
    verify_cassette(
        str(path),
        emulator=default_emulator,
        progress=lambda done, total: told.append((done, total)),
        stage=told.append,
    )

    assert told[0] == "bytes"
    assert told[-1] == "frames"
    assert (2, 2) in told


@pytest.mark.slow
def test_frames_are_made_again_by_the_emulator_that_made_them(tmp_path: Path) -> None:
    """When it is not the default one, and installed."""
    ghostty = pytest.importorskip("ptycassette.terminal.ghostty")
    manifest = manifest_of(size=SIZE)
    identity = ghostty.create(SIZE).identity
    terminal = msgspec.structs.replace(manifest.terminal, emulator=identity)
    write_cassette(
        tmp_path / "c",
        Output(0, b"hi"),
        _frame("hi", ""),
        manifest=msgspec.structs.replace(manifest, terminal=terminal),
    )
    verdict = verify_cassette(str(tmp_path / "c"), emulator=default_emulator)

    assert verdict.ok, verdict
    assert verdict.rederived == 1
