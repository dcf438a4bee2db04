"""Offline runs of real CLIs: a temporary home, a fake provider, a prepared program.

The user's own home and keys are not used; the CLI connects to 127.0.0.1.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec

from ptycassette.errors import NotFoundError, StorageError, UsageError
from ptycassette.harness.example import example_script
from ptycassette.harness.io._logs import read_logs
from ptycassette.harness.io.fake_provider import FakeProviderServer, read_script
from ptycassette.harness.io.files import find_binary
from ptycassette.harness.io.run_folders import RunPlace, run_place
from ptycassette.harness.preparing import Place, PreparedRun, prepare
from ptycassette.harness.provider.fake.script import Script
from ptycassette.model.geometry import Size
from ptycassette.model.ports import Clock
from ptycassette.profiles.io import own_folder
from ptycassette.profiles.profile import Profile
from ptycassette.profiles.session_log import LogFacts
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.ownership import owned_context

_KEY_LENGTH = 40


def fake_key(profile: Profile) -> str:
    """A key that looks real but is not; the same each time."""
    return profile.credentials.key_prefix + "0" * _KEY_LENGTH


class PlacedRun(RunPlace, frozen=True, kw_only=True):
    """A run that is ready to start, in a temporary home.

    ``argv`` and ``options`` (size, term, cwd, env) are for ``record`` or ``Session``.
    """

    profile: Profile
    prepared: PreparedRun

    @property
    def argv(self) -> tuple[str, ...]:
        """What to start."""
        return self.prepared.argv

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments for ``record``, ``Session`` and ``AsyncSession``."""
        terminal = self.profile.terminal
        return {
            "size": Size(terminal.rows, terminal.cols),
            "term": terminal.term,
            "cwd": self.cwd,
            "env": self.prepared.environment,
            "clean_env": True,
        }

    def facts(self) -> tuple[LogFacts, str | None]:
        """The facts in the CLI's own session log; see ``read_logs``."""
        return read_logs(self.profile, home=self.home, cwd=self.cwd)


class OfflineRun(PlacedRun, frozen=True, kw_only=True):
    """A run that is ready to be started, and the scripted provider that listens for it."""

    provider: FakeProviderServer


class OfflineOptions(TypedDict, total=False):
    """What ``offline_run`` takes besides profile and script.

    Attributes:
        mode: one of the profile's modes; ``key``.
        model: the model to ask for; the one of the profile by default.
        prompt: for a one-shot run; None (default) starts the terminal interface.
        command: a subcommand with its arguments, in place of the profile's own.
        arguments: more arguments, at the end.
        cwd: the work folder; an empty one in the temporary home when None.
        files: files of the work folder, by name.
        variables: more variables of the script.
        binary: the program; looked up on PATH when None.
        port: of the provider; any free one by default.
        keep: leave the temporary folder when the run is over.
        root: where to make the temporary folder; in the user's cache folder when
            None, because some CLIs refuse homes under the system's temporary folder.
        log: where the provider logs requests.
        clock: time, for tests.
    """

    mode: str
    model: str
    prompt: str | None
    command: tuple[str, ...] | None
    arguments: tuple[str, ...]
    cwd: Path | None
    files: Mapping[str, str]
    variables: Mapping[str, str]
    binary: str | None
    port: int
    keep: bool
    root: Path | None
    log: Path | None
    clock: Clock


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """``OfflineOptions`` with all defaults filled in."""

    mode: str = "key"
    model: str = ""
    prompt: str | None = None
    command: tuple[str, ...] | None = None
    arguments: tuple[str, ...] = ()
    cwd: Path | None = None
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    variables: Mapping[str, str] = msgspec.field(default_factory=dict)
    binary: str | None = None
    port: int = 0
    keep: bool = False
    root: Path | None = None
    log: Path | None = None
    clock: Clock = msgspec.field(default_factory=MonotonicClock)


@owned_context
def offline_run(
    profile: Profile, script: Script | Path | str | None = None, **options: Unpack[OfflineOptions]
) -> Iterator[OfflineRun]:
    """A CLI with a temporary home and a fake provider, ready to start.

    Args:
        profile: of the CLI.
        script: the provider's script, or its path; ``${cwd}``, ``${home}`` and the option
            ``variables`` are filled in. ``example_script`` when None.
        **options: see ``OfflineOptions``.

    Raises:
        NotFoundError: the CLI is not installed, or the profile has no such mode.
        UsageError: the script is wrong.
        StorageError: the folder cannot be made.
    """
    plan = _Plan(**options)
    with _place(profile, plan) as place:
        ca_file = place.folder.path / "ca.pem" if _wants_tls(profile, plan.mode) else None
        with FakeProviderServer(
            _script(profile, script, plan, {"cwd": str(place.cwd), "home": str(place.home)}),
            port=plan.port,
            log=plan.log,
            clock=plan.clock,
            ca_file=ca_file,
        ) as provider:
            yield OfflineRun(
                profile=profile,
                prepared=_furnished(profile, plan, place, url=provider.url, ca_file=ca_file),
                provider=provider,
                home=place.home,
                cwd=place.cwd,
                folder=place.folder,
            )


