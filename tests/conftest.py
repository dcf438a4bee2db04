"""What all tests share: programs that may be missing, reference data that may be absent."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from ptycassette.host.recording.compiled_relay import CompiledRelay

ROOT = Path(__file__).resolve().parent.parent

# How long an example takes says what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def program() -> Callable[[str], str]:
    """Look up a program that a test drives; skip when missing, fail where it must be there."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is not None:
            return path
        if os.environ.get("PTYCASSETTE_TESTS_NEED_PROGRAMS") == "1":
            pytest.fail(f"{name} is not installed, and PTYCASSETTE_TESTS_NEED_PROGRAMS=1 wants it")
        pytest.skip(f"{name} is not installed")

    return find


@pytest.fixture
def compiled_library() -> ctypes.CDLL:
    """The compiled loop of the recorder; skip where it was not made when we were installed."""
    library = CompiledRelay.load()
    if library is not None:
        return library
    if os.environ.get("PTYCASSETTE_TESTS_NEED_PROGRAMS") == "1" and sys.platform == "linux":
        pytest.fail(
            "the compiled loop was not made, and PTYCASSETTE_TESTS_NEED_PROGRAMS=1 wants it"
        )
    pytest.skip("the compiled loop was not made (a C compiler was missing at installation)")


@pytest.fixture
def reference() -> Path:
    """The folder of reference data; skip where it is absent."""
    path = Path(os.environ.get("PTYCASSETTE_REFERENCE", ROOT.parent / "shared" / "reference"))
    if not path.is_dir():
        pytest.skip("the reference data is not here (PTYCASSETTE_REFERENCE)")
    return path


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """A stand-in that a test ran in this process blocks signals; programs would inherit that."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.fixture(autouse=True)
def state_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Journals of tests lie in a temporary state directory, never in the user's own."""
    path = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(path))
    return path
