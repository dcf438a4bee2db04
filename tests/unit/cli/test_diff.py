"""``ptycassette diff``: its statuses, its text, and what ``drift`` takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette import drift, open_cassette, semantic_drift, use
from ptycassette.model.records import ExitStatus, Finished, Output, Typed
from ptycassette.testing import write_cassette

Run = Callable[..., Any]


def _session(path: Path, *lines: str, code: int = 0) -> Path:
    items: list[Any] = [Output(0, b"> ")]
    for number, line in enumerate(lines, 1):
        items += [
            Typed(number * 10_000, line.encode() + b"\r"),
            Output(number * 10_000 + 1, f"you said {line}\r\n".encode()),
        ]
    status = ExitStatus(code=code, exited=True, signaled=False)
    write_cassette(path, *items, Finished(t_us=900_000, exit=status))
    return path


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """The second has one more input, and ended badly."""
    old = _session(tmp_path / "old.cassette", "a", "b")
    return old, _session(tmp_path / "new.cassette", "a", "x", "b", code=3)


CHANGED = """\
--- OLD
+++ NEW
changed: 1 input, 1 other difference
input 2 added
  + x<enter>
exit-changed: the program ends differently
  - status 0
  + status 3
"""


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("OLD OLD", 0, "OLD and OLD are the same\n"),
        ("OLD NEW", 1, CHANGED),
        ("-q OLD NEW", 1, ""),
        # A threshold is for meaning; alone it would do nothing.
        ("--threshold 0.5 OLD NEW", 2, ""),
        ("--semantic --threshold 0.5 OLD NEW", 1, CHANGED),
        # What cannot be opened is no difference.
        ("OLD none", 3, ""),
        ("OLD EMPTY", 4, ""),
    ],
)
def test_a_comparison_has_its_status_and_its_text(
    run: Run, pair: tuple[Path, Path], tmp_path: Path, *, words: str, status: int, said: str
) -> None:
    """Names, a count, and each change with its old and its new lines."""
    (tmp_path / "empty").mkdir()
    places = {"OLD": pair[0], "NEW": pair[1], "EMPTY": tmp_path / "empty"}
    ran = run("diff", *(places.get(word, word) for word in words.split()))

    assert ran.status == status
    assert ran.text == said.replace("OLD", str(pair[0])).replace("NEW", str(pair[1]))


def test_a_screen_says_more_than_its_bytes(run: Run, in_fixtures: Path) -> None:
    """Where both differ, rows are shown, those alone that only one recording has."""
    text = run("diff", "agents/codex-tui", "agents/codex-account").text

    assert "after input 2: the screen differs\n  - " in text
    assert "output from byte" not in text
    assert "  + \n" not in text


def test_as_json(run: Run, pair: tuple[Path, Path]) -> None:
    """One object."""
    ran = run("diff", "--json", *pair)
    found = json.loads(ran.text)

    assert (ran.status, found["same"]) == (1, False)
    assert [(one["kind"], one["new"]) for one in found["exchanges"]] == [("added", 2)]
    assert [one["kind"] for one in found["divergences"]] == ["exit-changed"]


def test_nothing_of_a_hostile_cassette_acts_on_the_terminal(
    run: Run, hostile: Path, cassette: Path
) -> None:
    """Whatever differs."""
    ran = run("diff", hostile, cassette)

    assert ran.status == 1
    assert [char for char in ran.text if not char.isprintable() and char != "\n"] == []


def test_drift_takes_what_open_and_use_give(pair: tuple[Path, Path]) -> None:
    """In any mixture."""
    old, new = pair
    using = use(old, mode="replay", allow_unplayed=True)
    with using:
        pass
    with open_cassette(new) as opened:
        kinds = [
            [change.kind for change in drift(one, other).exchanges]
            for one, other in ((old, opened), (str(old), new), (using, opened), (using.result, new))
        ]
        meant = semantic_drift(use(old), opened)

    assert kinds == [["added"]] * 4
    assert [change.kind for change in meant.exchanges] == ["added"]


def test_drift_of_something_else_says_what_it_takes() -> None:
    """And not that an attribute is missing."""
    with pytest.raises(TypeError, match="int is not a recording: give the path"):
        drift(1, 2)  # type: ignore[arg-type]
