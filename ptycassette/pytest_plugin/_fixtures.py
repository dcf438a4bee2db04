"""The fixtures: a session, shims on PATH, the cassette, a clock, scenarios.

They import what they need on first use, so that a test run without cassettes does not
load the terminal emulator.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ptycassette.errors import CassetteError
from ptycassette.pytest_plugin._fault_option import without_fault
from ptycassette.pytest_plugin._naming import cassette_path
from ptycassette.pytest_plugin._settings import Settings, config_value, project_of, settings_of
from ptycassette.pytest_plugin._state import TestState

if TYPE_CHECKING:
    from ptycassette.cassette.io import Cassette
    from ptycassette.faults import FaultSpec
    from ptycassette.pytest_plugin._runs import ShimRun
    from ptycassette.replaying.io import Use
    from ptycassette.scenario import ScenarioOutcome
    from ptycassette.session import Session
    from ptycassette.testing import ManualClock

STATE = pytest.StashKey[TestState]()


def directory_of(item: pytest.Item) -> Path:
    """The directory of the cassettes of a test file."""
    default = str(project_of(item.config).library or "cassettes")
    return item.path.parent / config_value(item.config, "dir", default)


def default_path(item: pytest.Item, marker_path: str | None) -> Path:
    """The cassette of a test: the one named by its marker, else the default one."""
    base = directory_of(item)
    if marker_path is not None:
        return base / marker_path
    inner = without_fault(item.nodeid).partition("::")[2].replace("::", ".")
    return cassette_path(base, item.path.stem, inner or item.name)


@pytest.fixture
def ptycassette_fault(request: pytest.FixtureRequest) -> str | None:
    """The name of the fault of this test, with ``--ptycassette-faults``; None without one."""
    spec: FaultSpec | None = getattr(request, "param", None)
    return None if spec is None else spec.name


@pytest.fixture
def ptycassette_config() -> Mapping[str, Any]:
    """Override it to set the marker's options for a module or a package."""
    return {}


@pytest.fixture
def ptycassette_settings(
    request: pytest.FixtureRequest, ptycassette_config: Mapping[str, Any]
) -> Settings:
    """The settings in force for this test."""
    marker = request.node.get_closest_marker("ptycassette")
    return settings_of(request.config, marker, ptycassette_config)


@pytest.fixture
def ptycassette_path(request: pytest.FixtureRequest, ptycassette_settings: Settings) -> Path:
    """The cassette of this test; it need not exist yet."""
    return default_path(request.node, ptycassette_settings.path)


