"""Runs of real CLIs offline: a temporary home, a fake provider, a prepared program.

Nothing of the user's own home or keys is used; the CLI talks to 127.0.0.1.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec

from ptycassette.errors import NotFoundError, StorageError
from ptycassette.harness import Place, PreparedRun, prepare
from ptycassette.harness.io._logs import read_logs
from ptycassette.harness.io.fake_provider import FakeProviderServer, read_script
from ptycassette.harness.io.files import find_binary
from ptycassette.harness.provider.fake import Script
from ptycassette.model import Clock, Size
from ptycassette.profiles import LogFacts, Profile
from ptycassette.system import MonotonicClock

__all__ = ["OfflineRun", "fake_key", "make_root", "offline_run", "write_home"]

_KEY_LENGTH = 40


def fake_key(profile: Profile) -> str:
    """A key that looks like one and opens nothing; the same each time."""
    return profile.credentials.key_prefix + "0" * _KEY_LENGTH


class OfflineRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is ready to be started.

    ``argv``, ``options`` go to ``record`` or ``Session``: size, term, cwd, env.
    """

    profile: Profile
    prepared: PreparedRun
    provider: FakeProviderServer
    home: Path
    cwd: Path

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
        """What the CLI's own session log tells about the run; see ``read_logs``."""
        return read_logs(self.profile, home=self.home, cwd=self.cwd)


class OfflineOptions(TypedDict, total=False):
    """What ``offline_run`` takes besides profile and script.

    Attributes:
        mode: one of the profile's modes; ``key``.
        model: the model to ask for.
        prompt: for a one-shot run; None (default) starts the terminal interface.
        command: a subcommand with its arguments, in place of the profile's own.
        arguments: more arguments, at the end.
        files: files of the work folder, by name.
        variables: more names for the script.
        binary: the program; looked up on PATH when None.
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
    files: Mapping[str, str]
    variables: Mapping[str, str]
    binary: str | None
    root: Path | None
    log: Path | None
    clock: Clock


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """``OfflineOptions`` with everything decided."""

    mode: str = "key"
    model: str = ""
    prompt: str | None = None
    command: tuple[str, ...] | None = None
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    variables: Mapping[str, str] = msgspec.field(default_factory=dict)
    binary: str | None = None
    root: Path | None = None
    log: Path | None = None
    clock: Clock = msgspec.field(default_factory=MonotonicClock)


@contextmanager
def offline_run(
    profile: Profile, script: Script | Path | str, **options: Unpack[OfflineOptions]
) -> Iterator[OfflineRun]:
    """A CLI with a temporary home and a fake provider, ready to be started.

    Args:
        profile: of the CLI.
        script: what the provider answers, or the path of the script; ``${cwd}``,
            ``${home}`` and the option ``variables`` are filled in.
        **options: see ``OfflineOptions``.

    Raises:
        NotFoundError: the CLI is not installed, or the profile has no such mode.
        UsageError: the script is wrong.
        StorageError: the folder cannot be made.
    """
    plan = _Plan(**options)
    binary = plan.binary or find_binary(profile)
    if binary is None:
        raise NotFoundError(
            f"{profile.title} is not installed",
            hint=f"its program is called {' or '.join(profile.binaries)}",
        )
    base = make_root(plan.root)
    try:
        # A name that no screen shows otherwise: the scrubber knows it as a user's name.
        home = base / "run-home"
        # Inside the home, as a user would have it: CLIs then show it as ~/work.
        cwd = home / "work"
        home.mkdir()
        cwd.mkdir()
        for name, text in plan.files.items():
            (cwd / name).write_text(text)
        names = {"cwd": str(cwd), "home": str(home), **plan.variables}
        checked = script if isinstance(script, Script) else read_script(Path(script), names)
        ca_file = base / "ca.pem" if _wants_tls(profile, plan.mode) else None
        with FakeProviderServer(
            checked, log=plan.log, clock=plan.clock, ca_file=ca_file
        ) as provider:
            place = Place(
                home=str(home),
                cwd=str(cwd),
                url=provider.url,
                key=fake_key(profile),
                ca="" if ca_file is None else str(ca_file),
                model=plan.model,
            )
            prepared = prepare(
                profile,
                plan.mode,
                place,
                binary=binary,
                now=plan.clock.wall(),
                prompt=plan.prompt,
                command=plan.command,
                arguments=plan.arguments,
            )
            write_home(prepared, home=home, cwd=cwd)
            yield OfflineRun(
                profile=profile, prepared=prepared, provider=provider, home=home, cwd=cwd
            )
    finally:
        # What the CLI started may still write while it dies.
        shutil.rmtree(base, ignore_errors=True)


def _wants_tls(profile: Profile, mode: str) -> bool:
    return mode in profile.modes and profile.modes[mode].tls


def write_home(prepared: PreparedRun, *, home: Path, cwd: Path) -> None:
    """Write the files of a prepared run, readable by the user alone.

    Raises:
        StorageError: the disk refuses.
    """
    for file in prepared.files:
        path = (home if file.base == "home" else cwd) / file.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text)
            path.chmod(0o600)
        except OSError as failed:
            raise StorageError(f"cannot be written: {failed.strerror}", where=str(path)) from failed


def make_root(root: Path | None) -> Path:
    """Create a private folder for a run; the caller removes it.

    Args:
        root: where to make it; in the user's cache folder when None.

    Raises:
        StorageError: the disk refuses.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    parent = root or Path(cache) / "ptycassette" / "runs"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="run-", dir=parent))
    except OSError as failed:
        raise StorageError(f"cannot be made: {failed.strerror}", where=str(parent)) from failed
