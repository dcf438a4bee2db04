"""Cassettes to look at: output of real agent CLIs, and a very large one that is made quickly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ptycassette import open_cassette
from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.model.records import (
    ExitStatus,
    FinalRecord,
    Finished,
    Harness,
    InputRecord,
    JournalEvent,
    Output,
    ScrubReport,
    SessionMeta,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.system.clock import random_id
from ptycassette.testing import manifest_of
from ptycassette.viewing import Cursor, FrameRecord, OutputRecord

__all__ = ["PAUSE_US", "make_cassette", "make_large"]

AGENTS = Path(__file__).resolve().parents[1] / "fixtures" / "agents"
PLAYED = ("codex-tui", "gemini-tui", "opencode-tui", "aider-tui")
PAUSE_US = 250_000
_CHUNK_LINES = 64
_FRAME_CHUNKS = 128


def recorded() -> list[tuple[int, bytes, bool]]:
    """Gap, bytes and whether it is output, of all the recordings played in turn."""
    found = []
    for name in PLAYED:
        with open_cassette(AGENTS / name, check="manifest") as cassette:
            last_us = 0
            for event in cassette.events():
                if event.data:
                    is_output = isinstance(event.record, OutputRecord)
                    found.append((event.t_us - last_us, event.data, is_output))
                    last_us = event.t_us
    return found


def journal(size: int, pause_us: int) -> Iterator[JournalEvent]:
    """Events with ``size`` bytes of output."""
    pieces = recorded()
    t_us = written = 0
    while True:
        for gap_us, data, is_output in pieces:
            t_us += min(gap_us, pause_us)
            yield Output(t_us, data) if is_output else Typed(t_us, data)
            written += len(data) * is_output
            if written >= size:
                status = ExitStatus(code=0, exited=True, signaled=False)
                yield Finished(t_us=t_us, exit=status)
                return


def make_cassette(target: Path, size: int, *, pause_us: int = PAUSE_US) -> Path:
    """``size`` bytes of output of real CLIs at 120x40, with the frames of the finaliser.

    ``pause_us`` is the longest pause that is left of the recorded ones.
    """
    meta = SessionMeta(
        id=random_id(),
        argv=("program",),
        size=Size(40, 120),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="program"),
        recorder_version="benchmark",
        os="any",
        arch="any",
        options={"scrub": False},
    )
    Finaliser().publish(meta, lambda: journal(size, pause_us), target)
    return target


def make_large(target: Path, size: int) -> Path:
    """``size`` bytes of log lines at 120x40, 64 to a chunk, and a true frame now and then."""
    seq = offset = line = t_us = 0
    with CassetteWriter(target) as writer:
        while offset < size:
            rows = [
                f"{number:010d} \x1b[3{number % 7 + 1}mwhat happened\x1b[0m in line {number} of all"
                for number in range(line, line + _CHUNK_LINES)
            ]
            line += _CHUNK_LINES
            data = ("\r\n".join(rows) + "\r\n").encode()
            seq += 1
            t_us += 20_000
            t_ms = t_us // 1000
            output = OutputRecord(seq=seq, t_ms=t_ms, t_us=t_us, offset=offset, length=len(data))
            writer.add(output, data)
            offset += len(data)
            if line // _CHUNK_LINES % _FRAME_CHUNKS == 0:
                seq += 1
                plain = [f"{n:010d} what happened in line {n} of all" for n in range(line)[-39:]]
                writer.add(
                    FrameRecord(
                        seq=seq,
                        t_ms=t_us // 1000,
                        t_us=t_us,
                        size=Size(40, 120),
                        text=(*plain, ""),
                        cursor=Cursor(39, 0),
                        raw_start=max(0, offset - len(data) * _FRAME_CHUNKS),
                        raw_end=offset,
                        parser_offset=offset,
                    )
                )
                seq += 1
                record = InputRecord(seq=seq, t_ms=t_us // 1000, kind="input", bytes=b"\r")
                writer.add(record, b"\r")
        status = ExitStatus(code=0, exited=True, signaled=False)
        t_ms = t_us // 1000
        writer.add(FinalRecord(seq=seq + 1, t_ms=t_ms, duration_ms=t_ms, exit=status))
        writer.put(ScrubReport(status="clean"))
        writer.publish(manifest_of(size=Size(40, 120)))
    return target
