"""The words that people meet first are plain English: help texts, and messages of errors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ptycassette.cli._options import SectionedCommand
from ptycassette.cli.entry import COMMANDS, SECTIONS, cli
from ptycassette.formats.export.registry import exports_of
from ptycassette.replaying.standin.io.options import STANDIN_OPTIONS

ROOT = Path(__file__).resolve().parents[3]
MARKERS = re.compile(
    r"""
    \b(?:says?|said|tells?|told|stands?(?![ -]in)|lies|knows)\b   # of things that are no persons
    | \b(?:whoever|nobody)\b
    | \b(?:is|are)\ none\b
    | (?<!there\ )\b(?:is|are)\ no\ (?!longer|larger|more)   # "is not a"
    | \bis\ there\ (?:already|twice)\b
    | (?:^|:\ )no\ (?:valid|regular|JSON|UTF-8|YAML)\b
    | (?:^|(?<=[.;:]\ ))(?:Of|What|Who|Where\ there\ is)\b        # where a sentence begins
    """,
    re.VERBOSE,
)
MOST_IN_HELP = 0.6
MOST_IN_ERRORS = 0.2
"""Markers in 1,000 words. They only go down."""
RAISERS = re.compile(r"(?:Error|UsageError|BadParameter|fail|refused?)$")


def commands() -> Iterator[tuple[str, click.Command]]:
    """All commands with their names, those of groups, too."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            for inner in command.list_commands(click.Context(command)):
                found = command.get_command(click.Context(command), inner)
                assert found is not None
                yield f"{name} {inner}", found


def help_texts() -> Iterator[tuple[str, str]]:
    """Every text of ``--help``, with its place."""
    yield "ptycassette", cli.help or ""
    for title, rows in SECTIONS.items():
        for name, (_, line) in rows.items():
            yield f"{title}: {name}", line
    for name, command in commands():
        yield name, command.help or ""
        for option in command.params:
            if isinstance(option, click.Option):
                yield f"{name} {option.opts[0]}", option.help or ""
    for one in STANDIN_OPTIONS:
        yield f"stand-in {one.name}", one.help
    for form in exports_of("recording"):
        yield f"export {form.name}", form.writes


def error_texts() -> Iterator[tuple[str, str]]:
    """Every text that is given to an exception, or as its hint, with its place."""
    for path in sorted((ROOT / "ptycassette").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and RAISERS.search(ast.unparse(node.func)):
                values = [*node.args, *(one.value for one in node.keywords if one.arg == "hint")]
                for value in values:
                    if text := text_of(value):
                        yield f"{path.relative_to(ROOT)}:{value.lineno}", text


def text_of(node: ast.expr) -> str:
    """A literal, with a letter in place of each value that is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(text_of(one) or "X" for one in values)
        case _:
            return ""


def rate(texts: list[tuple[str, str]]) -> tuple[float, list[str]]:
    """Markers in 1,000 words, and where they are."""
    words = sum(len(text.split()) for _, text in texts)
    found = [f"{at}: {text}" for at, text in texts for _ in MARKERS.findall(text)]
    return 1000 * len(found) / words, found


def test_help_is_plain_english() -> None:
    """A reader in a hurry understands it the first time."""
    texts = list(help_texts())
    now, found = rate(texts)

    assert len(texts) > 400
    assert now <= MOST_IN_HELP, found


def test_messages_are_plain_english() -> None:
    """The same for what went wrong, and what to do about it."""
    texts = list(error_texts())
    now, found = rate(texts)

    assert len(texts) > 500
    assert now <= MOST_IN_ERRORS, f"{now:.2f}: {found}"


@pytest.mark.parametrize(
    "text",
    [
        "the file says nothing",
        "Whatever lies there",
        "Of a CLI.",
        "is told",
        "nobody",
        "x: What",
        "X is no place",
        "is there already",
        "no valid JSON: X",
    ],
)
def test_a_marker_is_found(text: str) -> None:
    """Those of the style guide."""
    assert MARKERS.search(text)


@pytest.mark.parametrize(
    "text",
    ["stand-in", "Of course. No.", "a message of it", "Which way", "there is no X", "no key: X"],
)
def test_plain_words_are_no_markers(text: str) -> None:
    """``stand-in`` is a name of ours."""
    assert bool(MARKERS.search(text)) == text.startswith("Of")


def test_every_option_states_what_it_does() -> None:
    """A sentence with a capital, and a full stop."""
    missing = [
        f"{at}: {text}"
        for at, text in help_texts()
        if " -" in at and not re.match(r"[a-zA-Z].*\.", text, re.DOTALL)
    ]

    assert missing == []


def test_sections_name_options_that_exist() -> None:
    """Each in one section, and the first section is what people use first."""
    found = {name: one for name, one in commands() if isinstance(one, SectionedCommand)}

    assert {"rec", "export"} <= set(found)
    for command in found.values():
        names = [name for names in command.sections.values() for name in names]
        known = {
            name
            for one in command.get_params(click.Context(command, **cli.context_settings))
            for name in one.opts
        }
        assert set(names) <= known
        assert len(names) == len(set(names))
    assert len(found["rec"].sections["Options"]) <= 11


def test_export_lists_the_formats_of_the_registry() -> None:
    """So that the help stays true."""
    command = cli.get_command(click.Context(cli), "export")
    assert command is not None
    text = command.get_help(
        click.Context(command, info_name="export", max_content_width=80, **cli.context_settings)
    )
    below = text.partition("Formats:")[2]

    assert [one.name for one in exports_of("recording") if f"  {one.name} " not in below] == []
