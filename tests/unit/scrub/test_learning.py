"""Which matches of rules count, and what is learnt from them."""

from __future__ import annotations

import base64
import random
from itertools import pairwise

import pytest

from ptycassette.scrub import learning
from ptycassette.scrub.known import KnownValue, KnownValues
from ptycassette.scrub.learning import Learner
from ptycassette.scrub.mask import mask
from ptycassette.scrub.rules import Rule

TOKEN = "ghp_" + "vMYbnprykVjiRyY5dF1WEspdT07BYH9nZIJ1"
SHAPED = Rule(name="token", pattern="ghp_[A-Za-z0-9]{36}", public=4)
KEY = Rule(name="PRIVATE key", pattern="-----BEGIN[^-]+")
TOKEN_OF_LETTERS = "ghp_" + "vocabularies" * 2 + "bookkeepers" + "x"
ADDRESS = Rule(name="email", kind="identity", pattern="[a-z.]+@[a-z.]+")
NAMED = Rule(name="named", pattern="token=(?P<s>[!-~]+)")


def learnt(learner: Learner) -> list[str]:
    """The values that are new."""
    return [value.text for value in learner.news()]


def test_what_counts_is_learnt_once() -> None:
    """However often it comes; whoever asks again gets nothing."""
    learner = Learner()

    assert [learner.takes(SHAPED, TOKEN, decoded=False) for _ in range(3)] == [True] * 3
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

    assert not learner.takes(SHAPED, value, decoded=False)
    assert learnt(learner) == []


def test_a_value_may_begin_as_masks_do() -> None:
    """With fewer such letters than any mask of a token has."""
    assert Learner().takes(SHAPED, "ghp_xxx" + TOKEN[4:-1], decoded=False)
    assert Learner().takes(NAMED, "XxxxxaB3dE6gH9jK2m", decoded=False)
    assert not Learner().takes(NAMED, "xxxaB3dE6", decoded=False)


def test_what_much_is_left_of_beside_a_mask_counts() -> None:
    """Some of it was unknown to whoever scrubbed it."""
    assert Learner().takes(NAMED, f"{TOKEN[:20]}{'x' * 8}", decoded=False)
    assert not Learner().takes(NAMED, f"{TOKEN[:9]}{'x' * 8}", decoded=False)


def test_the_lines_of_a_key_are_learnt_one_by_one() -> None:
    """Short ones are none: something stands beside a key on the screen."""
    learner = Learner()

    assert learner.takes(KEY, f"{TOKEN}\n10:11 v3.1-rc2\n{TOKEN[::-1]}", decoded=False)
    assert learnt(learner) == [TOKEN, TOKEN[::-1]]


def test_a_word_of_joined_lines_is_learnt_in_parts() -> None:
    """Without the border before it; when it grows, only its last part is new."""
    learner = Learner()
    word = "".join(f"{number:x}Aq" for number in range(90))

    assert learner.takes(KEY, f"\xe2\x94\x82{word[:200]}", decoded=False)
    assert learnt(learner) == [word[:80], word[64:144], word[128:200]]
    assert learner.takes(KEY, f"\xe2\x94\x82{word[:230]}", decoded=False)
    assert learnt(learner) == [word[128:208], word[192:230]]


def test_words_beside_the_masked_lines_of_a_key_do_not_count() -> None:
    """However many there are; those of anything else are left of one value."""
    rest = f"k {'x' * 40} other words of the other column"

    assert not Learner().takes(KEY, rest, decoded=False)
    assert Learner().takes(NAMED, rest, decoded=False)


