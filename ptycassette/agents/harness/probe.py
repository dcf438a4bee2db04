"""Probes: ask a CLI for its quota, account or models, as a checked file describes.

``docs/probes.md`` describes the format. A probe walks through screens (``steps``), keeps some of
them (``capture``) and extracts facts with regular expressions. If a required expression finds
nothing, that is an error: an unknown layout must not become a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from ptycassette.keys.quantities import parse_time
from ptycassette.model.re2_engine import file_pattern
from ptycassette.model.records import DiscoveryRecord, QuotaRecord
from ptycassette.model.screen import Screen
from ptycassette.profiles.profile import Stroke
from ptycassette.profiles.session_log import (
    ScreenPredicate,
    StrictTable,
    check_regex,
    read_checked,
    to_number,
)

# The steps of probes and drives.


class DriveStep(StrictTable, frozen=True, kw_only=True):
    """One step: wait for a screen (and keep it as ``capture``), or an action.

    ``late`` is the status of a probe if the wait times out here, ``ended`` if the program ends
    instead. ``submit`` submits a text in the way that the profile describes, ``strokes`` are keys
    and texts, ``resize`` is rows and columns, ``signal`` a name.
    """

    wait: ScreenPredicate | None = None
    capture: str | None = None
    timeout_s: float | None = None
    late: Literal["unauthenticated", "unavailable", "error"] = "error"
    ended: Literal["unauthenticated", "unavailable", "error"] = "error"
    submit: str | None = None
    strokes: tuple[Stroke, ...] = ()
    resize: tuple[int, int] | None = None
    signal: str | None = None
    exit: bool = False

    def __post_init__(self) -> None:
        kinds = (
            self.wait is not None,
            self.submit is not None,
            bool(self.strokes),
            self.resize is not None,
            self.signal is not None,
            self.exit,
        )
        if sum(kinds) != 1:
            raise ValueError(
                "a step has exactly one of wait, submit, strokes, resize, signal, exit"
            )
        if self.wait is None and self.capture is not None:
            raise ValueError("capture belongs to wait")
        if self.wait is None and not self.exit and self.timeout_s is not None:
            raise ValueError("timeout_s belongs to wait and exit")


ProbeStatus = Literal["ok", "unauthenticated", "unavailable", "error", "stale"]

_VALUE = "(?P<value>"


class Marker(StrictTable, frozen=True, kw_only=True):
    """A screen that ends the probe with a status other than ``ok``."""

    status: Literal["unauthenticated", "unavailable", "error"]
    when: ScreenPredicate
    message: str


class Fact(StrictTable, frozen=True, kw_only=True):
    """A fact to extract from captured screens: the group ``value`` of ``regex``.

    ``screen`` is one name, or several if a list is longer than a screen.

    ``map`` translates values. ``kind`` ``number`` reads ``6,131``, ``2.6k`` and
    ``$0.01``.
    """

    screen: str | tuple[str, ...]
    regex: str
    kind: Literal["text", "number"] = "text"
    required: bool = True
    map: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_regex(self.regex)
        if _VALUE not in self.regex:
            raise ValueError("regex has no group named value")

    @property
    def screens(self) -> tuple[str, ...]:
        """The names of the screens."""
        return (self.screen,) if isinstance(self.screen, str) else self.screen


class Window(StrictTable, frozen=True, kw_only=True):
    """A usage window. The groups of ``regex`` become its fields.

    Groups: one of ``used_percent`` and ``left_percent`` (the other is computed), and
    any of ``resets``, ``used``, ``limit``, ``name``.
    """

    screen: str
    regex: str
    name: str = ""
    window_minutes: int | None = None
    required: bool = True

    def __post_init__(self) -> None:
        check_regex(self.regex)
        groups = file_pattern(self.regex, multiline=True).groups
        unknown = groups - {"used_percent", "left_percent", "resets", "used", "limit", "name"}
        if unknown:
            raise ValueError(f"a window has no field {min(unknown)!r}")
        if len(groups & {"used_percent", "left_percent"}) != 1:
            raise ValueError("a window's regex has either used_percent or left_percent")
        if not self.name and "name" not in groups:
            raise ValueError("a window needs a name, given or as a group")


class Accounted(StrictTable, frozen=True, kw_only=True):
    """Rows that look like a window must be read as one; otherwise the layout is unknown."""

    screen: str
    regex: str

    def __post_init__(self) -> None:
        check_regex(self.regex)


class Quota(StrictTable, frozen=True, kw_only=True):
    """The content of ``quota.json``."""

    windows: tuple[Window, ...] = ()
    accounted: Accounted | None = None
    account_class: Fact | None = None
    metadata: dict[str, Fact] = msgspec.field(default_factory=dict)


class Discovery(StrictTable, frozen=True, kw_only=True):
    """The content of ``discovery.json``. Every match of a regex is one entry."""

    models: Fact | None = None
    reasoning_levels: Fact | None = None


class Probe(StrictTable, frozen=True, kw_only=True):
    """A whole probe.

    ``environment`` names the user's variables that the CLI gets besides the usual ones, mostly
    keys. ``variables`` are set for it. ``folder`` is the folder in which it starts: the caller's,
    or an empty one, in which it need not ask for trust.
    """

    version: Literal[1]
    name: str
    harness: str
    source: str
    mode: str = "key"
    timeout_s: float = 30.0
    rows: int = 40
    cols: int = 120
    freshness_window: str = "15m"
    staleness_behavior: Literal["report", "refuse"] = "report"
    arguments: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    folder: Literal["here", "empty"] = "here"
    steps: tuple[DriveStep, ...]
    markers: tuple[Marker, ...] = ()
    quota: Quota | None = None
    discovery: Discovery | None = None

    def __post_init__(self) -> None:
        parse_time(self.freshness_window)
        if self.quota is None and self.discovery is None:
            raise ValueError("a probe asks for quota, discovery or both")
        captured = {step.capture for step in self.steps if step.capture}
        missing = sorted(_used_screens(self) - captured)
        if missing:
            raise ValueError(f"no step captures the screen {missing[0]!r}")

    @classmethod
    def parse(cls, text: str, *, where: str = "probe") -> Probe:
        """Read and check a probe.

        Raises:
            UsageError: the probe is wrong; names the fault, its place and the nearest known name.
        """
        tables = (
            DriveStep,
            Marker,
            Fact,
            Window,
            Accounted,
            Quota,
            Discovery,
            ScreenPredicate,
            Stroke,
        )
        return read_checked(text, cls, where=where, known=tables)


def _used_screens(probe: Probe) -> set[str]:
    """The names of the screens that facts are extracted from."""
    used: set[str] = set()
    if probe.quota is not None:
        used |= {window.screen for window in probe.quota.windows}
        used |= {name for fact in probe.quota.metadata.values() for name in fact.screens}
        used |= set(probe.quota.account_class.screens if probe.quota.account_class else ())
        used |= {probe.quota.accounted.screen} if probe.quota.accounted else set()
    if probe.discovery is not None:
        facts = (probe.discovery.models, probe.discovery.reasoning_levels)
        used |= {name for fact in facts if fact is not None for name in fact.screens}
    return used


# Extract facts from captured screens, or report exactly why that is not possible.


Screens = Mapping[str, Screen]


class LayoutError(Exception):
    """A captured screen does not have the layout that the probe expects.

    Args:
        message: the expression that failed, and how.
        capture: the name of the screen.
    """

    def __init__(self, message: str, capture: str) -> None:
        super().__init__(message)
        self.message = message
        self.capture = capture


class QuotaFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``quota.json``."""

    windows: tuple[dict[str, Any], ...]
    account_class: str | None
    metadata: dict[str, Any]


