"""What all tests share: programs that may be missing, reference data that may be absent."""

from __future__ import annotations

import ctypes
import inspect
import itertools
import os
import shutil
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ptycassette.recording.io.compiled_relay import CompiledRelay
from ptycassette.recording.session.async_session import AsyncSession
from ptycassette.recording.session.base import DEFAULT_TIMEOUT_S
from ptycassette.recording.session.session import Session
from ptycassette.scrub.io import process_secrets

ROOT = Path(__file__).resolve().parent.parent

# Of the examples of a law, `make test` takes a quarter (tests/examples.py). How long an example
# takes says what else the machine does, so none has a deadline. Both take the same examples each
# time: what fails is what somebody changed. `make laws` looks for new ones.
settings.register_profile(
    "all", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("quarter", settings.get_profile("all"), max_examples=25)
settings.register_profile(
    "laws", settings.get_profile("all"), max_examples=400, derandomize=False, print_blob=True
)
settings.load_profile("quarter")
PATIENCE_S = 90.0  # a busy machine takes its time to start a program

# Tests mean the same here and in CI (where mode auto records nothing), whatever a user has set.
for _name in ("CI", "PTYCASSETTE_MODE", "PTYCASSETTE_SCRUB_CONFIG", "PTYCASSETTE_DISABLE_NETWORK"):
    os.environ.pop(_name, None)
# What `.ci/run` has installed for tests is used wherever they run.
for _name, _folder, _needed in (
    ("PTYCASSETTE_NODE_MODULES", "node", "node_modules"),
    ("PTYCASSETTE_XTERM", "node", "node_modules/@xterm/headless"),
    ("PTYCASSETTE_MITMPROXY", "mitmproxy", "mitmproxy"),
    ("PTYCASSETTE_READERS", "readers", "harbor"),
):
    _cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - no home is no error
    if (_place := Path(_cache, "ptycassette", _folder)).joinpath(_needed).is_dir():
        os.environ.setdefault(_name, str(_place))


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test marked ``sampled(n)``, all but each n-th are slow.

    Tests of one file begin with different cases.
    """
    cases: dict[Path, dict[str, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        if item.get_closest_marker("sampled"):
            cases[item.path][item.name.partition("[")[0]].append(item)
    for tests in cases.values():
        for number, of_one in enumerate(tests.values()):
            every = of_one[0].get_closest_marker("sampled").args[0]
            for at, item in enumerate(of_one):
                if (at - number % min(every, len(of_one))) % every:
                    item.add_marker(pytest.mark.slow)


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


@pytest.fixture(autouse=True, scope="session")
def signals_that_end_programs() -> None:
    """Who runs us in the background may ignore them for us, and programs would inherit that."""
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_the_disk() -> Iterator[None]:
    """No test pulls the plug: in this process a sync only looks whether the file is open."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "fdatasync"):
            if hasattr(os, name):  # macOS has no fdatasync
                patch.setattr(os, name, lambda fd: os.fstat(fd) and None)
        yield


@pytest.fixture(autouse=True, scope="session")
def patience() -> None:
    """Where a test does not say how long, a driver waits as long as a busy machine may need."""
    for method in [*vars(Session).values(), *vars(AsyncSession).values()]:
        defaults = getattr(inspect.unwrap(method), "__kwdefaults__", None) or {}
        if defaults.get("timeout_s") == DEFAULT_TIMEOUT_S:
            defaults["timeout_s"] = PATIENCE_S


@pytest.fixture(autouse=True)
def nothing_typed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test typed unseen is not scrubbed from the traces of another."""
    monkeypatch.setattr(process_secrets, "_SECRETS", {})


@pytest.fixture(scope="session")
def state_dirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of state directories. ``mktemp`` looks at all directories made before, each time."""
    place = tmp_path_factory.mktemp("state")
    return (place / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def state_dir(state_dirs: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Journals of tests lie in a temporary state directory, never in the user's own."""
    path = next(state_dirs)
    path.mkdir()
    monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(path))
    return path
