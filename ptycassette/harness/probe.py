"""Probes: how to ask a CLI for its quota, account, models, as a checked file.

``docs/probes.md`` describes the format. A probe walks through screens (``steps``),
keeps some of them (``capture``) and extracts facts with regular expressions. If a
required expression finds nothing, that is an error: an unknown layout must not
become a number.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ptycassette.harness.step import DriveStep
from ptycassette.keys.quantities import parse_time
from ptycassette.model.file_patterns import file_pattern
from ptycassette.profiles.checked import StrictTable, check_regex, read_checked
from ptycassette.profiles.predicate import ScreenPredicate
from ptycassette.profiles.profile import Stroke

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

    ``environment`` names the user's variables that the CLI gets besides the usual ones,
    mostly keys. ``variables`` are set for it. ``folder`` is where it starts: the caller's, or an
    empty one, where it need not ask for trust.
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
            UsageError: what is wrong, where, and the nearest known name.
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
