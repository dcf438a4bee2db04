"""What is recorded when saving is measured: made from seeds, and never repeating itself."""

from __future__ import annotations

import random
import re
import string
import sys
from pathlib import Path

__all__ = ["PACED", "agents", "log_lines", "markdown"]

FIXTURES = Path(__file__).parent.parent / "fixtures" / "agents"
AGENTS = ("codex", "opencode", "aider", "gemini")
_ESCAPE = re.compile(
    rb"(\x1b(?:\[[0-9;?<>=!$\"' ]*[@-~]|[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~]))"
)
_WORDS = (  # noqa: SIM905 - a text to be read as one
    "the of and to in is that for it as was with be by on not he his but at are this have from"
    " cache worker queue token stream parser buffer screen record commit branch session journal"
    " request handler timeout retry schema index frame cursor colour model prompt answer budget"
).split()
_NUMBERED = 0.1

PACED = """
import os, sys, time
path, seconds, result = sys.argv[1], float(sys.argv[2]), sys.argv[3]
data = open(path, "rb").read()
pieces = [data[at : at + 4096] for at in range(0, len(data), 4096)]
start, waited = time.monotonic(), 0.0
for number, piece in enumerate(pieces):
    view = memoryview(piece)
    while view:
        view = view[os.write(1, view):]
    before = time.monotonic()
    time.sleep(seconds / len(pieces))
    waited += time.monotonic() - before
end = time.monotonic()
with open(result, "w") as file:
    file.write(f"{end} {end - start - waited}")
"""
"""Writes a file in pieces over so many seconds; says when it ended, and how long it wrote."""


def log_lines(size: int, seed: int = 1) -> bytes:
    """Lines of a server's log."""
    pick, lines, total = random.Random(seed), [], 0  # noqa: S311 - inputs, not secrets
    while total < size:
        moment = f"{pick.randrange(24):02}:{pick.randrange(60):02}:{pick.randrange(60):02}"
        line = (
            f"2026-11-23T{moment}.{pick.randrange(1000):03} INFO worker-{pick.randrange(64)}"
            f" handled request {pick.randrange(10**7)} in {pick.randrange(900)} ms"
            f" path=/api/v1/items/{pick.randrange(10**5)} status={pick.choice((200, 404, 500))}\n"
        )
        lines.append(line)
        total += len(line)
    return "".join(lines).encode("ascii")[:size]


def markdown(size: int, seed: int = 2) -> bytes:
    """Headings, paragraphs, lists and code, as a model answers."""
    pick, parts, total = random.Random(seed), [], 0  # noqa: S311 - inputs, not secrets
    while total < size:
        part = _markdown_part(pick)
        parts.append(part)
        total += len(part)
    return "".join(parts).encode("ascii")[:size]


def _markdown_part(pick: random.Random) -> str:
    def some(least: int, most: int) -> str:
        chosen = (
            pick.choice(_WORDS) + (str(pick.randrange(1000)) if pick.random() < _NUMBERED else "")
            for _ in range(pick.randint(least, most))
        )
        return " ".join(chosen)

    match pick.randrange(6):
        case 0:
            return f"\n{'#' * pick.randint(1, 3)} {some(2, 6).title()}\n\n"
        case 1:
            items = (f"- **{some(1, 2)}**: {some(4, 14)}\n" for _ in range(pick.randint(2, 6)))
            return "".join(items)
        case 2:
            name, value = some(1, 1), some(1, 1)
            return f"```python\ndef {name}({value}: int) -> None:\n    return {value}\n```\n\n"
        case _:
            return f"{some(20, 90).capitalize()}.\n\n"


def agents(size: int, seed: int = 3) -> bytes:
    """Recorded sessions of agent CLIs, one after the other, and again with other letters.

    So nothing is seen twice. Escape sequences stay as they are, and what holds an ``@``: another
    name would be an address of somebody, to be masked, where the session has none.
    """
    found = sorted(path for name in AGENTS for path in FIXTURES.glob(f"{name}-*/output.raw"))
    if not found:
        sys.exit(f"no recorded sessions in {FIXTURES}")
    once = b"".join(path.read_bytes() for path in found)
    pieces = _ESCAPE.split(once)
    pick, rounds, total = random.Random(seed), [once], len(once)  # noqa: S311 - inputs, not secrets
    while total < size:
        table = _letters(pick)
        rounds.append(
            b"".join(
                piece if number % 2 or b"@" in piece else piece.translate(table)
                for number, piece in enumerate(pieces)
            )
        )
        total += len(once)
    return b"".join(rounds)[:size]


def _letters(pick: random.Random) -> bytes:
    """A table that exchanges letters with letters and digits with digits."""
    source = target = ""
    for group in (string.ascii_lowercase, string.ascii_uppercase, string.digits):
        source += group
        target += "".join(pick.sample(group, len(group)))
    return bytes.maketrans(source.encode(), target.encode())