@owned_context
def placed_run(
    profile: Profile, url: str, *, openai_url: str = "", **options: Unpack[OfflineOptions]
) -> Iterator[PlacedRun]:
    """As ``offline_run``, with a provider of the caller's at ``url``, which speaks no TLS.

    Args:
        profile: of the CLI.
        url: of the provider.
        openai_url: see ``Place``.
        **options: see ``OfflineOptions``.
    """
    plan = _Plan(**options)
    with _place(profile, plan) as place:
        yield PlacedRun(
            profile=profile,
            prepared=_furnished(profile, plan, place, url=url, openai_url=openai_url, ca_file=None),
            home=place.home,
            cwd=place.cwd,
            folder=place.folder,
        )


@owned_context
def _place(profile: Profile, plan: _Plan) -> Iterator[RunPlace]:
    """The folders of a run."""
    if plan.binary is None:
        _program(profile)  # complain before anything is made
    with run_place(plan.root, cwd=plan.cwd, files=plan.files, keep=plan.keep) as place:
        yield place


def _furnished(
    profile: Profile,
    plan: _Plan,
    at: RunPlace,
    *,
    url: str,
    ca_file: Path | None,
    openai_url: str = "",
) -> PreparedRun:
    """The prepared run, with its files in the home."""
    place = Place(
        home=str(at.home),
        cwd=str(at.cwd),
        url=url,
        openai_url=openai_url,
        key=fake_key(profile),
        ca="" if ca_file is None else str(ca_file),
        model=plan.model or profile.offline.model,
    )
    prepared = prepare(
        profile,
        plan.mode,
        place,
        binary=plan.binary or _program(profile),
        now=plan.clock.wall(),
        prompt=plan.prompt,
        command=plan.command,
        arguments=plan.arguments,
    )
    write_home(prepared, home=at.home, cwd=None if plan.cwd else at.cwd)
    _bring_own_files(at.home)
    return prepared


def _program(profile: Profile) -> str:
    """The path of the CLI's program."""
    if not profile.binaries:
        raise UsageError(
            f"the profile {profile.name!r} names no program", hint="name the program: -- ARGV"
        )
    binary = find_binary(profile)
    if binary is None:
        called = f"its program is called {' or '.join(profile.binaries)}"
        package = f": {profile.install.command}" if profile.install else ""
        raise NotFoundError(f"{profile.title} is not installed", hint=f"{called}{package}")
    return binary


def _script(
    profile: Profile, script: Script | Path | str | None, plan: _Plan, places: dict[str, str]
) -> Script:
    """The script, with the variables of this run."""
    if isinstance(script, Script):
        return script
    names = {**places, **plan.variables}
    if script is None:
        text = example_script(profile)
        return Script.parse(text, where=f"the example for {profile.name}", variables=names)
    return read_script(Path(script), names)


def _wants_tls(profile: Profile, mode: str) -> bool:
    return mode in profile.modes and profile.modes[mode].tls


def write_home(prepared: PreparedRun, *, home: Path, cwd: Path | None) -> None:
    """Write the files of a prepared run, readable by the user alone.

    Args:
        prepared: the run.
        home: its temporary home.
        cwd: its temporary work folder; None if it is a folder of the user's, which is not
            changed.

    Raises:
        UsageError: a file would go into the work folder, which is the user's.
        StorageError: the disk refuses.
    """
    for file in prepared.files:
        base = home if file.base == "home" else cwd
        if base is None:
            raise UsageError(
                f"the profile writes {file.path} into the work folder, and this one is yours",
                hint="--empty runs it in an empty folder",
            )
        path = base / file.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text)
            with suppress(OSError):  # some file systems change no modes
                path.chmod(0o600)
        except OSError as failed:
            raise StorageError(f"cannot be written: {failed.strerror}", where=str(path)) from failed


def _bring_own_files(home: Path) -> None:
    """Copy the user's own profiles, probes and rules, for a recorder that runs in this home."""
    for kind in ("harnesses", "probes", "tape-rules"):
        own = own_folder(kind, os.environ)
        if own.is_dir():
            with suppress(OSError, shutil.Error):
                shutil.copytree(own, own_folder(kind, {"HOME": str(home)}), dirs_exist_ok=True)
