"""Whether a label asks for a secret: the words by which programs ask for one, in many languages.

The words are data, in ``prompts.toml``. A word alone does not make a prompt: "I changed the
password handling" and "12k tokens" ask for nothing. A label asks for a secret in these cases:
only punctuation follows the word (``Password``); it ends like a prompt (``Passphrase for key
'/home/me/.ssh/id':``); it begins or ends like a request (``Paste your API key here``); or it
announces that input is hidden (``[input is masked]``). Yes-or-no questions do not ask for a
secret.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.toml_text import package_table

_LONGEST = 160
_ENDS = ":?>=]›❯»…→➜➤▶▸‣"  # noqa: RUF001 - the signs that are meant
_CLOSING = _ENDS + " \t)}.*_`'\"|"
_SPACED = lazy_pattern(r"\b(?:\w ){3,}\w\b")
_YES_OR_NO = lazy_pattern(r"\by(?:es)?\s?/\s?n(?:o)?\b|\bj/n\b|\bo/n\b|\bs/n\b", re.IGNORECASE)


def _words(table: str) -> list[str]:
    """The words of a table in all its languages; a longer word comes before its beginnings."""
    texts = (" ".join(text.split()) for text in _tables()[table].values())
    words = {_as_read(word) for text in texts for word in text.split(", ")}
    return sorted(words, key=lambda word: (-len(word), word))


def _any_of(words: Iterable[str]) -> str:
    return "(?:" + "|".join(map(re.escape, words)) + ")"


def _as_read(label: str) -> str:
    """Text with one form for each letter: composed, of ordinary width. "…" is kept."""
    parts = label.replace("’", "'").split("…")  # noqa: RUF001 - both are written
    return "…".join(unicodedata.normalize("NFKC", part) for part in parts)


@cache
def _tables() -> dict[str, dict[str, str]]:
    return package_table(__package__, "prompts.toml")


@cache
def _of_something() -> frozenset[str]:
    return frozenset(_words("of-something"))


# Messages that input is hidden, from @inquirer/prompts, inquirer, and other programs.
_UNSEEN = lazy_pattern(
    lambda: (
        r"\b(?:input|typing|keystrokes|characters)(?: (?:is|are|will be))? "
        r"(?:masked|hidden|invisible)\b"
        r"|\b(?:input|typing|keystrokes|characters) (?:is not|are not|will not be|won't be) "
        r"(?:shown|displayed|echoed|visible)\b|" + _any_of(_words("says-hidden"))
    ),
    re.IGNORECASE,
)
_NAMED = lazy_pattern(
    lambda: (
        r"(?:^|(?<=[\s\"'`(\[{<*_]))"
        rf"(?:(?i:{_any_of(_words('names'))}|\w+{_any_of(_words('name-endings'))})"
        rf"|{_any_of(_words('names-as-written'))})(?![\w-])"
    )
)
# "Vault key for hermes:", "Wi-Fi key>", "Key for the archive:", "key (sk-...):", and "Pass:".
_KEY = lazy_pattern(
    lambda: (
        r"(?!.*\b(?:file|name|path)\b)"
        rf"(?:(?:.*\s)?(?!{_any_of(_words('no-secret-keys'))}\s)[^\W\d_][\w.-]*\s+keys?"
        r"(?=\s*[(\[:?>=]|\s+(?:for|of|to|on)\s)"
        r"|\W*key(?=\s+(?:for|to)\s|\s*\([^)]*(?:\.\.|…|sk-))"
        r"|\W*pass(?=\s*[:?>=]))"
        r".*[:?>=›❯»]\s*$"  # noqa: RUF001
    ),
    re.IGNORECASE,
)
_UNSPACED = lazy_pattern(lambda: _any_of(_words("names-unspaced")))
_REQUEST = lazy_pattern(
    lambda: rf"\W*{_any_of(_words('requests'))}\b|.*{_any_of(_words('request-endings'))}\W*$",
    re.IGNORECASE,
)
_NO_NAMES = lazy_pattern(lambda: rf"\b{_any_of(_words('no-names'))}\b", re.IGNORECASE)


def asks_for_secret(label: str) -> bool:
    """Whether ``label``, the text of a prompt in one row, asks for a secret."""
    label = _NO_NAMES.sub("", _as_read(label.strip()[-_LONGEST:]))
    label = _SPACED.sub(lambda word: word.group().replace(" ", ""), label)
    if _YES_OR_NO.search(label):
        return False
    if _UNSEEN.search(label) or _KEY.match(label):
        return True
    named = [*_NAMED.finditer(label), *_UNSPACED.finditer(label)]
    return any(_asks(label, label[match.end() :]) for match in named)


def _asks(label: str, rest: str) -> bool:
    """Whether a label asks for the thing named before ``rest``."""
    if not rest.strip(_CLOSING):
        return True
    words = rest.strip(_CLOSING).split()
    if words and words[0].lower().strip(_CLOSING) in _of_something():
        return False
    return label.rstrip()[-1:] in _ENDS or _REQUEST.match(label) is not None
