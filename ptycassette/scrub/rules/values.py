"""Whether a text is a secret value, or ordinary: data, code, a type, a path or a placeholder.

``looks_like_a_value`` judges text after a name on a screen, if no rule matches its shape.
``is_plain_data`` judges values of files and variables. These values are removed wherever they
occur, so a date or a model's name that is mistaken for a secret damages every recording. The name
limits what a value may be:

- ``password``, ``client_secret``, ``apiKey`` declare a secret. It may be made of words, but
  numbers, paths, points in time and placeholders are not secrets.
- A name that ends in ``id`` may have a UUID, unless it is the id of an account or of a secret;
  a name with the word for a digest or a commit may have a digest.
- Under any other name, dates, versions, places and words are ordinary.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise, product
from operator import ne
from typing import Any

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.toml_text import package_table

# Words in names: that a value is a secret, an id or a digest, and whose account it belongs to.


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


# Whether letters are ordered as in names, or at random.


LETTERS = "abcdefghijklmnopqrstuvwxyz"
_EDGE = "^"  # before a text, after a non-letter, and before the T of accessToken
_BEGINS = _EDGE * 2
_CONTEXTS = (
    pair for pair in product(_EDGE + LETTERS, repeat=2) if pair[1] != _EDGE or pair[0] == _EDGE
)
_ROWS = {before + last: at * len(LETTERS) for at, (before, last) in enumerate(_CONTEXTS)}
_COLUMNS = {letter: at for at, letter in enumerate(LETTERS)}
_FEWEST = 8
_PARTS_TELL = 6.0


def places(text: str) -> Iterator[tuple[str, str]]:
    """For each character of ``text`` the cases, and the letters, of it and the two before it.

    A case is U or L, and "^" where a word begins. Both are empty for other than ASCII letters.
    """
    cases = letters = _BEGINS
    for char in text:
        letter = char.lower()
        if letter not in _COLUMNS:
            cases = letters = _BEGINS
            yield "", ""
            continue
        case = "L" if char == letter else "U"
        if case == "U" and cases[1] == "L":
            letters = _BEGINS
        yield cases + case, letters + letter
        cases, letters = cases[1] + case, letters[1] + letter


def place(letters: str) -> int:
    """The index of three letters in the table."""
    return _ROWS[letters[:2]] + _COLUMNS[letters[2]]


class Spelling:
    """A model of how names are spelt.

    Args:
        table: for each ``place`` the number of a level.
        levels: by how many bits a letter there is likelier by chance than in a name.
        cases: the same for the cases of a letter and the two before it.
        most: the highest score of a name, in bits: in one case, and in mixed case.
    """

    def __init__(
        self,
        table: bytes,
        *,
        levels: Sequence[float],
        cases: Mapping[str, float],
        most: tuple[float, float],
    ) -> None:
        self._table = table
        self.levels = levels
        self.in_cases = cases
        self.most = most

    def bits(self, text: str) -> tuple[float, float]:
        """The highest running sums: of the part in one case, and of the part in mixed case."""
        spelt = cased = 0.0
        highest = [float("-inf")] * 2
        count = lower = inner_upper = 0
        for cases, letters in places(text):
            if not cases:  # a part of a name predicts little about the next one
                spelt, cased = (min(max(bits, 0.0), _PARTS_TELL) for bits in (spelt, cased))
                continue
            count += 1
            spelt += self.levels[self._table[place(letters)]]
            cased += self.in_cases[cases]
            lower |= cases[2] == "L"
            inner_upper |= cases[2] == "U" and cases[1] != _EDGE
            if count >= _FEWEST:
                both = lower & inner_upper
                highest[both] = max(highest[both], spelt + (cased if both else 0.0))
        return highest[0], highest[1]

    def by_chance(self, text: str) -> bool:
        """Whether ``text``, of letters and separators, looks generated."""
        return any(bits > most for bits, most in zip(self.bits(text), self.most, strict=True))


_data = package_table(__package__, "spelling.toml")
NAMES = Spelling(
    zlib.decompress(b64decode(_data["table"])),
    levels=_data["levels"],
    cases=_data["cases"],
    most=_data["most"],
)
"""Of identifiers."""


@lru_cache(maxsize=4096)
def spelt_by_chance(text: str) -> bool:
    """Whether ``text``, of letters and separators, is not spelt like a name."""
    return NAMES.by_chance(text)


def seems_by_chance(text: str) -> bool:
    """Whether eight letters or more of ``text`` are likelier by chance than in a name.

    For text in the place where the rest of a token is expected. About 3 % of words pass, too.
    """
    return max(NAMES.bits(text)) > 0


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
    """The kind of each character: a digit, a capital, another letter, or other."""

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
    """Whether it is a path: words between slashes. Base64 does not have those."""
    if not _PLACE.match(text):
        return False
    return sum(len(word) for word in _FOLDER.findall(text)) >= _IN_FOLDERS * len(text)


def _turns(text: str) -> bool:
    """Whether capitals are placed unlike in a name, where each begins a word, or there are few."""
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


# Judges: functions that decide whether a pattern's match is scrubbed.


Judge = Callable[[str], bool]

EXAMPLE_DOMAINS = lazy_pattern(
    r"(?:.*[.@])?(?:example\.(?:com|org|net|edu)|example|test|invalid|localhost|"
    r"users\.noreply\.github\.com)\Z",
    re.IGNORECASE,
)
"""RFC 2606: addresses there belong to nobody."""

_VERSION = lazy_pattern(r"v?\d{1,4}(?:\.\d{1,4}){1,3}(?:[-+.].*)?\Z")
_NUMBER_INSIDE = lazy_pattern("[0-9]+(?=[A-Za-z])")
_OF_KEY = lazy_pattern(r"(?=[a-z/+]*[A-Z0-9])[A-Za-z0-9+/=]{4,}")
_SHORTEST_OF_KEY = 16
_FEWEST_NUMBERS = 2
_VARIED = 16
_DIGITS_OF_A_NUMBER = 5
_COUNTED = frozenset({"123456789012", "012345678901", "210987654321", "098765432109"})


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _mixed_case(text: str) -> bool:
    """Whether it has capitals and small letters. All but one of a million tokens have both."""
    return any(map(str.isupper, text)) and any(map(str.islower, text))


def _looks_random_with_digits(text: str) -> bool:
    """Whether a short text looks generated. Names in code may have the same prefix."""
    return (is_random(text) and _has_digit(text)) or spelt_by_chance(text)


def _generated_tail(text: str) -> bool:
    """Whether the text after a prefix has digits in several places, or is not spelt like a name."""
    numbers = len(_NUMBER_INSIDE.findall(text))
    return is_random(text) and (numbers >= _FEWEST_NUMBERS or spelt_by_chance(text))


def _signed(text: str) -> bool:
    """Whether the last of the parts between dots looks generated."""
    return _mixed_case(text.rpartition(".")[2]) and _has_digit(text)


def _generated_after_dot(text: str) -> bool:
    tail = text.partition(".")[2]
    return _mixed_case(tail) and _looks_random_with_digits(tail)


def _no_host(text: str) -> bool:
    """Whether the text in the place of a host is not a host: capitals and digits all over."""
    return _mixed_case(text) and sum(map(str.isdigit, text)) > 1 and is_random(text)


def _no_binary_data(text: str) -> bool:
    """Whether a token that begins with EAAA is not base64 of zeros and small numbers."""
    return "AAA" not in text and is_random(text) and len(set(text)) > _VARIED


def _value_with_escapes(text: str) -> bool:
    return "\\" in text and looks_like_a_value(text.replace("\\", ""))


def _password_in_a_sentence(text: str) -> bool:
    if _VERSION.match(text) or text.startswith("\\"):
        return False
    return looks_like_a_value(text) and (_has_digit(text) or of_letters(text))


def _holds_a_line_of_a_key(text: str) -> bool:
    """Whether at least a part of a key follows its BEGIN line."""
    return sum(map(len, _OF_KEY.findall(text))) >= _SHORTEST_OF_KEY


def _personal_address(text: str) -> bool:
    local, _, domain = text.partition("@")
    if EXAMPLE_DOMAINS.match(domain) or local.lower() in WORDS["public-local-parts"]:
        return False
    ending = domain.rsplit(".", 1)[-1]
    return ending.lower() not in WORDS["file-endings"] and bool(set(text) - set("x@."))


def _personal_user(text: str) -> bool:
    """Whether a folder may be named after a person: it is neither hidden nor shared."""
    public = text.startswith(".") or text.lower() in WORDS["public-users"] | WORDS["public-folders"]
    return not public and bool(set(text) - set("x*._-"))


def _not_from_a_manual(text: str) -> bool:
    """Whether a number is not an example from a manual (1234..., 1111 2222 3333, ...)."""
    digits = text.replace("-", "")
    return len(set(digits)) >= _DIGITS_OF_A_NUMBER and digits not in _COUNTED


JUDGES: Mapping[str, Judge] = {
    "generated": looks_generated,
    "generated-after-dot": _generated_after_dot,
    "generated-or-signed": generated_or_signed,
    "generated-tail": _generated_tail,
    "holds-a-line-of-a-key": _holds_a_line_of_a_key,
    "looks-like-a-value": looks_like_a_value,
    "random-with-digits": _looks_random_with_digits,
    "no-binary-data": _no_binary_data,
    "no-host": _no_host,
    "not-from-a-manual": _not_from_a_manual,
    "password-in-a-sentence": _password_in_a_sentence,
    "personal-address": _personal_address,
    "personal-user": _personal_user,
    "signed": _signed,
    "value-with-escapes": _value_with_escapes,
}
