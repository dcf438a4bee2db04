"""What the tests of the viewer share: cassettes made on the spot, and the recorded ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptycassette import Size, open_cassette
from ptycassette.model import JournalEvent
from ptycassette.testing import manifest_of, write_cassette
from ptycassette_viewer.session import CassetteSource, ViewerSession

AGENTS = Path(__file__).resolve().parents[2] / "fixtures" / "agents"

MakeCassette = Callable[..., Path]
OpenSession = Callable[[Path], ViewerSession]


@pytest.fixture
def agents() -> Path:
    """The cassettes of real agent CLIs."""
    return AGENTS


@pytest.fixture
def make(tmp_path: Path) -> MakeCassette:
    """Write a cassette of the given events; returns where it is."""

    def write(*items: JournalEvent, name: str = "made", size: Size | None = None) -> Path:
        path = tmp_path / name
        write_cassette(path, *items, manifest=manifest_of(size=size))
        return path

    return write


@pytest.fixture
def session_of() -> Iterator[OpenSession]:
    """Open a session whose background work is done."""
    opened: list[ViewerSession] = []

    def open_it(path: Path) -> ViewerSession:
        cassette = open_cassette(path, check="manifest")
        session = ViewerSession(CassetteSource(cassette))
        session.checkpoints.every_s = 0.0
        opened.append(session)
        session.run()
        return session

    yield open_it
    for session in opened:
        session.close()
