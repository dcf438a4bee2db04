"""Lists of words, read from ``words.toml``, to judge names of people and hosts."""

from __future__ import annotations

from pkgutil import get_data

import msgspec

__all__ = [
    "ACCOUNT_WORDS",
    "DIGEST_WORDS",
    "FILE_ENDINGS",
    "KEY_OWNERS",
    "NO_VALUES",
    "PUBLIC_FOLDERS",
    "PUBLIC_HOSTS",
    "PUBLIC_LOCAL_PARTS",
    "PUBLIC_USERS",
    "SECRET_NAMES",
    "SECRET_WORDS",
    "data_text",
    "is_ordinary",
]


def data_text(name: str) -> str:
    """The text of a data file beside this module."""
    return (get_data(__package__, name) or b"").decode()


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    secret_names: tuple[str, ...]
    public_users: str
    names_that_are_words: str
    public_local_parts: str
    file_endings: str
    public_hosts: str
    public_folders: str
    secret_words: str
    key_owners: str
    account_words: str
    digest_words: str
    no_values: str


_words = msgspec.toml.decode(data_text("words.toml"), type=_Words)

SECRET_NAMES = "".join(_words.secret_names)
"""A pattern for the names of secrets, as in ``token=``."""

PUBLIC_USERS = frozenset(_words.public_users.split())
"""Account names that say nothing about anybody."""

PUBLIC_HOSTS = frozenset(_words.public_hosts.split())
PUBLIC_FOLDERS = frozenset(_words.public_folders.split())
PUBLIC_LOCAL_PARTS = frozenset(_words.public_local_parts.split())
FILE_ENDINGS = frozenset(_words.file_endings.split())
SECRET_WORDS = frozenset(_words.secret_words.split())
KEY_OWNERS = frozenset(_words.key_owners.split())
ACCOUNT_WORDS = frozenset(_words.account_words.split())
DIGEST_WORDS = frozenset(_words.digest_words.split())
NO_VALUES = frozenset(_words.no_values.split())
_NAMES_THAT_ARE_WORDS = frozenset(_words.names_that_are_words.split())
_SHORT_NAME = 4


def is_ordinary(name: str) -> bool:
    """Whether a name is probably an ordinary word, and does not identify anybody."""
    return name.isalpha() and (len(name) <= _SHORT_NAME or name.lower() in _NAMES_THAT_ARE_WORDS)
