"""Scenario files and their cassettes: found, opened, checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import CassetteError, NotFoundError, UsageError
from ptycassette.model.records import native_text
from ptycassette.replaying.scenario.evaluation import (
    MAX_YAML_BYTES,
    CheckOutcome,
    Scenario,
    ScenarioOutcome,
    check_scenario,
    parse_scenario,
)
from ptycassette.replaying.scenario.predicate import Evidence
from ptycassette.system.files.near_names import hint_for_missing
from ptycassette.system.files.whole_file import read_plain

SUFFIXES = (".scenario.yaml", ".scenario.yml", ".scenario.json")


def find_scenarios(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path]:
    """The named scenario files, and all ``*.scenario.{yaml,yml,json}`` in named directories.

    Raises:
        NotFoundError: nothing is there, or a directory holds no scenario.
    """
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise NotFoundError(
                "there is no such file or directory", where=str(path), hint=hint_for_missing(path)
            )
        if not path.is_dir():
            yield path
            continue
        found = sorted(file for file in path.rglob("*") if file.name.endswith(SUFFIXES))
        if not found:
            raise NotFoundError(
                f"no scenario in this directory (files {', '.join(f'*{s}' for s in SUFFIXES)})",
                where=str(path),
                hint="write a first one for a cassette: ptycassette check --init CASSETTE",
            )
        yield from found


def load_scenario(path: str | os.PathLike[str], *, bound: bool = True) -> Scenario:
    """Read a scenario file.

    Raises:
        NotFoundError, UnreadableError, UnsafeFileError, LimitError: it cannot be read.
        UsageError: it is not a scenario.
    """
    data = read_plain(path, max_bytes=MAX_YAML_BYTES)
    return parse_scenario(data, where=str(path), bound=bound)


def evidence_of(cassette: str | os.PathLike[str]) -> Evidence:
    """The evidence from a cassette on disk, which is verified first.

    Raises:
        CassetteError: it cannot be opened.
    """
    with open_cassette(cassette) as opened:
        events = list(opened.events())
        artifacts = sorted(os.listdir(cassette))  # noqa: PTH208 - names are all that is asked for
        return Evidence(opened.manifest, lambda: events, artifacts)


def run_scenario(
    path: str | os.PathLike[str], *, cassette: str | os.PathLike[str] | None = None
) -> ScenarioOutcome:
    """Check one scenario file.

    Args:
        path: the file.
        cassette: the cassette, instead of the one that the scenario names.

    Raises:
        CassetteError: the file is not a scenario, or its cassette cannot be opened.
    """
    scenario = load_scenario(path, bound=cassette is None)
    place = _named(path, scenario) if cassette is None else cassette
    outcome = check_scenario(scenario, evidence_of(place))
    return msgspec.structs.replace(outcome, scenario=f"{path} ({scenario.name})")


def cassette_of(path: str | os.PathLike[str]) -> Path:
    """Where the cassette is that a scenario file names. Raises as ``load_scenario``."""
    return _named(path, load_scenario(path))


def _named(path: str | os.PathLike[str], scenario: Scenario) -> Path:
    return Path(path).parent / native_text(scenario.cassette_path or "")


def check_file(path: str, cassette: str | None = None) -> ScenarioOutcome:
    """``run_scenario`` for a pool of processes: an error is a failed outcome, not an exception."""
    try:
        return run_scenario(path, cassette=cassette)
    except CassetteError as failed:
        kind = "usage" if isinstance(failed, UsageError) else "error"
        check = CheckOutcome(
            group=kind, name=type(failed).__name__, passed=False, message=str(failed)
        )
        return ScenarioOutcome(scenario=path, checks=(check,))
