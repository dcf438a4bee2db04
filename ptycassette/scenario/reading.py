"""Scenario text to ``Scenario``: strict YAML or JSON, every mistake with its place."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.bounded_regex import regex_problem
from ptycassette.model.visible import visible
from ptycassette.scenario.model import (
    Clipboard,
    Compare,
    InputBytes,
    InputText,
    Link,
    PasteBoundary,
    Scenario,
    ServiceJson,
    TextQuery,
    Title,
)
from ptycassette.scenario.normalise import BUILT_IN
from ptycassette.scenario.strict_yaml import parse_yaml

__all__ = ["parse_scenario", "scenario_schema"]

_PINS = ("cassette_path", "expected_manifest_id", "expected_content_digest")
_REPLAY_MODES = {"realtime", "scaled", "collapsed"}
_KINDS = {"input", "output", "frame", "service-event", "final", ""}
_COSTLY = re.compile(r"=~|\b(?:match|search)\s*\(")
"""Regular expressions inside of a JSONPath: they run on an engine that may never end."""


def parse_scenario(data: bytes, *, where: str, bound: bool = True) -> Scenario:
    """Read a scenario.

    Args:
        data: the file, YAML or JSON (which is read as YAML).
        where: its name, for messages.
        bound: whether it must name its cassette and pin its id and digest; a
            caller that brings the cassette passes False.

    Raises:
        UsageError: it is not a scenario; the message says where and why.
    """
    plain = parse_yaml(data, where=where)
    try:
        scenario = msgspec.convert(plain, Scenario)
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
    for name, normaliser in scenario.normalisers.items():
        if name in BUILT_IN:
            return f"normaliser {name!r} is built in; give yours another name"
        if (bad := _bad_regex(normaliser.pattern)) is not None:
            return f"normaliser {name!r}: {bad}"
    known = {*BUILT_IN, *scenario.normalisers}
    for group, predicates in scenario.groups.items():
        if not predicates:
            return f"group {group!r} is empty: it cannot fail"
        for number, predicate in enumerate(predicates, 1):
            found = _predicate_problem(predicate, known)
            if found:
                return f"group {group!r}, number {number}: {found}"
    return None


def _predicate_problem(predicate: Any, known: set[str]) -> str | None:  # noqa: PLR0911 - as above
    if isinstance(predicate, TextQuery | Title | Clipboard | Link | InputText):
        optional = predicate.__struct_config__.tag == "frame_stable_for"
        given = (predicate.text is not None) + (predicate.regex is not None)
        if given > 1 or (not given and not optional):
            return "give text or regex, one of them"
        if predicate.text == "":
            return "an empty text is in every screen: it cannot fail"
        if predicate.regex is not None and (bad := _bad_regex(predicate.regex)) is not None:
            return bad
    if isinstance(predicate, TextQuery) and (bad := _query_problem(predicate, known)) is not None:
        return bad
    if isinstance(predicate, Compare) and (bad := _comparison_problem(predicate)) is not None:
        return bad
    if isinstance(predicate, InputBytes | PasteBoundary):
        if not predicate.bytes_hex and not predicate.key:
            return "give bytes_hex or key"
        try:
            bytes.fromhex(predicate.bytes_hex)
        except ValueError:
            return f"bytes_hex {predicate.bytes_hex!r} is not hexadecimal"
    for field in ("kind", "before_kind", "after_kind"):
        kind = getattr(predicate, field, "")
        if kind not in _KINDS:
            return f"{field} {kind!r} is none of {', '.join(sorted(_KINDS - {''}))}"
    return None


def _query_problem(predicate: TextQuery, known: set[str]) -> str | None:
    unknown = [name for name in predicate.normalise if name not in known]
    if unknown:
        return f"no normaliser {unknown[0]!r}; there are {', '.join(sorted(known))}"
    if predicate.row is not None and predicate.region is not None:
        return "give row or region, one of them"
    return None


def _comparison_problem(predicate: Compare) -> str | None:
    if predicate.matches is not None and (bad := _bad_regex(predicate.matches)) is not None:
        return f"matches: {bad}"
    return _bad_json_path(predicate.json_path) if isinstance(predicate, ServiceJson) else None


def _bad_json_path(path: str) -> str | None:
    """Why a JSONPath is refused: its syntax, or that nobody knows how long it takes."""
    import jsonpath  # noqa: PLC0415 - most scenarios have none

    try:
        jsonpath.compile(path)
    except jsonpath.JSONPathError as exc:
        return f"json_path {path!r}: {str(exc).splitlines()[0]}"
    if _COSTLY.search(path):
        return f"json_path {path!r}: no regular expressions here; use matches"
    if path.count("..") > 1:
        return f"json_path {path!r}: at most one '..', or it may never end"
    return None


def _bad_regex(pattern: str) -> str | None:
    problem = regex_problem(pattern)
    return problem and f"regex {pattern!r}: {problem}"
