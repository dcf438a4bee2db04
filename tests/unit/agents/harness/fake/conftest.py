"""A fake provider and short ways to ask it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ptycassette.agents.harness.fake.engine import FakeProvider
from ptycassette.agents.harness.fake.script import HttpRequest, PlannedAnswer, Script
from ptycassette.testing import ManualClock


class Talk:
    """A conversation with a fake provider.

    Args:
        script: TOML without its version line.
        options: for ``FakeProvider``.
    """

    def __init__(self, script: str, **options: Any) -> None:
        checked = Script.parse("version = 1\n" + script)
        self.provider = FakeProvider(checked, ManualClock(), **options)

    def request(self, path: str, body: Any = None, method: str = "", **headers: str) -> HttpRequest:
        """A request; underscores in header names stand for hyphens."""
        path, _, query = path.partition("?")
        pairs = [pair.partition("=") for pair in query.split("&") if pair]
        raw = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        return HttpRequest(
            method=method or ("GET" if body is None else "POST"),
            path=path,
            query=tuple((name, value) for name, _, value in pairs),
            headers={name.replace("_", "-"): value for name, value in headers.items()},
            body=raw,
        )

    def ask(self, path: str, body: Any = None, method: str = "", **headers: str) -> PlannedAnswer:
        """Ask over HTTP."""
        return self.provider.http(self.request(path, body, method, **headers))

    def say(self, body: Any) -> list[dict[str, Any]]:
        """Send a WebSocket message; the messages of the answer."""
        text = body if isinstance(body, str) else json.dumps(body)
        exchange = self.provider.message(text, self.request("/v1/responses"))
        return [json.loads(step.data) for step in exchange.steps]

    @staticmethod
    def json(exchange: PlannedAnswer) -> Any:
        """The body of an answer in one piece."""
        return json.loads(b"".join(step.data for step in exchange.steps))

    @staticmethod
    def events(exchange: PlannedAnswer) -> list[dict[str, Any]]:
        """The server-sent events of an answer, without a final ``[DONE]``."""
        text = b"".join(step.data for step in exchange.steps).decode().replace("\r\n", "\n")
        lines = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


@pytest.fixture
def talk() -> Callable[..., Talk]:
    """Start a conversation: ``talk(script)``."""
    return Talk
