"""What names say: of a value that it is a secret, an id or a digest; of an account whose it is.

The lists of words are in ``words.toml``.
"""

from __future__ import annotations

import re
from typing import Any

from ptycassette._tables import package_table
from ptycassette.model.lazy_regex import lazy_pattern

_lists: dict[str, Any] = package_table(__package__, "words.toml")

SECRET_NAMES = "".join(_lists.pop("secret-names"))
"""A pattern for the names of secrets, as in ``token=``."""

_PUBLIC_NAMES = "".join(_lists.pop("public-names"))
WORDS = {name: frozenset(words.split()) for name, words in _lists.items()}
"""The other lists, by their names."""

_SHORT_NAME = 4
_WORDS_OF_NAME = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_public_name(name: str) -> bool:
    """Whether a variable or key of this name holds no secret, though the name may sound like it."""
    return re.search(_PUBLIC_NAMES, name) is not None


def secret_name(name: str) -> bool:
    """Whether a variable or key of this name usually holds a secret."""
    if is_public_name(name):
        return False
    ends = tuple(WORDS["secret-endings"])
    return declares_a_secret(name) or any(word.endswith(ends) for word in _words(name))


def declares_a_secret(name: str) -> bool:
    """Whether ``name`` declares its value a secret, as ``clientSecret`` does."""
    words = _words(name)
    while words and words[-1] in WORDS["words-that-say-nothing"]:
        words.pop()
    return words != [] and (
        _is_secret(words[-1])
        or (words[-1] == "key" and not WORDS["key-owners"].isdisjoint(words[:-1]))
    )


def declares_an_id(name: str) -> bool:
    """Whether ``name`` declares its value an id, and not one of an account or of a secret."""
    words = _words(name)
    named = words[-1:] != [] and words[-1] in WORDS["id-words"]
    return named and _of_no_secret(words) and WORDS["account-words"].isdisjoint(words)


def declares_a_digest(name: str) -> bool:
    """Whether ``name`` declares its value a digest or a version, and not one of a secret."""
    words = _words(name)
    named = not WORDS["digest-words"].isdisjoint(words)
    return named and _of_no_secret(words) and WORDS["words-of-access"].isdisjoint(words)


def is_ordinary(name: str) -> bool:
    """Whether a name is probably an ordinary word, and does not identify anybody."""
    return name.isalpha() and (
        len(name) <= _SHORT_NAME or name.lower() in WORDS["names-that-are-words"]
    )


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS_OF_NAME.findall(name)]


def _is_secret(word: str) -> bool:
    long = ("password", "passwd", "passphrase", "secret", "token", "apikey")
    return word.endswith(long) or word in WORDS["secret-words"]


def _of_no_secret(words: list[str]) -> bool:
    return "key" not in words and not any(map(_is_secret, words))
