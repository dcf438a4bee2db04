"""What a word at the end or at the beginning of a row tells about the row beside it."""

from __future__ import annotations

import re

__all__ = [
    "GRAPHIC",
    "begins_a_name",
    "halves_of_an_address",
    "is_a_digest_beside",
    "looks_torn_off",
    "may_tell",
    "named_when_joined",
    "names_a_secret",
    "names_a_value",
    "stands_alone",
]

# Characters of words, for a class of a pattern: ASCII, and letters of other scripts.
GRAPHIC = (
    "!-~\u00c0-\u167f\u1681-\u1fff\u2c00-\u2dff\u3040-\ud7ff\uf900-\ufdff\uff00-\uffef"
    "\U00010000-\U0001efff"
)

_RANDOM_LENGTH = 16
_LONGEST_LABEL = 40
_LONGEST_PLAIN = 5
_BEHIND = "\"',;)]}"
_DIGIT = re.compile(r"\d")
_CAPITAL_INSIDE = re.compile(r"\A[\w+=-]*[a-z]_?[A-Z][\w+=-]*\Z")
_LETTER = re.compile(r"[^\W\d_]")
_KEY = re.compile(
    r"(?i:key|token|secret|pass\w{0,8}|pwd|cookie|auth\w{0,12}|uuid|_id|code|psk|account)[\"']?\s{0,2}[:=]\Z"
)
_OPTION = re.compile(r"--[a-z][A-Za-z_-]*\Z")
_SETTING = re.compile(r"(?:[A-Za-z][A-Za-z0-9]*_)+(?i:key|token|secret|password)\Z")
_ITSELF = re.compile(
    r"[{\"']{0,2}(?:[A-Za-z][A-Za-z0-9]{0,20}[_-]){0,6}(?i:password|passwd|pwd|passphrase|secret|token"
    r"|(?:api|access|private|secret|account|session)_?key|credentials?|auth|cookie|psk)"
    r"(?:[_-](?i:id|key|value|secret|token))?[\"']?(?:[:=]|%3[Dd])[^=:/]"
    r"|git@[a-z]"  # of a remote repository
)
_LISTS = frozenset(";&?,\\")
_NAMES = frozenset({"-u", "password", "bearer", "basic", "token", "flyv1"})
_LONGEST_NAME = 8
_BROKEN = (
    "password",
    "passphrase",
    "passwd",
    "bearer",
    "basic",
    "token",
    "secret",
    "apikey",
    "key",
    "account",
)
_BEGINNINGS = frozenset(name[:length] for name in _BROKEN for length in range(1, len(name)))
_TELLING = _NAMES | _BEGINNINGS
_LONGEST_BEGINNING = max(map(len, _BEGINNINGS))
_ADDRESS = re.compile(r"[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,}[,;]?")
_ADDRESS_BEGUN = re.compile(r"(?:.*[=:,;\"'<(])?[\w.+-]+@(?:[\w-]+\.)*[\w-]*")
_TOP_LEVEL = frozenset(
    (
        *("com", "org", "net", "edu", "gov", "dev", "info", "io", "ai", "app", "biz", "ca", "ch"),
        *("cloud", "co", "de", "eu", "fm", "fr", "me", "nl", "se", "tech", "uk", "us", "xyz"),
    )
)
_REST_OF_ADDRESS = re.compile(r"[\w-]*\.[a-z]{2,}")
_DIGEST = re.compile("(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}")  # whole or abbreviated
_NO_HEX = re.compile("[G-Zg-z]")
_ENOUGH = 12
_LAST_LETTERS = re.compile("[A-Za-z]+\\Z")
_FIRST_LETTERS = re.compile("[A-Za-z]+")