def find_quota(quota: Quota, screens: Screens) -> QuotaFacts:
    """Find usage windows, account class and metadata.

    Raises:
        LayoutError: a required value is missing, or a value cannot be read.
    """
    windows: list[dict[str, Any]] = []
    read_rows: list[str] = []
    for window in quota.windows:
        found = list(_all(window.regex, screens[window.screen]))
        if not found and window.required:
            label = window.name or window.regex
            raise LayoutError(
                f"no window {label!r}: nothing matches '{window.regex}'", window.screen
            )
        windows += [_window(window, match) for match in found]
        read_rows += [match.group() for match in found]
    if quota.accounted is not None:
        _check_accounted(quota.accounted, screens, read_rows)
    account = quota.account_class
    values = _values(account, screens) if account is not None else []
    metadata = {name: _first(fact, screens) for name, fact in quota.metadata.items()}
    return QuotaFacts(
        windows=tuple(windows),
        account_class=str(values[0]) if values else None,
        metadata={name: value for name, value in metadata.items() if value is not None},
    )


def find_discovery(discovery: Discovery, screens: Screens) -> tuple[tuple[str, ...], ...]:
    """Find models and reasoning levels.

    Raises:
        LayoutError: a required value is missing.
    """
    facts = (discovery.models, discovery.reasoning_levels)
    return tuple(
        tuple(dict.fromkeys(str(value) for value in _values(fact, screens))) if fact else ()
        for fact in facts
    )


