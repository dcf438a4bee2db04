"""A scenario file: pins, normalisers, groups of predicates. Unknown fields are errors.

The names of the seventeen reference predicates and of their fields are those of the
reference implementation; those marked "extension" are ours.
"""

from __future__ import annotations

import msgspec

from ptycassette.scenario._predicates import Predicate
from ptycassette.scenario.normalise import Normaliser

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
