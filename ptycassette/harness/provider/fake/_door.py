"""Checks the keys of clients. The log has numbers in place of keys."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

from ptycassette.harness.provider.fake.body import Body
from ptycassette.harness.provider.fake.exchange import HttpRequest, shown_headers, shown_query
from ptycassette.harness.provider.fake.script import Auth
from ptycassette.harness.provider.wire.neutral import Api


class NotLetInError(Exception):
    """The client has no key, or a wrong one; reported in the form of the API.

    The wording matters: litellm recognises a wrong OpenAI key by it.

    Args:
        api: whose words.
        missing: there was no key at all.
    """

    def __init__(self, api: Api | None, *, missing: bool) -> None:
        super().__init__("no API key was given" if missing else "wrong API key")
        words = _NO_KEY if missing else _WRONG_KEY
        self.status, self.message = words[api or "responses"]


_NO_KEY: dict[Api, tuple[int, str]] = {
    "anthropic": (401, "x-api-key header is required"),
    "responses": (401, "You didn't provide an API key."),
    "chat": (401, "You didn't provide an API key."),
    "gemini": (403, "Method doesn't allow unregistered callers. Please use API Key."),
}
_WRONG_KEY: dict[Api, tuple[int, str]] = {
    "anthropic": (401, "invalid x-api-key"),
    "responses": (401, "Incorrect API key provided."),
    "chat": (401, "Incorrect API key provided."),
    "gemini": (400, "API key not valid. Please pass a valid API key."),
}


class Door:
    """Opens a log entry per request and checks keys.

    Args:
        auth: what the script asks of a client.
        accepted_keys: if given, only these API keys are accepted.
    """

    def __init__(self, auth: Auth, accepted_keys: frozenset[str] | None) -> None:
        self._require = auth.require
        self._accepted = accepted_keys
        self._numbers = itertools.count(1)
        self._keys: dict[str, int] = {}

    def entry(self, request: HttpRequest, transport: str, body: Body) -> dict[str, Any]:
        """The log entry of a request, without its keys.

        ``key`` is 1 for the first key, 2 for the next different one: enough to find a program
        that keeps using an old key.
        """
        entry: dict[str, Any] = {
            "n": next(self._numbers),
            "transport": transport,
            "method": request.method,
            "path": request.path,
            "query": shown_query(request.query),
            "headers": shown_headers(request.headers),
        }
        key = request.key
        if key is not None:
            digest = hashlib.sha256(key.encode()).hexdigest()
            entry["key"] = self._keys.setdefault(digest, len(self._keys) + 1)
        if request.body:
            entry["body"] = body.shown
        return entry

    def let_in(self, request: HttpRequest, api: Api | None) -> None:
        """Check that the client is accepted.

        Raises:
            NotLetInError: no key, or the wrong one.
        """
        key = request.key
        if key is None and (self._require != "nothing" or self._accepted is not None):
            raise NotLetInError(api, missing=True)
        wrong = self._accepted is not None and key not in self._accepted
        if self._require == "impossible" or wrong:
            raise NotLetInError(api, missing=False)
