"""Which lines are one: a table of pairs, and what is found across the end of a line."""

from __future__ import annotations

import random
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.scrub.views import view as _joined_lines
from ptycassette.scrub.views.view import View, joined_lines
from ptycassette.testing import scrub_chunks
from tests.examples import examples

HEAD = "token=qP7xR2mK9vT4"
TAIL = "nB8sL3wZaB3dE5gH7"


def clipped(text: str, value: str, *, shaped: bool = False, cols: int = 80) -> str:
    """What of a value, found where lines are put together, is taken."""
    view = joined_lines(View(text), cols)
    if view is None or value not in view.text:
        return ""
    start = view.text.index(value)
    return view.text[start : view.clipped(start, start + len(value), shaped=shaped)]


# The lines, and whether the last word of one and the first of the next are one word.
PAIRS = [
    (f"{HEAD}\n{TAIL}", True),
    (f"| {HEAD} |\n| {TAIL} |", True),
    (f"  {HEAD}\n  {TAIL} and more", True),
    (f"# {HEAD}\n# {TAIL}", True),
    (f"10  {HEAD}\n11  {TAIL}", False),  # a gutter of numbers alone is no sign
    (f"{HEAD}\n{TAIL} {'word ' * 9}\n", True),
    (f"{HEAD[:10]}\n{TAIL} x", True),
    (f"{HEAD[:10]}\n{TAIL} x\na line of words that says where the margin is", False),
    (f"{HEAD}\nwonderful", False),
    (f"{HEAD}\n2026-01-02T10:11:12Z", False),
    (f"{HEAD}\npassword={TAIL}", False),
    (f"{HEAD}\n3f786850e387550fdab836ed7e6dc881de23001b", False),
    (f"{HEAD}\n\n{TAIL}", False),
]


@pytest.mark.parametrize(("text", "is_one"), PAIRS)
def test_a_word_is_taken_over_the_end_of_a_line_where_it_continues(text: str, is_one: bool) -> None:
    """Not where the next line begins with a word, a date, a digest or a name of its own."""
    words = (
        [
            line.strip("|# ").split()[-1 if at == 0 else 0]
            for at, line in enumerate(line for line in text.split("\n")[:2] if line)
        ]
        if "\n\n" not in text
        else []
    )
    value = "".join(words).partition("=")[2]

    assert bool(value and clipped(text, value)) is is_one


# Below a token that begins like one, and the word that is not its end.
NEIGHBOURS = ["DATABASE_URL=postgres://db:5432/shop", "DEBUG=true", "fund=false", "ls"]


@pytest.mark.parametrize("below", NEIGHBOURS)
def test_a_row_below_a_whole_token_stays(below: str) -> None:
    """A name with its value is no end of a token, nor is anything below a token of full length."""
    token = "hf_" + "".join(random.Random(below).choices(string.ascii_letters, k=34))
    line = f"HF_TOKEN={token}\r\n"

    shown = b"".join(scrub_chunks([f"{line}{below}\r\n".encode()], rows=24, cols=100)).decode()

    assert shown.split("\r\n")[1] == below
    assert token[3:] not in shown


def test_a_registry_below_a_password_stays() -> None:
    """A line of .npmrc is no end of the password above it."""
    password = "Tr0ub4" + "dor&3xQ7z"
    token = "np" + "m_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    below = "\r\n//registry.corp.example/:_authToken="
    shown = f"machine git.corp.example login bob password {password}{below}{token}\r\n"
    (after,) = scrub_chunks([shown.encode()], rows=24, cols=80)

    assert password.encode() not in after
    assert after.decode().endswith(f"{below}{'x' * len(token)}\r\n")


def test_a_token_of_full_length_is_found_over_two_rows() -> None:
    """The first row shows less than the whole."""
    token = "hf_" + "".join(random.Random(4).choices(string.ascii_letters, k=34))
    text = f"HF_TOKEN={token[:20]}\r\n{token[20:]}\r\n"

    shown = b"".join(scrub_chunks([text.encode()], rows=24, cols=29)).decode()

    assert token[20:] not in shown


