"""Typed secrets as values for the default scrubber."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ptycassette.scrub.search import KnownValue
from ptycassette.typed import TypedSecret

__all__ = ["Declared", "declared"]


class Declared(NamedTuple):
    """Values as ``session_scrubber`` takes them: ``known``, and ``words``, as ``typed``."""

    known: list[str]
    words: list[KnownValue]


def declared(secrets: Iterable[TypedSecret]) -> Declared:
    """Typed secrets in the form in which the scrubber takes them.

    ``since`` is not used yet: a short secret is removed as a word from the whole recording.
    A longer one is passed as text, so that the scrubber recognises a public prefix in it.
    """
    found = Declared([], [])
    for secret in secrets:
        if secret.whole:
            found.words.append(KnownValue(secret.text, "declared", word=True))
        else:
            found.known.append(secret.text)
    return found
