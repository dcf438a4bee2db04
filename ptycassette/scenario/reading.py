"""Parses scenarios from strict YAML or JSON; errors name the place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.file_patterns import FilePatterns
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible
from ptycassette.scenario._predicate import PredicateContext, bad_pattern
from ptycassette.scenario.model import EnvironmentPolicy, Normaliser, Scenario
from ptycassette.scenario.normalise import BUILT_IN, normaliser_problem
from ptycassette.scenario.strict_yaml import parse_yaml

_PINS = ("cassette_path", "expected_manifest_id", "expected_content_digest")
_REPLAY_MODES = {"realtime", "scaled", "collapsed"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parse_scenario(data: bytes, *, where: str, bound: bool = True) -> Scenario:
    """Read a scenario.

    Args:
        data: the file, YAML or JSON (which is read as YAML).
        where: its name, for messages.
        bound: whether it must name its cassette and pin its id and digest; a
            caller that brings the cassette passes False.

    Raises:
        UsageError: it is not a scenario; the message names the place and the reason.
    """
    plain = parse_yaml(data, where=where)
    try:
        scenario = msgspec.convert(plain, resolved(Scenario))
    except (msgspec.ValidationError, RecursionError) as exc:
        raise UsageError(
            f"no scenario: {visible(str(exc))}", where=where,
            hint="ptycassette check --schema prints the JSON Schema",
        ) from exc  # fmt: skip
    problem = _problem(scenario, bound=bound)
    if problem:
        raise UsageError(problem, where=where)
    return scenario


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema of scenario files, for editors: bound ones, with their pins."""
    schema = msgspec.json.schema(Scenario)
    scenario = schema["$defs"]["Scenario"]
    scenario["required"] = [*scenario["required"], *_PINS]
    for field in _PINS:
        scenario["properties"][field] = {"type": "string", "minLength": 1}
    groups = scenario["properties"]["groups"]
    groups["minProperties"] = 1
    groups["additionalProperties"]["minItems"] = 1
    scenario["properties"]["replay_mode"]["enum"] = sorted(_REPLAY_MODES)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ptycassette scenario",
        **schema,
    }


def _problem(scenario: Scenario, *, bound: bool) -> str | None:  # noqa: PLR0911 - one per rule
    """What types alone cannot say; None when all is well."""
    if bound:
        for field in _PINS:
            if not getattr(scenario, field):
                return f"{field} is missing: a scenario is bound to one recording"
    if not scenario.groups:
        return "there is no group: a scenario that checks nothing cannot fail"
    if scenario.replay_mode not in _REPLAY_MODES:
        return f"replay_mode is {scenario.replay_mode!r}, none of realtime, scaled, collapsed"
    if scenario.environment is not None and (bad := _bad_environment(scenario.environment)):
        return f"environment: {bad}"
    patterns = FilePatterns()
    if bad := _bad_normaliser(scenario.normalisers, patterns):
        return bad
    known = PredicateContext({*BUILT_IN, *scenario.normalisers}, patterns)
    for group, predicates in scenario.groups.items():
        if not predicates:
            return f"group {group!r} is empty: it cannot fail"
        for number, predicate in enumerate(predicates, 1):
            found = predicate.problem(known)
            if found:
                return f"group {group!r}, number {number}: {found}"
    return None


def _bad_normaliser(normalisers: Mapping[str, Normaliser], patterns: FilePatterns) -> str | None:
    for name, normaliser in normalisers.items():
        if name in BUILT_IN:
            return f"normaliser {name!r} is built in; give yours another name"
        bad = bad_pattern(normaliser.pattern, patterns) or normaliser_problem(normaliser)
        if bad is not None:
            return f"normaliser {name!r}: {bad}"
    return None


def _bad_environment(policy: EnvironmentPolicy) -> str | None:
    folders = {"home": policy.home, "config_root": policy.config_root}
    for field, folder in folders.items():
        if folder is not None and (
            not folder or folder.startswith(("/", "~")) or ".." in folder.split("/")
        ):
            return f"{field} is {folder!r}, and must be 'temporary' or a folder beside this file"
    for name, value in (*policy.variables.items(), *((name, "") for name in policy.allowlist)):
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            return f"{name!r} is not a variable that a program can be given"
    for name, folder in (("HOME", policy.home), ("XDG_CONFIG_HOME", policy.config_root)):
        if folder is not None and (name in policy.variables or name in policy.allowlist):
            return f"{name} is given twice, by a folder and by its name"
    return None
