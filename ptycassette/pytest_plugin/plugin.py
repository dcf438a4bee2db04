"""The part of the plugin that every run of pytest loads: options, fixtures, and when to load more.

It imports nothing of ptycassette. The hooks that do the work (``_hooks``) join the run when
the test run uses ptycassette: an option, an ini key or a variable when the run starts, a marker, a
fixture or a scenario when the tests are collected, ``ptycassette.use`` whenever it is imported.

PYTEST_DONT_REWRITE: this file has no assertion, and rewriting would take time in each run.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
    from ptycassette.agents.inprocess.using_tape import OpenTape
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.pytest_plugin._runs import Shims
    from ptycassette.pytest_plugin._scenario_items import ScenarioFile
    from ptycassette.pytest_plugin._settings import Settings
    from ptycassette.recording.session.session import Session
    from ptycassette.replaying.io.using import Use
    from ptycassette.replaying.scenario.evaluation import ScenarioOutcome
    from ptycassette.testing import ManualClock

MARKER = (
    "ptycassette(path=None, *, argv=None, mode=None, match=None, order=None, size=None, "
    "streams=None, tape=None, lenient=None, allow_unplayed=None, before_record=None, "
    "hooks=None): which cassette a test uses, and how. A path is relative to the directory of "
    "cassettes."
)
FAULTS_MARKER = (
    "ptycassette_faults(*names, raises=()): with --ptycassette-faults, faults that the test need "
    "not survive, and the errors by which its code says that a fatal fault leaves it no answer"
)
TAPE_MARKER = (
    "ptycassette_tape(path=None, *, mode=None, order=None, lenient=None, allow_unplayed=None, "
    "fork=None): the model and tool calls of the test are recorded into a cassette, or answered "
    "from it; the same as the fixture ptycassette_tape"
)
FAULTS = "ptycassette_faults"
TAPE = "ptycassette_tape"
"""A fixture and a marker."""
USES_TAPE = "uses_ptycassette_tape"
"""An attribute of functions that ``use_tape`` decorates."""
RUNNING = {"ptycassette_session", "ptycassette_shims", "ptycassette_use"}
"""Fixtures that play a recording to a driver."""
CHOICES = {
    "order": ("strict", "loose"),
    "trace": ("on-failure", "always", "never"),
    "network": ("block", "allow"),
    "stale": ("report", "fail", "ignore"),
    "orphans": ("report", "fail", "ignore"),
}
_HELP = {
    "mode": "replay (default), auto (record what is missing), record, rerecord, rewrite, live or "
    "rerun; the option rules over PTYCASSETTE_MODE and what tests say",
    "match": "how input is compared: exact, prompt (default), normalised, semantic, any",
    "order": "strict (default), or loose: exchanges may come in another order",
    "dir": "directory of cassettes, relative to the test file (default: cassettes)",
    "trace": "when to keep a trace of a session: on-failure (default), always, never",
    "trace-dir": "where traces go (default: .ptycassette-traces under the root)",
    "trace-keep": "of how many runs traces are kept, the newest ones (default: 10)",
    "network": "block (default) or allow the network in tests that replay",
    "stale": "report (default), fail or ignore recordings older than their freshness window",
    "orphans": "report (default), fail or ignore cassettes that no test uses, on full runs",
}
_FLAGS = {
    "allow-unplayed": "do not fail a test that leaves a part of the recording unplayed",
    "lenient": "go on after a divergence; the test fails all the same at its end",
}
_SCENARIOS = (".scenario.yaml", ".scenario.yml", ".scenario.json")
_VARIABLES = ("PTYCASSETTE_MODE", "PTYCASSETTE_FAULT")
_PREFIX = "ptycassette_"
_HOOKS = "ptycassette-hooks"
_OURS = ("ptycassette.", "ptycassette_viewer.")
_USES = {"ptycassette.replaying.io.using", "ptycassette.agents.inprocess.using_tape"}

_RUN_NAME = pytest.StashKey[str]()
LEFT_OUT = pytest.StashKey[bool]()
"""Set if some tests do not run, or their worker died, so that no cassette counts as unused."""
_running: list[tuple[pytest.Item, ExitStack]] = []
"""The tests that run now, innermost last; a test of a plugin may run pytest itself."""


# -- loading the rest -----------------------------------------------------------------


def hooks_of(config: pytest.Config) -> Any:
    """The hooks of this run; they join it now if they have not joined yet.

    Raises:
        pytest.UsageError: a setting is wrong.
    """
    found: Any = config.pluginmanager.get_plugin(_HOOKS)
    if found is None:
        from ptycassette.pytest_plugin import _hooks

        found = _hooks
        config.pluginmanager.register(found, _HOOKS)
        if _running and _running[-1][0].config is config:
            found.join(*_running[-1])
    return found


def _has_joined(config: pytest.Config) -> bool:
    return bool(config.pluginmanager.has_plugin(_HOOKS))


class _Finder:
    """Finds our modules as Python does, so that pytest does not rewrite their assertions.

    A run with PYTHONDONTWRITEBYTECODE would rewrite all of them each time, for a second.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(_OURS):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and name in _USES and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _UseLoader(spec.loader.name, spec.loader.path)
        return spec


