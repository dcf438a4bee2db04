"""Prompts over pipes, and the lines that answer them."""

from __future__ import annotations

import pytest

from ptycassette.model.records import JournalEvent, Output, Typed
from ptycassette.scrub.typed.watch import TypedWatch

SECRET = "hunter" + "-22x"


def texts(*events: JournalEvent) -> list[str]:
    """What is learnt of a session without a screen."""
    watch = TypedWatch()
    for event in events:
        watch.saw(event, None)
    watch.ended()
    return [secret.text for secret in watch.values]


def said(text: str, stream: str = "stdout") -> Output:
    """Output of a pipe."""
    return Output(0, text.encode(), "stderr" if stream == "stderr" else "stdout")


def sent(text: str) -> Typed:
    """Input of a pipe."""
    return Typed(0, text.encode())


@pytest.mark.parametrize(
    "events",
    [
        [sent(f"{SECRET}\n"), said("Password: ")],
        [sent(f"alice\n{SECRET}\n"), said("login: Password: welcome alice\n")],
        [sent(f"alice\n{SECRET}"), said("login: "), said("Schlüssel: "), said("ok\n")],
        [said("Welcome!\nAPI token: ", "stderr"), sent(SECRET[:4]), sent(f"{SECRET[4:]}\nbob\n")],
        [sent(f"{SECRET}\r\n"), said("Enter your passphrase:\n"), said("done\n")],
        [sent(f"{SECRET}\n"), said("Pass"), said("word: ")],
        [said("Password: "), sent(f"{SECRET}\n"), said("Name: "), sent("bob\n")],
    ],
    ids=["ahead", "one piece", "no last newline", "later", "a row", "in pieces", "another prompt"],
)
def test_what_a_prompt_over_a_pipe_asks_for_by_name_is_secret(events: list[JournalEvent]) -> None:
    """Each prompt takes a line, in their order."""
    assert texts(*events) == [SECRET]


@pytest.mark.parametrize(
    "events",
    [
        [sent("hello\n"), said("12:30 INFO: password rotation: done\n")],
        [sent("hello\n"), said("hello\n")],
        [said("Name: "), sent("hello\n"), said("Password: ")],
        [sent("hello\n"), said("Token limit: ")],
    ],
    ids=["log", "no prompt", "another prompt", "no secret"],
)
def test_what_is_piped_to_others_is_no_secret(events: list[JournalEvent]) -> None:
    """Nothing of it is masked."""
    assert texts(*events) == []
