"""Harness profiles: facts about one agent CLI, in a checked file.

``docs/harnesses.md`` describes the format. Strings may contain ``${name}``;
``agents/harness/preparing.py`` fills in the names when it prepares a run.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from ptycassette.profiles.session_log import (
    EventRule,
    LogSource,
    ScreenPredicate,
    StrictTable,
    check_regex,
    read_checked,
)


class VersionQuery(StrictTable, frozen=True, kw_only=True):
    """How to ask for the version, and the versions that the profile was tested with.

    ``automatic``: a recording asks without an explicit request. A script might not understand
    ``argv``, so use this only for names that no other program has.
    """

    argv: tuple[str, ...] = ("--version",)
    automatic: bool = True
    regex: str = r"(?P<version>\d+\.\d+[^\s]*)"
    tested: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_regex(self.regex)
        if "(?P<version>" not in self.regex:
            raise ValueError("version.regex has no group named version")


class Capability(StrictTable, frozen=True, kw_only=True):
    """The capabilities of the CLI, with the CLI's own names, for the manifest of a recording.

    ``permission_modes`` are the values of its option for permissions.
    """

    features: tuple[str, ...] = ()
    permission_modes: tuple[str, ...] = ()


class ProfileTerminal(StrictTable, frozen=True, kw_only=True):
    """The terminal size and type that suit the CLI."""

    term: str = "xterm-256color"
    rows: int = 30
    cols: int = 100


class HomeFile(StrictTable, frozen=True, kw_only=True):
    """A file to write into the temporary home (or, with ``base = "cwd"``, the work folder)."""

    path: str
    text: str
    base: Literal["home", "cwd"] = "home"

    def __post_init__(self) -> None:
        _check_inside(self.path)


class Credentials(StrictTable, frozen=True, kw_only=True):
    """The files with its secrets, in the home and the work folder, and state files that hold some.

    The scrubber learns everything in them that looks like a secret. ``key_prefix`` begins the fake
    key of zeros for offline runs.
    """

    home: tuple[str, ...] = ()
    cwd: tuple[str, ...] = ()
    key_prefix: str = "sk-"

    def __post_init__(self) -> None:
        for path in (*self.home, *self.cwd):
            _check_inside(path)


def _check_inside(path: str) -> None:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "" in parts:
        raise ValueError("a file's path is relative and stays inside")


class OfflineMode(StrictTable, frozen=True, kw_only=True):
    """One way to run it offline: with an API key, with an account, or logged out.

    ``tls``: the provider must use TLS. ``arguments`` come directly after the program. Prefer a
    variable or a file if the CLI has one: a program that starts the CLI itself does not add the
    arguments.
    """

    api: Literal["anthropic", "responses", "chat", "gemini"]
    tls: bool = False
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    files: tuple[HomeFile, ...] = ()


class Offline(StrictTable, frozen=True, kw_only=True):
    """Settings for offline runs in all modes; a user's own run never gets them.

    ``model`` is the model to ask for if no other is given.
    """

    model: str = ""
    environment: dict[str, str] = msgspec.field(default_factory=dict)


class TapePointing(StrictTable, frozen=True, kw_only=True):
    """How to point a user's own run at the proxy that records its model traffic.

    ``provider`` is the CLI's default provider. ``environment`` and ``arguments`` (right behind the
    program) may contain ``${NAME}``, the base URL of the provider of that name without a version.
    They must not touch the user's own files. Without both, the provider's usual variables are set.
    ``proxy_environment`` is added to the usual variables of an HTTP proxy. ``proxy_only``: only an
    HTTP proxy can reach this CLI, because it reads its provider's address from its own files.
    """

    provider: str = ""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    proxy_environment: dict[str, str] = msgspec.field(default_factory=dict)
    proxy_only: bool = False


class ToolCall(StrictTable, frozen=True, kw_only=True):
    """How a model makes the CLI act: with a tool call, or with a ``text`` instead.

    ``arguments`` are JSON, ``input`` is free text. ``options`` of the CLI enable the tool if it
    is not enabled by default; ``finish`` are the arguments of the call that ends a turn, if an
    answer alone does not. ``prompt`` is the user's request for it; the examples read a file
    ``note.txt`` of the work folder.
    """

    name: str | None = None
    arguments: dict[str, Any] | None = None
    input: str | None = None
    text: str | None = None
    options: tuple[str, ...] = ()
    finish: dict[str, Any] | None = None
    prompt: str = "What does note.txt say?"

    def __post_init__(self) -> None:
        if (self.name is None) == (self.text is None):
            raise ValueError("a tool has either name or text")
        if self.name is None and (self.arguments is not None or self.input is not None):
            raise ValueError("arguments and input belong to name")
        if self.arguments is not None and self.input is not None:
            raise ValueError("a tool has arguments or input, not both")


class Install(StrictTable, frozen=True, kw_only=True):
    """The package with the CLI, and its version, on npm or PyPI.

    ``node`` and ``python`` are the oldest versions that run it.
    """

    npm: str | None = None
    pip: str | None = None
    node: str | None = None
    python: str | None = None

    def __post_init__(self) -> None:
        if (self.npm is None) == (self.pip is None):
            raise ValueError("a package is either npm or pip")

    @property
    def command(self) -> str:
        """The command that installs it."""
        return f"npm install -g {self.npm}" if self.npm else f"pip install {self.pip}"


class ExitMessage(StrictTable, frozen=True, kw_only=True):
    """A message that the CLI prints in some runs while it ends, but not in all.

    ``first`` is the pattern of its first row, ``rows`` the pattern of the following rows.
    """

    name: str
    first: str
    rows: str

    def __post_init__(self) -> None:
        check_regex(self.first)
        check_regex(self.rows)


class Screens(StrictTable, frozen=True, kw_only=True):
    """How to recognise its states: ready for a prompt, busy, done with a turn.

    ``volatile`` are patterns of rows that change from run to run; a rerun does not compare them. If
    a pattern has a group, only the text of the group is ignored. ``at_exit`` are messages to remove
    from the last screen. ``farewell`` is the pattern of a row that the program prints when it ends.
    If both last screens have it, nothing above it is compared, because some programs repaint that
    part in some runs.
    """

    ready: ScreenPredicate
    busy: ScreenPredicate | None = None
    done: ScreenPredicate | None = None
    volatile: tuple[str, ...] = ()
    at_exit: tuple[ExitMessage, ...] = ()
    farewell: str = ""

    def __post_init__(self) -> None:
        for regex in (*self.volatile, self.farewell):
            check_regex(regex)


class Stroke(StrictTable, frozen=True, kw_only=True):
    """One action at the keyboard, and how long to wait after it."""

    key: str | None = None
    text: str | None = None
    pause_ms: int = 0

    def __post_init__(self) -> None:
        if (self.key is None) == (self.text is None):
            raise ValueError("a stroke has either key or text")


class StartDialog(StrictTable, frozen=True, kw_only=True):
    """A dialog that the CLI shows when it starts in a new home or folder, and its answer."""

    shows: ScreenPredicate
    strokes: tuple[Stroke, ...]


class Submit(StrictTable, frozen=True, kw_only=True):
    """How a prompt is submitted: pasted (bracketed if the CLI enables that) or typed."""

    how: Literal["paste", "type"] = "paste"
    pause_ms: int = 100
    key: str = "enter"


class KnownCli(StrictTable, frozen=True, kw_only=True):
    """The facts that are known even about CLIs without a profile.

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
        UsageError: the list is wrong; names the fault and the nearest known name.
    """
    known = (KnownCli, VersionQuery, Credentials)
    return read_checked(text, _WithoutProfile, where="clis without profile", known=known).clis


class Profile(KnownCli, frozen=True, kw_only=True):
    """The profile of one CLI.

    ``environment`` is for every run, also the user's own; ``offline`` and ``modes`` are only for
    runs against the fake provider. ``interactive`` and ``oneshot`` are the arguments of a run with
    and without a terminal interface, with ``${prompt}`` for the prompt. ``start`` are the dialogs
    of an offline run before it is ready. ``submit`` submits a prompt, ``leave`` ends the program.
    ``tools`` are the ways in which a model makes it act, by their effect (``read``, ``run``).
    ``tape`` points it at a recording proxy. ``licence`` is the CLI's licence, and ``shareable``
    whether that licence allows publishing screens.
    """

    version: Literal[1]
    name: str
    title: str
    licence: str = ""
    shareable: bool = False
    capability: Capability = Capability()
    terminal: ProfileTerminal = ProfileTerminal()
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    interactive: tuple[str, ...] = ()
    oneshot: tuple[str, ...] = ()
    install: Install | None = None
    offline: Offline = Offline()
    tape: TapePointing = TapePointing()
    modes: dict[str, OfflineMode] = msgspec.field(default_factory=dict)
    tools: dict[str, ToolCall] = msgspec.field(default_factory=dict)
    screens: Screens
    start: tuple[StartDialog, ...] = ()
    submit: Submit = Submit()
    leave: tuple[Stroke, ...] = (Stroke(key="ctrl-c", pause_ms=200), Stroke(key="ctrl-c"))
    logs: tuple[LogSource, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, *, where: str = "profile") -> Profile:
        """Read and check a profile.

        Raises:
            UsageError: the profile is wrong; names the fault, its place and the nearest known name.
        """
        tables = (
            VersionQuery,
            Capability,
            Credentials,
            ProfileTerminal,
            HomeFile,
            Install,
            Offline,
            OfflineMode,
            TapePointing,
            ToolCall,
            Screens,
            StartDialog,
            Stroke,
            Submit,
            ScreenPredicate,
            LogSource,
            EventRule,
        )
        return read_checked(text, cls, where=where, known=tables)


# ``harness.capability`` of a manifest: what a CLI could do when recorded, from its profile.


def capability_of(profile: Profile, *, version: str | None = None) -> dict[str, Any] | None:
    """The capabilities in the profile; None if it has no program.

    ``features``, ``permission_modes``, and their origin: ``profile``, and ``seen_with``, the
    versions that the profile was tested with. Another version may differ.

    Args:
        profile: the CLI's profile.
        version: the program's reply about its version, if it was asked. A reply in another form
            comes from another program, and gives None.
    """
    query = profile.version_query
    if not profile.binaries or (version is not None and not re.search(query.regex, version)):
        return None
    features = {
        "interactive": True,
        "oneshot": bool(profile.oneshot),
        "session-log": bool(profile.logs),
        **dict.fromkeys(profile.capability.features, True),
    }
    facts: dict[str, Any] = {"features": [name for name, has in features.items() if has]}
    if profile.capability.permission_modes:
        facts["permission_modes"] = list(profile.capability.permission_modes)
    return facts | {"profile": profile.name, "seen_with": list(query.tested)}
