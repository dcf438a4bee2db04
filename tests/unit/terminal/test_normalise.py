"""Rewriting what is volatile, for comparison."""

from __future__ import annotations

import pytest

from ptycassette.model import Size
from ptycassette.terminal import Normaliser, Rule, default_emulator, normaliser
from ptycassette.terminal.normalise import RULES


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("spinner", "⠋ Thinking", "<spinner> Thinking"),
        ("spinner", "✶ Brewing… and ✻ more", "<spinner> Brewing… and <spinner> more"),
        ("spinner", "| working...", "<spinner> working..."),
        ("spinner", "- an item\n| a cell |", "- an item\n| a cell |"),
        ("clock", "at 12:03:44.5 today", "at <time> today"),
        ("clock", "2026-01-02T03:04:05Z", "<time>"),
        ("clock", "Mon, 5 Jan 2026", "<time>"),
        ("clock", "3:45 pm", "<time>"),
        ("clock", "ratio 12:345", "ratio 12:345"),
        (
            "duration",
            "took 12s, 1m 3s, 350ms, 2 minutes",
            "took <duration>, <duration>, <duration>, <duration>",
        ),
        ("duration", "12 sheep", "12 sheep"),
        ("pid", "PID 4312, process: 17", "PID <pid>, process: <pid>"),
        ("pid", "rapid 12", "rapid 12"),
        ("pid", "room 12", "room 12"),
        ("uuid", "550e8400-e29b-41d4-a716-446655440000", "<uuid>"),
        ("path", "in /home/bob/a-b/x.py:12", "in <path>:12"),
        ("path", "~/src/x and a/home/b", "<path> and a/home/b"),
        ("tokens", "3.4k tokens, 1,234 tok", "<n> tokens, <n> tok"),
        ("cost", "$0.0123", "<cost>"),
        ("size", "1.2 MB/s of 12 bytes", "<size> of <size>"),
        ("progress", "42% ████░░░", "<progress> <progress>"),
        ("hash", "commit 8f3a2b1c9d, face, 1234567", "commit <hash>, face, 1234567"),
        ("port", "http://localhost:5173/", "http://localhost:<port>/"),
        ("blank", "a  \nb\t", "a\nb"),
    ],
)
def test_a_rule_rewrites_what_it_is_for(rule: str, text: str, expected: str) -> None:
    """And nothing else."""
    assert normaliser(rule)(text) == expected


def test_every_rule_is_idempotent() -> None:
    """Normalising twice is normalising once."""
    text = "⠋ 12s · 3k tokens 42% at 12:03 in /home/a/b pid 7 $1 8f3a2b1c9d localhost:80 1 MB  "
    for rule in RULES:
        once = normaliser(rule.name)(text)

        assert normaliser(rule.name)(once) == once, rule.name
    assert normaliser()(normaliser()(text)) == normaliser()(text)


def test_rules_of_ones_own_come_first() -> None:
    """A definition of the caller wins over the built-in ones."""
    mine = normaliser("clock", extra=[Rule("build", r"build at \d\d:\d\d", "<build>")])

    assert mine("build at 12:03, 12:04") == "<build>, <time>"


def test_normalisers_compose() -> None:
    """The sum applies one after the other."""
    both = normaliser("clock") + Normaliser([Rule("x", "<time>", "T")])

    assert both("12:03") == "T"


def test_the_screen_that_is_compared_stays_as_it_is() -> None:
    """Evidence is never changed."""
    emulator = default_emulator(Size(2, 20))
    emulator.feed(b"at 12:03:44")
    screen = emulator.snapshot()

    assert normaliser("clock").screen(screen) == ("at <time>", "")
    assert screen.rows == ("at 12:03:44", "")


def test_bad_names_and_patterns_are_refused() -> None:
    """The message says which, and what there is."""
    with pytest.raises(ValueError, match="unknown rule 'clok'; one of uuid, clock"):
        normaliser("clok")
    with pytest.raises(ValueError, match="rule 'bad'"):
        Normaliser([Rule("bad", "(", "")])