def looks_torn_off(word: str) -> bool:
    """Whether a word looks like a piece of a token rather than of a sentence."""
    word = word.rstrip(_BEHIND).lstrip("\"'")
    if word.isalpha():
        lower = word.lower()  # of a script without capitals it is the same
        return len(word) > _LONGEST_PLAIN and word != lower and word[1:] != lower[1:]
    if not _DIGIT.search(word):
        return len(word) > _LONGEST_PLAIN and _CAPITAL_INSIDE.search(word) is not None
    if not _LETTER.search(word):
        return False
    if "/" not in word[:8]:
        return "://" not in word
    return len(word) >= _RANDOM_LENGTH * word.count("/") and not word.islower()


def stands_alone(last: str, word: str) -> bool:
    """Whether a word that begins a row names its own value, so that nothing before it is missed.

    Not where the word at the end of the row above says that a cookie or a query goes on. Mail
    addresses below each other stand alone, too.
    """
    if "@" in word and "@" in last and _ADDRESS.fullmatch(last) and _ADDRESS.fullmatch(word):
        return True
    return last[-1:] not in _LISTS and _ITSELF.match(word) is not None


def is_a_digest_beside(last: str, word: str) -> bool:
    """Whether a word that begins a row is a digest, and what stands above it no part of one.

    Of tokens of letters and digits one in thousands ends with so many that digests have, too.
    """
    above = last[-_ENOUGH:]
    mixed = above[-1:].isalnum() and not above.islower() and _NO_HEX.search(above) is not None
    return mixed and _DIGEST.fullmatch(word) is not None


def names_a_value(text: str, end: int) -> bool:
    """Whether what ends at ``end`` names a value: a key, an option, a word of a protocol."""
    if text[end - 1] in ":=":
        return _KEY.search(text, max(0, end - _LONGEST_LABEL), end) is not None
    start = text.rfind(" ", 0, end) + 1
    if text.startswith("--", start):
        return _OPTION.match(text, start, end) is not None
    return end - start <= _LONGEST_NAME and text[start:end].lower() in _NAMES


def names_a_secret(text: str, end: int) -> bool:
    """Whether what ends at ``end`` names a value, or a setting that is secret.

    A setting alone, as in a list of them, says nothing about what stands below it.
    """
    if names_a_value(text, end):
        return True
    start = text.rfind(" ", 0, end) + 1
    return text.find("_", start, end) > 0 and _SETTING.match(text, start, end) is not None


def may_tell(last: str) -> bool:
    """Whether a word at the end of a row may name a value, or be half of what does or an address.

    Never False where it does; quick, for it is asked for every column of every row.
    """
    if last.isalpha():
        return last.lower() in _TELLING
    return last[-1] in ":=" or last[0] == "-" or "@" in last or last[-1].isalpha()


def begins_a_name(last: str) -> bool:
    """Whether a word at the end of a row ends like the beginning of what names a value."""
    if last.isalpha():
        return last.lower() in _BEGINNINGS
    if not last[-1:].isalpha():
        return False
    begun = _LAST_LETTERS.search(last[-_LONGEST_BEGINNING - 1 :])
    return begun is not None and begun.group().lower() in _BEGINNINGS


def named_when_joined(last: str, word: str) -> bool:
    """Whether a word at the end of a row and one that begins the next name a value together.

    As ``passw`` and ``ord``, ``DB_PASSW`` and ``ORD=``; not when one of them does by itself.
    """
    if not begins_a_name(last):
        return False
    begun = _LAST_LETTERS.search(last)
    rest = _FIRST_LETTERS.match(word)
    if begun is None or rest is None:
        return False
    return (begun.group() + rest.group()).lower() in _BROKEN


def halves_of_an_address(last: str, word: str) -> bool:
    """Whether two words are the halves of a mail address."""
    if "@" not in last or not _ADDRESS_BEGUN.fullmatch(last):
        return False
    label = last[last.rfind(".") + 1 :] if "." in last[last.index("@") :] else "-"
    begun = _FIRST_LETTERS.match(word)
    return _REST_OF_ADDRESS.match(word) is not None or (
        begun is not None and label + begun.group() in _TOP_LEVEL
    )
