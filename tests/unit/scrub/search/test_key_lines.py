"""Lines of private keys that stand apart: which of them are found, and what else stays."""

from __future__ import annotations

import base64
import random
import re

import pytest

from ptycassette.scrub.rules.rule_set import Rule
from ptycassette.scrub.search.known import KeyLines
from ptycassette.testing import scrub_chunks

BEGIN, END = (f"-----{word} RSA PRIVATE" + " KEY-----" for word in ("BEGIN", "END"))
CERTIFICATE = "-----BEGIN CERTIFICATE-----"


def lines_of(count: int, *, seed: int = 1) -> list[str]:
    """Lines of base64, of which the last is short."""
    digits = base64.b64encode(random.Random(seed).randbytes(48 * count - 40)).decode()
    return [digits[at : at + 64] for at in range(0, len(digits), 64)]


LINES = lines_of(6)


RULE = Rule(name="private-key", pattern="-")


def found(text: str, keys: KeyLines | None = None, source: str | None = None) -> list[str]:
    """What is found in a text."""
    hits = (keys or KeyLines([RULE])).find(text, source)
    return [text[hit.start : hit.end] for hit in hits]


@pytest.mark.parametrize("between", ["\n", "\n\n", "\nworking 3s\n", " |\n| "])
def test_lines_behind_a_first_one_are_found(between: str) -> None:
    """Full ones, whatever is painted between."""
    assert found(between.join([BEGIN, *LINES[:5], "and text"])) == LINES[:5]


@pytest.mark.parametrize("text", ["\n".join([*LINES, END]), "".join(LINES) + "\n" + END])
def test_lines_before_a_last_one_are_found(text: str) -> None:
    """Of any number, and joined."""
    assert "".join(found(text)) == "".join(LINES)


def test_a_key_that_begins_in_a_text_goes_on_in_the_next_of_its_source() -> None:
    """Up to any other such line."""
    keys = KeyLines([RULE])
    found(f"{BEGIN}\n{LINES[0]}", keys, "screen")

    assert found(LINES[1], keys, "titles") == []
    assert found(f"so\n{LINES[2]}\nfar", keys, "screen") == [LINES[2]]
    assert found(f"{END}\n{LINES[3]}", keys, "screen") == []
    assert found(LINES[4], keys, "screen") == []


def test_a_key_does_not_go_on_for_ever() -> None:
    """Its last line may never come."""
    keys = KeyLines([RULE])
    found(BEGIN, keys, "screen")
    found("text\n" * 30_000, keys, "screen")

    assert found(LINES[0], keys, "screen") == []


@pytest.mark.parametrize("text", [f"{LINES[0]}\n{LINES[1]}\nend", f"of\n{LINES[2]}\n{LINES[1]}"])
def test_a_line_that_is_known_tells_those_beside_it(text: str) -> None:
    """Above it and below it."""
    keys = KeyLines([RULE])
    keys.took(RULE, f"{LINES[1]} KEY")

    assert "".join(found(text, keys)) == "".join(line for line in text.split() if len(line) > 9)


def test_only_full_lines_are_learnt() -> None:
    """Words of several lines are parted, so that one that grows is known by the same parts."""
    hits = list(KeyLines([RULE]).find(f"{BEGIN}\n{LINES[0]}{LINES[1][:40]}", None))

    assert [(hit.end - hit.start, hit.rule.learn) for hit in hits] == [(64, True), (40, False)]


def test_nothing_is_found_where_nobody_asks_for_keys() -> None:
    """Their rule is left out."""
    keys = KeyLines([Rule(name="other", pattern="-")])

    assert found("\n".join([BEGIN, *LINES]), keys) == []


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(LINES),
        "\n".join([CERTIFICATE, *LINES, CERTIFICATE.replace("BEGIN", "END")]),
        "\n".join([CERTIFICATE, *LINES[:5], "so it ends", BEGIN]),
        "\n".join([BEGIN, END, "and", *LINES]),
        f"{BEGIN}\n{'0a' * 32}\n{'/usr/share/python3' * 4}\n{'words and more of them ' * 4}",
        f"{BEGIN}\nand\n{LINES[-1]}",
    ],
)
def test_other_base64_is_left_alone(text: str) -> None:
    """Certificates, digests, paths, and what no line of a key is beside."""
    assert found(text) == []


def masked(shown: str) -> str:
    """What is left of it by rules; a second look finds nothing more."""
    after = scrub_chunks([shown.encode()], rows=24, cols=132)

    assert scrub_chunks(after, rows=24, cols=132) == after
    return b"".join(after).decode()


def test_a_key_that_scrolls_in_from_its_end_is_masked() -> None:
    """More of it than the screen shows."""
    key = [BEGIN, *lines_of(26), END]
    after = masked("".join(f"\x1b[T\x1b[1;1H{line}" for line in reversed(key)))

    assert not [line for line in key[1:-1] if line[:12] in after or line[-12:] in after]


@pytest.mark.slow
def test_a_long_key_that_is_typed_out_beside_a_spinner_is_masked() -> None:
    """In rows that are read at each turn of it; the END line has not come yet."""
    key = [BEGIN, *lines_of(5)]
    turns = "".join(
        f"\x1b[{number};{column + 1}H{char}\x1b[24;1Hworking {at}s\x1b[K"
        for number, line in enumerate(key, 1)
        for column, char in enumerate(f"{line} ")
        for at in (number * 64 + column,)
    )
    after = masked(f"\x1b[H{turns}\x1b[H\x1b[2J")
    typed = "".join(re.findall("H(.)\x1b\\[24", after))

    assert len(typed) > 4 * 64
    assert not [line for line in key[1:-1] if line[4:12] in typed]


@pytest.mark.parametrize("before", ["", "p", "pa"])
def test_what_holds_a_key_in_base64_is_none_of_its_lines(before: str) -> None:
    """It is searched in other forms, too, right behind what it says."""
    begin, end = (f"-----{mark} EC {'PRIVATE'} KEY-----" for mark in ("BEGIN", "END"))
    chance = random.Random(5)
    key = "\n".join([begin, *(base64.b64encode(chance.randbytes(48)).decode() for _ in "12"), end])
    digits = base64.b64encode(f"{before}{key} and more of it".encode()).decode()
    first = scrub_chunks([f"data: {digits} | base64 -d\r\n".encode()], rows=24, cols=80)

    assert digits[:40].encode() in first[0]
    assert scrub_chunks(first, rows=24, cols=80) == first
