"""Judges: functions that decide whether what a pattern matched is scrubbed.

Rules name them (``accept = "generated"``). A judge gets the text that would be scrubbed, without
its public beginning. True scrubs it, False lets it stand. Answers are cached, so a judge depends on
its argument alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub.rules._names import WORDS
from ptycassette.scrub.rules._spelling import spelt_by_chance
from ptycassette.scrub.rules._values import (
    generated_or_signed,
    is_random,
    looks_generated,
    looks_like_a_value,
    of_letters,
)

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
    """Whether it has capitals and small letters, as all but one of a million tokens have."""
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
