"""What goes in and out of the fake provider: requests, planned answers, log entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from ptycassette.scrub.rules._names import secret_name

Ending = Literal["complete", "disconnect"]

_WITHHELD = "(withheld)"
_ACCOUNT_HEADERS = frozenset({"chatgpt-account-id", "openai-organization", "openai-project"})
_HARMLESS_HEADERS = frozenset({"idempotency-key", "sec-websocket-key"})


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
        """The client's API key, in any of the ways of the four APIs."""
        for name in ("x-api-key", "x-goog-api-key", "api-key"):
            if self.headers.get(name):
                return self.headers[name]
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return token.strip()
        return self.asked("key") or None


class AnswerPart(msgspec.Struct, frozen=True):
    """Bytes of the answer, and how long to wait before them."""

    delay_ms: int
    data: bytes


class PlannedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A request and the plan for its answer. Whoever owns the connection carries it out.

    ``ending`` ``disconnect`` means: after the last step, break the connection
    off without a proper end. ``entry`` is the log entry so far; the host adds
    when it came and what became of it.
    """

    status: int
    headers: dict[str, str]
    steps: tuple[AnswerPart, ...]
    ending: Ending = "complete"
    entry: dict[str, Any]


def withheld_values(request: HttpRequest) -> Iterator[str]:
    """The values that the log withholds: keys, tokens without their scheme, values of cookies."""
    for name, value in request.headers.items():
        if name == "cookie":
            yield from (cookie.partition("=")[2].strip() for cookie in value.split(";"))
        elif _is_withheld(name):
            yield value.rpartition(" ")[2]
    yield from (value for name, value in request.query if secret_name(name))


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers for the log, without accounts, keys and cookies, which are found by name."""
    return {name: _WITHHELD if _is_withheld(name) else value for name, value in headers.items()}


def shown_query(query: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Query parameters for the log, without keys."""
    return {name: _WITHHELD if secret_name(name) else value for name, value in query}


def _is_withheld(header: str) -> bool:
    return header in _ACCOUNT_HEADERS or (secret_name(header) and header not in _HARMLESS_HEADERS)
