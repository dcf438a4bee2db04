"""The corpus of ``make fuzz``, replayed without its tool."""

from __future__ import annotations

import importlib
import os
import random
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from fuzz.__main__ import CORPUS, MODULES
from fuzz.readers import READERS, spoilt
from ptycassette.errors import CassetteError

MOST_BYTES = 2000


def check_of(name: str) -> Callable[[bytes], None]:
    """What a target asserts of an input."""
    found: Callable[[bytes], None] = importlib.import_module(f"fuzz.targets.{name}").check
    return found


def corpus(name: str) -> list[Path]:
    """The inputs of a target."""
    return sorted((CORPUS / name).iterdir())


@pytest.mark.parametrize("name", MODULES)
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
    sizes = {name: [path.stat().st_size for path in corpus(name)] for name in MODULES}

    assert {path.name for path in CORPUS.iterdir()} == {*MODULES}
    assert len(MODULES) >= 9
    assert all(sizes.values())
    assert max(size for found in sizes.values() for size in found) <= MOST_BYTES


@pytest.mark.parametrize(
    ("function", "broken"),
    [
        ("ptycassette.model.visible_text._escape", lambda match: match.group()),
        ("ptycassette.formats.export.svg._xml", str),
        ("ptycassette.formats.export.text.TextStream.finish", lambda stream: "\x1b[2J"),
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


def refused(name: str, data: bytes) -> bool:
    """Whether a row refuses an input by an error of ours."""
    found = []
    row = READERS[name]
    errors = (CassetteError, *row.refuses)

    def read(path: Path) -> None:
        try:
            row.read(path)
        except errors as exc:
            found.append(exc)

    msgspec.structs.replace(row, read=read).check(data)
    return bool(found)


@pytest.mark.parametrize("name", READERS)
def test_every_reader_reads_a_seed(name: str) -> None:
    """What is refused at the first byte finds nothing."""
    seeds = list(READERS[name].seeds())

    assert not all(refused(name, seed) for seed in seeds)


@pytest.mark.parametrize("name", READERS)
def test_every_reader_reads_or_refuses_what_is_spoilt(name: str) -> None:
    """A sample of what ``make fuzz`` tries, without its tool."""
    chance = random.Random(name)
    row = READERS[name]
    seeds = list(row.seeds())
    for data in (b"", b"\xff\xfe\0", b"[" * 2000, b'{"a":' * 900, b'{"\xff": "\xff"}'):
        row.check(data)
    for _ in range(20):
        data = chance.choice(seeds)
        for _ in range(chance.randint(1, 3)):
            data = spoilt(data, chance)
        row.check(data)


@pytest.mark.parametrize(
    "act",
    [
        lambda path: subprocess.run(["true"], check=False),  # noqa: S607
        lambda path: path.parents[2].joinpath("outside").write_bytes(b""),
        lambda path: os.symlink("x", path.parents[2] / "outside"),  # noqa: PTH211
        lambda path: socket.create_connection(("127.0.0.1", 9), 0.1),
        lambda path: {}[path],
    ],
)
def test_what_no_reader_may_do_is_seen(act: Callable[[Path], object]) -> None:
    """A watch that sees nothing would hold for ever."""
    row = msgspec.structs.replace(READERS["trust"], read=act)

    with pytest.raises((AssertionError, OSError, KeyError)):
        row.check(b"")
