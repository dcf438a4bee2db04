"""``export`` to text: frames, or everything that scrolled by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.model.records import Output, Resized
from ptycassette.model.screen import Size
from ptycassette.testing import manifest_of, write_cassette


@pytest.fixture
def scrolled(tmp_path: Path) -> Path:
    """Nine lines on a screen of four rows, and a visit to the alternate screen."""
    path = tmp_path / "scrolled"
    lines = b"".join(b"line %d\r\n" % number for number in range(1, 9))
    write_cassette(
        path,
        Output(0, lines),
        Output(1, b"\x1b[?1049h\x1b[Helsewhere\x1b[?1049l"),
        Resized(2, Size(rows=3, cols=20)),
        Output(3, b"the \x1b[1mend\xe2\x80\xae"),
        manifest=manifest_of(size=Size(rows=4, cols=20)),
    )
    return path


@pytest.mark.parametrize(("rows", "first"), [(100, 1), (2, 5), (0, 7)])
def test_rows_that_scrolled_off_stand_above_the_last_screen(
    rows: int, first: int, run: Callable[..., Any], scrolled: Path
) -> None:
    """As many as were asked for, without what was drawn elsewhere, made visible."""
    text = run("export", scrolled, "-", "-f", "text", "--scrollback", rows).text

    assert text.splitlines() == [
        *(f"line {number}" for number in range(first, 9)),
        "the end\\u202e",
    ]


def test_a_session_is_what_one_would_copy(
    run: Callable[..., Any], scrolled: Path, tmp_path: Path
) -> None:
    """Every line once, wrapped rows joined, backslashes as they are."""
    path = tmp_path / "wrapped"
    write_cassette(
        path,
        Output(0, b"C:\\dir and a line that is longer than a row\r\nnext\r\n"),
        manifest=manifest_of(size=Size(rows=4, cols=20)),
    )

    text = run("export", path, "-", "-f", "text").text
    assert text.splitlines() == ["C:\\dir and a line that is longer than a row", "next"]
    assert run("export", scrolled, "-", "-f", "text").text.splitlines()[0] == "line 1"


def test_full_screen_programs_stand_where_they_were_started(
    run: Callable[..., Any], in_fixtures: Path
) -> None:
    """With what they showed last, once."""
    lines = run("export", "agents/codex-tui", "-", "-f", "text").text.splitlines()

    assert lines[0] == "--- full screen, 5.542 s"
    assert len(lines) < 50
    assert lines[-1].startswith("Or run codex resume")
    assert [line for line in lines if "Ask Codex" in line] != []


def test_all_frames_are_still_to_be_had(run: Callable[..., Any], in_fixtures: Path) -> None:
    """Each below its time; together with ``--scrollback`` it makes no sense."""
    words = ("export", "agents/codex-tui", "-", "-f", "text", "--frames")

    assert run(*words).text.count("\n--- ") == 20
    assert run(*words, "--scrollback", 5).status == 2


def test_a_file_that_is_there_stays(
    run: Callable[..., Any], scrolled: Path, tmp_path: Path
) -> None:
    """Refused with 6, unless the user says that it goes."""
    out = tmp_path / "out.txt"
    out.write_text("mine")

    refused = run("export", scrolled, out)
    assert refused.status == 6
    assert "exists already" in refused.err
    assert out.read_text() == "mine"
    assert run("export", scrolled, out, "--overwrite", "--scrollback", 9).status == 0
    assert "the end" in out.read_text()


def test_a_format_of_one_screen_leads_to_frames(run: Callable[..., Any], scrolled: Path) -> None:
    """The ending is known, but a session cannot be written so."""
    ran = run("export", scrolled, scrolled.with_suffix(".ansi"))

    assert ran.status == 2
    assert "ptycassette frames CASSETTE --last --format ansi" in ran.err
