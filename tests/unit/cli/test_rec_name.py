"""Which word of ``rec`` names the cassette, and commands that are mistyped."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest

from ptycassette.cli.entry import COMMANDS, MEANT
from ptycassette.cli.rec_name import RecCommand, generated_names

Run = Callable[..., Any]
NOW = datetime(2026, 11, 23, 18, 45, 2, tzinfo=UTC)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """What the words mean, where ``env`` is the only program there is."""
    monkeypatch.setattr("shutil.which", lambda name: "/bin/env" if name == "env" else None)
    command = RecCommand(
        "rec",
        params=[
            click.Argument(["cassette"], required=False),
            click.Argument(["argv"], nargs=-1, type=click.UNPROCESSED),
            click.Option(["-c", "--command", "line"]),
            click.Option(["-t", "--title"]),
            click.Option(["-q", "--quiet"], is_flag=True),
        ],
    )

    def parse(*words: str) -> dict[str, Any]:
        return command.make_context("rec", list(words)).params

    return parse


@pytest.mark.parametrize(
    ("words", "cassette", "argv"),
    [
        (("x", "--", "env", "true"), "x", ("env", "true")),
        (("--", "env", "true"), None, ("env", "true")),
        (("-t", "T", "--", "env", "-t"), None, ("env", "-t")),
        (("x", "-t", "T", "--", "a", "--", "b"), "x", ("a", "--", "b")),
        (("env", "--", "true"), "env", ("true",)),
        (("./env", "true"), "./env", ("true",)),
        (("x", "env", "-t"), "x", ("env", "-t")),
        (("-c", "a b"), None, ()),
        (("-c", "a b", "env"), "env", ()),
        (("--",), None, ()),
    ],
)
def test_what_stands_before_the_dashes_is_the_name(
    words: tuple[str, ...], cassette: str | None, argv: tuple[str, ...], parsed: Callable[..., Any]
) -> None:
    """And all that follows is the program, whatever it looks like."""
    found = parsed(*words)

    assert (found["cassette"], tuple(found["argv"])) == (cassette, argv)


@pytest.mark.parametrize(
    ("words", "quiet", "title"),
    [
        (("-q", "--", "env"), True, None),
        (("-qt", "T", "--", "env"), True, "T"),
        (("-q", "-t", "-q", "--", "env", "-q"), True, "-q"),
        (("-t", "-q", "x", "env"), False, "-q"),
        (("x", "-q", "--", "env"), True, None),
    ],
)
def test_flags_in_short_are_flags_where_they_stand_as_such(
    words: tuple[str, ...], *, quiet: bool, title: str | None, parsed: Callable[..., Any]
) -> None:
    """The value of another option, and an argument of the program, are none."""
    found = parsed(*words)

    assert (found["quiet"], found["title"]) == (quiet, title)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("env", "true"), r"rec \[OPTIONS\] -- env true"),
        (("env",), r"env is in the place of the cassette's name, but it is a program"),
        ((), r"there is nothing to record"),
        (("", "env"), "the name of the cassette is empty"),
        (("", "--", "env"), "the name of the cassette is empty"),
        (("-c", "a b", ""), "the name of the cassette is empty"),
        (("x", "y", "--", "env"), r"more than a name before --: x y"),
    ],
)
def test_a_name_that_was_forgotten_is_an_error(
    words: tuple[str, ...], said: str, parsed: Callable[..., Any]
) -> None:
    """Which says what to write instead."""
    with pytest.raises(click.UsageError, match=said):
        parsed(*words)


def test_a_name_is_made_of_program_and_time(tmp_path: Path) -> None:
    """One that nothing has yet, and that is safe as a name of a file."""
    first = _first(("/usr/bin/claude", "-p"), tmp_path)
    (tmp_path / first).mkdir()

    assert first == "claude-20261123-184502.cassette"
    assert _first(("claude",), tmp_path) == "claude-20261123-184502-2.cassette"
    assert _first(("..",), tmp_path).startswith("recording-")
    assert _first(("a b\x1b[2J\n",), tmp_path).startswith("a-b-2J-2026")


def _first(argv: tuple[str, ...], at: Path) -> str:
    return next(generated_names(argv, NOW, at=at))


def test_recording_without_a_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cassette is where the command was run, and the last line says its name."""
    monkeypatch.chdir(tmp_path)
    ran = run("rec", "--headless", "--", "echo", "hi")
    (made,) = tmp_path.iterdir()

    assert (ran.status, ran.text) == (0, "hi\r\n")
    assert re.fullmatch(r"echo-\d{8}-\d{6}\.cassette", made.name)
    assert made.name in ran.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        # By likeness, or by what other tools call it.
        *((word, rf"Did you mean .*\b{meant}\b") for word, meant in (
            ("plya", "play"), ("record", "rec"), ("list", "ls"), ("verfy", "verify"), ("lss", "ls"),
            ("codegen", "export"), ("show-trace", "view"))),
        # Words that are options here, and commands that there are none of.
        ("help", "Write: ptycassette --help"),
        ("version", "Write: ptycassette --version"),
        ("help rec", "ptycassette COMMAND --help"),
        ("rm x", "rm -r CASSETTE"),
        ("CASSETTE", "ptycassette info CASSETTE"),
        # ``--overwrite`` is for a cassette that is known.
        ("rec --overwrite -- true", ""),
        ("cutt x", r"Did you mean edit cut\?"),
        # A guess would be noise.
        ("xyzzy", r"^((?!Did you mean)[\s\S])*$"),
    ],
)  # fmt: skip
def test_what_is_no_command_is_answered_with_what_was_meant(
    words: str, meant: str, run: Run, cassette: Path
) -> None:
    """As far as anybody can tell."""
    ran = run(*words.replace("CASSETTE", str(cassette)).split())

    assert ran.status == 2
    assert re.search(meant, ran.err.replace(str(cassette), "CASSETTE"))


def test_what_others_call_our_commands_leads_to_commands() -> None:
    """A command that is renamed takes its entry along."""
    assert set(MEANT.values()) <= set(COMMANDS)
    assert set(MEANT) & set(COMMANDS) == set()