@pytest.fixture
def ptycassette_use(
    request: pytest.FixtureRequest, ptycassette_settings: Settings, ptycassette_path: Path
) -> Callable[..., Use]:
    """``ptycassette_use(argv)`` is ``ptycassette.use`` with this test's cassette and settings.

    For ``with``, ``async with`` and several sessions; a session that is only wanted
    for the whole test is ``ptycassette_session``.
    """
    from ptycassette.replaying.io import use
    from ptycassette.timeline import Matching

    state: TestState = request.node.stash[STATE]
    settings = ptycassette_settings

    def make(
        argv: Sequence[str] | None = None,
        path: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Use:
        chosen = ptycassette_path if path is None else directory_of(request.node) / path
        state.used.append(chosen)
        given = {
            "mode": settings.mode,
            "match": settings.match,
            "order": settings.order,
            "size": settings.size,
            "streams": settings.streams,
            "lenient": settings.lenient,
            "allow_unplayed": settings.allow_unplayed,
            **options,
        }
        for name in ("before_record", "tape"):
            if (value := getattr(settings, name)) is not None:
                given.setdefault(name, value)
        if isinstance(given["match"], Matching) and "order" not in options:
            given["order"] = None  # a Matching has its own
        return use(chosen, argv or settings.argv, **given)

    return make


@pytest.fixture
def ptycassette_session(
    request: pytest.FixtureRequest,
    ptycassette_settings: Settings,
    ptycassette_path: Path,
    ptycassette_use: Callable[..., Use],
) -> Iterator[Session]:
    """A session for this test: replayed, recorded or live, as the mode says.

    It ends with the test's body: divergences and unplayed parts fail the test, and a failed
    test keeps no recording.
    """
    from ptycassette.pytest_plugin._runs import SessionRun, recording_lock

    state: TestState = request.node.stash[STATE]
    with ExitStack() as stack:
        if ptycassette_settings.mode == "auto" and not ptycassette_path.exists():
            stack.enter_context(recording_lock(ptycassette_path))
        run = SessionRun(ptycassette_use(), lenient=ptycassette_settings.lenient)
        try:
            session = run.start()
        except CassetteError as exc:
            pytest.fail(str(exc), pytrace=False)
        state.add(run)
        yield session


class Shims:
    """A directory of shims that is first on PATH during a test.

    Attributes:
        directory: where they are.
        library: the cassettes that they play.
    """

    def __init__(self, directory: Path, library: Path, run: ShimRun) -> None:
        self.directory = directory
        self.library = library
        self._run = run

    @property
    def reports(self) -> list[dict[str, Any]]:
        """The reports of the stand-ins, in the order of their starts."""
        return self._run.reports()


@pytest.fixture
def ptycassette_shims(
    request: pytest.FixtureRequest,
    ptycassette_settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Shims]:
    """``ptycassette_shims("claude", library="claude")`` puts shims first on PATH.

    The library is relative to the directory of cassettes, ``hooks`` (a file of hooks) to the
    test file. Programs that the test
    starts by these names are stand-ins in mode replay, and the real programs, recorded, in the
    modes that record. When the test's body is over, reports are checked, and recordings are moved
    into the library unless the test failed.
    """
    from ptycassette.cassette.io import PendingRecordings
    from ptycassette.pytest_plugin._runs import ShimRun
    from ptycassette.replaying.io import MODE_VARIABLE, ShimConfig, action_of, make_shims

    settings = ptycassette_settings

    def make(
        *programs: str,
        library: str | os.PathLike[str] = "",
        hooks: str | os.PathLike[str] | None = settings.hooks,
    ) -> Shims:
        state: TestState = request.node.stash[STATE]
        number = len(state.runs)
        place = tmp_path / f"ptycassette-{number}"
        reports = place / "reports"
        reports.mkdir(parents=True)
        shelf = directory_of(request.node) / library
        options: list[str] = []
        if not isinstance(settings.match, str):
            raise pytest.UsageError(
                "stand-ins are other processes, which a Matching cannot be handed to: "
                "name a strategy, write it into library.yaml, or define matches in a file of hooks"
            )
        if settings.before_record is not None:
            raise pytest.UsageError(
                "recorders behind shims are other processes, which no function can be handed to: "
                "define before_record in a file of hooks"
            )
        code = None if hooks is None else request.path.parent / hooks
        if code is not None and not code.is_file():
            raise pytest.UsageError(f"there is no file of hooks at {code}")
        options += ["--match", settings.match]
        if settings.order:
            options += ["--order", settings.order]
        if settings.lenient:
            options.append("--lenient")
        action = action_of(settings.mode, exists=False, env=os.environ)
        records = action in {"record", "rewrite"}
        if action == "live":
            state.spared.append(shelf)
        pending = PendingRecordings.new(shelf) if records else None
        config = ShimConfig(
            library=str(shelf), state=str(place / "state"), mode=settings.mode,
            options=tuple(options), pending=str(pending.place) if pending else "",
            hooks="" if code is None else str(code),
            project=str(project_of(request.config).where or ""),
        )  # fmt: skip
        make_shims(place / "bin", programs, config)
        monkeypatch.setenv("PATH", str(place / "bin"), prepend=os.pathsep)
        monkeypatch.setenv(MODE_VARIABLE, settings.mode)
        monkeypatch.setenv("PTYCASSETTE_REPORT", f"{reports}/")
        run = ShimRun(
            reports, state, shelf, allow_unplayed=settings.allow_unplayed, pending=pending
        )
        state.add(run)
        return Shims(place / "bin", shelf, run)

    return make


@pytest.fixture
def ptycassette_cassette(
    request: pytest.FixtureRequest, ptycassette_path: Path
) -> Iterator[Cassette]:
    """The test's cassette, open and verified."""
    from ptycassette.cassette.io import open_cassette

    request.node.stash[STATE].used.append(ptycassette_path)
    with open_cassette(ptycassette_path) as cassette:
        yield cassette


@pytest.fixture
def ptycassette_clock() -> ManualClock:
    """A clock that moves only when the test moves it; also a sleeper."""
    from ptycassette.testing import ManualClock

    return ManualClock()


@pytest.fixture
def ptycassette_scenario(
    request: pytest.FixtureRequest, ptycassette_path: Path
) -> Callable[..., ScenarioOutcome]:
    """``ptycassette_scenario("x.scenario.yaml")`` checks it and fails when it does not hold.

    The path is relative to the test file. A scenario without ``cassette_path`` is
    checked against the test's own cassette.
    """
    from ptycassette.scenario import check_scenario, outcome_lines
    from ptycassette.scenario.io import evidence_of, load_scenario

    def check(path: str | os.PathLike[str]) -> ScenarioOutcome:
        __tracebackhide__ = True
        file = request.path.parent / path
        scenario = load_scenario(file, bound=False)
        own = scenario.cassette_path is None
        cassette = ptycassette_path if own else file.parent / (scenario.cassette_path or "")
        request.node.stash[STATE].used.append(cassette)
        outcome = check_scenario(scenario, evidence_of(cassette))
        if not outcome.passed:
            pytest.fail("\n".join(outcome_lines(outcome)), pytrace=False)
        return outcome

    return check
