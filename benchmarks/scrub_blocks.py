"""A session in which nothing is secret: prints, colours, a status line and a boxed panel."""

from __future__ import annotations

import random
from collections.abc import Iterator

__all__ = ["WORDS", "blocks"]

WORDS = (  # noqa: SIM905 - words, read better in rows
    "the parser reads tokens and returns a tree of nodes while it keeps offsets so errors "
    "can say where they happened see README docs/guide.md src/main.rs tests/unit/test_parser.py "
    "fn let match return import from class def async await None True self error warning note"
).split()


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


def blocks(total: int) -> Iterator[bytes]:
    """About ``total`` bytes of a session in chunks of up to 4 KB."""
    rng = random.Random(7)  # noqa: S311 - the same session every time
    pool = [
        "".join(line(rng) for _ in range(30)) if rng.random() < 0.7 else panel(rng, 24)
        for _ in range(400)
    ]
    sent = 0
    while sent < total:
        data = rng.choice(pool).encode()
        for at in range(0, len(data), 4096):
            yield data[at : at + 4096]
        sent += len(data)
