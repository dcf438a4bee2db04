"""The registry of exports: what it names is there, and what reads it knows of a new row."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ptycassette.errors import UsageError
from ptycassette.formats.export import registry
from ptycassette.formats.export.options import EXPORT_OPTIONS
from ptycassette.formats.export.registry import EXPORTS, ExportFormat, export_of_file
from ptycassette.model.records import Output
from ptycassette.model.screen import Cursor, Screen, Size
from ptycassette.testing import write_cassette

WHOLE = ("--seq", "1", "--render")
DOCS = Path(__file__).resolve().parents[3] / "docs"
SHOUT = ExportFormat(
    name="shout",
    endings=(".shout",),
    writes="capital letters",
    of_recording="shout:of_recording",
    of_screen="shout:of_screen",
    options=("title",),
)


@pytest.fixture
def shouting(monkeypatch: pytest.MonkeyPatch) -> None:
    """One module and one row more than there are."""
    for command in ("export", "frames"):  # as they are, to be put back afterwards
        importlib.import_module(f"ptycassette.cli.{command}")
    module = ModuleType("ptycassette.formats.export.shout")
    vars(module)["of_recording"] = lambda source, *, title=None: (
        f"{title} ".upper().encode() + event.data.upper() for event in source.events() if event.data
    )
    vars(module)["of_screen"] = lambda screen: screen.text.upper().encode()
    monkeypatch.setitem(sys.modules, "ptycassette.formats.export.shout", module)
    monkeypatch.setattr(registry, "EXPORTS", (*EXPORTS, SHOUT))
    for command in ("export", "frames"):
        monkeypatch.delitem(sys.modules, f"ptycassette.cli.{command}")


def test_a_new_row_is_all_that_a_new_export_needs(
    shouting: None, run: Callable[..., Any], tmp_path: Path
) -> None:
    """Its choice, ending and options are known to the commands, its ending to dialogs."""
    write_cassette(tmp_path / "made", Output(0, b"hello"))
    ran = run("export", tmp_path / "made", tmp_path / "out.shout", "--title", "oh")
    screen = Screen(size=Size(rows=1, cols=5), rows=("hello",), cursor=Cursor(row=0, col=0))

    assert (ran.status, (tmp_path / "out.shout").read_text()) == (0, "OH HELLO")
    assert "shout" in run("export", "--help").text
    assert run("frames", tmp_path / "made", *WHOLE, "-f", "shout").text.strip() == "HELLO"
    assert export_of_file("x.SHOUT", of="screen").screen(screen) == b"HELLO"


@pytest.mark.parametrize("one", EXPORTS, ids=lambda one: one.name)
def test_makers_take_what_the_row_says(one: ExportFormat) -> None:
    """They are there, and their keywords are the options of the row."""
    for made_by in filter(None, (one.of_recording, one.of_screen)):
        module, _, name = made_by.partition(":")
        maker = getattr(importlib.import_module(f"ptycassette.formats.export.{module}"), name)
        keywords = [
            parameter.name
            for parameter in inspect.signature(maker).parameters.values()
            if parameter.kind is parameter.KEYWORD_ONLY and made_by == one.of_recording
        ]

        assert keywords == [*one.options] or made_by == one.of_screen


def test_every_row_makes_something_and_no_option_is_left_over() -> None:
    """Of a recording or of a screen; and each option is taken by some format."""
    assert [one.name for one in EXPORTS if not (one.of_recording or one.of_screen)] == []
    assert {name for one in EXPORTS for name in one.options} == {one.name for one in EXPORT_OPTIONS}


def test_no_two_rows_share_a_name_or_an_ending() -> None:
    """Or the ending would not tell."""
    names = [one.name for one in EXPORTS]
    endings = [ending for one in EXPORTS for ending in one.endings]

    assert len(names) == len(set(names))
    assert len(endings) == len(set(endings))


@pytest.mark.parametrize("one", EXPORTS, ids=lambda one: one.name)
def test_the_guides_have_every_row(one: ExportFormat) -> None:
    """The table of the command line, and the endings that the viewer's dialog takes."""
    viewer = (DOCS / "viewer.md").read_text(encoding="utf-8")
    rows = (DOCS / "cli.md").read_text(encoding="utf-8").splitlines()
    unknown = [ending for ending in one.endings if one.of_screen and f"`{ending}`" not in viewer]

    assert one.row in rows, f"docs/cli.md lacks the row {one.row}"
    assert unknown == [], "docs/viewer.md does not name these endings"


def test_an_option_that_a_format_has_no_use_for_is_refused(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    """It would be ignored, and the user would believe that it was obeyed."""
    write_cassette(tmp_path / "made", Output(0, b"hello"))
    ran = run("export", tmp_path / "made", tmp_path / "out.txt", "--still")

    assert ran.status == 2
    assert "text takes no --still" in ran.err
    assert "write svg" in ran.err


def test_an_unknown_ending_names_those_that_are_known() -> None:
    """Those of what is to be written: one screen, or a recording."""
    with pytest.raises(UsageError) as wrong:
        export_of_file("out.cast", of="screen")

    named = re.findall(r"\.\w+", wrong.value.hint or "")
    assert named == [end for one in EXPORTS if one.of_screen for end in one.endings]
    assert ".cast" not in named
