"""Doubles for the ports that the finaliser talks to."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import Any

from ptycassette.model.ports import EventSource
from ptycassette.model.records import (
    DiscoveryRecord,
    EmulatorId,
    Harness,
    JournalEvent,
    Manifest,
    Output,
    QuotaRecord,
    ScrubReport,
    SessionMeta,
    TimedRecord,
    Typed,
)
from ptycassette.model.screen import Cursor, Screen, Size


class LineEmulator:
    """Shows the last rows of what it was fed; ``ESC`` waits for the byte after it."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self.fed = b""

    @property
    def identity(self) -> EmulatorId:
        """A name of its own."""
        return EmulatorId("lines", "1")

    @property
    def pending(self) -> int:
        """One byte while an escape is incomplete."""
        return int(self.fed.endswith(b"\x1b"))

    def feed(self, data: bytes) -> None:
        """Keep it."""
        self.fed += data

    def resize(self, size: Size) -> None:
        """Take it."""
        self.size = size

    def snapshot(self) -> Screen:
        """The last rows."""
        shown = self.fed.removesuffix(b"\x1b").decode("latin-1").split("\n")
        rows = shown[-self.size.rows :]
        rows += [""] * (self.size.rows - len(rows))
        return Screen(size=self.size, rows=tuple(rows), cursor=Cursor(0, len(rows[-1])))

    def answers(self) -> bytes:
        """Nothing."""
        return b""


class ListSink:
    """A ``CassetteSink`` that keeps what it is given, in the order of ``seq``."""

    def __init__(self) -> None:
        self.records: list[TimedRecord] = []
        self.reserved: list[int] = []
        self.data = b""
        self.documents: list[object] = []
        self.manifest: Manifest | None = None
        self.aborted = False

    def add(self, record: TimedRecord, data: bytes = b"") -> None:
        """Keep it."""
        if self.reserved and record.seq == self.reserved[0]:
            self.reserved.pop(0)
        insort(self.records, record, key=lambda kept: kept.seq)
        self.data += data

    def reserve(self, seq: int, t_ms: int) -> None:
        """Remember the number."""
        self.reserved.append(seq)

    def put(self, document: QuotaRecord | DiscoveryRecord | ScrubReport) -> None:
        """Keep it."""
        self.documents.append(document)

    def publish(self, manifest: Manifest) -> Manifest:
        """Keep it, where nothing that was reserved is missing."""
        assert not self.reserved
        self.manifest = manifest
        return manifest

    def abort(self) -> None:
        """Say so."""
        self.aborted = True

    def of(self, kind: type[Any]) -> list[Any]:
        """The records of one kind."""
        return [record for record in self.records if isinstance(record, kind)]


class WordScrubber:
    """Replaces one word by as many ``x`` and can be told to leave it."""

    def __init__(self, word: str = "hunter2", *, blind: bool = False, lazy: bool = False) -> None:
        self.word = word
        self.blind = blind
        self.lazy = lazy
        self.hits = 0

    def events(self, meta: SessionMeta, source: EventSource) -> Iterator[JournalEvent]:
        """The events without the word."""
        for event in source():
            match event:
                case Output(t_us, data):
                    yield Output(t_us, self._bytes(data))
                case Typed():
                    yield Typed(event.t_us, self._bytes(event.data), source=event.source)
                case _:
                    yield event

    def text(self, value: str, *, channel: str) -> str:
        """The text with a placeholder."""
        return value if self.blind else value.replace(self.word, "{SECRET}")

    def value(self, value: Any, *, channel: str) -> Any:
        """The same for every string of a flat object."""
        return {
            key: self.text(item, channel=channel) if isinstance(item, str) else item
            for key, item in value.items()
        }

    def verify(self, meta: SessionMeta, source: EventSource) -> tuple[str, ...]:
        """Findings for everything that still holds the word."""
        if self.lazy:
            return ()
        found = [
            f"{type(event).__name__} at {event.t_us} us: rule word"
            for event in source()
            if self.word in str(event)
        ]
        return tuple(found)

    def report(self) -> ScrubReport:
        """How often."""
        status = "redacted" if self.hits else "clean"
        return ScrubReport(status=status, rules=("word",), hit_counts={"word": self.hits})

    def _bytes(self, data: bytes) -> bytes:
        self.hits += data.count(self.word.encode())
        return data if self.blind else data.replace(self.word.encode(), b"x" * len(self.word))


META = SessionMeta(
    id="00000000-0000-4000-8000-000000000001",
    argv=("sh", "-c", "login hunter2"),
    size=Size(2, 20),
    recorded_at="2026-01-01T00:00:00Z",
    harness=Harness(name="sh", binary_path_digest_sha256="ab" * 32, binary_version="1"),
    env_allowlist=("PATH",),
    environment={"TOKEN": "hunter2"},
    title="t",
    os="linux",
    arch="amd64",
    recorder_version="ptycassette/0",
)
PLAIN = SessionMeta(
    id="00000000-0000-4000-8000-000000000001",
    argv=("cat",),
    size=Size(24, 80),
    recorded_at="2026-01-01T00:00:00Z",
    harness=Harness(name="cat"),
)
