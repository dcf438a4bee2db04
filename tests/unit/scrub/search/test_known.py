"""Known values: whole, in pieces, never by what is public about them."""

from __future__ import annotations

import pytest

from ptycassette.scrub.match import canonical, squeeze
from ptycassette.scrub.rules import is_random
from ptycassette.scrub.search import KnownValue, KnownValues

TOKEN = LETTERS = "qP7xR2mK9vT4nB8sL3wZ"


@pytest.mark.parametrize("start", range(len(TOKEN) - 8))
def test_any_eight_characters_of_a_random_value_are_found(start: int) -> None:
    """Truncated forms and growing repaints go too."""
    known = KnownValues([KnownValue(TOKEN)])
    hits = known.in_squeezed(f"..{TOKEN[start : start + 8]}..")

    assert [(hit.start, hit.end) for hit in hits] == [(2, 10)]


def test_a_hit_is_as_long_as_the_text_agrees() -> None:
    """A window that is found grows to both sides."""
    known = KnownValues([KnownValue("PUB-" + TOKEN, public=4)])
    (hit,) = known.in_squeezed(f"a PUB-{TOKEN[:12]}Z".replace(" ", ""))

    assert (hit.start, hit.end) == (1, 17)


def test_what_is_public_about_a_value_is_no_hit() -> None:
    """The prefix of a token stands in documentation as well."""
    known = KnownValues([KnownValue("prefix-of-all-" + TOKEN, public=14)])

    assert known.in_squeezed("prefix-of-all-") == []


def test_pieces_of_words_are_no_hits() -> None:
    """A pass phrase is found whole, its words stay; one that a rule took nowhere else."""
    known, learnt = (
        KnownValues([KnownValue("correct horse battery", learnt=learnt)])
        for learnt in (False, True)
    )

    assert known.in_squeezed("correcthors") == []
    assert len(known.in_squeezed("acorrecthorsebatteryb")) == 1
    assert learnt.in_squeezed("correcthorsebatter") == []


@pytest.mark.parametrize("value", ["correct horse battery", "582910473361", "frances@corp.example"])
def test_three_fifths_of_a_known_value_are_found(value: str) -> None:
    """As a repaint shows it that grows, and what is left when its end is cut off."""
    known = KnownValues([KnownValue(value)])
    shown = value.replace(" ", "")
    size = -(-len(shown) * 3 // 5)

    assert [(hit.start, hit.end) for hit in known.in_squeezed(f"##{shown[:size]}##")] == [
        (2, 2 + size)
    ]
    assert [hit.end for hit in known.in_squeezed(shown[-size:])] == [size]
    assert known.in_squeezed(shown[: size - 1]) == []


def test_a_path_that_a_rule_took_along_is_no_piece() -> None:
    """The next row may have begun with it."""
    known = KnownValues([KnownValue("Zq7Lm2Xc9Vb4Nn8Ksrc/main.rs", pieces=True, learnt=True)])

    assert known.in_squeezed("editsrc/main.rsnow") == []


def test_pieces_of_one_character_are_learnt_by_nobody() -> None:
    """Base64 of binary data is full of them."""
    known = KnownValues([KnownValue("EAAABxQ7" + "A" * 12 + "m2Kd9", pieces=True, learnt=True)])

    assert known.in_squeezed("A" * 40) == []
    assert len(known.in_squeezed("EAAABxQ7AA")) == 1


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
    assert known.in_squeezed("bob7alice") == []


def test_overlapping_values_give_hits_that_do_not_overlap() -> None:
    """The longer of two values that begin together wins."""
    known = KnownValues([KnownValue("/home/ab"), KnownValue("/home/ab/cd/ef")])
    hits = known.in_squeezed("/home/ab/cd/ef")

    assert [(hit.start, hit.end) for hit in hits] == [(0, 14)]


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


def test_a_word_that_a_rule_took_along_is_no_piece() -> None:
    """A join of rows may have put it there; of a declared value every piece counts."""
    text = "Zq7Lm2Xc9Vb4Nn8KREADME.md"
    learnt, declared = (
        KnownValues([KnownValue(text, pieces=True, learnt=learnt)]) for learnt in (True, False)
    )

    assert learnt.in_squeezed("seeREADME.mdhere") == []
    assert len(declared.in_squeezed("seeREADME.mdhere")) == 1
    assert len(learnt.in_squeezed("seeVb4Nn8KREADhere")) == 1


def test_a_word_is_no_piece_of_a_token_that_a_rule_found() -> None:
    """The next row may have begun with it; letters alone are pieces of a value of letters."""
    token, letters = "Zq7Lm2Xc9Vb4Nn8Khappened", "qhvwzkxrjmpdlgtbnc"
    known = KnownValues([KnownValue(text, pieces=True, learnt=True) for text in (token, letters)])

    assert known.in_squeezed("whathappenedthen") == []
    assert len(known.in_squeezed("what8Khappenedthen")) == 1
    assert len(known.in_squeezed(f"see{letters[:9]}")) == 1


def test_a_token_begins_right_behind_its_prefix_though_it_reads_as_words() -> None:
    """A growing repaint shows it before its first digit comes; words elsewhere are none of it."""
    token = "pscale" + "_tkn_" + "SM-NTHWH4T-Qwert-Yuio9"
    known = KnownValues([KnownValue(token, pieces=True, learnt=True, public=11)])

    assert [hit.end for hit in known.in_squeezed("seepscale_tkn_SM-NTH")] == [20]
    assert known.in_squeezed("see Qwert-Yuhere") == []


def test_a_lesson_says_what_is_new() -> None:
    """The value, and those of its pieces that no other value has; words apart."""
    known = KnownValues([KnownValue(TOKEN[:12])])
    values = [KnownValue(TOKEN[:12]), KnownValue(TOKEN[:13], pieces=True), KnownValue("bob7")]
    lesson = known.learn(values)

    assert lesson.values == values[1:]
    assert lesson.pieces == [TOKEN[at : at + 7] for at in range(7)]
    assert lesson.words == ["bob7"]


def test_an_address_is_known_by_what_stands_before_its_host() -> None:
    """Of the host the first letter; shorter ones would be those of prompts."""
    values = KnownValues()
    for text in ("somebodys.name" + "@mailbox.com", "build" + "@mailbox.com"):
        values.add(KnownValue(text, "email", "<email>", pieces=False, learnt=True))

    assert [hit.end - hit.start for hit in values.in_squeezed("as:somebodys.name@mai...")] == [18]
    assert values.in_squeezed("build@machine:~$") == []


def test_what_several_values_cover_is_one_hit() -> None:
    """A line that grows gives a value for each of its lengths."""
    known = KnownValues(KnownValue(LETTERS[:end]) for end in range(12, 21))
    hits = known.in_squeezed(f"..{LETTERS}..{LETTERS[:14]}..")

    assert [(hit.start, hit.end) for hit in hits] == [(2, 22), (24, 38)]


def test_values_beside_one_another_are_hits_of_their_own() -> None:
    """Nobody knows them to be one."""
    known = KnownValues([KnownValue(LETTERS), KnownValue(LETTERS[::-1])])
    hits = known.in_squeezed(LETTERS + LETTERS[::-1])

    assert [(hit.start, hit.end) for hit in hits] == [(0, 20), (20, 40)]


def test_a_value_that_overlaps_another_goes_on_with_it() -> None:
    """Also where neither is the beginning of the other."""
    known = KnownValues([KnownValue(LETTERS[:16]), KnownValue(LETTERS[4:])])

    assert [(hit.start, hit.end) for hit in known.in_squeezed(LETTERS)] == [(0, 20)]
