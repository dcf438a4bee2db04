"""Read options, marker and ini keys, and apply their precedence.

The order is command line, environment (only PTYCASSETTE_MODE), marker, the
``ptycassette_config`` fixture, ini, the project file. Options and keys have a prefix,
because other plugins use the bare names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from ptycassette.errors import CassetteError, UsageError
from ptycassette.pytest_plugin.plugin import CHOICES
from ptycassette.replaying.io.modes import MODE_VARIABLE, RunMode, resolve_mode
from ptycassette.system.files.project_file import Project, find_project

if TYPE_CHECKING:
    from ptycassette.cassette.timeline.match import Matching

_MARKER_KEYS = {
    "argv", "mode", "match", "order", "size", "streams", "tape", "lenient", "allow_unplayed",
    "before_record", "hooks", "fork",
}  # fmt: skip
_CODE_KEYS = {"argv", "size", "streams", "tape", "before_record", "hooks", "fork"}
"""Settings of a test only: they have neither an option nor an ini key."""


class Settings(NamedTuple):
    """The settings in force for one test."""

    mode: RunMode = "replay"
    match: str | Matching | Callable[[str, str], bool] = "prompt"
    order: str | None = None
    path: str | None = None
    argv: tuple[str, ...] | None = None
    size: Any = None
    streams: Any = None
    tape: bool | str | None = None
    lenient: bool = False
    allow_unplayed: bool = False
    before_record: Callable[[Any], Any] | None = None
    hooks: str | None = None
    fork: Any = None


def config_value(config: pytest.Config, name: str, default: str) -> str:
    """An option, else its ini key, else ``default``.

    Raises:
        pytest.UsageError: a value is not one of its choices.
    """
    key = name.replace("-", "_")
    value = config.getoption(f"ptycassette_{key}")
    if value is None:
        value = config.getini(f"ptycassette_{key}")
    value = str(value) if value else default
    choices = CHOICES.get(name)
    if choices and value not in choices:
        raise pytest.UsageError(f"ptycassette_{key} is {value!r}, none of {', '.join(choices)}")
    return value


_PROJECT = pytest.StashKey[Project]()


def project_of(config: pytest.Config) -> Project:
    """The project file of the run's root directory; read once.

    Raises:
        pytest.UsageError: it is wrong, or cannot be read.
    """
    found = config.stash.get(_PROJECT, None)
    if found is None:
        try:
            found = config.stash[_PROJECT] = find_project(config.rootpath)
        except CassetteError as exc:
            raise pytest.UsageError(str(exc)) from exc
    return found


def settings_of(
    config: pytest.Config, marker: pytest.Mark | None, fixture: Mapping[str, Any]
) -> Settings:
    """The settings in force for a test.

    Args:
        config: the configuration of the run.
        marker: the closest ``ptycassette`` marker.
        fixture: the value of the ``ptycassette_config`` fixture.

    Raises:
        pytest.UsageError: an unknown key, mode or strategy in any of them.
    """
    marked = dict(marker.kwargs) if marker else {}
    path = marked.pop("path", None)
    if marker and marker.args:
        path, *rest = marker.args
        if rest:
            raise pytest.UsageError("the ptycassette marker takes one path, the rest by name")
    for where, given in (("marker", marked), ("ptycassette_config fixture", fixture)):
        unknown = set(given) - _MARKER_KEYS
        if unknown:
            raise pytest.UsageError(
                f"ptycassette {where}: {', '.join(sorted(unknown))} is not one of "
                f"{', '.join(sorted(_MARKER_KEYS))}"
            )

    def pick(key: str) -> Any:
        for value in (
            config.getoption(f"ptycassette_{key}", None), marked.get(key), fixture.get(key),
        ):  # fmt: skip
            if value is not None:
                return value
        return config.getini(f"ptycassette_{key}") if key not in _CODE_KEYS else None

    try:
        mode = resolve_mode(
            ("--ptycassette-mode", config.getoption("ptycassette_mode")),
            (MODE_VARIABLE, os.environ.get(MODE_VARIABLE) or None),
            ("ptycassette marker", marked.get("mode")),
            ("ptycassette_config fixture", fixture.get("mode")),
            ("ini", config.getini("ptycassette_mode") or None),
            ("project file", project_of(config).mode),
            env={},
        )
        match = pick("match") or project_of(config).compare or "prompt"
        if isinstance(match, str) and match != "prompt":  # the default needs no look-up
            from ptycassette.cassette.timeline.match import strategy_named

            strategy_named(match)
        order = pick("order") or None
        if order is not None:
            from ptycassette.cassette.timeline.match import order_named

            order_named(order)
        argv = pick("argv")
        if argv is not None:
            from ptycassette.recording.session.base import words_given

            argv = words_given(argv)
    except (UsageError, ValueError, TypeError) as exc:
        raise pytest.UsageError(str(exc)) from exc
    return Settings(
        mode=mode,
        match=match,
        order=order,
        path=None if path is None else str(path),
        argv=argv,
        size=pick("size"),
        streams=pick("streams"),
        tape=pick("tape"),
        lenient=bool(pick("lenient")),
        allow_unplayed=bool(pick("allow_unplayed")),
        before_record=pick("before_record"),
        hooks=pick("hooks"),
        fork=pick("fork"),
    )
