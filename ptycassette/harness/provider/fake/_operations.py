"""Finds the API and the operation for a method and a path."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from ptycassette.harness.provider.fake.exchange import HttpRequest
from ptycassette.harness.provider.wire.neutral import Api, WireError

OperationName = Literal["hello", "generate", "count", "models", "model", "account", "usage"]


class Operation(msgspec.Struct, frozen=True):
    """The operation of a request. ``model`` is set if the path names one."""

    api: Api | None
    name: OperationName
    model: str = ""
    stream: bool = False


_GEMINI = re.compile(r"/v1(?:beta|alpha)?/models/([^/:]+)(?::([A-Za-z]+))?")
_GEMINI_LIST = re.compile(r"/v1(?:beta|alpha)/models")
_GEMINI_VERBS: dict[str, tuple[OperationName, bool]] = {
    "generateContent": ("generate", False),
    "streamGenerateContent": ("generate", True),
    "countTokens": ("count", False),
}
_FIXED: dict[str, tuple[str, Operation]] = {
    "/v1/messages": ("POST", Operation("anthropic", "generate")),
    "/v1/messages/count_tokens": ("POST", Operation("anthropic", "count")),
    "/v1/responses": ("POST", Operation("responses", "generate")),
    "/v1/chat/completions": ("POST", Operation("chat", "generate")),
    "/backend-api/wham/accounts/check": ("GET", Operation("responses", "account")),
    "/backend-api/wham/usage": ("GET", Operation("responses", "usage")),
}


def find_operation(request: HttpRequest) -> Operation:
    """The operation of a request.

    ``/v1/models`` belongs to three APIs: Anthropic's clients send ``anthropic-version``,
    Google's have a key header of their own.

    Raises:
        WireError: 404 for a path that this fake does not know, 405 for a wrong method.
    """
    path, method = request.path, request.method
    if path == "/" and method in {"GET", "HEAD"}:
        return Operation(None, "hello")
    if path in _FIXED:
        wanted, operation = _FIXED[path]
        return _only(method, wanted, path, operation)
    api = _owner_of_v1(request)
    if path == "/v1/models":
        return _only(method, "GET", path, Operation(api, "models"))
    if _GEMINI_LIST.fullmatch(path):
        return _only(method, "GET", path, Operation("gemini", "models"))
    found = _GEMINI.fullmatch(path)
    if found is not None and found[2] is None:
        owner: Api = api if path.startswith("/v1/") else "gemini"
        return _only(method, "GET", path, Operation(owner, "model", found[1]))
    if found is not None and found[2] in _GEMINI_VERBS:
        name, stream = _GEMINI_VERBS[found[2]]
        return _only(method, "POST", path, Operation("gemini", name, found[1], stream))
    raise WireError(f"unknown path: {method} {path}", status=404)


def _owner_of_v1(request: HttpRequest) -> Api:
    """The API of a request to ``/v1/models``."""
    if "anthropic-version" in request.headers:
        return "anthropic"
    return "gemini" if "x-goog-api-key" in request.headers else "responses"


def _only(method: str, wanted: str, path: str, operation: Operation) -> Operation:
    """``operation``, if the method is right."""
    if method != wanted:
        raise WireError(f"{path} takes {wanted}, not {method}", status=405)
    return operation
