"""Whether a text is a secret value, or ordinary: data, code, a type, a path or a placeholder.

``looks_like_a_value`` judges what stands behind a name on a screen, whose shape no rule knows.
``is_plain_data`` judges values of files and variables. What is learnt from these is removed
wherever it occurs, so a date or the name of a model that is taken for a secret damages every
recording. A name tells what its value may be:

- ``password``, ``client_secret``, ``apiKey`` declare a secret. It may be made of words, but
  numbers, paths, points in time and placeholders are not secrets.
- A name that ends in ``id`` may have a UUID, unless it is the id of an account or of a secret;
  a name that speaks of a digest or a commit may have a digest.
- Under any other name, what people or clocks write is ordinary: dates, versions, places, words.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from operator import ne
from typing import Any

from ptycassette._tables import package_table
from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub.rules._names import (
    WORDS,
    declares_a_digest,
    declares_a_secret,
    declares_an_id,
)
from ptycassette.scrub.rules._spelling import spelt_by_chance

_SOMEBODYS = lazy_pattern("(?i:your|my)[-_ ]")
_SHORTEST_RANDOM = 8
_FEWEST_CHARACTERS = 6
_FEW_VOWELS = 0.3
_GENERATED = 16
_TURNS = 0.42
_PLACE = lazy_pattern(
    r"(?:~|\.{1,2})?(?:(?:/[\w.@+-]{1,40}){2,}|/[a-z]{3,20}(?:[._-][a-z0-9]{1,20}){0,3})/?\Z",
    re.ASCII,
)
"""A path: of several folders, or of one whose name is made of words."""
_WORD = lazy_pattern(r"[A-Z]?[a-z]{3,}")
_IN_WORDS = 0.5
_FOLDER = lazy_pattern(r"[a-z]{3,}")
_IN_FOLDERS = 0.55
_DIGITS_INSIDE = lazy_pattern("[0-9]+(?=[A-Za-z])")
_SIGNS_OF_PASSWORDS = frozenset("!$%^&#@")
_AFTER = "/,;)'"
_BEHIND = "\"',;)]}"
_CAPITAL_INSIDE = lazy_pattern(r"[\w+=-]*[a-z]_?[A-Z][\w+=-]*\Z")
_LONGEST_PLAIN = 5
_LONGEST_MEASURED = 32
_NEVER_IN_WORDS = frozenset("!$%^&*#")
_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<host>[^/?#]*)(?P<rest>(?s:.*))")
_PATHLIKE = lazy_pattern(r"[~.]?/|[A-Za-z]:\\|.*/.*/|.*:/")
_BASE64 = lazy_pattern(r"[A-Za-z0-9+/]{24,}={0,2}")
_FIRST_FOLDER = lazy_pattern(r"/?[a-z]{3,10}/")
_LONG_SEGMENT = 20
_PART = lazy_pattern(r"[A-Za-z0-9]+")
_MIXED = lazy_pattern(r"([A-Za-z]{1,9})\d{1,4}|\d{1,4}([A-Za-z]{1,6})|([A-Za-z])\d{1,4}[A-Za-z]")
_LONGEST = 1024
_LONG_NUMBER = lazy_pattern(r"\d{15}")
_WORD_LETTERS = 2


@cache
def _kinds() -> dict[str, Any]:
    return package_table(__package__, "ordinary.toml")


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    """A pattern of ``ordinary.toml``, compiled when it is first needed."""
    kinds = _kinds()
    parts = kinds[kind] if isinstance(kinds[kind], list) else [kinds[kind]]
    return re.compile("|".join(parts).replace("{{month}}", kinds["month"]))


def _looks_like(kind: str, text: str) -> bool:
    """Whether the whole ``text`` is an ordinary value of a kind that ``ordinary.toml`` names."""
    return _pattern(kind).fullmatch(text) is not None


def is_random(text: str) -> bool:
    """Whether ``text`` looks generated: long enough, of several kinds of characters, no words.

    Pieces of such a value identify it; pieces of anything else would hit ordinary text.
    """
    if len(text) < _SHORTEST_RANDOM or len(set(text)) < _FEWEST_CHARACTERS:
        return False
    kinds = text.translate(_KINDS)
    digits = kinds.count("0")
    letters = kinds.count("1") + kinds.count("2")
    if digits + letters < 0.6 * len(text):
        return False
    if (
        digits
        and text.isalnum()
        and len(text) >= _GENERATED
        and _vowels(text) < _FEW_VOWELS * letters
    ):
        return True
    changes = sum(map(ne, kinds, kinds[1:]))
    return changes >= max(3, len(text) // 6) and (digits >= 1 or changes >= len(text) // 3)


def _vowels(text: str) -> int:
    return len(text) - len(text.translate(_NO_VOWELS))


class _Kinds(dict[int, str]):
    """For each character whether it is a digit, a capital, another letter, or none of them."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char.isdigit():
            kind = "0"
        elif char.isupper():
            kind = "1"
        else:
            kind = "2" if char.isalpha() else "3"
        if code < _MOST_KINDS:
            self[code] = kind
        return kind


