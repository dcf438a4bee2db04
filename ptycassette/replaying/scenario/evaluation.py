"""Checks a scenario against the evidence: pins first, then every predicate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from ptycassette.errors import UsageError
from ptycassette.model.re2_engine import FilePatterns
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import printable, visible
from ptycassette.replaying.scenario._predicates import Predicate, TextQuery, evaluate, type_name
from ptycassette.replaying.scenario.predicate import (
    BUILT_IN,
    PER_REWRITTEN_CHAR,
    Effort,
    Evidence,
    Failed,
    Normaliser,
    PredicateContext,
    bad_pattern,
    normaliser_problem,
)

# A scenario file: pins, normalisers, groups of predicates. Unknown fields are errors.


__all__ = [
    "TEMPORARY",
    "EmulatorPin",
    "EnvironmentPolicy",
    "Normaliser",
    "Scenario",
    "TerminalSize",
]

TEMPORARY = "temporary"
"""A folder that is made for one run, empty."""


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class TerminalSize(_Strict, frozen=True, kw_only=True):
    """The size at the start of the recording."""

    rows: int
    cols: int


class EmulatorPin(_Strict, frozen=True, kw_only=True):
    """The emulator that must have made the frames."""

    name: str
    version: str = ""


class EnvironmentPolicy(_Strict, frozen=True, kw_only=True):
    """The environment that the recording is to be made in; ``check`` and replay run nothing.

    ``home`` and ``config_root`` (XDG_CONFIG_HOME): ``temporary`` for an empty folder, or a
    folder beside the scenario, of which the program gets a copy. ``allowlist`` names
    those of the caller's variables that it gets; ``variables`` are its own.
    """

    home: str | None = None
    config_root: str | None = None
    allowlist: tuple[str, ...] = ()
    variables: dict[str, str] = msgspec.field(default_factory=dict)


class Scenario(_Strict, frozen=True, kw_only=True):
    """A scenario file.

    ``cassette_path`` is relative to the file. ``expected_manifest_id`` and
    ``expected_content_digest`` bind it to one recording.
    """

    name: str
    groups: dict[str, tuple[Predicate, ...]]
    cassette_path: str | None = None
    expected_manifest_id: str | None = None
    expected_content_digest: str | None = None
    required_emulator: EmulatorPin | None = None
    replay_mode: str = "collapsed"
    replay_scale: float | None = None
    terminal_size: TerminalSize | None = None
    environment: EnvironmentPolicy | None = None
    expected_artifacts: tuple[str, ...] = ()
    resolution_ms: int | None = None
    normalisers: dict[str, Normaliser] = msgspec.field(default_factory=dict)


class CheckOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One predicate: passed, or why not, with the screen at that time."""

    group: str
    name: str
    passed: bool
    message: str = ""
    t_ms: int = 0
    screen: tuple[str, ...] = ()


class ScenarioOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """All predicates of a scenario. ``normalisers`` are those that were applied."""

    scenario: str
    checks: tuple[CheckOutcome, ...]
    normalisers: tuple[str, ...] = ()

    @property
    def refusal(self) -> CheckOutcome | None:
        """The check that explains why nothing could be checked.

        Its group is ``usage`` (no scenario) or ``error`` (no recording), its name that of the
        error. A scenario may have groups of these names, too.
        """
        first = self.checks[0] if len(self.checks) == 1 else None
        if first is None or first.passed or not first.name.endswith("Error"):
            return None
        return first if first.group in {"usage", "error"} else None

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[CheckOutcome, ...]:
        """The checks that did not pass."""
        return tuple(check for check in self.checks if not check.passed)


def check_scenario(scenario: Scenario, evidence: Evidence) -> ScenarioOutcome:
    """Evaluate all predicates, also after failures.

    Raises:
        UsageError: it, or one of its patterns, would take too long (``Effort``).
    """
    effort = Effort()
    checks = list(_binding(scenario, evidence))
    applied: dict[str, None] = {}
    for group, predicates in scenario.groups.items():
        for number, predicate in enumerate(predicates, 1):
            if isinstance(predicate, TextQuery):
                applied.update(dict.fromkeys(predicate.normalise))
            failed = evaluate(predicate, evidence, scenario.normalisers, effort)
            name = predicate.name or f"{type_name(predicate)}-{number}"
            checks.append(_outcome(group, name, failed, evidence, effort))
    return ScenarioOutcome(scenario=scenario.name, checks=tuple(checks), normalisers=tuple(applied))


def _outcome(
    group: str, name: str, failed: Failed | None, evidence: Evidence, effort: Effort
) -> CheckOutcome:
    if failed is None:
        return CheckOutcome(group=group, name=name, passed=True)
    frame = evidence.frame_at(failed.t_ms)
    if frame is not None:  # it is shown
        effort.spend(PER_REWRITTEN_CHAR * sum(map(len, frame.text)))
    return CheckOutcome(
        group=group, name=name, passed=False, message=failed.message, t_ms=failed.t_ms,
        screen=_used(frame.text) if frame else (),
    )  # fmt: skip


