"""What was typed and is secret goes from what the program shows of it."""

from __future__ import annotations

import pytest

from ptycassette.model.records import JournalEvent, Output, SessionMeta, Typed
from ptycassette.scrub._finding import begun_values
from ptycassette.scrub.rules.rule_set import RuleSet, default_rules
from ptycassette.scrub.session import default_scrubber
from ptycassette.scrub.typed.watch import TypedWatch

SECRET = "Zq7mK9" + "-vT4bLw"


def shown(meta: SessionMeta, events: list[JournalEvent]) -> bytes:
    """The output of a session as it is published."""
    scrubber = default_scrubber()
    for _ in scrubber.steps(meta, lambda: iter(events), TypedWatch()):
        pass
    masked = scrubber.masked(lambda: iter(events))
    return b"".join(event.data for event in masked if isinstance(event, Output))


def repainted(secret: str, prompt: str = "? API key: ") -> list[JournalEvent]:
    """A field that is painted anew with each key, as inquirer does it, and Enter."""
    events: list[JournalEvent] = [Output(0, prompt.encode())]
    for end in range(1, len(secret) + 1):
        events.append(Typed(end, secret[end - 1].encode(), source="driver"))
        events.append(Output(end, f"\x1b[2K\x1b[G{prompt}{secret[:end]}".encode()))
    return [*events, Typed(99, b"\r", source="driver"), Output(99, b"\r\nthank you\r\n")]


@pytest.mark.parametrize(
    ("secret", "begun"),
    [
        (SECRET, SECRET[:4]),
        ("summer-" + "2rain-9fall-3snow", "summer-2"),
        ("KdJfHg" + "2", "KdJfHg"),
    ],
)
def test_no_beginning_of_a_secret_is_left_of_a_field_that_is_painted_anew(
    meta: SessionMeta, secret: str, begun: str
) -> None:
    """The first half of a token is no less secret; a word that it begins with is one."""
    out = shown(meta, repainted(secret, "? Paste your token "))

    assert begun.encode() not in out
    assert b"Paste your token" in out
    assert b"thank you" in out


def test_the_public_beginning_of_a_token_is_not_begun() -> None:
    """It is what programs say about keys."""
    public = "sk-ant-" + "api03-"
    token = public + "Q7xv" * 23 + "QQAA"
    begun = [value.text for value in begun_values([token], rules=RuleSet(default_rules()))]

    assert begun
    assert min(map(len, begun)) > len(public)


@pytest.mark.parametrize("changed", [SECRET.upper(), SECRET.lower()])
def test_a_secret_in_capitals_is_found(meta: SessionMeta, changed: str) -> None:
    """Programs show what was typed in their own way."""
    events = [*repainted(SECRET), Output(100, f"you said {changed}!".encode())]

    assert b"you said xxxxxxxxxxxxx!" in shown(meta, events).replace(b"-", b"x").replace(b"X", b"x")


def test_a_pass_phrase_of_words_leaves_the_same_words_in_capitals(meta: SessionMeta) -> None:
    """They are ordinary text."""
    events = [*repainted("summerrain"), Output(100, b"SUMMERRAIN")]

    assert b"SUMMERRAIN" in shown(meta, events)


def test_words_in_a_password_stay_in_small_letters(meta: SessionMeta) -> None:
    """What is found in capitals or small letters is the whole of it."""
    password = "SUMMER-" + "2024-X"
    events = [*repainted(password), Output(100, f"summer-time, {password.lower()}".encode())]

    assert shown(meta, events).endswith(b"summer-time, " + b"x" * len(password))
