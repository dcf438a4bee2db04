"""A run has one specification: options win over the project file, and the file over defaults."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

import ptycassette
from ptycassette.errors import UsageError
from ptycassette.model.records import StreamKinds
from ptycassette.model.screen import Size
from ptycassette.recording.io.options import RecordOptions, RunSpec, live_session, run_spec
from ptycassette.recording.session.base import SessionBase, Wiring
from ptycassette.system.files.project_file import Project

OF_A_SESSION = {
    *inspect.signature(SessionBase.__init__).parameters,
    *Wiring.__annotations__,
} & {*RunSpec.__struct_fields__}


def test_each_option_of_record_is_a_field() -> None:
    """And each field is an option: none is only for some callers."""
    assert set(RunSpec.__struct_fields__) == set(RecordOptions.__annotations__)


@pytest.mark.parametrize(
    ("option", "of_project", "expected"),
    [
        ({}, {}, (Size(24, 80), None)),
        ({}, {"size": Size(30, 90), "idle_limit_s": 2.5}, (Size(30, 90), 2500)),
        ({"size": Size(5, 7)}, {"size": Size(30, 90)}, (Size(5, 7), None)),
        ({"idle_limit_ms": 7}, {"idle_limit_s": 2.5}, (Size(24, 80), 7)),
        ({"idle_limit_ms": 0}, {"idle_limit_s": 2.5}, (Size(24, 80), 0)),
        ({"idle_limit_ms": None}, {"idle_limit_s": 0.0}, (Size(24, 80), 0)),
    ],
)
def test_an_option_is_stronger_than_the_project_file(
    option: Any, of_project: dict[str, Any], expected: tuple[Size, int | None]
) -> None:
    """Which is stronger than the defaults."""
    spec = run_spec(Project(**of_project), **option)

    assert (spec.size, spec.idle_limit_ms) == expected


def test_the_project_file_of_the_current_folder_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read once, when the specification is made, and a mistake in it is found then."""
    monkeypatch.delenv("PTYCASSETTE_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("ptycassette.toml").write_text('size = "101x31"')
    assert run_spec().size == Size(31, 101)

    Path("ptycassette.toml").write_text("size = 101")
    with pytest.raises(UsageError, match="size is 101"):
        run_spec()


@pytest.mark.parametrize("name", sorted(OF_A_SESSION))
def test_a_session_without_a_recording_gets_each_option_that_it_has(name: str) -> None:
    """So that a live run differs from a recorded one in nothing but the cassette."""
    given: dict[str, Any] = {}

    class Seen(SessionBase):
        def __init__(self, argv: Any, **options: Any) -> None:
            given.update(options, argv=argv)

    value: Any = StreamKinds(stdin="pipe") if name == "streams" else object()
    live_session(Seen, ["x"], RunSpec(**{name: value}))

    assert given["argv"] == ["x"]
    assert given[name] is value


def test_the_project_file_is_read_at_the_entrances() -> None:
    """The command line, the plugin, ``use`` and ``record``; also for rules and for seals."""
    root = Path(ptycassette.__file__).parent
    readers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "find_project"
    }
    assert readers == {
        "cli/_options.py",
        "pytest_plugin/_settings.py",
        "recording/io/options.py",
        "recording/io/recorder.py",
        "replaying/io/modes.py",
        "scrub/io/setup.py",
        "seal/io/policy.py",
    }