def _window(window: Window, match: Any) -> dict[str, Any]:
    """One window; percentages must be between 0 and 100, otherwise the layout is unknown."""
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    fields: dict[str, Any] = {"name": window.name or groups.pop("name", "").strip()}
    for name in ("used_percent", "left_percent"):
        if name in groups:
            other = "left_percent" if name == "used_percent" else "used_percent"
            value = to_number(groups.pop(name))
            if value is None or not 0 <= value <= 100:
                raise LayoutError(f"{name} is not a percentage in {match.group()!r}", window.screen)
            fields[name], fields[other] = value, 100 - value
    fields |= {name: text.strip() for name, text in groups.items() if name != "name"}
    if window.window_minutes is not None:
        fields["window_minutes"] = window.window_minutes
    return fields


def _check_accounted(accounted: Accounted, screens: Screens, read_rows: list[str]) -> None:
    """Check that every row that looks like a window was read as one."""
    pattern = file_pattern(accounted.regex)
    for row in screens[accounted.screen].rows:
        if pattern.found(row) and not any(
            row.strip() in read or read.strip() in row for read in read_rows
        ):
            raise LayoutError(
                f"{row.strip()!r} looks like a window, but no window's regex reads it",
                accounted.screen,
            )


def _values(fact: Fact, screens: Screens) -> list[Any]:
    found: list[Any] = []
    for name in fact.screens:
        for match in _all(fact.regex, screens[name]):
            text = match["value"].strip()
            value: Any = fact.map.get(text, text)
            if fact.kind == "number":
                value = to_number(value)
                if value is None:
                    raise LayoutError(f"no number in {match.group()!r}", name)
            found.append(value)
    if not found and fact.required:
        raise LayoutError(f"nothing matches '{fact.regex}'", fact.screens[0])
    return found


def _all(regex: str, screen: Screen) -> Iterator[Any]:
    """Every match on a screen; ``^`` and ``$`` match at rows."""
    return file_pattern(regex, multiline=True).matches(screen.text)


def _first(fact: Fact, screens: Screens) -> Any:
    """The first value of a fact; None if it has none."""
    return next(iter(_values(fact, screens)), None)


# A probe as a state machine: screens in, actions and a result out. No clock, no terminal.


