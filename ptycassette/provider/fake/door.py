"""Who comes in, and what the log says about it: keys are counted, never written down."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

import msgspec

from ptycassette.provider.fake.exchange import HttpRequest, shown_headers, shown_query
from ptycassette.provider.fake.script import Auth

__all__ = ["Door", "NotLetInError"]


class NotLetInError(Exception):
    """The client has no key, or a wrong one."""


class Door:
    """Opens a log entry per request and checks keys.

    Args:
        auth: what the script asks of a client.
        accepted_keys: if given, only these API keys are let in.
    """

    def __init__(self, auth: Auth, accepted_keys: frozenset[str] | None) -> None:
        self._require = auth.require
        self._accepted = accepted_keys
        self._numbers = itertools.count(1)
        self._keys: dict[str, int] = {}

    def entry(self, request: HttpRequest, transport: str) -> dict[str, Any]:
        """The log entry of a request: all that it said, keys withheld.

        ``key`` is 1 for the first key that was seen, 2 for the next other one:
        enough to find a program that keeps using an old key.
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
            try:
                entry["body"] = msgspec.json.decode(request.body)
            except (msgspec.DecodeError, UnicodeDecodeError):
                entry["body"] = request.body.decode("utf-8", "replace")
        return entry

    def let_in(self, request: HttpRequest) -> None:
        """Return if the client may come in.

        Raises:
            NotLetInError: no key, or the wrong one.
        """
        key = request.key
        if key is None and (self._require != "nothing" or self._accepted is not None):
            raise NotLetInError("no API key was given")
        if self._require == "impossible":
            raise NotLetInError("the API key is invalid")
        if self._accepted is not None and key not in self._accepted:
            raise NotLetInError("the API key is not one that this fake accepts")
