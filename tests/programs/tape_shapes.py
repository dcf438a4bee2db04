# ruff: noqa: T201
"""A client for the tests of tapes: says in what shape each answer came, and ends with 0.

``python -I tape_shapes.py [WHAT ...]``: two conversations at the same time, then one question for
each word. Nothing that goes wrong makes it fail.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
from typing import Any
from urllib.parse import urlsplit

BASE = urlsplit(os.environ["OPENAI_BASE_URL"])
SAID: dict[str, list[str]] = {}
TURN = threading.Barrier(2)


def ask(said: list[dict[str, str]]) -> tuple[int, list[bytes], str]:
    """Status, pieces as they came, and what went wrong."""
    connection = http.client.HTTPConnection(BASE.hostname or "", BASE.port or 80, timeout=120)
    pieces: list[bytes] = []
    status = 0
    try:
        body = json.dumps({"messages": said})
        connection.request("POST", f"{BASE.path}/chat", body, {"content-type": "application/json"})
        answer = connection.getresponse()
        status = answer.status
        while piece := answer.read1(1 << 16):
            pieces.append(piece)
    except (OSError, http.client.HTTPException) as broken:
        return status, pieces, type(broken).__name__
    finally:
        connection.close()
    return status, pieces, ""


def talk(name: str) -> None:
    """A conversation of two turns, each of which carries what was said before."""
    said: list[dict[str, Any]] = []
    for turn in ("begin", "go on"):
        said.append({"role": "user", "content": f"{name}: {turn}"})
        TURN.wait()
        _, pieces, _ = ask(said)
        text = b"".join(pieces).decode()
        said.append({"role": "assistant", "content": text})
        SAID.setdefault(name, []).append(text)


def main() -> int:
    """Ask all."""
    talks = [threading.Thread(target=talk, args=(name,)) for name in ("north", "south")]
    for one in talks:
        one.start()
    for one in talks:
        one.join()
    for name in sorted(SAID):
        print(name, SAID[name])
    for what in sys.argv[1:]:
        quiet, _, word = what.rpartition(":")
        status, pieces, wrong = ask([{"role": "user", "content": word}])
        if not quiet:
            print(word, status, [len(piece) for piece in pieces], b"".join(pieces), wrong)
    return 0


if __name__ == "__main__":
    sys.exit(main())
