"""The committed recordings over pipes: as sessions, and as programs that subprocess starts."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ptycassette import Session, use
from ptycassette.replaying.standin.io import boot

pytestmark = pytest.mark.integration
FIXTURES = Path(__file__).parents[2] / "fixtures"
PLACE = FIXTURES / "pipes"
ROWS = b"1|one\n2|two\n"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """The script that recorded them."""
    spec = importlib.util.spec_from_file_location("make_pipes", FIXTURES / "make_pipes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_drives_of_the_recordings_replay_them(maker: ModuleType) -> None:
    """Without the programs."""
    ends: dict[str, tuple[bytes, int]] = {}
    for name, (_, drive) in maker.PROGRAMS.items():
        with use(PLACE / f"{name}.cassette", ["/dev/null/program"], mode="replay") as session:
            assert isinstance(session, Session)
            drive(session)
            assert session.exit_status is not None
            ends[name] = (session.stdout, session.exit_status.code)

    assert ends["sqlite3"] == (ROWS, 1)
    assert ends["lines"][0].count(b"echo") == 2
    assert ends["lines"][1] == 3


def test_a_caller_gets_both_streams_and_the_status(maker: ModuleType) -> None:
    """From the stand-in, as ``subprocess.run(capture_output=True)`` gets them of sqlite3."""
    stand_in = [sys.executable, "-I", "-S", str(boot.__file__), str(PLACE / "sqlite3.cassette")]
    done = subprocess.run(
        stand_in, input=maker.SQL.encode(), capture_output=True, check=False, timeout=120
    )

    assert (done.returncode, done.stdout) == (1, ROWS)
    assert done.stderr.startswith(b"Parse error near line 4")
