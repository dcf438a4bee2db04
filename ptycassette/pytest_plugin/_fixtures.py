"""The work of the fixtures: a session, shims on PATH, the cassette, scenarios.

They import what they need on first use, so that a test run without cassettes does not
load the terminal emulator.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ptycassette.errors import CassetteError
from ptycassette.pytest_plugin._fault_option import without_fault
from ptycassette.pytest_plugin._naming import cassette_path, library_of, without_leading_dots
from ptycassette.pytest_plugin._settings import Settings, config_value, project_of, settings_of
from ptycassette.pytest_plugin._state import RecordedOnce, TestState
from ptycassette.pytest_plugin.plugin import TAPE

if TYPE_CHECKING:
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.inprocess.using_tape import OpenTape
    from ptycassette.pytest_plugin._runs import ShimRun
    from ptycassette.replaying.io.using import Use
    from ptycassette.scenario.evaluation import ScenarioOutcome
    from ptycassette.session.session import Session

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
    head, bracket, parameters = without_fault(item.nodeid).partition("::")[2].partition("[")
    name = f"{head.replace('::', '.')}{bracket}{parameters}" or item.name
    path = cassette_path(base, item.path.stem, name)
    if path.is_relative_to(item.path.parent) or path.exists():
        return path
    # A directory for files of several folders, which may have the same name.
    folder = Path(os.path.relpath(item.path.parent, item.config.rootpath))
    return cassette_path(base / without_leading_dots(folder), item.path.stem, name)


def marker_of(item: pytest.Item) -> pytest.Mark | None:
    """The marker that says which cassette a test uses, and how."""
    return item.get_closest_marker(TAPE) or item.get_closest_marker("ptycassette")


def settings(request: pytest.FixtureRequest, given: Mapping[str, Any]) -> Settings:
    """See the fixture ``ptycassette_settings``."""
    return settings_of(request.config, marker_of(request.node), given)


def path(request: pytest.FixtureRequest, settings: Settings) -> Path:
    """See the fixture ``ptycassette_path``."""
    return default_path(request.node, settings.path)


def use_factory(
    request: pytest.FixtureRequest, settings: Settings, own: Path
) -> Callable[..., Use]:
    """See the fixture ``ptycassette_use``."""
    from ptycassette.replaying.io.using import use
    from ptycassette.timeline.match import Matching

    state: TestState = request.node.stash[STATE]
    if settings.fork is not None:
        raise pytest.UsageError("fork= is for ptycassette_tape, the model and tool calls of code")

    def make(
        argv: Sequence[str] | None = None,
        path: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Use:
        chosen = own if path is None else directory_of(request.node) / path
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


def session(
    request: pytest.FixtureRequest, settings: Settings, own: Path, make_use: Callable[..., Use]
) -> Iterator[Session]:
    """See the fixture ``ptycassette_session``."""
    from ptycassette.pytest_plugin._runs import SessionRun, recording_lock

    state: TestState = request.node.stash[STATE]
    with ExitStack() as stack:
        if settings.mode == "auto" and not own.exists():
            stack.enter_context(recording_lock(own))
        run = SessionRun(make_use(), lenient=settings.lenient)
        try:
            started = run.start()
        except CassetteError as exc:
            pytest.fail(str(exc), pytrace=False)
        state.add(run)
        yield started


def tape(request: pytest.FixtureRequest, settings: Settings, own: Path) -> Iterator[OpenTape]:
    """See the fixture ``ptycassette_tape``."""
    from ptycassette.inprocess.using_tape import use_tape
    from ptycassette.pytest_plugin._runs import SessionRun, recording_lock

    state: TestState = request.node.stash[STATE]
    state.used.append(own)
    with ExitStack() as stack:
        if settings.mode == "auto" and not own.exists():
            stack.enter_context(recording_lock(own))
        using = use_tape(
            own,
            mode=settings.mode,
            order="loose" if settings.order == "loose" else "strict",
            lenient=settings.lenient,
            allow_unplayed=settings.allow_unplayed,
            fork=settings.fork,
        )
        run = SessionRun(using, lenient=settings.lenient)
        try:
            started = run.start()
        except CassetteError as exc:
            pytest.fail(str(exc), pytrace=False)
        state.add(run)
        yield started


def run_in_tape(item: pytest.Item) -> None:
    """Let the coroutine of an asynchronous test belong to the tape of its fixture.

    The plugin that runs it may give it a context of its own, made before the fixture was.
    """
    tape = getattr(item, "funcargs", {}).get(TAPE)
    function = getattr(item, "obj", None)
    if tape is None or not inspect.iscoroutinefunction(function):
        return
    from ptycassette.inprocess.active import activated

    @functools.wraps(function)
    async def in_tape(*args: Any, **kwargs: Any) -> Any:
        with activated(tape):
            return await function(*args, **kwargs)

    item.obj = in_tape  # type: ignore[attr-defined]


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


def shims_factory(
    request: pytest.FixtureRequest,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Shims]:
    """See the fixture ``ptycassette_shims``."""
    from ptycassette.cassette.io.pending import PendingRecordings
    from ptycassette.pytest_plugin._runs import ShimRun
    from ptycassette.replaying.io.modes import MODE_VARIABLE, action_of
    from ptycassette.replaying.io.shims import ShimConfig, make_shims

    def make(
        *programs: str,
        library: str | os.PathLike[str] | None = None,
        hooks: str | os.PathLike[str] | None = settings.hooks,
    ) -> Shims:
        state: TestState = request.node.stash[STATE]
        number = len(state.runs)
        place = tmp_path / f"ptycassette-{number}"
        reports = place / "reports"
        reports.mkdir(parents=True)
        if library is None:
            shelf = library_of(default_path(request.node, settings.path))
        else:
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
            library=str(shelf), each=library is None,
            state=str((tmp_path / "ptycassette-starts") if library is None else place / "state"),
            mode=settings.mode,
            options=tuple(options), pending=str(pending.place) if pending else "",
            hooks="" if code is None else str(code),
            project=str(project_of(request.config).where or ""),
        )  # fmt: skip
        make_shims(place / "bin", programs, config)
        monkeypatch.setenv("PATH", str(place / "bin"), prepend=os.pathsep)
        monkeypatch.setenv(MODE_VARIABLE, settings.mode)
        monkeypatch.setenv("PTYCASSETTE_REPORT", f"{reports}/")
        run = ShimRun(
            reports,
            state,
            shelf,
            mode=settings.mode,
            allow_unplayed=settings.allow_unplayed,
            pending=pending,
            once=RecordedOnce(request.config, request.node.nodeid),
        )
        state.add(run)
        return Shims(place / "bin", shelf, run)

    return make


def cassette(request: pytest.FixtureRequest, own: Path) -> Iterator[Cassette]:
    """See the fixture ``ptycassette_cassette``."""
    from ptycassette.cassette.io.reader import open_cassette

    request.node.stash[STATE].used.append(own)
    with open_cassette(own) as opened:
        yield opened


def scenario(request: pytest.FixtureRequest, own: Path) -> Callable[..., ScenarioOutcome]:
    """See the fixture ``ptycassette_scenario``."""
    from ptycassette.scenario.evaluation import check_scenario, outcome_lines
    from ptycassette.scenario.io import evidence_of, load_scenario

    def check(path: str | os.PathLike[str]) -> ScenarioOutcome:
        __tracebackhide__ = True
        file = request.path.parent / path
        loaded = load_scenario(file, bound=False)
        chosen = own if loaded.cassette_path is None else file.parent / loaded.cassette_path
        request.node.stash[STATE].used.append(chosen)
        outcome = check_scenario(loaded, evidence_of(chosen))
        if not outcome.passed:
            pytest.fail("\n".join(outcome_lines(outcome)), pytrace=False)
        return outcome

    return check