class _UseLoader(SourceFileLoader):
    """Loads the module of ``use`` or ``use_tape``; from then on a test may record and replay."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if _running:
            hooks_of(_running[-1][0].config)


_kept: dict[str, ModuleType] = {}
"""Our modules after a run of pytest inside a test (``pytester``), which then removes them.

Our packages still refer to them, so a second copy would not share the first one's state.
"""

if _Finder not in sys.meta_path:
    sys.meta_path.insert(0, _Finder)


# -- hooks -------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options and ini keys."""
    group = parser.getgroup("ptycassette", "recorded terminal sessions")
    for name, text in _HELP.items():
        group.addoption(
            f"--ptycassette-{name}",
            default=None,
            choices=CHOICES.get(name),
            help=text,
            metavar=name.upper(),
        )
        parser.addini(f"ptycassette_{name.replace('-', '_')}", text, default=None)
    for name, text in _FLAGS.items():
        group.addoption(f"--ptycassette-{name}", action="store_true", default=None, help=text)
        parser.addini(f"ptycassette_{name.replace('-', '_')}", text, type="bool", default=False)
    parser.addini(
        "ptycassette_scenarios", "collect *.scenario.yaml files", type="bool", default=True
    )
    group.addoption(
        "--ptycassette-faults",
        nargs="?",
        const="all",
        default=None,
        metavar="NAMES",
        help="run each test that uses a cassette once more with each fault of the terminal (in "
        "mode rerun: of the provider), or with those named, as enter-dropped,stall:5@2; write "
        "--ptycassette-faults=all before paths",
    )
    group.addoption(
        "--ptycassette-fault-timeout",
        type=_seconds,
        default=30.0,
        metavar="TIME",
        help="end a test with a fault that takes longer (90, 1.5s, 2m), as not survived "
        "(default: 30 s)",
    )
    group.addoption(
        "--ptycassette-faults-json", default=None, metavar="PATH", help="write the results there"
    )


