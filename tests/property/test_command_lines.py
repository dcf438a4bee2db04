"""A command that is exported is a line for a shell: its words come back, whatever is in them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette import open_cassette
from ptycassette.formats.export.asciicast import command_line
from ptycassette.formats.export.registry import export_named
from ptycassette.formats.importing.registry import import_named
from ptycassette.model.records import Manifest
from tests.examples import examples

DIALOG = Path(__file__).parents[2] / "fixtures" / "programs" / "dialog.cassette"
WORDS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
ARGVS = st.tuples(st.sampled_from(["bash", "a b", "x'y", 'q"q']), WORDS).map(
    lambda one: [*one[:1], *one[1]]
)
WORD = 'printf "%s-" a b; echo done'


@examples(200)
@given(ARGVS)
def test_words_come_back(argv: list[str]) -> None:
    """By the rules of a POSIX shell."""
    assert shlex.split(command_line(argv)) == argv


def test_a_shell_runs_the_same() -> None:
    """The line of ``sh -c`` stays as it is; other words are quoted."""
    for argv in (["sh", "-c", WORD], ["bash", "-c", WORD], ["printf", "%s|", "a b", "", "$HOME"]):
        bare = subprocess.run(argv, capture_output=True, check=True).stdout
        line = ["sh", "-c", command_line(argv)]
        assert subprocess.run(line, capture_output=True, check=True).stdout == bare


@pytest.mark.parametrize("line", ["echo 'a b'", 'printf "%s" "x y"', "true", 'echo "a" TERM="x"'])
@pytest.mark.parametrize("with_facts", [True, False])
def test_the_command_of_a_typescript_comes_back(line: str, with_facts: bool) -> None:
    """Script escapes no quotes in its first line."""
    facts = ' TERM="xterm" TTY="/dev/pts/1" COLUMNS="80" LINES="24"' if with_facts else ""
    head = f'Script started on 2026-01-01 00:00:00+00:00 [COMMAND="{line}"{facts}]\n'
    ends = {"executed": head, "not": head.replace("]\n", " <not executed on terminal>]\n")}
    for text in ends.values():
        by = import_named("typescript")
        session = by.read(text.encode() + b"hi", beside={"timing": b"0.1 2\n"})
        assert session.argv == ("sh", "-c", line)


def with_argv(*argv: str) -> Manifest:
    """The manifest of a recording of another command."""
    with open_cassette(DIALOG) as cassette:
        made = cassette.manifest
    return msgspec.structs.replace(made, command=msgspec.structs.replace(made.command, argv=argv))


@pytest.mark.parametrize(
    "name", ["asciicast", "asciicast-v1", "asciicast-v3", "timing", "html", "markdown"]
)
def test_every_export_quotes_its_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers for tools, and texts for people who copy them."""
    expected = shlex.join(["bash", "-c", WORD])
    with open_cassette(DIALOG) as cassette:
        monkeypatch.setattr(cassette, "manifest", with_argv("bash", "-c", WORD))
        text = b"".join(export_named(name).recording(cassette)).decode()
    escaped = json.dumps(expected)[1:-1]
    plain = re.sub("&quot;|&#34;", '"', re.sub("&#39;|&#x27;", "'", text)).replace("\\", "")

    assert any(one in text or one.replace("\\", "") in plain for one in (expected, escaped)), text[
        :900
    ]