@pytest.mark.parametrize(("prefix", "is_one"), [("SKcd18fc9f", True), ("SKqP7xR2mK", False)])
def test_the_rest_of_a_token_of_hexadecimal_digits_is_no_digest(
    prefix: str, *, is_one: bool
) -> None:
    """A digest stands below a token of other letters, whole, and continues nothing."""
    rest = "b6494384932af3bda6fe8102"
    value = f"{prefix}{rest}"

    taken = clipped(f"the key is {prefix}\n{rest} and more", value, shaped=True)
    assert taken == (value if is_one else "")


def test_a_hit_in_one_line_is_left_to_others() -> None:
    """It is searched for there; and bytes lead back to the view with the lines."""
    text = f"{HEAD}\n{TAIL}"
    view = joined_lines(View(text, base=5), 80)
    assert view is not None

    assert view.clipped(0, len(HEAD), shaped=True) == 0
    assert list(view.pieces(len(HEAD) - 2, len(HEAD) + 2)) == [
        (len(HEAD) - 2, 2, 5 + len(HEAD) - 2),
        (len(HEAD), 2, 5 + len(HEAD) + 1),
    ]


def test_a_hit_ends_at_the_first_join_that_is_none() -> None:
    """What was joined too far is cut off."""
    text = f"{HEAD}\n{TAIL}\nwonderful"

    assert clipped(text, f"{HEAD[6:]}{TAIL}wonderful") == f"{HEAD[6:]}{TAIL}"


@pytest.mark.parametrize("text", ["", "one line", "a few words\nand a few more", "a\nb\nc"])
def test_lines_of_words_are_not_put_together(text: str) -> None:
    """Nothing costs as much as joining what says nothing."""
    assert joined_lines(View(text), 80) is None


@pytest.mark.parametrize("below", ["gitlab_token=", "api_key: ", '"password": '])
@pytest.mark.parametrize("seed", range(5))
def test_a_token_ends_before_a_line_that_names_its_own_value(below: str, seed: int) -> None:
    """Both put together would look longer than any token, and the rest of this one would stay."""
    generated = random.Random(seed)
    token = "ghp_" + "".join(generated.choices(string.ascii_letters + string.digits, k=36))
    lines = [f"github_token={token[:27]}", token[27:], below + token[:3:-2]]
    (masked,) = scrub_chunks(["\r\n".join(lines).encode()], rows=24, cols=40)

    assert token[27:].encode() not in masked
    assert below.encode() in masked


PARTS = [
    *(
        "a",
        "Foo",
        "HTTP",
        "A.A.",
        "3.11",
        "42",
        "3 ",
        "12  ",
        "13  ",
        "abcdef",
        "x=1",
        "(foo)",
        "`a",
    ),
    *("\n", "\n", "\n", "  ", " ", "\t", "-", "_", "|", ">", "*", "#", " - ", "+ ", '"', ":", ","),
    *("...", "\0", "\x0c", "\x1c", "\r", "\x85", "\xa0", "\xb2", "\xe2\x86\x92", "\xe2\x94\x82"),
    *("a@b.de", "0af31", "password:x", "git@a", "/x", "2026-01-02T03:04 INFO "),
]


@examples(300)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=60), cols=st.sampled_from([6, 20, 80]))
def test_a_glance_leaves_out_no_line_that_goes_on(parts: list[str], cols: int) -> None:
    """The line ends that one expression leaves out are those that a closer look would, too."""
    view = View("".join(parts))

    def made() -> tuple[object, ...]:
        joined = joined_lines(view, cols)
        return () if joined is None else (joined.text, *joined.pieces(0, len(joined.text)))

    quick = made()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_joined_lines, "_MAYBE_GOES_ON", re.compile("\n"))
        assert made() == quick


def test_a_line_of_letters_and_dots_is_judged_in_linear_time() -> None:
    """Each letter could be read in two ways, so that forty of them took for ever."""
    assert joined_lines(View(f"{HEAD}\n{'A.' * 10_000}( and more"), 80) is not None
