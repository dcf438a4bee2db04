"""Resolves the mode of a run (one of seven), and what to do in it.

Also resolves how secrets are compared, which the environment may set as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple, get_args

from ptycassette.cassette.timeline.match import SecretsPolicy, secrets_named
from ptycassette.errors import UsageError
from ptycassette.system.files.project_file import find_project

RunMode = Literal["replay", "auto", "record", "rerecord", "rewrite", "live", "rerun"]
RUN_MODES: tuple[RunMode, ...] = get_args(RunMode)
MODE_VARIABLE = "PTYCASSETTE_MODE"
SECRETS_VARIABLE = "PTYCASSETTE_SECRETS"

Action = Literal["replay", "record", "rerecord", "rewrite", "live", "rerun"]
MODE_HELP = (
    "replay (default): play the recording; auto: record what is missing; record: run and record; "
    "rewrite: record again, replace, report the drift; rerecord: run live, report the drift, "
    "overwrite nothing; live: run, write nothing; rerun: run offline, answered from the tape"
)
_FALSE = {"", "0", "false", "no", "off"}


def mode_named(name: str, *, where: str | None = None) -> RunMode:
    """The mode of that name.

    Raises:
        UsageError: there is no such mode.
    """
    for known in RUN_MODES:
        if name == known:
            return known
    raise UsageError(f"mode {name!r} is not one of {', '.join(RUN_MODES)}", where=where)


def resolve_mode(*choices: tuple[str | None, str | None], env: Mapping[str, str]) -> RunMode:
    """The mode in force: the first choice that is set, then the environment, then ``replay``.

    Args:
        choices: (name of the setting, or None for an argument; its value or None), the strongest
            first.
        env: the environment.

    Raises:
        UsageError: any of them is an unknown mode, even one that is overridden.
    """
    said = [*choices, (MODE_VARIABLE, env.get(MODE_VARIABLE) or None)]
    modes = [mode_named(mode, where=where) for where, mode in said if mode is not None]
    return modes[0] if modes else "replay"


class _RunModes(NamedTuple):
    """The modes that a test run sets: one overrides the calls, the other is only a default."""

    ruling: RunMode | None = None
    fallback: RunMode | None = None


_RUN_MODES = [_RunModes()]  # of the process: threads of a test are part of its run


@contextmanager
def run_modes(ruling: str | None, fallback: str | None) -> Iterator[None]:
    """While entered, the test run's modes apply to every ``use`` of this process.

    Args:
        ruling: overrides the call and the environment.
        fallback: used if neither sets a mode.

    Raises:
        UsageError: one of them is not a mode.
    """
    modes = [None if name is None else mode_named(name) for name in (ruling, fallback)]
    _RUN_MODES.append(_RunModes(*modes))
    try:
        yield
    finally:
        _RUN_MODES.pop()


def mode_in_force(said: str | None, *, env: Mapping[str, str]) -> RunMode:
    """The mode of a ``use``, from the test run, the call, the environment or the project file.

    Raises:
        UsageError: any of them is an unknown mode.
    """
    run = _RUN_MODES[-1]
    stated = resolve_mode((None, said), env=env)  # complains about a typo in any case
    if run.ruling is not None:
        return run.ruling
    if said is not None or env.get(MODE_VARIABLE):
        return stated
    if run.fallback is not None:
        return run.fallback
    project = find_project()
    return resolve_mode((str(project.where), project.mode), env={})


def comparison_in_force(said: str | None) -> str:
    """How input is compared: as the call has it, else the project file, else ``prompt``."""
    return said or find_project().compare or "prompt"


def resolve_secrets(env: Mapping[str, str]) -> SecretsPolicy:
    """How secrets are compared, as set in the environment; ``same`` by default.

    Raises:
        UsageError: the value is unknown.
    """
    try:
        return secrets_named(env.get(SECRETS_VARIABLE) or "same")
    except ValueError as exc:
        raise UsageError(str(exc), where=SECRETS_VARIABLE) from exc


def action_of(mode: RunMode, *, exists: bool, env: Mapping[str, str]) -> Action:
    """Choose the action for ``mode``.

    ``auto`` records what is missing, except where ``CI`` is set.
    """
    if mode != "auto":
        return mode
    in_ci = env.get("CI", "").lower() not in _FALSE
    return "replay" if exists or in_ci else "record"
