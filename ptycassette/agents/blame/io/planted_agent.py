# ruff: noqa: T201
"""The small agent of ``blame --validate``: its end depends only on the planted cause.

``python -I planted_agent.py RULE [NOISE]`` reads tasks (``task 2: ...``) from its terminal until
``/quit``, asks a model for each, calls the tool that the model asks for, and ends with 0 or 1:

- ``answer:2``: 0 if the answer to task 2 has the word *granted*;
- ``input:2``: 0 if task 2 was asked with the word *please*;
- ``tool:2``: 0 if the tool was called for task 2;
- ``said:0``: 0 if any answer has the word *approved*;
- ``coin:0``: 0 or 1 at random, in any case.

With NOISE, a rate, the end is the other one that often.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import sys
from typing import Any
from urllib.parse import urlsplit

from ptycassette.tape.providers.answers import answer_of
from ptycassette.tape.providers.neutral import AskedCall
from ptycassette.tape.providers.openai_chat import message, offered_tool, tool_call, tool_message

_TOOL = offered_tool("look", "look", {"type": "object"})
_RESULT = "the light is green"


class Seen:
    """The events by the number of the task."""

    def __init__(self) -> None:
        self.tasks: dict[int, str] = {}
        self.answers: dict[int, str] = {}
        self.called: set[int] = set()


def ask(messages: list[dict[str, Any]]) -> tuple[str, list[AskedCall]]:
    """The text of the answer, and the calls of tools in it."""
    where = urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(where.hostname or "", where.port or 80, timeout=30)
    body = {"model": "m-1", "messages": messages, "tools": [_TOOL]}
    headers = {"content-type": "application/json", "authorization": "Bearer " + "k" * 24}
    connection.request("POST", f"{where.path}/chat/completions", json.dumps(body), headers)
    answer = connection.getresponse()
    said = answer_of([answer.read()], "application/json")
    if answer.status != http.client.OK:
        print(f"error {answer.status}", flush=True)
        return "", []
    return "".join(said.text), list(said.calls.values())


def talk(seen: Seen) -> None:
    """Work on tasks until ``/quit``."""
    messages: list[dict[str, Any]] = []
    number = 0
    while True:
        number += 1
        print(f"{number}> ", end="", flush=True)
        line = sys.stdin.readline().strip()
        if line in {"", "/quit"}:
            return
        named = re.match(r"task (\d{1,3}):", line)
        task = int(named[1]) if named else 0
        seen.tasks[task] = line
        messages.append({"role": "user", "content": line})
        calls = [AskedCall()]
        while calls:
            text, calls = ask(messages)
            seen.answers[task] = seen.answers.get(task, "") + text
            print(text or "(nothing)", flush=True)
            asked = [tool_call(one.id, one.name, one.arguments) for one in calls]
            messages.append(message("assistant", text, asked))
            for call in calls:
                seen.called.add(task)
                print(f"[{_RESULT}]", flush=True)
                messages.append(tool_message(call.id, _RESULT))


def holds(rule: str, task: int, seen: Seen) -> bool:
    """Whether the planted condition is true."""
    match rule:
        case "answer":
            return "granted" in seen.answers.get(task, "")
        case "input":
            return "please" in seen.tasks.get(task, "")
        case "tool":
            return task in seen.called
        case "said":
            return any("approved" in answer for answer in seen.answers.values())
        case _:
            return random.SystemRandom().random() < 0.5


def main() -> int:
    """Talk, and end as the rule demands."""
    rule, _, task = sys.argv[1].partition(":")
    noise = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    seen = Seen()
    talk(seen)
    good = holds(rule, int(task), seen)
    if random.SystemRandom().random() < noise:
        good = not good
    print("bye", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
