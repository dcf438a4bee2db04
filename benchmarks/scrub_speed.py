"""Speed and memory of scrubbing: ``python -m benchmarks.scrub_speed [--mib N] [--secrets N]``.

The session is made as it is read, so that what is measured is the scrubber: a
program that prints, colours, redraws a status line and a boxed panel. Machines differ, so
it says too how fast stock pyte only paints the beginning of the same session.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Iterator

import pyte

from benchmarks.scrub_cases import CASES
from ptycassette.model import Harness, JournalEvent, Output, SessionMeta, Size
from ptycassette.scrub import default_scrubber

WORDS = (  # noqa: SIM905 - words, read better in rows
    "the parser reads tokens and returns a tree of nodes while it keeps offsets so errors "
    "can say where they happened see README docs/guide.md src/main.rs tests/unit/test_parser.py "
    "fn let match return import from class def async await None True self error warning note"
).split()


PAINTED = 1 << 21


def line(rng: random.Random) -> str:
    """One line of prose or code, sometimes coloured."""
    words = " ".join(rng.choices(WORDS, k=rng.randrange(4, 14)))
    kind = rng.random()
    if kind < 0.3:
        return f"\x1b[38;5;{rng.randrange(256)}m{words}\x1b[0m\r\n"
    if kind < 0.4:
        return f"\x1b[32m+ \x1b[1m{words}\x1b[22m {rng.randrange(1000)}\x1b[0m\r\n"
    if kind < 0.45:
        return f"{rng.randrange(16**12):012x} {words} v{rng.randrange(9)}.{rng.randrange(30)}\r\n"
    return f"{words}\r\n"


def panel(rng: random.Random, rows: int) -> str:
    """A boxed panel and a status line, redrawn in place."""
    parts = []
    for row in range(rows - 6, rows - 1):
        text = " ".join(rng.choices(WORDS, k=8))[:70].ljust(70)
        parts.append(f"\x1b[{row};1H\x1b[2m│\x1b[22m {text} \x1b[2m│\x1b[22m\x1b[K")
    parts.append(
        f"\x1b[{rows};1H\x1b[36m⠹\x1b[0m Working… ({rng.randrange(99)}s · esc to interrupt)\x1b[K"
    )
    return "".join(parts)


def blocks(total: int, secrets: int) -> Iterator[bytes]:
    """About ``total`` bytes of a session in chunks of up to 4 KB."""
    rng = random.Random(7)  # noqa: S311 - the same session every time
    pool = [
        "".join(line(rng) for _ in range(30)) if rng.random() < 0.7 else panel(rng, 24)
        for _ in range(400)
    ]
    every = total // max(1, secrets)
    sent = 0
    planted = 0
    while sent < total:
        text = rng.choice(pool)
        if secrets and sent >= planted * every:
            planted += 1
            text += CASES.make_secret(rng.choice(CASES.KINDS), rng).text + "\r\n"
        data = text.encode()
        for at in range(0, len(data), 4096):
            yield data[at : at + 4096]
        sent += len(data)


def painting(data: bytes) -> float:
    """Seconds in which stock pyte paints them."""
    stream = pyte.ByteStream(pyte.Screen(80, 24))
    started = time.process_time()
    for at in range(0, len(data), 4096):
        stream.feed(data[at : at + 4096])
    return time.process_time() - started


def main() -> None:
    """Scrub one session and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=float, default=10)
    parser.add_argument("--secrets", type=int, default=0)
    parser.add_argument("--plain-python", action="store_true")
    options = parser.parse_args()
    total = int(options.mib * (1 << 20))
    meta = SessionMeta(
        id="00000000-0000-4000-8000-000000000001",
        argv=("agent",),
        size=Size(24, 80),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="agent"),
    )

    def source() -> Iterator[JournalEvent]:
        return (Output(n, data) for n, data in enumerate(blocks(total, options.secrets)))

    started = time.perf_counter()
    made = sum(len(event.data) for event in source() if isinstance(event, Output))
    making = time.perf_counter() - started
    scrubber = default_scrubber(fast=False if options.plain_python else None)
    started = time.process_time()
    changed = out = 0
    for before, after in zip(source(), scrubber.events(meta, source), strict=True):
        assert isinstance(before, Output)
        assert isinstance(after, Output)
        out += len(after.data)
        if before.data != after.data:
            changed += sum(a != b for a, b in zip(before.data, after.data, strict=True))
    took = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{made / 1e6:.1f} MB in {took:.1f} s: {made / 1e6 / took:.2f} MB/s "
        f"(making it: {making:.1f} s a pass), "
        f"{peak:.0f} MiB at most, {changed} bytes changed ({changed / made:.4%}), "
        f"status {scrubber.report().status}, hits {scrubber.report().hit_counts}"
    )
    assert out == made
    beginning = b"".join(blocks(min(total, PAINTED), 0))
    painted = len(beginning) / 1e6 / painting(beginning)
    ratio = made / 1e6 / took / painted
    print(f"stock pyte paints it at {painted:.2f} MB/s: scrubbing is {ratio:.2f} times as fast")


if __name__ == "__main__":
    main()
