"""Arbitrary bytes into everything that reads bytes: only declared errors, and nothing slow.

``python -m benchmarks.safety_fuzz [--inputs N] [--seed S] [--processes P] [NAME...]``

Each reader is a function of bytes; what it may raise is declared. Inputs come in
chunks, each with a seed of its own, so that any number of processes tries the same
inputs, and one that was surprising can be made again. The process ends with 1 when
anything was.
"""

from __future__ import annotations

import argparse
import random
import signal
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import safety_inputs
from benchmarks.processor_time import Stopwatch
from ptycassette.cassette._lines import LineReader
from ptycassette.cassette.layout import (
    FRAME_CODEC,
    INPUT_CODEC,
    OUTPUT_CODEC,
    SERVICE_EVENT_CODEC,
    RecordCodec,
)
from ptycassette.cassette.manifest import decode_manifest
from ptycassette.errors import CassetteError, InvalidCassetteError, JournalError
from ptycassette.formats.export.text import TextStream
from ptycassette.model.screen import Size
from ptycassette.recording.io.finalising import recover
from ptycassette.recording.io.journal_file import JournalDecoder
from ptycassette.replaying.paint import paint
from ptycassette.terminal.emulator import default_emulator
from ptycassette.testing import scrub_chunks

__all__ = ["TARGETS", "Fuzzed", "fuzz"]

SIZE = Size(rows=8, cols=40)
CHUNK = 2000
SLOW_S = 1.0
HUNG_S = 20.0
FAST = Path("/dev/shm")  # noqa: S108 - a directory of one's own is made in it


class Fuzzed(msgspec.Struct, kw_only=True):
    """What came of it. ``surprises`` and ``slow`` must be empty."""

    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    surprises: list[str] = []
    slow: list[str] = []

    def add(self, other: Fuzzed) -> None:
        """Count another one's in."""
        self.inputs += other.inputs
        self.refused += other.refused
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.surprises += other.surprises
        self.slow += other.slow

    @property
    def clean(self) -> bool:
        """Whether nothing was surprising."""
        return not (self.surprises or self.slow)


class HungError(BaseException):
    """Far more time than anything may take; no ``Exception``, so that nobody handles it."""


def read_manifest(data: bytes) -> None:
    """The manifest."""
    decode_manifest(data)


