"""What goes in and out of the fake provider: requests, planned answers, log entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

__all__ = ["Ending", "Exchange", "HttpRequest", "Step", "shown_headers", "shown_query"]

Ending = Literal["complete", "disconnect"]

_WITHHELD = "(withheld)"
_SECRET_HEADERS = frozenset(
    {
        "api-key",
        "authorization",
        "chatgpt-account-id",
        "cookie",
        "proxy-authorization",
        "x-api-key",
        "x-goog-api-key",
    }
)
_SECRET_QUERY = frozenset({"access_token", "key"})


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, decoded. Header names are in lower case; ``path`` has no query."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: dict[str, str] = {}
    body: bytes = b""

    def asked(self, name: str) -> str | None:
        """The first value of a query parameter."""
        return next((value for key, value in self.query if key == name), None)

    @property
    def key(self) -> str | None:
        """The API key that the client brought, in whichever way the four APIs take one."""
        for name in ("x-api-key", "x-goog-api-key", "api-key"):
            if self.headers.get(name):
                return self.headers[name]
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return token.strip()
        return self.asked("key") or None


class Step(msgspec.Struct, frozen=True):
    """Bytes of the answer, and how long to wait before them."""

    delay_ms: int
    data: bytes


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request and the plan for its answer. Whoever owns the connection carries it out.

    ``ending`` ``disconnect`` means: after the last step, break the connection
    off without a proper end. ``entry`` is the log entry so far; the host adds
    when it came and what became of it.
    """

    status: int
    headers: dict[str, str]
    steps: tuple[Step, ...]
    ending: Ending = "complete"
    entry: dict[str, Any]


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers for the log: keys and cookies withheld."""
    return {
        name: _WITHHELD if name in _SECRET_HEADERS else value for name, value in headers.items()
    }


def shown_query(query: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Query parameters for the log: keys withheld."""
    return {name: _WITHHELD if name in _SECRET_QUERY else value for name, value in query}
