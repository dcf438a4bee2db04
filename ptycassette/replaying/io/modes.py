"""Resolves the mode of a run (one of five), and what to do in it.

Also resolves how secrets are compared, which the environment may set as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from ptycassette.errors import UsageError
from ptycassette.timeline import Secrets, secrets_named

__all__ = [
    "MODES",
    "MODE_VARIABLE",
    "SECRETS_VARIABLE",
    "Action",
    "Mode",
    "action_of",
    "mode_named",
    "resolve_mode",
    "resolve_secrets",
]

Mode = Literal["replay", "auto", "record", "rerecord", "live"]
MODES: tuple[Mode, ...] = get_args(Mode)
MODE_VARIABLE = "PTYCASSETTE_MODE"
SECRETS_VARIABLE = "PTYCASSETTE_SECRETS"

Action = Literal["replay", "record", "rerecord", "live"]
_FALSE = {"", "0", "false", "no", "off"}


def mode_named(name: str, *, where: str | None = None) -> Mode:
    """The mode of that name.

    Raises:
        UsageError: there is no such mode.
    """
    for known in MODES:
        if name == known:
            return known
    raise UsageError(f"mode {name!r} is none of {', '.join(MODES)}", where=where)


def resolve_mode(*choices: tuple[str, str | None], env: Mapping[str, str]) -> Mode:
    """The mode in force: the first choice that is set, then the environment, then ``replay``.

    Args:
        choices: (name of the setting, its value or None), the strongest first.
        env: the environment.

    Raises:
        UsageError: any of them is an unknown mode, even one that is overridden.
    """
    said = [*choices, (MODE_VARIABLE, env.get(MODE_VARIABLE) or None)]
    modes = [mode_named(mode, where=where) for where, mode in said if mode is not None]
    return modes[0] if modes else "replay"


def resolve_secrets(env: Mapping[str, str]) -> Secrets:
    """How secrets are compared, as set in the environment; ``same`` by default.

    Raises:
        UsageError: the value is unknown.
    """
    try:
        return secrets_named(env.get(SECRETS_VARIABLE) or "same")
    except ValueError as exc:
        raise UsageError(str(exc), where=SECRETS_VARIABLE) from exc


def action_of(mode: Mode, *, exists: bool, env: Mapping[str, str]) -> Action:
    """What to do in ``mode``: ``auto`` records what is missing, but never where ``CI`` is set."""
    if mode != "auto":
        return mode
    in_ci = env.get("CI", "").lower() not in _FALSE
    return "replay" if exists or in_ci else "record"