class ProbeDiagnostic(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a probe has no result: message, step, failed predicates, screen."""

    message: str
    step: int | None = None
    failed: tuple[str, ...] = ()
    screen: tuple[str, ...] = ()


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome. ``quota`` and ``discovery`` are set if ``status`` is ``ok`` or ``stale``."""

    harness: str
    probe: str
    source: str
    status: ProbeStatus
    captured_at: str
    freshness_window: str
    quota: QuotaRecord | None = None
    discovery: DiscoveryRecord | None = None
    diagnostic: ProbeDiagnostic | None = None
    age_s: int | None = None
    fresh: bool | None = None


class ProbeRun:
    """One run of a probe."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self._index = 0
        self._captures: dict[str, Screen] = {}
        self._status: ProbeStatus | None = None
        self._diagnostic: ProbeDiagnostic | None = None

    @property
    def step(self) -> DriveStep | None:
        """The current step; None at the end."""
        if self._status is not None or self._index >= len(self.probe.steps):
            return None
        return self.probe.steps[self._index]

    def look(self, screen: Screen) -> bool:
        """Pass a screen to a step that waits; return whether the wait is over.

        The step's own predicate is checked before the markers.
        """
        step = self.step
        if step is None or step.wait is None:
            return False
        if step.wait.holds(screen):
            if step.capture is not None:
                self._captures[step.capture] = screen
            self._index += 1
            return True
        for marker in self.probe.markers:
            if marker.when.holds(screen):
                self._end(marker.status, marker.message, screen)
                return True
        return False

    def acted(self) -> None:
        """Go to the next step, because this one was performed."""
        self._index += 1

    def fail(self, message: str, screen: Screen, *, status: ProbeStatus = "error") -> None:
        """End the run: a timeout, or the end of the program or recording.

        A marker on the last screen gives a more exact status.
        """
        for marker in self.probe.markers:
            if marker.when.holds(screen):
                self._end(marker.status, marker.message, screen)
                return
        self._end(status, message, screen)

    def _end(self, status: ProbeStatus, message: str, screen: Screen) -> None:
        step = self.step
        failed = step.wait.misses(screen) if step is not None and step.wait is not None else ()
        self._diagnostic = ProbeDiagnostic(
            message=message, step=self._index, failed=failed, screen=_shown(screen)
        )
        self._status = status

    def result(self, captured_at: str) -> ProbeResult:
        """The outcome.

        Args:
            captured_at: when the screens were taken, RFC 3339.
        """
        if self._status is None and self.step is not None:
            self._status = "error"
            self._diagnostic = ProbeDiagnostic(message="the probe was not walked to its end")
        quota: QuotaRecord | None = None
        discovery: DiscoveryRecord | None = None
        if self._status is None:
            try:
                quota, discovery = self._facts(captured_at)
                self._status = "ok"
            except LayoutError as unknown:
                self._status = "error"
                self._diagnostic = ProbeDiagnostic(
                    message=f"unknown layout of the screen {unknown.capture!r}",
                    failed=(unknown.message,),
                    screen=_shown(self._captures[unknown.capture]),
                )
        return ProbeResult(
            harness=self.probe.harness,
            probe=self.probe.name,
            source=self.probe.source,
            status=self._status,
            captured_at=captured_at,
            freshness_window=self.probe.freshness_window,
            quota=quota,
            discovery=discovery,
            diagnostic=self._diagnostic,
        )

    def _facts(self, captured_at: str) -> tuple[QuotaRecord | None, DiscoveryRecord | None]:
        """The records, from the captured screens."""
        probe = self.probe
        shared: dict[str, Any] = {
            "source": probe.source,
            "status": "ok",
            "captured_at": captured_at,
            "freshness_window": probe.freshness_window,
            "staleness_behavior": probe.staleness_behavior,
        }
        quota = discovery = None
        if probe.quota is not None:
            facts = find_quota(probe.quota, self._captures)
            quota = QuotaRecord(
                **shared,
                account_class=facts.account_class,
                windows=facts.windows or None,
                metadata=facts.metadata or None,
            )
        if probe.discovery is not None:
            models, levels = find_discovery(probe.discovery, self._captures)
            discovery = DiscoveryRecord(
                **shared, models=models or None, reasoning_levels=levels or None
            )
        return quota, discovery


def _shown(screen: Screen) -> tuple[str, ...]:
    """The rows of a screen, without the empty ones at the end."""
    return tuple(screen.text.split("\n"))


# Drives: a run of a CLI from start to end, as a checked file. Fixtures are recorded with them.


class Drive(StrictTable, frozen=True, kw_only=True):
    """A whole drive. ``script`` is a file beside it.

    ``prompt`` makes a one-shot run, ``command`` a run of a subcommand; without either the
    terminal interface starts.
    """

    version: Literal[1]
    name: str
    harness: str
    script: str
    title: str = ""
    mode: str = "key"
    model: str = ""
    prompt: str | None = None
    command: tuple[str, ...] | None = None
    arguments: tuple[str, ...] = ()
    files: dict[str, str] = msgspec.field(default_factory=dict)
    timeout_s: float = 60.0
    rows: int | None = None
    cols: int | None = None
    exit_codes: tuple[int, ...] = (0,)
    steps: tuple[DriveStep, ...] = ()

    def __post_init__(self) -> None:
        if self.prompt is not None and self.command is not None:
            raise ValueError("a drive has a prompt or a command, not both")

    @classmethod
    def parse(cls, text: str, *, where: str = "drive") -> Drive:
        """Read and check a drive.

        Raises:
            UsageError: the drive is wrong; names the fault, its place and the nearest known name.
        """
        return read_checked(text, cls, where=where, known=(DriveStep, Stroke, ScreenPredicate))
