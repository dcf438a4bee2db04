# ruff: noqa: T201
"""An agent of one question for the tests of faults: ``fault_agent.py [--two] [--ready]``.

It asks a model, calls the one tool that it has, and says what came of it. With ``--ready`` it asks
again when an answer is of no use; without, it believes whatever it is told. With ``--two`` the
model calls the tool twice, and is told both results.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from typing import Any
from urllib.parse import urlsplit

BODY: dict[str, Any] = {
    "model": "m-1",
    "messages": [{"role": "user", "content": "What is the time?"}],
    "tools": [{"type": "function", "function": {"name": "clock", "parameters": {}}}],
}
TOOLS = {"clock": lambda arguments: f"noon {arguments['zone']}"}
DEADLINE_S = 10.0  # a busy machine needs some of them without a fault


def ask(more: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """The message of the model."""
    asked = {**BODY, "messages": [*BODY["messages"], *more]}
    where = urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=DEADLINE_S)
    headers = {"content-type": "application/json", "authorization": "Bearer " + "k" * 24}
    connection.request("POST", f"{where.path}/chat/completions", json.dumps(asked), headers)
    answer = connection.getresponse()
    until, body = time.monotonic() + DEADLINE_S, b""
    while piece := answer.read1():
        body += piece
        if time.monotonic() > until:
            raise TimeoutError("the answer is too slow")
    if answer.length:
        raise ConnectionError("the answer is cut off")
    found: dict[str, Any] = json.loads(body)["choices"][0]["message"]
    return found


def use(message: dict[str, Any]) -> str:
    """What the tool says that the model called."""
    call = message["tool_calls"][0]["function"]
    return TOOLS[call["name"]](json.loads(call["arguments"]))


def tell(message: dict[str, Any]) -> str:
    """What the model makes of the results of all its calls."""
    results = [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": TOOLS["clock"](json.loads(call["function"]["arguments"])),
        }
        for call in message["tool_calls"]
    ]
    answer = str(ask((message, *results))["content"])
    if "--ready" in sys.argv and answer != ", ".join(one["content"] for one in results):
        raise ValueError("that is not what the tools said")
    return answer


def main() -> int:
    """Ask, and say it."""
    called = ask() if "--two" in sys.argv else {}
    for left in reversed(range(3 if "--ready" in sys.argv else 1)):
        try:
            print("it is", tell(called) if called else use(ask()), flush=True)
        except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as wrong:
            print("no use:", type(wrong).__name__, flush=True)
            if not left:
                raise
        else:
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
