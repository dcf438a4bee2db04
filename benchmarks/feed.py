"""How fast emulators take output, in MB/s, and what a snapshot costs, in microseconds.

Streams are made here, from fixed seeds: plain text in lines, CJK text, a TUI that
repaints itself in colours, and a mixture of prose, box drawing, emoji and styles.
Each is fed in chunks of 4 KiB to a screen of 24 by 80. Stock pyte gets the same
bytes, as far as it survives them.
"""

from __future__ import annotations

import codecs
import random
import sys
import time
from collections.abc import Callable
from functools import partial

import pyte

from ptycassette.model.ports import Emulator
from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import available_backends, backend, default_emulator

CHUNK = 4096
SIZE = Size(rows=24, cols=80)
MIN_BYTES = 1 << 20

WORDS = [
    "the",
    "agent",
    "reads",
    "a",
    "file",
    "and",
    "writes",
    "a",
    "patch",
    "then",
    "runs",
    "make",
    "check",
    "while",
    "waiting",
]
CJK = "漢字仮名交じり文の端末記録再生試験用文字列中文字符終端錄製測試한국어터미널"
EMOJI = ["👍", "🚀", "❤️", "👩‍💻", "✅", "⚠️", "🇯🇵", "👋🏽", "é", "ñ", "—"]


def plain(rng: random.Random) -> str:
    """Lines of prose, as a compiler or a log writes them."""
    return "".join(" ".join(rng.choices(WORDS, k=rng.randint(3, 14))) + "\r\n" for _ in range(200))


def cjk(rng: random.Random) -> str:
    """Lines of wide characters."""
    return "".join("".join(rng.choices(CJK, k=rng.randint(8, 38))) + "。\r\n" for _ in range(200))


def tui(rng: random.Random) -> str:
    """A full-screen program: cursor addressing, colours, short texts, erasing."""
    parts = []
    for _ in range(400):
        parts.append(f"\x1b[{rng.randint(1, 24)};{rng.randint(1, 70)}H")
        parts.append(f"\x1b[{rng.choice((0, 1, 7))};38;5;{rng.randint(16, 231)}m")
        parts.append(" ".join(rng.choices(WORDS, k=rng.randint(1, 3))))
        parts.append("\x1b[0m\x1b[K")
    return "".join(parts)


def mixed(rng: random.Random) -> str:
    """What an agent CLI writes: prose, boxes, emoji, styles, redrawn lines."""
    parts = []
    for _ in range(100):
        parts.append(f"\x1b[2K\x1b[1A\x1b[38;2;{rng.randint(0, 255)};120;200m⏺\x1b[39m ")
        parts.append(" ".join(rng.choices(WORDS, k=rng.randint(2, 9))))
        parts.append(f" \x1b[1m{rng.choice(EMOJI)}\x1b[22m {rng.choice(EMOJI)}\r\n")
        parts.append("╭" + "─" * rng.randint(20, 70) + "╮\r\n│ \x1b[2m")
        parts.append("".join(rng.choices(CJK, k=rng.randint(2, 12))) + "\x1b[22m\x1b[60G│\r\n")
    return "".join(parts)


STREAMS: dict[str, Callable[[random.Random], str]] = {
    "mixed": mixed,
    "cjk": cjk,
    "tui": tui,
    "plain": plain,
}


class StockPyte:
    """pyte as it comes, fed text."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(SIZE.cols, SIZE.rows)
        self._stream = pyte.Stream(self.screen)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def feed(self, data: bytes) -> None:
        """Consume output."""
        self._stream.feed(self._decode(data))


def stream(name: str, size: int = MIN_BYTES) -> bytes:
    """At least ``size`` bytes of the stream of that name."""
    rng = random.Random(name)  # noqa: S311 - made-up text
    parts: list[bytes] = []
    total = 0
    while total < size:
        parts.append(STREAMS[name](rng).encode())
        total += len(parts[-1])
    return b"".join(parts)


def feed_seconds(feed: Callable[[bytes], None], data: bytes) -> float:
    """Processor seconds for feeding all of ``data`` in chunks."""
    started = time.process_time()
    for at in range(0, len(data), CHUNK):
        feed(data[at : at + CHUNK])
    return time.process_time() - started


def megabytes_per_second(
    make: Callable[[], Callable[[bytes], None]], data: bytes, runs: int
) -> float:
    """The best of ``runs`` runs, each with a fresh emulator."""
    return max(len(data) / 1e6 / feed_seconds(make(), data) for _ in range(runs))


def snapshot_us(emulator: Emulator, batches: int = 40, count: int = 48) -> float:
    """Microseconds for a snapshot after a small change, the change not counted.

    The mean of the best batch: on a machine that is shared, others take part in the rest.
    """
    emulator.feed(stream("tui", CHUNK))
    best = float("inf")
    for _ in range(batches):
        spent = 0.0
        for number in range(count):
            emulator.feed(f"\x1b[{number % 24 + 1};5H{number}".encode())
            started = time.perf_counter()
            emulator.snapshot()
            spent += time.perf_counter() - started
        best = min(best, spent / count)
    return best * 1e6


def stock_snapshot_us(count: int = 100) -> float:
    """The same for stock pyte's ``display``."""
    stock = StockPyte()
    stock.feed(stream("tui", CHUNK))
    spent = 0.0
    for number in range(count):
        stock.feed(f"\x1b[{number % 24 + 1};5H{number}".encode())
        started = time.perf_counter()
        stock.screen.display  # noqa: B018 - a property that renders
        spent += time.perf_counter() - started
    return spent / count * 1e6


def _feeder(make: Callable[[], Emulator]) -> Callable[[bytes], None]:
    """How a new emulator is fed."""
    return make().feed


def main(argv: list[str] | None = None) -> int:
    """Measure and print one table; ``--quick`` takes less data."""
    quick = "--quick" in (sys.argv[1:] if argv is None else argv)
    size, runs = (MIN_BYTES // 4, 1) if quick else (MIN_BYTES, 5)
    makers: dict[str, Callable[[], Emulator]] = {"pyte": lambda: default_emulator(SIZE)}
    for name in available_backends():
        makers.setdefault(name, lambda name=name: backend(name)(SIZE))  # type: ignore[misc]
    print(f"{'MB/s':10}" + "".join(f"{name:>12}" for name in ("stock pyte", *makers)) + "   ratio")
    for name in STREAMS:
        data = stream(name, size)
        stock = megabytes_per_second(lambda: StockPyte().feed, data[: size // 4], 1)
        rates = [
            megabytes_per_second(partial(_feeder, make), data, runs) for make in makers.values()
        ]
        print(
            f"{name:10}{stock:12.2f}"
            + "".join(f"{rate:12.2f}" for rate in rates)
            + f"{rates[0] / stock:8.1f}"
        )
    costs = "".join(f"{snapshot_us(make()):12.1f}" for make in makers.values())
    print(f"{'snapshot':10}{stock_snapshot_us():12.1f}{costs}   us")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