def _binding(scenario: Scenario, evidence: Evidence) -> Iterator[CheckOutcome]:
    """The assertions of the scenario about the recording as a whole."""
    manifest = evidence.manifest
    terminal = manifest.terminal
    pairs: list[tuple[str, object, object]] = [
        ("expected_manifest_id", scenario.expected_manifest_id, manifest.id),
        (
            "expected_content_digest",
            scenario.expected_content_digest,
            manifest.content_digest.sha256,
        ),
    ]
    size = scenario.terminal_size
    if size is not None:
        recorded = (terminal.initial_rows, terminal.initial_cols)
        pairs.append(("terminal_size", (size.rows, size.cols), recorded))
    pin = scenario.required_emulator
    if pin is not None:
        got = (terminal.emulator.name, terminal.emulator.version if pin.version else "")
        pairs.append(("required_emulator", (pin.name, pin.version), got))
    for name, want, have in pairs:
        if want is not None and want != have:
            message = f"expected {want!r}, the recording has {have!r}"
            yield CheckOutcome(group="binding", name=name, passed=False, message=message)
    missing = [name for name in scenario.expected_artifacts if name not in evidence.artifacts]
    if missing:
        yield CheckOutcome(
            group="binding", name="expected_artifacts", passed=False,
            message=f"missing: {', '.join(missing)}",
        )  # fmt: skip
    coarse = manifest.timing.resolution_ms
    if scenario.resolution_ms is not None and coarse > scenario.resolution_ms:
        message = f"recorded at {coarse} ms, which is coarser than {scenario.resolution_ms} ms"
        yield CheckOutcome(group="binding", name="resolution_ms", passed=False, message=message)


def outcome_lines(outcome: ScenarioOutcome) -> Iterator[str]:
    """The outcome as text; characters that could act on a terminal are escaped."""
    failures = outcome.failures
    total = f"{len(outcome.checks)} check{'s' if len(outcome.checks) != 1 else ''}"
    refusal = outcome.refusal
    if refusal is not None:
        yield f"{visible(outcome.scenario)}: cannot be checked"
        yield from (f"  {printable(line)}" for line in refusal.message.split("\n"))
        return
    state = f"passed ({total})" if outcome.passed else f"{len(failures)} of {total} failed"
    yield f"{visible(outcome.scenario)}: {state}"
    for check in failures:
        where = f"{visible(check.group)}/{visible(check.name)}"
        when = "" if check.group == "binding" else f" at {check.t_ms} ms"
        yield f"  FAILED {where}{when}: {printable(check.message)}"
        for row in check.screen:
            yield f"    | {visible(row)}"
    if outcome.normalisers:
        yield f"  normalised before comparing: {visible(', '.join(outcome.normalisers))}"


def _used(rows: tuple[str, ...]) -> tuple[str, ...]:
    return rows[: max((number for number, row in enumerate(rows, 1) if row), default=0)]


# YAML through a safe loader that also refuses constructs that can hide meaning.


MAX_YAML_BYTES = 256 << 10
"""What takes the loader longest, words on a line, takes it 0.35 s at this length."""
MAX_NODES = 10_000
"""Scalars, lists and mappings; reading them takes about a third of a second."""
MAX_DEPTH = 64
"""Of lists and mappings in brackets; with each level the loader looks longer for keys."""
MAX_DIGITS = 64


def parse_yaml(data: bytes, *, where: str) -> Any:
    """Plain data from YAML, or from JSON, which is YAML.

    Args:
        data: the file.
        where: its name, for messages.

    Raises:
        UsageError: it is not such YAML; the message names the place and the reason.
    """
    if len(data) > MAX_YAML_BYTES:
        raise UsageError(f"longer than {MAX_YAML_BYTES} bytes", where=where)
    try:
        return yaml.load(data, _StrictLoader)  # noqa: S506 - a SafeLoader, and stricter
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as exc:
        raise UsageError(
            f"not YAML that is accepted here: {visible(str(exc))}", where=where
        ) from exc


class _StrictLoader(yaml.SafeLoader):
    """The safe loader, without constructs that hide meaning."""

    _nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse aliases and anchors before anything is expanded, and too many nodes."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) is not None:
            raise yaml.composer.ComposerError(None, None, "tags are not allowed", event.start_mark)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise yaml.composer.ComposerError(
                None, None, f"more than {MAX_NODES} values", event.start_mark
            )
        if isinstance(event, yaml.events.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.composer.ComposerError(
                None, None, "anchors and aliases are not allowed", event.start_mark
            )
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode):
            node.value = _joined(node)
        return node

    def fetch_flow_collection_start(self, token: Any) -> None:
        """Refuse deeply nested brackets."""
        if self.flow_level >= MAX_DEPTH:
            raise yaml.scanner.ScannerError(
                None, None, f"nested deeper than {MAX_DEPTH} levels", self.get_mark()
            )
        super().fetch_flow_collection_start(token)

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Read ``12:30`` and very long digits as text (YAML 1.1 has numbers in base 60)."""
        tag = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        is_number = tag in {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}
        if is_number and (":" in value or len(value) > MAX_DIGITS):
            return "tag:yaml.org,2002:str"
        return tag

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        """Refuse merge keys, repeated keys and keys that are not texts."""
        seen: set[str] = set()
        for key, _ in node.value:
            problem = None
            if key.tag == "tag:yaml.org,2002:merge":
                problem = "merge keys are not allowed"
            elif key.tag != "tag:yaml.org,2002:str":
                problem = f"the key {key.value!r} is not text"
            elif key.value in seen:
                problem = f"the key {key.value!r} occurs twice"
            if problem:
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _joined(node: yaml.ScalarNode) -> str:
    """The text with JSON's surrogate pairs joined; a lone surrogate is refused."""
    text: str = node.value
    if text.isascii():
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as exc:
        raise yaml.composer.ComposerError(
            None, None, "a lone surrogate is not a character", node.start_mark
        ) from exc


# YAML 1.1 reads dates as dates; here they are text.
_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


# Parses scenarios from strict YAML or JSON; errors name the place.


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
            f"not a scenario: {visible(str(exc))}", where=where,
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
    """A problem that types alone cannot show; None if the scenario is valid."""
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
