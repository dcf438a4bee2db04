"""The corpus of ``make fuzz``, replayed without its tool."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.__main__ import CORPUS, TARGETS

MOST_BYTES = 2000


def check_of(name: str) -> Callable[[bytes], None]:
    """What a target asserts of an input."""
    found: Callable[[bytes], None] = importlib.import_module(f"fuzz.targets.{name}").check
    return found


def corpus(name: str) -> list[Path]:
    """The inputs of a target."""
    return sorted((CORPUS / name).iterdir())


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_holds_on_its_corpus(name: str) -> None:
    """What was found once is not found again."""
    check = check_of(name)
    broken = []
    for path in corpus(name):
        try:
            check(path.read_bytes())
        except Exception as exc:  # noqa: BLE001 - that is what is looked for
            broken.append(f"{path.name}: {type(exc).__name__}: {exc}")

    assert broken == []


def test_every_target_has_a_corpus_and_it_is_small() -> None:
    """A directory for each, of nothing that is longer than what is fuzzed."""
    sizes = {name: [path.stat().st_size for path in corpus(name)] for name in TARGETS}

    assert {path.name for path in CORPUS.iterdir()} == {*TARGETS}
    assert len(TARGETS) >= 9
    assert all(sizes.values())
    assert max(size for found in sizes.values() for size in found) <= MOST_BYTES


@pytest.mark.parametrize(
    ("function", "broken"),
    [
        ("ptycassette.model.visible_text._escape", lambda match: match.group()),
        ("ptycassette.export.svg._xml", str),
        ("ptycassette.export.text.TextStream.finish", lambda stream: "\x1b[2J"),
    ],
)
def test_the_corpus_shows_what_is_no_longer_escaped(
    function: str, broken: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target that sees nothing would hold for ever."""
    monkeypatch.setattr(function, broken)
    check = check_of("rendering")
    inputs = [path.read_bytes() for path in corpus("rendering")]

    with pytest.raises((AssertionError, SyntaxError)):
        list(map(check, inputs))