def test_a_value_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs paint the same again and again."""
    masked: list[str] = []

    def counted(value: str, form: str) -> str:
        masked.append(value)
        return mask(value, form)

    monkeypatch.setattr(learning, "mask", counted)
    learner = Learner()

    assert all(learner.takes(SHAPED, TOKEN, decoded=False) for _ in range(9))
    assert masked == [TOKEN]


@pytest.mark.parametrize(
    ("value", "is_learnt"),
    [("orange", False), ("kqzxwvbnmt", True), ("\xc3\xa9a", False), ("aB3$x9", True)],
)
def test_words_and_a_few_bytes_are_not_learnt(value: str, is_learnt: bool) -> None:
    """They go where a rule finds them; elsewhere they may be meant otherwise."""
    learner = Learner()

    assert learner.takes(NAMED, value, decoded=False)
    assert bool(learnt(learner)) is is_learnt


@pytest.mark.parametrize(
    ("behind", "decoded", "is_learnt"),
    [
        ("happened", False, False),
        ("src/main.rs", False, False),
        ("Zq7Lm2", False, True),
        ("password", True, False),
        ("password=Zq7Lm2", True, False),
        ("password=Zq7Lm2", False, True),
    ],
)
def test_a_value_with_what_stands_behind_it_is_no_other_value(
    behind: str, decoded: bool, is_learnt: bool
) -> None:
    """Rows glue words to it, and a sign of assignment that is decoded glues names."""
    learner = Learner()
    learner.takes(SHAPED, TOKEN, decoded=False)
    learner.news()

    assert learner.takes(NAMED, TOKEN + behind, decoded=decoded)
    assert bool(learnt(learner)) is is_learnt


def test_what_a_rule_does_not_teach_is_not_learnt() -> None:
    """Nor what is no secret, but changes."""
    silent = Rule(name="named", pattern="token=(?P<s>[!-~]+)", learn=False)
    clock = Rule(name="clock", pattern="[0-9:]+", kind="volatile")
    learner = Learner()

    assert learner.takes(silent, TOKEN, decoded=False)
    assert learner.takes(clock, "10:11:12", decoded=False)
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
    learner.takes(rule, value, decoded=False)

    assert [known.pieces for known in learner.news()] == [pieces]


def test_what_a_rule_without_a_shape_took_first_is_learnt_again() -> None:
    """Pieces of it identify it, as the second rule knows; once."""
    learner = Learner()
    known = KnownValues()

    assert learner.takes(NAMED, TOKEN_OF_LETTERS, decoded=False)
    known.learn(learner.news())
    assert not known.in_squeezed(TOKEN_OF_LETTERS[:20])
    assert learner.takes(SHAPED, TOKEN_OF_LETTERS, decoded=False)
    assert learner.takes(NAMED, TOKEN_OF_LETTERS, decoded=False)
    new = learner.news()
    assert [(value.text, value.pieces) for value in new] == [(TOKEN_OF_LETTERS, True)]
    known.learn(new)
    assert [(hit.start, hit.end) for hit in known.in_squeezed(TOKEN_OF_LETTERS[:20])] == [(0, 20)]


def test_half_an_address_of_nobody_is_learnt() -> None:
    """Of somebody it is a name, or a host that others have, too."""
    learner = Learner()

    assert learner.takes(ADDRESS, "bkywqz.qfdrgfn@jgbdmkrp.com", decoded=False)
    assert learner.takes(ADDRESS, "john.anderson@github.com", decoded=False)
    assert learnt(learner) == [
        "bkywqz.qfdrgfn@jgbdmkrp.com",
        "bkywqz.qfdrgfn",
        "jgbdmkrp.com",
        "john.anderson@github.com",
    ]


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

    assert Learner().takes(rule, left, decoded=False) is counts


def test_of_what_stands_in_a_key_only_lines_are_learnt() -> None:
    """Not what was painted meanwhile, however many bytes that has."""
    learner = Learner()
    spinner = "\xe2\xac\x9d" * 8

    assert learner.takes(KEY, f"\n{spinner}\naB3dE5gH7jK9mN1p\n{spinner}\n", decoded=False)
    assert learnt(learner) == ["aB3dE5gH7jK9mN1p"]


def test_a_short_line_of_a_key_is_no_value_elsewhere() -> None:
    """It goes where it stands; other texts have the same few characters."""
    learner = Learner()

    assert learner.takes(KEY, "name=", decoded=False)
    assert learnt(learner) == []
    assert learner.takes(KEY, "a1B2c3D4e5F6g7H8", decoded=False)
    assert learnt(learner) == ["a1B2c3D4e5F6g7H8"]


ROWS = [
    "qP7xR2mK9vT4bN8cWz1L",
    "Zk3JfH6dYp0sGu5VaQ2e",
    "Mn4XcB7tRw9LiO1yKv8S",
    "+Ej5DhU2gFq6ZsPx0TbA",
]


def pages() -> str:
    """A text that shows the first two of these rows, the second and the third, and so on."""
    return "\n".join(map("".join, pairwise(ROWS)))


def rests(value: KnownValue, text: str) -> list[str]:
    """What is learnt as a value is found up to where its last row ends in a text."""
    learner = Learner()
    learner.goes_on(value, text, text.index(ROWS[0]) + len(ROWS[0]))
    return learnt(learner)


def test_what_a_value_goes_on_with_is_learnt_page_by_page() -> None:
    """Each time with as much of what is before as tells that it goes on with it."""
    of_base64 = KnownValue(f"a/{ROWS[0]}", learnt=True)

    assert rests(of_base64, pages()) == [
        above[-8:] + below for above, below in pairwise(ROWS)
    ]  # fmt: skip
    assert rests(KnownValue(ROWS[0], learnt=True), pages()) == [
        above[-8:] + below for above, below in pairwise(ROWS[:3])
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (KnownValue(ROWS[0]), pages()),
        (KnownValue(f"ab_{ROWS[0]}", learnt=True, public=3), pages()),
        (KnownValue(f"{ROWS[0]}more", learnt=True), pages()),
        (KnownValue(ROWS[0], learnt=True), "\n".join(ROWS)),
        (KnownValue(ROWS[0], learnt=True), f"{ROWS[0]}3f786850e387550fdab836ed7e6dc881de23001b"),
        (KnownValue(ROWS[0], learnt=True), f"{ROWS[0]}AndWithWordsThatGoOn"),
        (KnownValue(ROWS[0], learnt=True), f"{ROWS[0]}/{ROWS[1]}"),
    ],
    ids=["declared", "shaped", "cut", "next-line", "digest", "words", "path"],
)
def test_nothing_goes_on_with_what_was_whole(value: KnownValue, text: str) -> None:
    """Or with what is not at its end there; digests and words are no rest."""
    assert rests(value, text) == []


def test_a_long_value_with_a_shape_may_have_been_cut() -> None:
    """No such token of fixed length is that long."""
    long = KnownValue(f"ab_{'Jd8k' * 8}{ROWS[0]}", learnt=True, public=3)

    assert rests(long, pages())[:1] == [ROWS[0][-8:] + ROWS[1]]


def test_no_more_is_followed_than_anybody_pages_through() -> None:
    """A stream of generated text behind a value would be learnt over and over again."""
    learner = Learner()
    text = base64.b64encode(random.Random(3).randbytes(90_000)).decode()
    for at in range(20, 100_000, 20):
        learner.goes_on(KnownValue(f"+{text[at - 20 : at]}", learnt=True), text, at)

    assert sum(len(value) for value in learnt(learner)) < 40_000


def test_a_rest_of_many_rows_is_learnt_to_its_end() -> None:
    """In pieces, each with the end of the one before."""
    run = base64.b64encode(random.Random(4).randbytes(480)).decode()
    value = KnownValue(f"a/{ROWS[0]}", learnt=True)

    pieces = rests(value, ROWS[0] + run)

    assert len(pieces) > 1
    assert "".join(piece[8:] for piece in pieces) == run
