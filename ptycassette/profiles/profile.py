"""Harness profiles: what is known of one agent CLI, as a checked file.

``docs/harnesses.md`` describes the format. Strings may hold ``${name}``; the
names are filled in when a run is prepared (``prepare.py``).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ptycassette.profiles.checked import StrictTable, check_regex, read_checked
from ptycassette.profiles.predicate import ScreenPredicate
from ptycassette.profiles.session_log import EventRule, LogSource

__all__ = [
    "Capability",
    "Credentials",
    "HomeFile",
    "KnownCli",
    "OfflineMode",
    "Profile",
    "ProfileTerminal",
    "Screens",
    "Stroke",
    "Submit",
    "VersionQuery",
    "clis_without_profile",
]


class VersionQuery(StrictTable, frozen=True, kw_only=True):
    """How to ask for the version, and with which ones the profile was seen to work.

    ``automatic``: whoever records the program has it asked without saying so. Not every program
    takes ``argv`` for a question, so that is for names that no other program has.
    """

    argv: tuple[str, ...] = ("--version",)
    automatic: bool = True
    regex: str = r"(?P<version>\d+\.\d+[^\s]*)"
    tested: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check what the types cannot express."""
        check_regex(self.regex)
        if "(?P<version>" not in self.regex:
            raise ValueError("version.regex has no group named version")


class Capability(StrictTable, frozen=True, kw_only=True):
    """The capabilities of the CLI, in its own terms, for the manifest of a recording.

    ``permission_modes`` are what its option for that takes.
    """

    features: tuple[str, ...] = ()
    permission_modes: tuple[str, ...] = ()


class ProfileTerminal(StrictTable, frozen=True, kw_only=True):
    """The terminal that the CLI is at home in."""

    term: str = "xterm-256color"
    rows: int = 30
    cols: int = 100


class HomeFile(StrictTable, frozen=True, kw_only=True):
    """A file to write into the temporary home (or, with ``base = "cwd"``, the work folder)."""

    path: str
    text: str
    base: Literal["home", "cwd"] = "home"

    def __post_init__(self) -> None:
        """Check what the types cannot express."""
        _check_inside(self.path)


class Credentials(StrictTable, frozen=True, kw_only=True):
    """Where its secrets lie: files of the home and of the work folder, state that holds some too.

    What looks like a secret in them is known to the scrubber. ``key_prefix`` begins the key of
    zeros that offline runs get.
    """

    home: tuple[str, ...] = ()
    cwd: tuple[str, ...] = ()
    key_prefix: str = "sk-"

    def __post_init__(self) -> None:
        """Check what the types cannot express."""
        for path in (*self.home, *self.cwd):
            _check_inside(path)


def _check_inside(path: str) -> None:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "" in parts:
        raise ValueError("a file's path is relative and stays inside")


class OfflineMode(StrictTable, frozen=True, kw_only=True):
    """One way to run it offline: with an API key, with an account, logged out.

    ``tls`` tells that the provider must speak TLS. ``arguments`` stand right
    behind the program in every run.
    """

    api: Literal["anthropic", "responses", "chat", "gemini"]
    tls: bool = False
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    files: tuple[HomeFile, ...] = ()


class Screens(StrictTable, frozen=True, kw_only=True):
    """How its states look: ready for a prompt, busy, done with a turn."""

    ready: ScreenPredicate
    busy: ScreenPredicate | None = None
    done: ScreenPredicate | None = None


class Stroke(StrictTable, frozen=True, kw_only=True):
    """One thing to do at the keyboard, and how long to wait after it."""

    key: str | None = None
    text: str | None = None
    pause_ms: int = 0

    def __post_init__(self) -> None:
        """Check what the types cannot express."""
        if (self.key is None) == (self.text is None):
            raise ValueError("a stroke has either key or text")


class Submit(StrictTable, frozen=True, kw_only=True):
    """How a prompt is handed in: pasted (bracketed where the CLI asks for that) or typed."""

    how: Literal["paste", "type"] = "paste"
    pause_ms: int = 100
    key: str = "enter"


class KnownCli(StrictTable, frozen=True, kw_only=True):
    """What is known also of CLIs that have no profile.

    ``binaries`` are the names of its program.
    """

    binaries: tuple[str, ...]
    version_query: VersionQuery = VersionQuery()
    credentials: Credentials = Credentials()


class _WithoutProfile(StrictTable, frozen=True, kw_only=True):
    version: Literal[1]
    clis: tuple[KnownCli, ...] = ()


def clis_without_profile(text: str) -> tuple[KnownCli, ...]:
    """Read the list of CLIs that have no profile.

    Raises:
        UsageError: what is wrong, and the nearest known name.
    """
    known = (KnownCli, VersionQuery, Credentials)
    return read_checked(text, _WithoutProfile, where="clis without profile", known=known).clis


class Profile(KnownCli, frozen=True, kw_only=True):
    """All that is known of one CLI.

    ``environment`` and ``drop_environment`` hold for every run, ``modes`` for
    offline ones. ``oneshot`` are the arguments of a run without a terminal
    interface; ``${prompt}`` stands for the prompt. ``submit`` hands in a prompt,
    ``leave`` ends the program, ``interrupt`` a turn. ``licence`` is of the CLI, and
    ``shareable`` tells whether it allows showing its screens to others.
    """

    version: Literal[1]
    name: str
    title: str
    licence: str = ""
    shareable: bool = False
    capability: Capability = Capability()
    terminal: ProfileTerminal = ProfileTerminal()
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    drop_environment: tuple[str, ...] = ()
    interactive: tuple[str, ...] = ()
    oneshot: tuple[str, ...] = ()
    modes: dict[str, OfflineMode] = msgspec.field(default_factory=dict)
    screens: Screens
    submit: Submit = Submit()
    interrupt: tuple[Stroke, ...] = (Stroke(key="escape"),)
    leave: tuple[Stroke, ...] = (Stroke(key="ctrl-c", pause_ms=200), Stroke(key="ctrl-c"))
    logs: tuple[LogSource, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, *, where: str = "profile") -> Profile:
        """Read and check a profile.

        Raises:
            UsageError: what is wrong, where, and the nearest known name.
        """
        tables = (
            VersionQuery,
            Capability,
            Credentials,
            ProfileTerminal,
            HomeFile,
            OfflineMode,
            Screens,
            Stroke,
            Submit,
            ScreenPredicate,
            LogSource,
            EventRule,
        )
        return read_checked(text, cls, where=where, known=tables)
