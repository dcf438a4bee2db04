"""Which matches of rules count, and what is learnt from them."""

from __future__ import annotations

import pytest

from ptycassette.scrub.mask import mask
from ptycassette.scrub.rules.rule_set import Rule
from ptycassette.scrub.search import known as _learning
from ptycassette.scrub.search.known import KnownValues, Learner

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


CLOCK = Rule(name="clock", pattern="[0-9:]+", kind="volatile")
SILENT = Rule(name="named", pattern="token=(?P<s>[!-~]+)", learn=False)
EMAIL = Rule(name="email", pattern="[a-z]+@[a-z]+", kind="identity")
LOOSE = Rule(name="named", pattern="token=(?P<s>[!-~]+)", accept=bool)
BESIDE = f"k {'x' * 40} other words of the other column"
DEPLOYED = "deploy:xxxxxxxxxxxx@git.example.com/"
SPINNER = "\xe2\xac\x9d" * 8
MASKS = [
    "xx", "x" * 12, "ghp_" + "x" * 36, "ghp_xxxxxx" + TOKEN[4:-1], "ghp_xxx" + "somebodys-token",
    "ghp_" + "x0" * 12, "--\nxxxx\n\n", "ghp_xx00000020", "$HOME", "<secret>", "a=" + "=78" * 6,
]  # fmt: skip
TAKEN: list[tuple[Rule, str, bool, list[str]]] = [
    # A rule, what it matched, whether that counts, and what is learnt from it.
    # Masks, in an encoding too, and placeholders are no values; nor is what masks leave.
    *((SHAPED, mask, False, []) for mask in MASKS),
    # A value may begin as masks do, with fewer such letters than any mask of a token has.
    (SHAPED, "ghp_xxx" + TOKEN[4:-1], True, ["ghp_xxx" + TOKEN[4:-1]]),
    (NAMED, "XxxxxaB3dE6gH9jK2m", True, ["XxxxxaB3dE6gH9jK2m"]),
    (NAMED, "xxxaB3dE6", False, []),
    # What much is left of beside a mask was unknown to whoever scrubbed it.
    (NAMED, f"{TOKEN[:20]}{'x' * 8}", True, [f"{TOKEN[:20]}{'x' * 8}"]),
    (NAMED, f"{TOKEN[:9]}{'x' * 8}", False, []),
    # The lines of a key, one by one; short ones are none, nor what was painted meanwhile.
    (KEY, f"{TOKEN}\n10:11 v3.1-rc2\n{TOKEN[::-1]}", True, [TOKEN, TOKEN[::-1]]),
    (KEY, f"\n{SPINNER}\naB3dE5gH7jK9mN1p\n{SPINNER}\n", True, ["aB3dE5gH7jK9mN1p"]),
    (KEY, "name=", True, []),
    (KEY, "a1B2c3D4e5F6g7H8", True, ["a1B2c3D4e5F6g7H8"]),
    # Words beside the masked lines of a key do not count; of anything else they are left.
    (KEY, BESIDE, False, []),
    (NAMED, BESIDE, True, [BESIDE]),
    # Words and a few bytes go where a rule finds them; elsewhere they may be meant otherwise.
    (NAMED, "orange", True, []),
    (NAMED, "kqzxwvbnmt", True, ["kqzxwvbnmt"]),
    (NAMED, "\xc3\xa9a", True, []),
    (NAMED, "aB3$x9", True, ["aB3$x9"]),
    # What a rule does not teach, and what is no secret, but changes.
    (SILENT, TOKEN, True, []),
    (CLOCK, "10:11:12", True, []),
    # Words beside what is masked, as in the rest of a URL; what looks generated may be one.
    (LOOSE, "deploy:xxxxxxxxxxxx@git.example.com/team/app.git", False, []),
    (LOOSE, "https://deploy:xxxxxxxxxxxxxxxxxe.com/team/app.git", False, []),
    (LOOSE, f"{DEPLOYED}aB3dE5gH7jK9", True, [f"{DEPLOYED}aB3dE5gH7jK9"]),
    (LOOSE, f"{DEPLOYED}bkywqzqfdrgfnxw", True, [f"{DEPLOYED}bkywqzqfdrgfnxw"]),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "value", "counts", "new"), TAKEN)
def test_what_counts_is_learnt(rule: Rule, value: str, *, counts: bool, new: list[str]) -> None:
    """If it can be meant in no other way."""
    learner = Learner()

    assert learner.takes(rule, value) is counts
    assert learnt(learner) == new


def test_what_is_preserved_does_not_count() -> None:
    """As its user said."""
    learner = Learner(preserved=[TOKEN])

    assert not learner.takes(SHAPED, TOKEN)
    assert learnt(learner) == []


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
    ("rule", "value", "pieces"),
    [
        (SHAPED, TOKEN, True),
        (SHAPED, TOKEN[:15], None),
        (NAMED, TOKEN, None),
        (EMAIL, "bob42@corp.io", False),
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