def read_streams(data: bytes) -> None:
    """Lines as records of all four kinds, in two blocks."""
    codecs: list[RecordCodec[Any]] = [INPUT_CODEC, OUTPUT_CODEC, FRAME_CODEC, SERVICE_EVENT_CODEC]
    refused = 0
    for codec in codecs:
        reader = LineReader(codec)
        try:
            reader.feed(data[: len(data) // 2])
            reader.feed(data[len(data) // 2 :])
            reader.finish()
        except InvalidCassetteError:
            refused += 1
    if refused == len(codecs):
        raise InvalidCassetteError("all kinds refused it")


def read_journal(data: bytes) -> None:
    """A journal, in two blocks."""
    decoder = JournalDecoder()
    for block in (data[: len(data) // 3], data[len(data) // 3 :]):
        for _ in decoder.feed(block):
            pass
    decoder.finish()


def emulate(data: bytes) -> None:
    """The emulator, what is painted of it, what it would answer, and a smaller screen."""
    emulator = default_emulator(SIZE)
    emulator.feed(data)
    emulator.answers()
    screen = emulator.snapshot()
    paint(None, screen)
    emulator.resize(Size(rows=3, cols=9))
    paint(screen, emulator.snapshot())


def to_text(data: bytes) -> None:
    """Output as text."""
    stream = TextStream()
    stream.feed(data)
    stream.finish()


def scrub(data: bytes) -> None:
    """The scrubber, on output or, one in four, on what was typed; lengths must stay."""
    middle = len(data) // 2
    chunks = [data[:middle], data[middle:]]
    channel = "output" if zlib.crc32(data) % 4 else "input"
    done = scrub_chunks(chunks, rows=5, cols=30, known=[safety_inputs.KNOWN], channel=channel)
    if [len(one) for one in done] != [len(one) for one in chunks]:
        raise RuntimeError("the lengths have changed")


def recover_from(data: bytes) -> None:
    """``recover``: a stranger's journal, up to the published cassette."""
    with tempfile.TemporaryDirectory(dir=FAST if FAST.is_dir() else None) as made:
        place = Path(made, "x.journal")
        place.write_bytes(data)
        recover(place, output=Path(made, "c"))


Reader = Callable[[bytes], None]
TARGETS: dict[str, tuple[Reader, Callable[[], safety_inputs.Maker], type[Exception]]] = {
    "manifest": (read_manifest, safety_inputs.manifest, CassetteError),
    "records": (read_streams, safety_inputs.records, InvalidCassetteError),
    "journal": (read_journal, safety_inputs.journal, JournalError),
    "recover": (recover_from, safety_inputs.good_journal, CassetteError),
    "emulator": (emulate, safety_inputs.terminal, CassetteError),
    "text": (to_text, safety_inputs.terminal, CassetteError),
    "scrubber": (scrub, safety_inputs.secrets, CassetteError),
}


@contextmanager
def _alarm() -> Iterator[None]:
    """Let a reader that never ends be interrupted."""

    def ring(*_: object) -> None:
        raise HungError

    before = signal.signal(signal.SIGVTALRM, ring)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def one_chunk(name: str, number: int, seed: int, inputs: int = CHUNK, until: float = 0) -> Fuzzed:
    """Try one chunk of inputs, or as many as there is time for."""
    reader, source, declared = TARGETS[name]
    make = source()
    chance = random.Random(f"{name} {seed} {number}")  # noqa: S311 - no secret
    result = Fuzzed()
    with _alarm():
        for _ in range(inputs):
            if until and time.monotonic() > until:
                break
            data = make(chance)
            began = time.thread_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, HUNG_S)
            try:
                reader(data)
            except declared:
                result.refused += 1
            except (Exception, HungError) as exc:  # noqa: BLE001 - that is what is looked for
                result.surprises.append(f"{type(exc).__name__}: {exc}: {data!r}")
            took = time.thread_time() - began
            if took > SLOW_S:
                took = _again(reader, data)
            result.inputs += 1
            result.slowest_s = max(result.slowest_s, took)
            if took > SLOW_S:
                result.slow.append(f"{took:.1f} s: {data!r}")
    return result


def _again(reader: Reader, data: bytes) -> float:
    """How long it takes without a tracer, and without what a busy machine adds to it."""
    with Stopwatch() as watch, suppress(Exception, HungError):
        reader(data)
    return watch.seconds


def fuzz(
    name: str, *, inputs: int, seconds: float = 1e9, seed: int = 0, processes: int = 1
) -> Fuzzed:
    """Try ``inputs`` of them, or as many as the time allows."""
    result = Fuzzed()
    until = time.monotonic() + seconds
    sizes = [min(CHUNK, inputs - at) for at in range(0, inputs, CHUNK)]
    if processes == 1:
        for number, size in enumerate(sizes):
            result.add(one_chunk(name, number, seed, size, until))
        return result
    with ProcessPoolExecutor(processes) as pool:
        for done in pool.map(
            one_chunk, repeat(name), range(len(sizes)), repeat(seed), sizes, repeat(until)
        ):
            result.add(done)
    return result


def main() -> int:
    """Fuzz what is named, all when nothing is; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=1_000_000, help="for each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    if unknown := sorted({*options.names} - {*TARGETS}):
        parser.error(f"unknown: {', '.join(unknown)}")
    clean = True
    for name in options.names or TARGETS:
        began = time.monotonic()
        found = fuzz(name, inputs=options.inputs, seed=options.seed, processes=options.processes)
        rate = found.inputs / (time.monotonic() - began)
        print(
            f"{name:10} {found.inputs} inputs, {found.refused} refused, "
            f"{len(found.surprises)} surprises, {len(found.slow)} over {SLOW_S:.0f} s, "
            f"slowest {found.slowest_s * 1000:.0f} ms, {rate:.0f}/s",
            flush=True,
        )
        for line in (*found.surprises[:5], *found.slow[:5]):
            print(f"    {line[:2000]}", flush=True)
        clean = clean and found.clean
    return 0 if clean else 1


if __name__ == "__main__":
    raise SystemExit(main())
