"""Whether a value out of a file or the environment is ordinary data or may be a secret.

What is learnt from files is removed wherever it occurs, so a date or the name of a model that is
taken for a secret damages every recording. A name tells what its value may be:

- ``password``, ``client_secret``, ``apiKey`` declare a secret. It may be made of words, but
  numbers, paths, points in time and placeholders are not secrets.
- A name that ends in ``id`` may have a UUID, unless it is the id of an account or of a secret;
  a name that speaks of a digest or a commit may have a digest.
- Under any other name, what people or clocks write is ordinary: dates, versions, places, words.
"""

from __future__ import annotations

import re

from ptycassette.scrub.rules._names import (
    WORDS,
    declares_a_digest,
    declares_a_secret,
    declares_an_id,
)
from ptycassette.scrub.rules._spelling import spelt_by_chance
from ptycassette.scrub.rules._values import is_placeholder, looks_generated

__all__ = ["is_plain_data"]

# Compiled when they are first needed (``re`` keeps them): few processes learn from files.
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_MOMENT = (  # ISO 8601; RFC 5322 3.3 and RFC 9110 5.6.7; asctime of C
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)? ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)?"
    r"|\d{8}T\d{4,6}(?:\.\d{1,9})?Z?"
    rf"|(?:[A-Z][a-z]{{2,8}},? )?\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}} \d\d:\d\d(?::\d\d)?"
    r"(?: (?:[A-Z]{1,5}|[+-]\d{4}))?"
    rf"|[A-Z][a-z]{{2}} {_MONTH} [ \d]\d \d\d:\d\d:\d\d (?:[A-Z]{{3,5}} )?\d{{4}}"
)
_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)|[-+]?\d(?:\.\d{1,17})?[eE][-+]?\d{1,3}"
# Numbers with what joins them and units behind them: dates, durations, sizes, versions, addresses.
_MEASURED = (
    r"[-+v^~<>=! ]{0,4}P?T?(?:\d[\d.,_:/-]*\s?(?:[A-Za-z]{0,3}|%)){1,4}(?:/s)?"
    rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}"
    r"|0x[0-9A-Fa-f]{1,16}|#[0-9A-Fa-f]{3,8}"
    r"|\[?[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}\]?(?::\d{1,5}|/\d{1,3})?"
)
_LONGEST_MEASURED = 32
_URL = r"[A-Za-z][A-Za-z0-9+.-]*://(?P<host>[^/?#]*)(?P<rest>(?s:.*))"
_UUID = r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})"
_DIGEST = r'(?:W/)?"?(?i:[0-9a-f]{7,128})"?'
_OWN_DIGEST = r"(?i:sha(?:1|256|384|512)|md5)[:-][A-Za-z0-9+/:]{16,128}={0,2}"
_STANDS_FOR_A_VALUE = (
    r"\$\{.*\}|\$[A-Z_][A-Z0-9_]*|\$\(.*\)|\{\{.*\}\}|\{env:.*\}|<[^<>]*>|[xX]+|\*+|\.+"
)
_SOMEBODYS = r"(?i:your|my)[-_ ]"
_SIGNS_OF_PASSWORDS = frozenset("!$%^&*#")

_PATHLIKE = re.compile(r"[~.]?/|[A-Za-z]:\\|.*/.*/|.*:/")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_FIRST_FOLDER = re.compile(r"/?[a-z]{3,10}/")
_WORD = re.compile(r"[A-Z]?[a-z]{3,}")
_IN_FOLDERS = 0.55
_LONG_SEGMENT = 20

_PART = re.compile(r"[A-Za-z0-9]+")
_MIXED = re.compile(r"([A-Za-z]{1,9})\d{1,4}|\d{1,4}([A-Za-z]{1,6})|([A-Za-z])\d{1,4}[A-Za-z]")
_LONGEST = 1024
_LONG_NUMBER = re.compile(r"\d{15}")
_WORD_LETTERS = 2
_IN_WORDS = 0.5


def is_plain_data(text: str, *, name: str = "") -> bool:
    """Whether ``text``, the value of something called ``name``, is certainly not a secret."""
    text = text.strip()
    if text.lower() in WORDS["no-values"] or _stands_for_a_value(text):
        return True
    if re.fullmatch(_NUMBER, text) or re.fullmatch(_MOMENT, text) or _is_plain_place(text):
        return True
    if declares_a_secret(name):
        return False
    if re.fullmatch(_OWN_DIGEST, text) or (declares_a_digest(name) and re.fullmatch(_DIGEST, text)):
        return True
    if re.fullmatch(_UUID, text):
        return declares_an_id(name)
    return _is_measured(text) or _is_of_words(text)


def _is_path(text: str) -> bool:
    """Whether ``text`` is a path. Base64 has slashes too, but no words between them."""
    if not _PATHLIKE.match(text):
        return False
    if not _BASE64.fullmatch(text):
        return True
    words = sum(len(word) for word in _WORD.findall(text))
    return words >= _IN_FOLDERS * len(text) or bool(_FIRST_FOLDER.match(text))


def _is_plain_place(text: str) -> bool:
    """Whether it is a path, or a URL without credentials."""
    url = re.fullmatch(_URL, text)
    if url is None:
        return _is_path(text)
    parts = (part for part in _PART.findall(url["rest"]) if len(part) >= _LONG_SEGMENT)
    return "@" not in url["host"] and not any(map(looks_generated, parts))


def _stands_for_a_value(text: str) -> bool:
    """Whether it is a reference to a value, or a placeholder for one."""
    return bool(re.fullmatch(_STANDS_FOR_A_VALUE, text)) or (
        re.match(_SOMEBODYS, text) is not None and is_placeholder(text)
    )


def _is_measured(text: str) -> bool:
    """Whether it is a date, a duration, a size, a version, a colour, an address in a network."""
    return len(text) <= _LONGEST_MEASURED and re.fullmatch(_MEASURED, text) is not None


def _is_of_words(text: str) -> bool:
    """Whether it consists of words and numbers alone, with separators between them.

    Names of models and files, locales, hosts, identifiers and sentences do.
    """
    if len(text) > _LONGEST:
        return False
    if " " not in text and not (text.isascii() and _SIGNS_OF_PASSWORDS.isdisjoint(text)):
        return False
    parts = _PART.findall(text)
    letters = in_words = 0
    for part in (part for part in parts if not part.isdigit()):
        mixed = None if part.isalpha() else _MIXED.fullmatch(part)
        if not part.isalpha() and (mixed is None or len(parts) == 1):
            return False
        word = len(part if mixed is None else mixed[mixed.lastindex or 0])
        letters += sum(map(str.isalpha, part))
        in_words += word if word >= _WORD_LETTERS else 0
    if not in_words or in_words < _IN_WORDS * letters or _LONG_NUMBER.search(text):
        return False
    return not spelt_by_chance("-".join(part for part in parts if part.isalpha()))
