"""Which matches of rules count, and what is learnt from them."""

from __future__ import annotations

import pytest

from ptycassette.scrub._mask import mask
from ptycassette.scrub.rules import Rule
from ptycassette.scrub.search import KnownValues, _learning
from ptycassette.scrub.search._learning import Learner

TOKEN = "ghp_" + "vMYbnprykVjiRyY5dF1WEspdT07BYH9nZIJ1"
SHAPED = Rule(name="token", pattern="ghp_[A-Za-z0-9]{36}", public=4)
KEY = Rule(name="PRIVATE key", pattern="-----BEGIN[^-]+")
TOKEN_OF_LETTERS = "ghp_" + "vocabularies" * 2 + "bookkeepers" + "x"
NAMED = Rule(name="named", pattern="token=(?P<s>[!-~]+)")


def learnt(learner: Learner) -> list[str]:
    """The values that are new."""
    return [value.text for value in learner.take_new()]


def test_what_counts_is_learnt_once() -> None:
    """However often it comes; whoever asks again gets nothing."""
    learner = Learner()

    assert [learner.takes(SHAPED, TOKEN) for _ in range(3)] == [True] * 3
    assert learnt(learner) == [TOKEN]
    assert learnt(learner) == []


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        "xx",
        "x" * 12,
        "ghp_" + "x" * 36,
        "ghp_xxxxxx" + TOKEN[4:-1],
        "ghp_xxx" + "somebodys-token",
        "ghp_" + "x0" * 12,
        "--\nxxxx\n\n",
        "ghp_xx00000020",
        "$HOME",
        "<secret>",
        "a=" + "=78" * 6,
    ],
)
def test_what_is_preserved_or_scrubbed_before_does_not_count(value: str) -> None:
    """Masks, in an encoding too, and placeholders are no values; nor is what masks leave."""
    learner = Learner(preserved=[TOKEN])

    assert not learner.takes(SHAPED, value)
    assert learnt(learner) == []


def test_a_value_may_begin_as_masks_do() -> None:
    """With fewer such letters than any mask of a token has."""
    assert Learner().takes(SHAPED, "ghp_xxx" + TOKEN[4:-1])
    assert Learner().takes(NAMED, "XxxxxaB3dE6gH9jK2m")
    assert not Learner().takes(NAMED, "xxxaB3dE6")


def test_what_much_is_left_of_beside_a_mask_counts() -> None:
    """Some of it was unknown to whoever scrubbed it."""
    assert Learner().takes(NAMED, f"{TOKEN[:20]}{'x' * 8}")
    assert not Learner().takes(NAMED, f"{TOKEN[:9]}{'x' * 8}")


def test_the_lines_of_a_key_are_learnt_one_by_one() -> None:
    """Short ones are none: something stands beside a key on the screen."""
    learner = Learner()

    assert learner.takes(KEY, f"{TOKEN}\n10:11 v3.1-rc2\n{TOKEN[::-1]}")
    assert learnt(learner) == [TOKEN, TOKEN[::-1]]


def test_words_beside_the_masked_lines_of_a_key_do_not_count() -> None:
    """However many there are; those of anything else are left of one value."""
    rest = f"k {'x' * 40} other words of the other column"

    assert not Learner().takes(KEY, rest)
    assert Learner().takes(NAMED, rest)


def test_a_value_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs paint the same again and again."""
    masked: list[str] = []

    def counted(value: str, form: str) -> str:
        masked.append(value)
        return mask(value, form)

    monkeypatch.setattr(_learning, "mask", counted)
    learner = Learner()

    assert all(learner.takes(SHAPED, TOKEN) for _ in range(9))
    assert masked == [TOKEN]


@pytest.mark.parametrize(
    ("value", "is_learnt"),
    [("orange", False), ("kqzxwvbnmt", True), ("\xc3\xa9a", False), ("aB3$x9", True)],
)
def test_words_and_a_few_bytes_are_not_learnt(value: str, is_learnt: bool) -> None:
    """They go where a rule finds them; elsewhere they may be meant otherwise."""
    learner = Learner()

    assert learner.takes(NAMED, value)
    assert bool(learnt(learner)) is is_learnt


def test_what_a_rule_does_not_teach_is_not_learnt() -> None:
    """Nor what is no secret, but changes."""
    silent = Rule(name="named", pattern="token=(?P<s>[!-~]+)", learn=False)
    clock = Rule(name="clock", pattern="[0-9:]+", kind="volatile")
    learner = Learner()

    assert learner.takes(silent, TOKEN)
    assert learner.takes(clock, "10:11:12")
    assert learnt(learner) == []


@pytest.mark.parametrize(
    ("rule", "value", "pieces"),
    [
        (SHAPED, TOKEN, True),
        (SHAPED, TOKEN[:15], None),
        (NAMED, TOKEN, None),
        (Rule(name="email", pattern="[a-z]+@[a-z]+", kind="identity"), "bob42@corp.io", False),
    ],
)
def test_pieces_of_a_token_of_a_shape_identify_it(
    rule: Rule, value: str, pieces: bool | None
) -> None:
    """Those of an address are words; of all others their letters tell."""
    learner = Learner()
    learner.takes(rule, value)

    assert [known.pieces for known in learner.take_new()] == [pieces]


def test_what_a_rule_without_a_shape_took_first_is_learnt_again() -> None:
    """Pieces of it identify it, as the second rule knows; once."""
    learner = Learner()
    known = KnownValues()

    assert learner.takes(NAMED, TOKEN_OF_LETTERS)
    known.learn(learner.take_new())
    assert not known.in_squeezed(TOKEN_OF_LETTERS[:20])
    assert learner.takes(SHAPED, TOKEN_OF_LETTERS)
    assert learner.takes(NAMED, TOKEN_OF_LETTERS)
    new = learner.take_new()
    assert [(value.text, value.pieces) for value in new] == [(TOKEN_OF_LETTERS, True)]
    known.learn(new)
    assert [(hit.start, hit.end) for hit in known.in_squeezed(TOKEN_OF_LETTERS[:20])] == [(0, 20)]


@pytest.mark.parametrize(
    ("left", "counts"),
    [
        ("deploy:xxxxxxxxxxxx@git.example.com/team/app.git", False),
        ("https://deploy:xxxxxxxxxxxxxxxxxe.com/team/app.git", False),
        ("deploy:xxxxxxxxxxxx@git.example.com/aB3dE5gH7jK9", True),
        ("deploy:xxxxxxxxxxxx@git.example.com/bkywqzqfdrgfnxw", True),
    ],
)
def test_words_beside_what_is_masked_are_no_value(left: str, counts: bool) -> None:
    """As in the rest of a URL; what looks generated may be."""
    rule = Rule(name="named", pattern="token=(?P<s>[!-~]+)", accept=bool)

    assert Learner().takes(rule, left) is counts


def test_of_what_stands_in_a_key_only_lines_are_learnt() -> None:
    """Not what was painted meanwhile, however many bytes that has."""
    learner = Learner()
    spinner = "\xe2\xac\x9d" * 8

    assert learner.takes(KEY, f"\n{spinner}\naB3dE5gH7jK9mN1p\n{spinner}\n")
    assert learnt(learner) == ["aB3dE5gH7jK9mN1p"]


def test_a_short_line_of_a_key_is_no_value_elsewhere() -> None:
    """It goes where it stands; other texts have the same few characters."""
    learner = Learner()

    assert learner.takes(KEY, "name=")
    assert learnt(learner) == []
    assert learner.takes(KEY, "a1B2c3D4e5F6g7H8")
    assert learnt(learner) == ["a1B2c3D4e5F6g7H8"]
