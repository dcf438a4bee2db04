"""Find a provider's list of models, and read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ptycassette.tape.routing import key_header

_ENDS = (
    ("/messages", "limit=1000"),
    ("/responses", ""),
    ("/chat/completions", ""),
)
_NAMES = ("id", "slug", "name")


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's list of models.

    Attributes:
        path: its path; one model is below it.
        key_header: the header for the provider's key.
        query: requests the whole list at once.
    """

    path: str
    key_header: str
    query: str = ""

    def headers(self, key: str) -> dict[str, str]:
        """The headers of a request for it."""
        if self.key_header == "authorization":
            return {"authorization": f"Bearer {key}"}
        version = {"anthropic-version": "2023-06-01"} if self.key_header == "x-api-key" else {}
        return {self.key_header: key, **version}


def model_list_of(target: str) -> ModelList | None:
    """The list of the provider that answered a question.

    Args:
        target: path and query of the question (``/v1/messages``).

    Returns:
        None if it is not a question to a model, or its API has no list.
    """
    path = target.partition("?")[0]
    for end, query in _ENDS:
        if path.endswith(end):
            return ModelList(
                path=path.removesuffix(end) + "/models", key_header=key_header(path), query=query
            )
    before, below, rest = path.rpartition("/models/")
    if below and ":" in rest and "/" not in rest:
        return ModelList(
            path=before + "/models", key_header=key_header(path), query="pageSize=1000"
        )
    return None


def is_model_list(target: str) -> bool:
    """Whether a request of this path and query asks for a list of models."""
    return target.partition("?")[0].endswith("/models")


def listed_models(document: Any) -> tuple[str, ...]:
    """The names in a list of models, sorted; empty if it is not a list of models.

    Args:
        document: the JSON answer of Anthropic, OpenAI (``data``), Gemini or Codex (``models``).
    """
    return tuple(sorted(set(_names(document))))


def _names(document: Any) -> Iterator[str]:
    if not isinstance(document, dict):
        return
    entries = document.get("data", document.get("models"))
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            said = (entry.get(name) for name in _NAMES)
            name = next((one for one in said if isinstance(one, str) and one), None)
            if name is not None:
                yield name.removeprefix("models/")
