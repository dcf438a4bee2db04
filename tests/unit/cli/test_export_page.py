"""``ptycassette export``: a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.model.records import Output, Typed
from ptycassette.testing import fixed_id, write_cassette


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """A short session."""
    path = tmp_path / "made"
    write_cassette(path, Output(0, b"ready> "), Typed(1_000, b"x\r"), Output(2_000, b"done"))
    return path


@pytest.mark.parametrize(
    ("out", "options"),
    [
        ("out.html", ()),
        ("out", ("--html",)),
        ("out", ("--format", "html")),
        ("out.html", ("--html", "--format", "html")),
    ],
)
def test_a_page_is_written(
    out: str, options: tuple[str, ...], run: Callable[..., Any], cassette: Path, tmp_path: Path
) -> None:
    """By the ending of OUT, or by an option."""
    ran = run("export", *options, cassette, tmp_path / out)

    assert (ran.status, ran.err) == (0, "")
    assert 'class="player"' in (tmp_path / out).read_text()


def test_html_and_another_format_do_not_go_together(
    run: Callable[..., Any], cassette: Path, tmp_path: Path
) -> None:
    """One of them would be ignored."""
    ran = run("export", "--html", "--format", "svg", cassette, tmp_path / "out")

    assert ran.status == 2
    assert "--html and --format svg do not go together" in ran.err


def report(path: Path, number: int) -> Path:
    """A report of a stand-in about a cassette."""
    found = {
        "kind": "input-changed",
        "message": "another line was typed",
        "seq": 2,
        "t_ms": 1,
        "expected": {"text": "x", "bytes": ""},
        "got": {"text": "y", "bytes": ""},
        "hint": "type x",
    }
    path.write_text(
        json.dumps(
            {
                "report": "ptycassette-stand-in",
                "cassette_id": fixed_id(number),
                "divergences": [found],
            }
        )
    )
    return path


def test_divergences_stand_in_the_list(
    run: Callable[..., Any], cassette: Path, tmp_path: Path
) -> None:
    """At their place, with what was expected, what came, and what to do."""
    page = tmp_path / "out.html"
    ran = run("export", cassette, page, "--report", report(tmp_path / "r.json", 1))
    text = page.read_text()

    assert ran.status == 0
    assert "<b>divergence</b> input-changed: another line was typed" in text
    assert "expected: x\ngot: y\ntype x" in text


def test_a_report_about_another_recording_is_refused(
    run: Callable[..., Any], cassette: Path, tmp_path: Path
) -> None:
    """And nothing is written."""
    page = tmp_path / "out.html"
    ran = run("export", cassette, page, "--report", report(tmp_path / "r.json", 2))
    missing = run("export", cassette, page, "--report", tmp_path / "nothing.json")

    assert ran.status == 2
    assert "the report is about other recordings" in ran.err
    assert "there is no report" in missing.err
    assert not page.exists()
