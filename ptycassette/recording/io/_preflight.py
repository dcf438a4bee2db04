"""Checks before a recording begins. When one fails, nothing has been written."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from ptycassette.cassette.io.target import check_target
from ptycassette.errors import PreflightError, SpawnError
from ptycassette.keys.quantities import time_text
from ptycassette.model.visible_text import visible, visible_bytes
from ptycassette.system.files.project_file import find_project
from ptycassette.system.files.state_dirs import absolute, current_dir

REQUIREMENT_TIMEOUT_S = 60.0

_SHOWN_BYTES = 600


def find_program(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None) -> Path:
    """The file that ``argv`` would execute, on the PATH of ``env``.

    Raises:
        SpawnError: there is none (``exit_status`` 127), or it is not executable (126).
        PreflightError: the working directory is not a directory.
    """
    base = current_dir() if cwd is None else current_dir() / cwd
    if not base.is_dir():
        raise PreflightError(
            "the working directory does not exist",
            where=str(base),
            hint="change to one that exists, or name one",
        )
    name = argv[0]
    path = env.get("PATH", os.defpath)
    entries = [""] if "/" in name else path.split(os.pathsep) if path and name else []
    there = [place for entry in entries if _is_there(place := base / entry / name)]
    for place in there:
        if os.access(place, os.X_OK) and place.is_file():
            return place
    if there:
        if there[0].is_dir():
            raise SpawnError(
                "a directory, not a program",
                exit_status=126,
                where=str(there[0]),
                hint="name a program in it; --cwd starts one in it",
            )
        raise SpawnError("not executable", exit_status=126, where=str(there[0]), hint="chmod +x it")
    hint = "check the name, and the PATH that the program gets (--env PATH=...)"
    if " " in name and len(argv) == 1:
        hint = f"a program and its arguments are words of their own: -- {visible(name)}"
    raise SpawnError("no such program", exit_status=127, where=name or "''", hint=hint)


def check_scrub_config(cwd: Path | None) -> None:
    """Read the user's own rules for scrubbing, where there are some: a typo is found now.

    Raises:
        CassetteError: as ``load_config`` does.
    """
    place = current_dir() if cwd is None else current_dir() / cwd
    if os.environ.get("PTYCASSETTE_SCRUB_CONFIG") or find_project(place).scrub is not None:
        # Few have rules.
        from ptycassette.scrub.io.setup import load_config

        load_config(cwd=place)


def check_network(
    program: str, env: Mapping[str, str], *, taped: bool = False, shared: bool = False
) -> None:
    """Refuse a program that PTYCASSETTE_DISABLE_NETWORK, if it is set, does not let run.

    That is every program where none can be taken off the network, and an agent CLI that asks a
    provider elsewhere: off the network it would fail with an error of its own.

    Args:
        program: its name or path.
        env: with which it is started.
        taped: its proxy checks where it leads.
        shared: it is to stay on the network.

    Raises:
        PreflightError: it would be on the network, or needs it.
    """
    if not os.environ.get("PTYCASSETTE_DISABLE_NETWORK"):
        return
    # Few have it set.
    from ptycassette.profiles.io import known_profile
    from ptycassette.system.network import network_disabled, require_isolation
    from ptycassette.tape.io.running_proxy import refuse_network

    require_isolation(shared=shared)
    profile = None if taped else known_profile(Path(program).name)
    if profile is not None and network_disabled():
        refuse_network(profile, env)


def _is_there(path: Path) -> bool:
    """Whether the file exists. Unreadable directories on the PATH are skipped, as shells do."""
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises PermissionError


def check_place(target: Path, *, overwrite: bool) -> None:
    """Refuse a target that could not be published at the end.

    Raises:
        ExistsError: something is there, and it may not be replaced.
        NewerCassetteError: a cassette of a newer version is there.
        PreflightError: its parent is missing or cannot be written to.
    """
    parent = absolute(target).parent
    if not parent.is_dir():
        raise PreflightError(
            "the directory for the cassette does not exist",
            where=str(parent),
            hint=f"mkdir -p {visible(shlex.quote(str(parent)))}",
        )
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PreflightError(
            "the directory for the cassette cannot be written to", where=str(parent)
        )
    check_target(absolute(target), overwrite=overwrite)


def check_requirements(
    commands: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None
) -> None:
    """Run the commands that must succeed first: is the CLI logged in, is there quota?

    Args:
        commands: each a command line, split as a shell would, but run without one.
        env: the environment of the program to record.
        cwd: its working directory.

    Raises:
        PreflightError: one of them fails; the message has the end of its output.
    """
    for command in commands:
        _require(command, env, cwd)


def _require(command: str, env: Mapping[str, str], cwd: Path | None) -> None:
    import subprocess  # few recordings require anything

    from ptycassette.system.network import guarded_command

    try:
        words = shlex.split(command)
    except ValueError as exc:
        raise PreflightError(f"--require {visible(command)}: {exc}") from exc
    if not words:
        raise PreflightError("--require: an empty command")
    try:
        done = subprocess.run(
            guarded_command(words, env),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=REQUIREMENT_TIMEOUT_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise PreflightError(
            f"the requirement {visible(command)} took over {time_text(REQUIREMENT_TIMEOUT_S)}"
        ) from exc
    except OSError as exc:
        raise PreflightError(
            f"the requirement {visible(command)} cannot be run: {exc.strerror}"
        ) from exc
    if done.returncode != 0:
        said = visible_bytes(done.stdout[-_SHOWN_BYTES:].strip())
        raise PreflightError(
            f"the requirement {visible(command)} failed with status {done.returncode}"
            + (f"\n{said}" if said else ""),
            hint="nothing was recorded: fix this, then record again",
        )
