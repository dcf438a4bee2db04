"""A divergence for people, for programs and as an exception."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptycassette
from ptycassette.errors import DivergenceError
from ptycassette.replaying.divergence import (
    DIVERGENCE_KINDS,
    KINDS,
    Divergence,
    DivergenceKind,
    DivergenceSide,
    Nearest,
    divergence_error,
    divergence_lines,
    divergence_object,
)

DOCS = Path(__file__).resolve().parents[3] / "docs"
JSON = (DOCS / "json.md").read_text(encoding="utf-8")
FOUND = Divergence(
    kind="input-changed",
    message="input 2 is not what was recorded",
    seq=7,
    t_ms=1200,
    exchange=2,
    expected=DivergenceSide("hello<enter>", b"hello\r"),
    got=DivergenceSide("\x1b[2J\udcff", b"\x1b[2J\xff"),
    screen=("> \x1b[31m", ""),
    nearest=Nearest(3, 9, 1500, "hallo<enter>", 0.5),
)


def test_people_read_all_of_it_and_nothing_acts_on_their_terminal() -> None:
    """Expected, got, nearest, the screen, what to do."""
    text = "\n".join(divergence_lines(FOUND))

    assert "input-changed at seq 7, 1200 ms, input 2" in text
    assert "expected: hello<enter>" in text
    assert "\x1b" not in text
    assert "\\e[2J" in text
    assert "input 3 (seq 9, 1500 ms), 50% alike" in text


def test_programs_read_all_of_it() -> None:
    """Bytes as base64, text that is no UTF-8 escaped."""
    found = divergence_object(FOUND)

    assert found["expected"] == {"text": "hello<enter>", "bytes": "aGVsbG8N"}
    assert found["got"]["text"] == "\x1b[2J\\udcff"
    assert found["nearest"]["similarity"] == 0.5
    assert found["hint"] == FOUND.advice


@pytest.mark.parametrize("kind", DIVERGENCE_KINDS)
def test_every_kind_has_a_hint(kind: str) -> None:
    """What to do next is always said."""
    bare = Divergence(kind=kind, message="m", seq=1, t_ms=0)

    assert len(bare.advice) > 20
    assert next(iter(divergence_lines(bare))) == f"{kind} at seq 1, 0 ms: m"
    assert divergence_object(bare)["got"] is None


def test_a_given_hint_replaces_the_usual_one() -> None:
    """Whoever found it may know better."""
    assert Divergence(kind="timing", message="", seq=0, t_ms=0, hint="x").advice == "x"


def test_python_callers_get_an_exception() -> None:
    """With the hint where the command line prints it."""
    error = divergence_error(FOUND, where="a.cassette")

    assert isinstance(error, DivergenceError)
    assert error.hint == FOUND.advice
    assert "got:" in str(error)
    assert str(error).count("hint:") == 1


def test_another_kind_is_a_mistake_of_whoever_makes_it() -> None:
    """A report with it could be read by nobody."""
    with pytest.raises(ValueError, match="no kind of divergence: odd"):
        Divergence(kind="odd", message="", seq=0, t_ms=0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_guides_have_every_kind(kind: DivergenceKind) -> None:
    """The table of kinds, with the words of the registry, and the list of their names."""
    guide = (DOCS / "stand-in.md").read_text(encoding="utf-8").splitlines()
    row = f"| `{kind.name}` | {kind.when} |"
    listed = re.search(r"^\| `kind` \| string \| (`input-.*) \|$", JSON, re.MULTILINE)

    assert row in guide, f"docs/stand-in.md lacks the row {row}"
    assert listed is not None
    names = [f"`{name}`" for name in DIVERGENCE_KINDS]
    assert listed[1].split(", ") == names, "docs/json.md: the values of `kind`"


def test_a_kind_is_worded_in_one_place() -> None:
    """No other module of the package spells its name."""
    names = re.compile("|".join(f'"{name}"' for name in DIVERGENCE_KINDS if "-" in name))
    spelt = {
        path.name
        for path in Path(ptycassette.__file__).parent.rglob("*.py")
        if names.search(path.read_text(encoding="utf-8"))
    }

    assert spelt == {"divergence.py"}