def _seconds(text: str) -> float:
    from ptycassette.keys.quantities import parse_time

    try:
        return parse_time(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers; if something is set, report wrong settings before any test runs."""
    for name, module in _kept.items():
        sys.modules.setdefault(name, module)
    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line("markers", TAPE_MARKER)
    config.addinivalue_line("markers", FAULTS_MARKER)
    given = [*_HELP, *_FLAGS, "faults", "faults-json"]
    if (
        any(os.environ.get(name) for name in _VARIABLES)
        or any(config.getoption(_PREFIX + name.replace("-", "_")) is not None for name in given)
        or any(config.getini(_PREFIX + name.replace("-", "_")) for name in [*_HELP, *_FLAGS])
    ):
        hooks_of(config)


def pytest_unconfigure() -> None:
    """Keep our modules loaded: this may have been a run inside a test."""
    _kept.update((name, sys.modules[name]) for name in [*sys.modules] if name.startswith(_OURS))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect scenario files as tests."""
    if file_path.name.endswith(_SCENARIOS) and parent.config.getini("ptycassette_scenarios"):
        from ptycassette.pytest_plugin._scenario_items import ScenarioFile

        hooks_of(parent.config)
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Load the rest if a collected test uses it."""
    if not _USES.isdisjoint(sys.modules) or any(_uses(item) for item in items):
        hooks_of(config).note_items(config, items)


def _uses(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return any(name.startswith(_PREFIX) for name in names) or any(
        mark.name.startswith("ptycassette") for mark in item.iter_markers()
    )


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Note that tests were deselected, so that the run is incomplete."""
    for item in items[:1]:
        item.config.stash[LEFT_OUT] = True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note which test runs, for hooks that join the run in the middle."""
    with ExitStack() as stack:
        _running.append((item, stack))
        try:
            return (yield)
        finally:
            _running.pop()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the name of the run to a worker of xdist."""
    node.workerinput["ptycassette_run"] = run_of(node.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Take the data that a worker of xdist sent at its end."""
    del error
    sent = getattr(node, "workeroutput", {}).get("ptycassette")
    if sent is None:  # it died
        node.config.stash[LEFT_OUT] = True
    elif sent:
        hooks_of(node.config).merge(node.config, sent)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a worker that used nothing report that."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None and not _has_joined(session.config):
        output["ptycassette"] = {}


def run_of(config: pytest.Config) -> str:
    """The name of this run; names of later runs sort after it. Workers have the main process's."""
    found = config.stash.get(_RUN_NAME, None) or getattr(config, "workerinput", {}).get(
        "ptycassette_run"
    )
    if found is None:
        found = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid():07d}"
    config.stash[_RUN_NAME] = found
    return str(found)


# -- fixtures ----------------------------------------------------------------------------


@pytest.fixture
def ptycassette_fault(request: pytest.FixtureRequest) -> str | None:
    """The name of the fault of this test, with ``--ptycassette-faults``; None without one."""
    spec = getattr(request, "param", None)
    return None if spec is None else str(spec.name)


@pytest.fixture
def ptycassette_config() -> Mapping[str, Any]:
    """Override it to set the marker's options for a module or a package."""
    return {}


@pytest.fixture
def ptycassette_settings(
    request: pytest.FixtureRequest, ptycassette_config: Mapping[str, Any]
) -> Settings:
    """The settings in force for this test."""
    settings: Settings = hooks_of(request.config).fixtures.settings(request, ptycassette_config)
    return settings


@pytest.fixture
def ptycassette_path(request: pytest.FixtureRequest, ptycassette_settings: Settings) -> Path:
    """The cassette of this test; it need not exist yet."""
    path: Path = hooks_of(request.config).fixtures.path(request, ptycassette_settings)
    return path


@pytest.fixture
def ptycassette_use(
    request: pytest.FixtureRequest, ptycassette_settings: Settings, ptycassette_path: Path
) -> Callable[..., Use]:
    """``ptycassette_use(argv)`` is ``ptycassette.use`` with this test's cassette and settings.

    Use it for ``with``, ``async with`` and several sessions. For one session that lasts the whole
    test, use ``ptycassette_session``.
    """
    factory: Callable[..., Use] = hooks_of(request.config).fixtures.use_factory(
        request, ptycassette_settings, ptycassette_path
    )
    return factory


@pytest.fixture
def ptycassette_session(
    request: pytest.FixtureRequest,
    ptycassette_settings: Settings,
    ptycassette_path: Path,
    ptycassette_use: Callable[..., Use],
) -> Iterator[Session]:
    """A session for this test: replayed, recorded or live, depending on the mode.

    It ends with the test's body: divergences and unplayed parts fail the test, and a failed
    test keeps no recording.
    """
    fixtures = hooks_of(request.config).fixtures
    yield from fixtures.session(request, ptycassette_settings, ptycassette_path, ptycassette_use)


@pytest.fixture
def ptycassette_tape(
    request: pytest.FixtureRequest, ptycassette_settings: Settings, ptycassette_path: Path
) -> Iterator[OpenTape]:
    """The model and tool calls of this test: recorded, answered from its cassette, or live.

    It ends with the test's body: calls that differ, and recorded calls that were never made, fail
    the test, and a failed test keeps no recording. See ``ptycassette.use_tape``.
    """
    fixtures = hooks_of(request.config).fixtures
    yield from fixtures.tape(request, ptycassette_settings, ptycassette_path)


@pytest.fixture
def ptycassette_shims(
    request: pytest.FixtureRequest,
    ptycassette_settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Shims]:
    """``ptycassette_shims("claude")`` puts shims of these programs first on PATH.

    Programs that the test starts by these names are stand-ins in mode replay, and the real
    programs, recorded, in the modes that record. Each start has a cassette of its own, in a
    library of this test. ``library="NAME"`` names one that several tests share; it is relative to
    the directory of cassettes. ``hooks`` (a file of hooks) is relative to the test file. When the
    test's body is over, reports are checked, and recordings are moved into the library unless the
    test failed.
    """
    factory: Callable[..., Shims] = hooks_of(request.config).fixtures.shims_factory(
        request, ptycassette_settings, tmp_path, monkeypatch
    )
    return factory


@pytest.fixture
def ptycassette_cassette(
    request: pytest.FixtureRequest, ptycassette_path: Path
) -> Iterator[Cassette]:
    """The test's cassette, open and verified."""
    yield from hooks_of(request.config).fixtures.cassette(request, ptycassette_path)


@pytest.fixture
def ptycassette_clock() -> ManualClock:
    """A clock that moves only when the test moves it; also a sleeper."""
    from ptycassette.testing import ManualClock

    return ManualClock()


@pytest.fixture
def ptycassette_scenario(
    request: pytest.FixtureRequest, ptycassette_path: Path
) -> Callable[..., ScenarioOutcome]:
    """``ptycassette_scenario("x.scenario.yaml")`` checks it and fails if it does not hold.

    The path is relative to the test file. A scenario without ``cassette_path`` is
    checked against the test's own cassette.
    """
    check: Callable[..., ScenarioOutcome] = hooks_of(request.config).fixtures.scenario(
        request, ptycassette_path
    )
    return check


@pytest.fixture
def ptycassette_provider(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[..., FakeProviderServer]]:
    """``ptycassette_provider("hello.toml")`` starts a fake provider for this test.

    The path is relative to the test file; ``text=`` takes the script itself. Other
    options are those of ``FakeProviderServer``. Each provider is stopped at the end of
    the test, and fails it for requests that neither the script nor the API expects and, with
    ``all_replies=True``, for unused replies.
    """
    from ptycassette.pytest_plugin._provider import provider

    yield from provider(request)
