"""Whether a text is a secret value, or code, a type, a path or a placeholder.

For rules that recognise a value by the text around it, and know nothing of its shape.
"""

from __future__ import annotations

import re
from itertools import pairwise
from operator import ne

from ptycassette.scrub.rules._spelling import spelt_by_chance

_WORDS = re.compile(
    r"(?:x+|\*+|\.+|null|none|true|false|undefined|string|str|int|bool|bytes|optional|required|"
    r"example|changeme|placeholder|redacted|secret|password|token|value|env|self|"
    r"\.\*.*|process\.env.*|os\.(?:environ|getenv).*|your[-_].*|my[-_].*|<.*|\$.*|\{.*|\[.*|%(?![0-9a-f]{2}).*|"
    r"[a-z_.]+[(\[].*|[=:].*|\d?\*(?-i:[A-Za-z][a-z]*(?:[A-Z][a-z]+)*[A-Z]*)|[a-z_]+\d{0,3}\.[a-z_]+)\Z",
    re.IGNORECASE,
)
_SOMEBODYS = re.compile(r"(?:your|my)[-_]", re.IGNORECASE)
_IDENTIFIER = re.compile(r"(?:--?)?_*[A-Za-z]+(?:[_.-]{1,2}[A-Za-z]+)*[_.-]*[\]):;,}=]*\Z")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?[eE][-+]?\d{1,3}[\]):;,}]*\Z")
_NUMBERED = re.compile(
    r"\d+(?:\.\d+){2,}[\]);,}]*\Z|0x[0-9A-Fa-f]{1,16}[\]);,}]*\Z"
)  # OID, pointer
_COLOUR = re.compile(r"#[0-9A-Fa-f]{3,8}\Z")
_DOTTED = re.compile(r"[a-z_]\w*(?:\.[A-Za-z_]\w*){2,}\Z", re.ASCII)
_SHORTEST_RANDOM = 8
_FEWEST_CHARACTERS = 6
_FEW_VOWELS = 0.3
_GENERATED = 16
_TURNS = 0.42
_CUT_SHORT = re.compile(r"[a-z]{0,9}(?:[-_][a-z]{1,9}\d{0,2}){0,3}[-_]?(?:\.{2,}|\xe2\x80\xa6)\Z")
_PLACE = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@+-]{1,40}){2,}/?\Z", re.ASCII)
_WORD = re.compile(r"[A-Z]?[a-z]{3,}")
_IN_WORDS = 0.5
_IN_NAMES = 0.3
_FOLDER = re.compile(r"[a-z]{3,}")
_IN_FOLDERS = 0.55
_DIGITS_INSIDE = re.compile("[0-9]+(?=[A-Za-z])")
_SIGNS_OF_PASSWORDS = frozenset("!$%^&#@")
_AFTER = "/,;)'"
_BEHIND = "\"',;)]}"
_CAPITAL_INSIDE = re.compile(r"[\w+=-]*[a-z]_?[A-Z][\w+=-]*\Z")
_LONGEST_PLAIN = 5


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
    if len(text) < 6 or is_placeholder(text) or not set(text) - set("x*.0-_ "):
        return False
    if (
        text.endswith(("EXAMPLE", "://"))
        or "EXAMPLEKEY" in text
        or _CUT_SHORT.match(text)
        or _place(text)
    ):
        return False
    if text.isdigit() or _calls(text) or _DOTTED.match(text):
        return False
    if _COLOUR.match(text) or _NUMBER.match(text) or _NUMBERED.match(text):
        return False
    if any(char.isdigit() for char in text):
        return any(char.isalpha() for char in text) or len(text) >= 8
    return not _IDENTIFIER.match(text) or spelt_by_chance(text)


def _calls(text: str) -> bool:
    """Whether it is a function call. A remark in parentheses after a value is not one."""
    name, bracket, _ = text.partition("(")
    return bracket != "" and not looks_generated(name)


def is_placeholder(text: str) -> bool:
    """Whether ``text`` is a placeholder. A value may begin with such a word, too."""
    if not _WORDS.match(text.rstrip(_AFTER)):
        return False
    begins = _SOMEBODYS.match(text)
    rest = text[begins.end() :] if begins is not None else ""
    in_words = sum(len(word) for word in _WORD.findall(rest))
    return in_words >= _IN_NAMES * len(rest) or len(rest) < _GENERATED or not looks_generated(rest)


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
