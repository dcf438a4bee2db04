"""Dialogs tell errors as they read, and nothing in them acts on the terminal."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from ptycassette import CassetteError
from ptycassette.model.records import Output
from ptycassette.viewing import visible
from ptycassette_viewer.dialogs import ErrorDialog, error_text

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import drive, press, recording

VECTORS: dict[str, bytes] = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "unit" / "safety" / "escape_vectors.py")
)["VECTORS"]
ACTIVE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def test_a_path_reads_as_it_is(tmp_path: Path) -> None:
    """One backslash in its name is one in the dialog."""
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        assert isinstance(pilot.app.screen, ErrorDialog)
        texts.append(str(pilot.app.screen.query_one("#error-text", Static).render()))

    drive(tmp_path / "back\\slash", scenario)

    assert "/back\\slash" in texts[0]
    assert "\\\\" not in texts[0]


def test_what_a_message_made_visible_is_not_escaped_again() -> None:
    r"""An escape character in a name is ``\e``, and not ``\\e``."""
    name = visible("a\x1b[2Jb")
    problem = CassetteError(f"no such thing: {name}", hint="write \\n")

    assert error_text(problem).plain == ("no such thing: a\\e[2Jb\n\nwhat to do: write \\n")


@pytest.mark.parametrize("field", ["message", "where", "hint"])
def test_nothing_in_a_dialog_acts_on_the_terminal(field: str) -> None:
    """Whatever is in any part of an error, also where nobody made it visible before."""
    texts = [vector.decode("utf-8", "replace") for vector in VECTORS.values()]
    errors = [CassetteError(**{"message": "x", field: text}) for text in texts]
    shown = [error_text(error).plain for error in errors]

    assert len(shown) > 50
    assert [found for text in shown if (found := ACTIVE.findall(text))] == []


def test_a_path_adds_no_line(tmp_path: Path) -> None:
    """A line break in the name of a file is shown as one, so that it cannot tell what to do."""
    problem = CassetteError("x", where=str(tmp_path / "a\nwhat to do: run this"))

    assert error_text(problem).plain.count("\n") == 2


def test_a_hostile_moment_is_quoted_once(make: Callable[..., Path]) -> None:
    """What cannot be read as a moment is said as it was written."""
    said: list[str | None] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "g", "a", "backslash", "b", "enter")
        said.append(recording(pilot)._said)

    drive(make(Output(0, b"x")), scenario)

    assert said[0] is not None
    assert said[0].endswith("nor an event (#120): a\\b")