_KINDS = _Kinds()
_MOST_KINDS = 256
_NO_VOWELS = dict.fromkeys(map(ord, "aeiouAEIOU"))


def looks_like_a_value(text: str) -> bool:
    """Whether what follows ``password=`` is a value rather than code, a type or a placeholder.

    A text of letters and separators alone counts only if it is not spelt like a name.
    """
    if len(text) < 6 or _is_placeholder(text) or not set(text) - set("x*.0-_ "):
        return False
    if _looks_like("not-a-value", text) or _place(text) or _calls(text):
        return False
    if any(char.isdigit() for char in text):
        return any(char.isalpha() for char in text) or len(text) >= 8
    return not _looks_like("identifier", text) or spelt_by_chance(text)


def _calls(text: str) -> bool:
    """Whether it is a function call. A remark in parentheses after a value is not one."""
    name, bracket, _ = text.partition("(")
    return bracket != "" and not looks_generated(name)


def _is_placeholder(text: str) -> bool:
    """Whether ``text`` is a placeholder. A value may begin with such a word, too."""
    if not _looks_like("placeholder", text.rstrip(_AFTER)):
        return False
    begins = _SOMEBODYS.match(text)
    rest = text[begins.end() :] if begins is not None else ""
    return len(rest) < _GENERATED or not looks_generated(rest)


def looks_generated(text: str) -> bool:
    """Whether ``text`` has letters of both kinds and digits, and hardly any words."""
    if not is_random(text) or _place(text) or text.islower() or text.isupper():
        return False
    in_words = sum(len(word) for word in _WORD.findall(text))
    return sum(char.isdigit() for char in text) > 1 and in_words < _IN_WORDS * len(text)


def generated_or_signed(text: str) -> bool:
    """Whether the table cell after a name holds its value, not a type or a remark."""
    if not looks_like_a_value(text) or not is_random(text):
        return False
    runs = len(_DIGITS_INSIDE.findall(text))
    return runs > 1 or not _SIGNS_OF_PASSWORDS.isdisjoint(text) or looks_generated(text)


def generated_parts(url: str) -> list[str]:
    """The parts of a URL's path that look generated: gateways take keys there."""
    path = url.partition("://")[2].partition("?")[0]
    return [part for part in path.split("/")[1:] if generated_or_signed(part)]


def _place(text: str) -> bool:
    """Whether it is a path: words between slashes, which Base64 does not make."""
    if not _PLACE.match(text):
        return False
    return sum(len(word) for word in _FOLDER.findall(text)) >= _IN_FOLDERS * len(text)


def _turns(text: str) -> bool:
    """Whether capitals are placed as in no name. In a name each begins a word, or there are few."""
    if len(text) < _SHORTEST_RANDOM:
        return False
    return sum(a.isupper() != b.isupper() for a, b in pairwise(text)) >= _TURNS * len(text)


def of_letters(text: str) -> bool:
    """Whether a text of letters alone is a secret value."""
    return len(text) >= _GENERATED and (_turns(text) or spelt_by_chance(text))


def looks_torn_off(word: str) -> bool:
    """Whether a word looks like a piece of a token rather than of a sentence."""
    word = word.rstrip(_BEHIND).lstrip("\"'")
    if word.isalpha():
        lower = word.lower()  # of a script without capitals it is the same
        return len(word) > _LONGEST_PLAIN and word != lower and word[1:] != lower[1:]
    if not any(map(str.isdigit, word)):
        return len(word) > _LONGEST_PLAIN and _CAPITAL_INSIDE.match(word) is not None
    if not any(map(str.isalpha, word)):
        return False
    if "/" not in word[:8]:
        return "://" not in word
    return len(word) >= _GENERATED * word.count("/") and not word.islower()


def is_plain_data(text: str, *, name: str = "") -> bool:
    """Whether ``text``, the value of something called ``name``, is certainly not a secret."""
    text = text.strip()
    if text.lower() in WORDS["no-values"] or _looks_like("reference", text):
        return True
    somebodys = _SOMEBODYS.match(text) and _is_placeholder(text)
    if (
        somebodys
        or _looks_like("number", text)
        or _looks_like("moment", text)
        or _is_plain_place(text)
    ):
        return True
    if declares_a_secret(name):
        return False
    if _looks_like("own-digest", text) or (declares_a_digest(name) and _looks_like("digest", text)):
        return True
    if _looks_like("uuid", text):
        return declares_an_id(name)
    measured = len(text) <= _LONGEST_MEASURED and _looks_like("measured", text)
    return measured or _is_of_words(text)


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
    url = _URL.fullmatch(text)
    if url is None:
        return _is_path(text)
    parts = (part for part in _PART.findall(url["rest"]) if len(part) >= _LONG_SEGMENT)
    return "@" not in url["host"] and not any(map(looks_generated, parts))


def _is_of_words(text: str) -> bool:
    """Whether it consists of words and numbers alone, with separators between them.

    Names of models and files, locales, hosts, identifiers and sentences do.
    """
    if len(text) > _LONGEST:
        return False
    if " " not in text and not (text.isascii() and _NEVER_IN_WORDS.isdisjoint(text)):
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
