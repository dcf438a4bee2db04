"""Inputs for everything that reads bytes: valid ones and real fragments, then spoilt.

Bytes are spoilt blindly (bits flipped, pieces cut, copied, swapped, words of the
format put in), which mostly tests the outermost check. So JSON is also spoilt as
a tree and written again, and a journal record by record, with checksums that fit:
those inputs get past the first checks.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.scrub_hostile import FAMILIES, hostile
from ptycassette.cassette.framing import MARK
from ptycassette.model.records import (
    DiscoveryRecord,
    ExitStatus,
    Finished,
    Harness,
    Noted,
    Output,
    Probed,
    QuotaRecord,
    Resized,
    SessionMeta,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.recording.io.journal_file import MAGIC, JournalEncoder

__all__ = ["JSON_WORDS", "TERMINAL_WORDS", "Maker", "journal", "manifest", "mutated", "records",
           "secrets", "spoilt_json", "terminal"]  # fmt: skip

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
KNOWN = "correct-horse-battery"
MAX_BYTES = 20_000
SOME_HOSTILE = 0.01

Maker = Callable[[random.Random], bytes]
"""Makes one input."""

TERMINAL_WORDS = [
    b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b\\", b"\x07", b"\x9b", b"\xc2\x9b", b";" * 40,
    b"9" * 20, b"?1049h", b"?1049l", b"?7l", b"?69h", b"5;2r", b"m", b"38:2::1:2:3m", b"H", b"@",
    b"P", b"L", b"M", b"X", b"S", b"T", b"b", b"J", b"K", b"\r\n", b"\t", b"\b", b"\x0e", b"\x1b(0",
    b"\x1bc", b"\x1b7", b"\x1b8", b"\x1bM", b"\x1bD", "\U0001f469\u200d\U0001f467".encode(),
    "\u0301".encode() * 9, "\u4e2d".encode(), b"\xf0\x9f", b"\xff", b"52;c;", b"8;;http://x",
    b"0;title", b"$q", b"+q", b"text ", b"A" * 60, KNOWN.encode(), b"\x1b[31mcorrect-horse",
    b"-battery", b"Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5", b"636f72726563742d686f7273652d62617474657279",
    b"export API_KEY=", b'"token": "', b"\\u0063orrect", b"https://u:p@h/", b"\x1b[1;1H",
    b"token=aB3$x9\r\n", b'"token":"aB3$x9",', b"Authorization: Bearer aB3x9aB3x9aB3x\r\n",
    b"\rexport API_TOKEN=aB3x9", b"a1" * 90,
]  # fmt: skip
JSON_WORDS = [
    b"{", b"}", b"[", b"]", b":", b",", b'"', b"\\u0000", b"\\ud800", b"null", b"true", b"-1",
    b"1e999", b"9" * 30, b"NaN", b"\n", b"\xff", b'"seq"', b'"t_ms"', b'"Rows"', b'"version"',
    b'"optional"', b'"artifacts"', b"[" * 80, b'{"a":' * 80, b"\xef\xbb\xbf", b"\x00", b"0",
    b"65536", b'"../x"',
]  # fmt: skip
JOURNAL_WORDS = [b"\x00", b"\xff" * 4, MARK, MAGIC, b"\x01\x00\x00\x00", b"\x80" * 9]
_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 65_535, 65_536, 2**31, 2**53, 2**63, 2**64, -(2**63) - 1, 0.5,
    1e308, float("nan"), float("inf"), "", "x", "\x00", "\ud800", "\u202e", "\x1b[2J", "../x",
    "/etc/passwd", ".", "9" * 40, "a" * 4000, "AA==", "\U0001f4a9", [], {}, [[]], {"a": {}},
    [0] * 200, {"Rows": 0, "Cols": -1}, {"Rows": 99_999, "Cols": 99_999}, "input", "resize",
    "sha256", "0" * 64,
]  # fmt: skip


def mutated(data: bytes, words: Sequence[bytes], chance: random.Random) -> bytes:
    """Bytes, spoilt blindly."""
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
    return bytes(out[:MAX_BYTES])


def _spoilt_tree(value: Any, chance: random.Random) -> Any:
    """A tree of JSON with one place changed, as deep as chance leads."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        match chance.randint(0, 9):
            case 0:
                return {name: item for name, item in value.items() if name != key}
            case 1:
                return {**value, chance.choice(("x", "optional", "seq", key.upper())): value[key]}
            case _:
                return {**value, key: _spoilt_tree(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        return [*value[:at], _spoilt_tree(value[at], chance), *value[at + 1 :]]
    if isinstance(value, int) and chance.random() < 0.5:
        return value + chance.choice((-1, 1, 7, 2**32))
    return chance.choice(_VALUES)


def spoilt_json(data: bytes, chance: random.Random) -> bytes | None:
    """JSON, or lines of JSON, with one place of the tree changed; None where it is neither."""
    lines = [data]
    with suppress(ValueError, RecursionError):
        try:
            json.loads(data)
        except ValueError:
            lines = data.split(b"\n")
        at = chance.randrange(len(lines))
        lines[at] = _tree_bytes(_spoilt_tree(json.loads(lines[at]), chance))
        return b"\n".join(lines)
    return None


def _tree_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def _trees(name: str) -> list[Any]:
    return [json.loads(path.read_bytes()) for path in sorted(FIXTURES.glob(f"v1/*/{name}"))]


def manifest() -> Maker:
    """Manifests."""
    trees = _trees("manifest.json")

    def make(chance: random.Random) -> bytes:
        tree = chance.choice(trees)
        if blind := chance.random() < 0.4:
            return mutated(_tree_bytes(tree), JSON_WORDS, chance)
        for _ in range(chance.randint(not blind, 3)):
            tree = _spoilt_tree(tree, chance)
        return _tree_bytes(tree)

    return make


def records() -> Maker:
    """A few lines of a stream of any kind."""
    files = [
        [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
        for path in sorted(FIXTURES.glob("v1/*/*.jsonl"))
    ]
    files = [lines for lines in files if lines]

    def make(chance: random.Random) -> bytes:
        lines = chance.choice(files)
        at = chance.randrange(len(lines))
        trees = lines[at : at + chance.randint(1, 4)]
        blind = chance.random() < 0.4
        if not blind:
            at = chance.randrange(len(trees))
            trees = [*trees[:at], _spoilt_tree(trees[at], chance), *trees[at + 1 :]]
        data = b"".join(_tree_bytes(tree) + b"\n" for tree in trees)
        return mutated(data, JSON_WORDS, chance) if blind else data

    return make


_RECORD = struct.Struct("<4sIIQB")
_META = SessionMeta(
    id="00000000-0000-4000-8000-000000000001",
    argv=("sh",),
    size=Size(8, 40),
    recorded_at="",
    harness=Harness(name="sh"),
)
_QUOTA = QuotaRecord(source="cli", status="ok", windows=({"name": "5h"},))
_DISCOVERY = DiscoveryRecord(source="cli", status="ok", models=("a",), reasoning_levels=("b",))
_EXIT = ExitStatus(code=0, exited=True, signaled=False)


class _Journal:
    """Journals whose checksums fit, whatever was done to the records."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._salt = chance.getrandbits(32)
        self._index = 0

    def record(self, t_us: int, kind: int, body: bytes) -> bytes:
        """One record."""
        head = _RECORD.pack(MARK, self._index, len(body), t_us, kind)
        self._index += 1
        crc = zlib.crc32(body, zlib.crc32(head, self._salt))
        return head + struct.pack("<I", crc) + body

    def _body(self, number: int) -> tuple[int, bytes]:
        chance = self._chance
        match chance.randint(0, 6):
            case 0 | 1:
                data = b"line %d\r\n" % number
                reads = [(chance.choice((0, 7, 2**32 - 1)), len(data))]
                table = b"".join(struct.pack("<II", *read) for read in reads)
                return 1, struct.pack("<I", len(reads)) + table + data
            case 2:
                typed = Typed(number, b"x", "driver", "enter", paste=True, masked=True)
                return 2, msgspec.msgpack.encode(typed)
            case 3:
                return 2, msgspec.msgpack.encode(Noted(number, {"a": [number]}))
            case 4:
                return 2, msgspec.msgpack.encode(Resized(number, Size(4, 20)))
            case 5:
                return 2, msgspec.msgpack.encode(
                    chance.choice((Signalled(number, "int"), Probed(number, _QUOTA, _DISCOVERY)))
                )
            case _:
                return 2, msgspec.msgpack.encode(_finished(number))

    def make_typed(self) -> bytes:
        """A whole one, in which one record is a spoilt tree."""
        chance = self._chance
        count = chance.randint(1, 6)
        spoilt = chance.randint(0, count + 1)
        parts = [MAGIC, struct.pack("<I", self._salt)]
        for number in range(count + 2):
            kind, body = (0, _full_head()) if number == 0 else self._body(number)
            if number == count + 1:
                kind, body = 2, msgspec.msgpack.encode(_finished(number))
            if number == spoilt and kind != 1:
                tree = _spoilt_tree(msgspec.msgpack.decode(body), chance)
                with suppress(OverflowError, UnicodeEncodeError):  # what msgpack cannot hold
                    body = msgspec.msgpack.encode(tree)
            parts.append(self.record(number, kind, body))
        return b"".join(parts)

    def make(self) -> bytes:
        """A whole one, with one record spoilt."""
        chance = self._chance
        count = chance.randint(1, 6)
        spoilt = chance.randint(0, count)
        parts = [MAGIC, struct.pack("<I", self._salt)]
        for number in range(count + 1):
            kind, body = (0, _head()) if number == 0 else self._body(number)
            if number == spoilt:
                body = mutated(body, JOURNAL_WORDS, chance)
                kind = chance.choice((kind, kind, kind, chance.randint(0, 255)))
            parts.append(self.record(chance.choice((number, 2**64 - 1)), kind, body))
        return b"".join(parts)


def _finished(t_us: int) -> Finished:
    return Finished(
        t_us=t_us,
        exit=_EXIT,
        metadata={"a": 1},
        usage={"tokens": 1},
        cost_usd=0.5,
        routing_actual="a",
        session_log_path="x",
        final_text="done",
    )


def _head() -> bytes:
    return msgspec.msgpack.encode(_META)


def _full_head() -> bytes:
    """With every field that has a default, so that each can be spoilt."""
    return msgspec.msgpack.encode(
        msgspec.structs.replace(
            _META,
            harness=Harness(name="sh", binary_version="1", account_class="a"),
            workdir_policy="temp",
            env_allowlist=("LANG",),
            environment={"API_KEY": "correct-horse-battery"},
            home="/home/somebody",
            cwd="/home/somebody/work",
            term="xterm",
            locale="C.UTF-8",
            timeout_ms=1000,
            permission_mode="ask",
            pty_mode={"echo": True},
            git_sha="0" * 40,
            os="linux",
            arch="x86_64",
            recorder_version="1",
            resolution_ms=10,
            title="title",
            options={"frame_policy": "tick", "meta": {"a": 1}, "scrub": True, "idle_limit_ms": 9},
        )
    )


def _plain_journal() -> bytes:
    encoder = JournalEncoder(7)
    parts = [encoder.begin(msgspec.msgpack.decode(_head(), type=SessionMeta))]
    for number in range(6):
        parts.append(encoder.event(Output(number, b"line %d\r\n" % number)))
        parts.append(encoder.event(Typed(number, b"x")))
        parts.append(encoder.event(Noted(number, {"a": [number]})))
    return b"".join(parts)


def good_journal() -> Maker:
    """Journals whose checksums fit, with values that no recorder writes."""
    return lambda chance: _Journal(chance).make_typed()


def journal() -> Maker:
    """Journals."""
    plain = _plain_journal()

    def make(chance: random.Random) -> bytes:
        if chance.random() < 0.5:
            return mutated(plain, JOURNAL_WORDS, chance)
        return _Journal(chance).make()

    return make


def secrets() -> Maker:
    """Output of programs; now and then a lot of what is nothing but things to find, spoilt."""
    ordinary = terminal()

    def make(chance: random.Random) -> bytes:
        if chance.random() > SOME_HOSTILE:
            return ordinary(chance)
        data = hostile(chance.choice([*FAMILIES]), chance.randint(1, MAX_BYTES), chance)
        return mutated(data, TERMINAL_WORDS, chance)

    return make


def terminal() -> Maker:
    """Output of real programs, in short pieces, spliced and spoilt."""
    kinds = ("agents", "programs", "synthetic", "v1")
    paths = [path for kind in kinds for path in sorted(FIXTURES.glob(f"{kind}/*/output.raw"))]
    recorded = [data for data in (path.read_bytes() for path in paths) if len(data) > 100]

    def make(chance: random.Random) -> bytes:
        parts = []
        for _ in range(chance.randint(0, 3)):
            data = chance.choice(recorded)
            at = chance.randrange(len(data))
            parts.append(data[at : at + chance.randint(5, 200)])
        return mutated(b"".join(parts), TERMINAL_WORDS, chance)

    return make
