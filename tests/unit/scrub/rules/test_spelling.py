"""How names are told from generated letters."""

from __future__ import annotations

import random
from itertools import product

import pytest

from ptycassette.scrub.rules.values import LETTERS, NAMES, Spelling, place, spelt_by_chance

LENGTHS = range(8, 16)


def made(letters: str, number: int) -> list[str]:
    """Generated values."""
    chance = random.Random(letters)
    return ["".join(chance.choices(letters, k=chance.choice(LENGTHS))) for _ in range(number)]


@pytest.mark.parametrize(
    "name",
    [
        "accessToken", "getHTTPResponseCode", "MultiDomainBasicAuth", "HTTPBasicAuthHandler",
        "CertificateIssuerPrivateKeyTypes", "refreshTokenIfExpired", "undefined", "sessionStorage",
        "authorization", "jwk-thumbprint", "x-amazon-apigateway-authorizer", "TOKEN_LBRACKET",
        "urllib.request.urlopen", "getUserAuthenticationTokenFromRequestHeader", "placeholder",
    ],
)  # fmt: skip
def test_names_stay_to_their_last_letter(name: str) -> None:
    """Nor does a beginning of one look generated, which a row may show."""
    assert not any(spelt_by_chance(name[:end]) for end in range(1, len(name) + 1))


@pytest.mark.parametrize("letters", [LETTERS, LETTERS.upper(), LETTERS + LETTERS.upper()])
def test_nearly_all_generated_letters_are_known(letters: str) -> None:
    """Of one case and of both."""
    values = made(letters, 1000)

    assert sum(map(spelt_by_chance, values)) > 0.94 * len(values)


@pytest.mark.parametrize("seed", range(20))
def test_what_goes_on_with_generated_letters_looks_generated(seed: int) -> None:
    """So what stays as a whole has no beginning that would be masked."""
    chance = random.Random(seed)
    text = "".join(chance.choices(LETTERS * 3 + "ABCDEFGHI" + "_-.x", k=60))
    judged = [spelt_by_chance(text[:end]) for end in range(len(text) + 1)]

    assert judged == sorted(judged)


def test_short_texts_are_names() -> None:
    """Seven letters do not tell."""
    assert not spelt_by_chance("qzxwvkj")
    assert spelt_by_chance("qzxwvkjq")


def test_generated_letters_behind_a_name_are_known() -> None:
    """A name that is a part of its own says nothing for what follows."""
    values = [f"production_{value}" for value in made(LETTERS, 500)]

    assert sum(map(spelt_by_chance, values)) > 0.94 * len(values)


def test_every_three_letters_have_a_place_of_their_own() -> None:
    """The table has them all, and no more."""
    begins = [f"^^{one}" for one in LETTERS] + [
        "".join(two) for two in product("^", LETTERS, LETTERS)
    ]
    inside = ["".join(three) for three in product(LETTERS, repeat=3)]
    there = sorted(place(letters) for letters in begins + inside)

    assert there == list(range(len(begins) + len(inside)))
    assert len(NAMES._table) == len(there)


def test_a_part_carries_little_into_the_next() -> None:
    """However unlikely it is: names have short parts that are spelt as no word."""
    alike = Spelling(
        bytes(len(NAMES._table)),
        levels=(2.0,),
        cases=dict.fromkeys(NAMES.in_cases, 0.0),
        most=(0.0, 0.0),
    )

    assert alike.bits("abcdefgh")[0] == 16.0
    assert alike.bits("abcdef-gh")[0] == 10.0
