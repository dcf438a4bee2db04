"""Lists of words, read from ``words.toml``, to judge names of people, hosts and values."""

from __future__ import annotations

from pkgutil import get_data
from typing import Any

import msgspec


def data_text(name: str) -> str:
    """The text of a data file beside this module."""
    return (get_data(__package__, name) or b"").decode()


_lists: dict[str, Any] = msgspec.toml.decode(data_text("words.toml"))

SECRET_NAMES = "".join(_lists.pop("secret-names"))
"""A pattern for the names of secrets, as in ``token=``."""

WORDS = {name: frozenset(words.split()) for name, words in _lists.items()}
"""The other lists, by their names."""

_SHORT_NAME = 4


def is_ordinary(name: str) -> bool:
    """Whether a name is probably an ordinary word, and does not identify anybody."""
    return name.isalpha() and (
        len(name) <= _SHORT_NAME or name.lower() in WORDS["names-that-are-words"]
    )
