"""What is recorded when saving is measured: made from seeds or found, and never repeating itself.

Text that is made letter by letter has other words, and other chances to look like a secret, than
text that somebody wrote. So what is found on the machine is measured beside it: the sources of the
standard library, a log in JSON with their lines, manual pages, and recorded sessions, each once.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import string
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

__all__ = [
    "PACED",
    "agents",
    "json_log",
    "log_lines",
    "manual_pages",
    "markdown",
    "sessions",
    "sources",
    "with_tokens",
]

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


def _source_files() -> Iterator[Path]:
    """The modules of the standard library, by name."""
    folder = Path(sysconfig.get_path("stdlib"))
    for path in sorted(folder.rglob("*.py")):
        if not {"site-packages", "dist-packages", "__pycache__"} & set(path.parts):
            yield path


def sources(size: int) -> bytes:
    """Sources of the standard library, one after the other."""
    text = bytearray()
    for path in _source_files():
        text += path.read_bytes()
        if len(text) >= size:
            break
    return bytes(text[:size])


def json_log(size: int) -> bytes:
    """A log with an object in each line, whose messages are lines of such sources."""
    lines, total = [], 0
    for path in _source_files():
        for number, text in enumerate(path.read_text("utf-8", "replace").splitlines()):
            row = {"level": "info", "logger": path.stem, "line": number, "message": text}
            lines.append(f"{json.dumps(row)}\n")
            total += len(lines[-1])
        if total >= size:
            break
    return "".join(lines).encode("ascii")[:size]


def manual_pages(size: int) -> bytes:
    """Manual pages as ``man`` shows them, bold struck over; b"" on a machine without any.

    At most 300 KB: ``man`` takes long.
    """
    size = min(size, 300_000)
    folder = Path("/usr/share/man/man1")
    if not shutil.which("man") or not folder.is_dir():
        return b""
    env = {**os.environ, "MAN_KEEP_FORMATTING": "1", "MANPAGER": "cat", "MANWIDTH": "78"}
    text = bytearray()
    pages = sorted(path for path in folder.iterdir() if not path.is_symlink())
    for at in range(0, len(pages), 8):
        words = ["man", "-l", *map(str, pages[at : at + 8])]
        text += subprocess.run(words, env=env, capture_output=True, check=False).stdout
        if len(text) >= size:
            break
    return bytes(text[:size])


def sessions(size: int) -> bytes:
    """Recorded sessions of agent CLIs, each once, as far as there are any."""
    found = sorted(FIXTURES.glob("*/output.raw"))
    return b"".join(path.read_bytes() for path in found)[:size]


def with_tokens(text: bytes, count: int, seed: int = 6) -> bytes:
    """Lines of text, with so many tokens evenly spread at the ends of some of them."""
    pick, lines = random.Random(seed), text.split(b"\n")  # noqa: S311 - inputs, not secrets
    letters = string.ascii_letters + string.digits
    for number in range(count):
        token = "gh" + "p_" + "".join(pick.choices(letters, k=36))
        lines[(number + 1) * len(lines) // (count + 1)] += f" token={token}".encode("ascii")
    return b"\n".join(lines)


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
