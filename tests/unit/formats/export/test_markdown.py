"""A recording as Markdown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.formats.export.markdown import recording_markdown

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
CODEX = FIXTURES / "agents" / "codex-tui"


def markdown_of(cassette: Path, **options: Any) -> str:
    """The Markdown of a cassette."""
    with open_cassette(cassette, check="manifest") as source:
        return b"".join(recording_markdown(source, **options)).decode()


def test_turns_are_folds_with_what_was_typed_and_shown() -> None:
    """In order, with the screen at the end of each."""
    made = markdown_of(CODEX)
    folds = made.split("<details>")

    assert made.startswith("# `codex`\n\n`codex codex-cli ")
    assert re.match(
        r"<summary>Exchanges 1 to 3, 1\.\d\d s: "
        r"<code>What does note\.txt say\?&lt;enter&gt;</code></summary>\n\n"
        r"- 1\.\d\d s input `enter`\n",
        folds[2],
    )
    assert "\n\u2022 The note says: buy walnuts.\n" in folds[2]
    assert "\u2022 The note" not in folds[1]
    assert "answer of the terminal" not in made


@pytest.mark.parametrize(
    ("exchanges", "inputs"),
    [
        ((1, 1), ["What does"]),
        ((3, 4), ["What does", "/status"]),
        ((4, 4), ["/status"]),
        ((6, 9), ["&lt;ctrl-c&gt;"]),
    ],
)
def test_only_some_exchanges(exchanges: tuple[int, int], inputs: list[str]) -> None:
    """Those of a range, and turns that reach into it."""
    folds = markdown_of(CODEX, exchanges=exchanges).split("<code>")[1:]

    assert len(folds) == len(inputs)
    assert all(fold.startswith(typed) for fold, typed in zip(folds, inputs, strict=True))


def test_over_pipes_there_is_what_was_written() -> None:
    """With the names of the streams."""
    made = markdown_of(FIXTURES / "pipes" / "sqlite3.cassette")

    assert "stdout:\n1|one\n2|two\n" in made
    assert "stderr:\n" in made
