# ruff: noqa: T201
"""A small agent for the tests of tapes: asks a model over HTTP, calls a tool, paints its answers.

``python -I tape_client.py [--system TEXT] [--note TEXT]``: reads prompts from its terminal until
``/quit``. Each request carries all that was said before, a session id and the current folder, as
those of agent CLIs do. The one tool is ``read_note``, which gives ``note.txt`` of that folder.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TOOL = {
    "type": "function",
    "function": {"name": "read_note", "description": "note.txt", "parameters": {"type": "object"}},
}


def ask(base: str, body: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """The text of the answer, painted as it comes, and the calls of tools in it."""
    where = urlsplit(base)
    connection = http.client.HTTPConnection(where.hostname or "", where.port or 80, timeout=30)
    connection.request(
        "POST",
        f"{where.path}/chat/completions",
        json.dumps(body),
        {"content-type": "application/json", "authorization": "Bearer " + "k" * 24},
    )
    answer = connection.getresponse()
    if answer.status != http.client.OK:
        print(f"error {answer.status}: {answer.read().decode()[:200]}", flush=True)
        return "", []
    said, calls = "", {}
    for line in answer:
        data = line.decode().strip().removeprefix("data: ")
        if not line.startswith(b"data: ") or data == "[DONE]":
            continue
        for choice in json.loads(data)["choices"]:
            piece = choice["delta"].get("content") or ""
            said += piece
            print(piece, end="", flush=True)
            for call in choice["delta"].get("tool_calls") or []:
                kept = calls.setdefault(call["index"], {"id": call.get("id"), "function": {}})
                for name, value in call["function"].items():
                    kept["function"][name] = kept["function"].get(name, "") + (value or "")
    if said:
        print(flush=True)
    return said, [{"type": "function", **call} for call in calls.values()]


def main() -> int:
    """Talk until ``/quit``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--system", default="You are a small agent.")
    given = parser.parse_args()
    base, session = os.environ["OPENAI_BASE_URL"], str(uuid.uuid4())
    said: list[dict[str, Any]] = [
        {"role": "system", "content": f"{given.system} The folder is {Path.cwd()}."}
    ]
    print("small agent, ready", flush=True)
    while True:
        print("> ", end="", flush=True)
        prompt = sys.stdin.readline().strip()
        if prompt in {"", "/quit"}:
            print("bye", flush=True)
            return 0
        said.append({"role": "user", "content": prompt})
        calls: list[dict[str, Any]] = [{}]
        while calls:
            body = {
                "model": "m-1",
                "stream": True,
                "metadata": {"session_id": session},
                "messages": said,
                "tools": [TOOL],
            }
            text, calls = ask(base, body)
            said.append({"role": "assistant", "content": text, "tool_calls": calls or None})
            for call in calls:
                note = Path("note.txt").read_text(encoding="utf-8").strip()
                print(f"[read note.txt: {note}]", flush=True)
                said.append({"role": "tool", "tool_call_id": call["id"], "content": note})


if __name__ == "__main__":
    sys.exit(main())
