"""Arbitrary bytes into everything that reads bytes: only declared errors, and nothing slow.

Inputs are made from valid ones (bits flipped, pieces cut, copied, swapped,
numbers blown up) and from a vocabulary of what the readers know. Each reader
is a function of bytes; what it may raise is declared.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.errors import CassetteError, InvalidCassetteError, JournalError
from ptycassette.export.text import TextStream
from ptycassette.format.lines import LineReader
from ptycassette.format.manifest import decode_manifest
from ptycassette.format.records import (
    FRAME_CODEC,
    INPUT_CODEC,
    OUTPUT_CODEC,
    SERVICE_EVENT_CODEC,
    RecordCodec,
)
from ptycassette.model import Harness, Noted, Output, SessionMeta, Size, Typed
from ptycassette.record.journal import JournalDecoder, JournalEncoder
from ptycassette.replay.paint import paint
from ptycassette.screen import default_emulator
from ptycassette.testing import scrub_chunks

__all__ = ["TARGETS", "Fuzzed", "fuzz"]

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "v1"
SIZE = Size(rows=8, cols=40)


class Fuzzed(msgspec.Struct, kw_only=True):
    """What came of it. ``surprises`` and ``slow`` must be empty."""

    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    surprises: list[str] = []
    slow: list[str] = []


def _sample(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(FIXTURES.glob(f"*/{name}"))]


def _journal() -> bytes:
    meta = SessionMeta(id="x", argv=("sh",), size=SIZE, recorded_at="", harness=Harness(name="sh"))
    encoder = JournalEncoder(7)
    parts = [encoder.begin(meta)]
    for number in range(6):
        parts.append(encoder.event(Output(number, b"line %d\r\n" % number)))
        parts.append(encoder.event(Typed(number, b"x")))
        parts.append(encoder.event(Noted(number, {"a": [number]})))
    return b"".join(parts)


def read_manifest(data: bytes) -> None:
    """The manifest."""
    decode_manifest(data)


def read_streams(data: bytes) -> None:
    """Lines of all four kinds, in two blocks."""
    codecs: list[RecordCodec[Any]] = [INPUT_CODEC, OUTPUT_CODEC, FRAME_CODEC, SERVICE_EVENT_CODEC]
    for codec in codecs:
        reader = LineReader(codec)
        try:
            reader.feed(data[: len(data) // 2])
            reader.feed(data[len(data) // 2 :])
            reader.finish()
        except InvalidCassetteError:
            refused = True
        else:
            refused = False
    if refused:
        raise InvalidCassetteError("the last kind refused it")


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
    """The scrubber, on output and on what was typed; lengths must stay."""
    middle = len(data) // 2
    for channel in ("output", "input"):
        chunks = [data[:middle], data[middle:]]
        done = scrub_chunks(
            chunks, rows=8, cols=40, known=["correct-horse-battery"], channel=channel
        )
        if [len(one) for one in done] != [len(one) for one in chunks]:
            raise RuntimeError("the lengths have changed")


_TERMINAL = [
    b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b\\", b"\x07", b"\x9b", b"\xc2\x9b", b";" * 40,
    b"9" * 20, b"?1049h", b"?7l", b"?69h", b"5;2r", b"m", b"38:2::1:2:3m", b"H", b"@", b"P", b"L",
    b"M", b"X", b"S", b"T", b"b", b"J", b"K", b"\r\n", b"\t", b"\b", b"\x0e", b"\x1b(0", b"\x1bc",
    b"\x1b7", b"\x1b8", b"\x1bM", b"\x1bD", "\U0001f469\u200d\U0001f467".encode(),
    "\u0301".encode() * 9, "\u4e2d".encode(), b"\xf0\x9f", b"\xff", b"correct-horse-battery",
    b"\x1b[31mcorrect-horse",
    b"-battery", b"52;c;", b"8;;http://x", b"0;title", b"$q", b"+q", b"text ", b"A" * 60,
]  # fmt: skip
_JSON = [
    b"{", b"}", b"[", b"]", b":", b",", b'"', b"\\u0000", b"\\ud800", b"null", b"true", b"-1",
    b"1e999", b"9" * 30, b"NaN", b"\n", b"\xff", b'"seq"', b'"t_ms"', b'"Rows"', b'"version"',
    b'"optional"',
    b'"artifacts"', b"[" * 80, b'{"a":' * 80, b"\xef\xbb\xbf", b"\x00", b"0", b"65536", b'"../x"',
]  # fmt: skip
_BYTES = [
    b"\x00",
    b"\xff" * 4,
    b"\xa7jr\xf1",
    b"\x89PTYJ\r\n\x01",
    b"\x01\x00\x00\x00",
    b"\x80" * 9,
]

Reader = Callable[[bytes], None]
TARGETS: dict[str, tuple[Reader, list[bytes], list[bytes], type[Exception]]] = {
    "manifest": (read_manifest, _sample("manifest.json"), _JSON, CassetteError),
    "records": (
        read_streams,
        [data for data in _sample("*.jsonl") if data],
        _JSON,
        InvalidCassetteError,
    ),
    "journal": (read_journal, [_journal()], _BYTES, JournalError),
    "emulator": (emulate, [b"", b"hello\r\n"], _TERMINAL, CassetteError),
    "text": (to_text, [b"", b"hello\r\n"], _TERMINAL, CassetteError),
    "scrubber": (scrub, [b"", b"token correct-horse-battery\r\n"], _TERMINAL, CassetteError),
}


def mutated(data: bytes, words: Sequence[bytes], chance: random.Random) -> bytes:
    """Another input."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        at = chance.randint(0, len(out))
        end = min(len(out), at + chance.randint(0, 30))
        match chance.randint(0, 6):
            case 0 if at < len(out):
                out[at] ^= 1 << chance.randint(0, 7)
            case 1:
                del out[at:end]
            case 2:
                out[at:at] = out[at:end]
            case 3:
                out[at:end] = chance.randbytes(chance.randint(0, 8))
            case 4:
                del out[at:]
            case _:
                out[at:at] = chance.choice(words) * chance.choice((1, 1, 1, 2, 9))
    return bytes(out[:20_000])


def fuzz(name: str, *, inputs: int, seconds: float = 60.0, seed: int = 0) -> Fuzzed:
    """Try ``inputs`` of them, or as many as the time allows."""
    reader, samples, words, declared = TARGETS[name]
    chance = random.Random(seed)  # noqa: S311 - no secret
    result = Fuzzed()
    until = time.monotonic() + seconds
    while result.inputs < inputs and time.monotonic() < until:
        data = mutated(chance.choice(samples), words, chance)
        began = time.thread_time()
        try:
            reader(data)
        except declared:
            result.refused += 1
        except Exception as exc:  # noqa: BLE001 - that is what is looked for
            result.surprises.append(f"{type(exc).__name__}: {exc}: {data!r}")
        took = time.thread_time() - began
        result.inputs += 1
        result.slowest_s = max(result.slowest_s, took)
        if took > 1.0:
            result.slow.append(f"{took:.1f} s: {data!r}")
    return result
