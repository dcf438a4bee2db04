"""Known values: whole, in pieces, never by what is public about them."""

from __future__ import annotations

import pytest

from ptycassette.scrub.match import canonical, squeeze
from ptycassette.scrub.rules.values import is_random
from ptycassette.scrub.search.known import KnownValue, KnownValues

TOKEN = "qP7xR2mK9vT4nB8sL3wZ"


LETTERS = "qhvwzkxrjmpdlgtbnc"
HORSE = "correct horse battery"
NAMED = "Zq7Lm2Xc9Vb4Nn8K"
PSCALE = "pscale" + "_tkn_" + "SM-NTHWH4T-Qwert-Yuio9"
ADDRESS, OTHER = "somebodys.name" + "@mailbox.com", "build" + "@mailbox.com"
TAKEN = {"pieces": True, "learnt": True}  # as a rule takes a value that it found


def three_fifths(value: str) -> tuple[str, str, str]:
    """The beginning and the end of that length as a screen shows them, and one that is shorter."""
    shown = value.replace(" ", "")
    size = -(-len(shown) * 3 // 5)
    return f"##{shown[:size]}##", shown[-size:], shown[: size - 1]


def found_in(text: str, *spans: tuple[int, int]) -> tuple[str, list[tuple[int, int]]]:
    """A text, and where values are found in it."""
    return text, list(spans)


def grown(value: str) -> list[tuple[str, list[tuple[int, int]]]]:
    """What is found of a value that a repaint shows growing, or with its end cut off."""
    begun, end, short = three_fifths(value)
    return [found_in(begun, (2, len(begun) - 2)), found_in(end, (0, len(end))), found_in(short)]


FOUND: dict[str, tuple[list[KnownValue], list[tuple[str, list[tuple[int, int]]]]]] = {
    # Known values; texts without blanks, and where the values are found in them.
    "any eight characters of a random value": (
        [KnownValue(TOKEN)],
        [found_in(f"..{TOKEN[at : at + 8]}..", (2, 10)) for at in range(len(TOKEN) - 8)]),
    "a hit is as long as the text agrees": (
        [KnownValue("PUB-" + TOKEN, public=4)], [found_in(f"aPUB-{TOKEN[:12]}Z", (1, 17))]),
    "what is public about a value stands in documentation as well": (
        [KnownValue("prefix-of-all-" + TOKEN, public=14)], [found_in("prefix-of-all-")]),
    "of a pass phrase words stay": (
        [KnownValue(HORSE)],
        [found_in("correcthors"), found_in("acorrecthorsebatteryb", (1, 20))]),
    "a pass phrase that a rule took is found nowhere else in pieces": (
        [KnownValue(HORSE, learnt=True)], [found_in("correcthorsebatter")]),
    **{f"three fifths of {value}": ([KnownValue(value)], grown(value))
       for value in (HORSE, "582910473361", "frances@corp.example")},
    "a path that a rule took along: the next row may have begun with it": (
        [KnownValue(NAMED + "src/main.rs", **TAKEN)], [found_in("editsrc/main.rsnow")]),
    "pieces of one character: base64 of binary data is full of them": (
        [KnownValue("EAAABxQ7" + "A" * 12 + "m2Kd9", **TAKEN)],
        [found_in("A" * 40), found_in("EAAABxQ7AA", (0, 10))]),
    "short values are found as words only": (
        [KnownValue("bob7"), KnownValue("alice", word=True)], [found_in("bob7alice")]),
    "the longer of two values that begin together wins": (
        [KnownValue("/home/ab"), KnownValue("/home/ab/cd/ef")],
        [found_in("/home/ab/cd/ef", (0, 14))]),
    "a word that a rule took along: a join of rows may have put it there": (
        [KnownValue(NAMED + "README.md", **TAKEN)],
        [found_in("seeREADME.mdhere"), found_in("seeVb4Nn8KREADhere", (3, 14))]),
    "of a declared value every piece counts": (
        [KnownValue(NAMED + "README.md", pieces=True)],
        [found_in("seeREADME.mdhere", (3, 12))]),
    "a word is no piece of a token; letters alone are pieces of a value of letters": (
        [KnownValue(NAMED + "happened", **TAKEN), KnownValue(LETTERS, **TAKEN)],
        [found_in("whathappenedthen"), found_in("what8Khappenedthen", (4, 14)),
         found_in(f"see{LETTERS[:9]}", (3, 12))]),
    "a token begins right behind its prefix though it reads as words": (
        [KnownValue(PSCALE, public=11, **TAKEN)],
        [found_in("seepscale_tkn_SM-NTH", (3, 20)), found_in("seeQwert-Yuhere")]),
    "an address is known by what stands before its host, and the first letter of that": (
        [KnownValue(one, "email", "<email>", learnt=True) for one in (ADDRESS, OTHER)],
        [found_in("as:somebodys.name@mai...", (3, 21)), found_in("build@machine:~$")]),
    "what several values cover is one hit, as a line that grows gives": (
        [KnownValue(TOKEN[:end]) for end in range(12, 21)],
        [found_in(f"..{TOKEN}..{TOKEN[:14]}..", (2, 22), (24, 38))]),
    "values beside one another are hits of their own": (
        [KnownValue(TOKEN), KnownValue(TOKEN[::-1])],
        [found_in(TOKEN + TOKEN[::-1], (0, 20), (20, 40))]),
    "a value that overlaps another goes on with it": (
        [KnownValue(TOKEN[:16]), KnownValue(TOKEN[4:])], [found_in(TOKEN, (0, 20))]),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_values_are_found_and_nothing_that_is_public_about_them(case: str) -> None:
    """Whole, and in pieces that tell them."""
    values, texts = FOUND[case]
    known = KnownValues(values)

    assert [
        (text, [(hit.start, hit.end) for hit in known.in_squeezed(text)]) for text, _ in texts
    ] == texts


@pytest.mark.parametrize(
    "mark",
    ["\u0301", "\ufe0f", "\u034f", "\u2061", "\u202e", "\u061c", "\u200b", "\U000e0061", "*"],
)
def test_a_value_is_found_over_marks_that_take_no_room(mark: str) -> None:
    """And over the asterisk, as which a password is shown a moment after its character."""
    known = KnownValues([KnownValue(TOKEN)])
    text = canonical(mark.join(TOKEN))

    assert [(hit.start, hit.end) for hit in known.in_squeezed(squeeze(text))] == [(0, len(TOKEN))]


def test_short_values_are_found_as_words() -> None:
    """A short value inside of a longer word is something else."""
    known = KnownValues([KnownValue("bob7"), KnownValue("alice", word=True)])

    assert [hit.start for hit in known.in_plain("bob7 xbob7 bob77 alice malice")] == [0, 17]


@pytest.mark.parametrize("text", ["", "ab", "xxxxxxxx", "****"])
def test_what_cannot_be_told_apart_is_not_learnt(text: str) -> None:
    """Masks are no values."""
    assert not KnownValues().add(KnownValue(text))


def test_a_value_is_learnt_once() -> None:
    """Learning it again says that it is not new."""
    known = KnownValues([KnownValue(TOKEN)])

    assert not known.add(KnownValue(TOKEN))
    assert [value.text for value in known] == [TOKEN]
    assert len(known) == 1


@pytest.mark.parametrize(
    ("text", "random"),
    [
        (TOKEN, True),
        ("0123456789abcdef0a1b2c3d", True),
        ("correct-horse-battery", False),
        ("aaaaaaaa1", False),
        ("short1", False),
        ("............a1", False),
        ("administrator", False),
    ],
)
def test_generated_values_look_generated(text: str, random: bool) -> None:
    """Only their pieces identify them."""
    assert is_random(text) is random


def test_a_lesson_says_what_is_new() -> None:
    """The value, and those of its pieces that no other value has; words apart."""
    known = KnownValues([KnownValue(TOKEN[:12])])
    values = [KnownValue(TOKEN[:12]), KnownValue(TOKEN[:13], pieces=True), KnownValue("bob7")]
    lesson = known.learn(values)

    assert lesson.values == values[1:]
    assert lesson.pieces == [TOKEN[at : at + 7] for at in range(7)]
    assert lesson.words == ["bob7"]
