"""How test vectors of rules become texts: the notation of ``finds`` and ``stands``."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "base32-upper": string.ascii_uppercase + "234567",
    "base64": string.ascii_letters + string.digits + "+/",
    "digits": string.digits,
    "hex": string.digits + "abcdef",
    "hex-lower": string.digits + "abcdef",
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
}
_RUN = re.compile(r"\{([a-z0-9-]+):(\d+)\}")
_SOME = 12

Expand = Callable[[str, int], tuple[str, list[str]]]


def expand(vector: str, seed: int) -> tuple[str, list[str]]:
    """A canonical text (one character a byte), and what of it is marked."""
    chance = random.Random(f"{vector}{seed}")
    filled = _RUN.sub(lambda run: characters(chance, ALPHABETS[run[1]], int(run[2])), vector)
    text = filled.replace("«", "\0").replace("»", "\0").encode().decode("latin-1")
    parts = text.split("\0")
    return "".join(parts), parts[1::2]


def characters(chance: random.Random, alphabet: str, count: int) -> str:
    """Characters of several kinds where there are so many, which do not end in a mark."""
    while True:
        text = "".join(chance.choices(alphabet, k=count))
        mixed = count < _SOME or not ({*string.digits, *string.ascii_letters} <= {*alphabet})
        if text[-1].isalnum() and (mixed or len(re.findall("[0-9](?=[A-Za-z])", text)) > 1):
            return text


def sample(pattern: str, seed: int) -> str:
    """A text that a regular expression without look-around behind it matches."""
    return _sampled(_parser.parse(pattern), random.Random(f"{pattern}{seed}"))


def _sampled(parsed: Any, chance: random.Random) -> str:
    return "".join(_part(str(kind), value, chance) for kind, value in parsed)


def _part(kind: str, value: Any, chance: random.Random) -> str:
    match kind:
        case "LITERAL":
            return chr(value)
        case "IN":
            return chance.choice("".join(_members(*item) for item in value))
        case "MAX_REPEAT":
            least, most, what = value
            most = min(most, least + 2 * _SOME)
            return "".join(_sampled(what, chance) for _ in range(chance.randint(least, most)))
        case "BRANCH":
            return _sampled(chance.choice(value[1]), chance)
        case "SUBPATTERN":
            return _sampled(value[3], chance)
        case "ASSERT" | "ASSERT_NOT":
            return ""
    raise NotImplementedError(kind)


def _members(kind: Any, value: Any) -> str:
    if str(kind) == "RANGE":
        return "".join(map(chr, range(value[0], value[1] + 1)))
    return string.digits if str(kind) == "CATEGORY" else chr(value)


@pytest.fixture(name="expand", scope="session")
def expand_fixture() -> Expand:
    """The expansion of a test vector."""
    return expand
