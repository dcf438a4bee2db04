"""Which of the five modes a run is in, and what follows from it: one meaning everywhere.

And whether secrets are compared, which the environment may say as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from ptycassette.errors import UsageError
from ptycassette.timeline.match import Secrets, secrets_named

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
        UsageError: there is none: a typo must not be taken for a mode.
    """
    for known in MODES:
        if name == known:
            return known
    raise UsageError(f"mode {name!r} is none of {', '.join(MODES)}", where=where)


def resolve_mode(*choices: tuple[str, str | None], env: Mapping[str, str]) -> Mode:
    """The mode that counts: the first choice that is made, then the environment, then ``replay``.

    Args:
        choices: (where it is said, what is said or None), the strongest first.
        env: the environment.

    Raises:
        UsageError: an unknown mode anywhere, also where it would not have counted.
    """
    said = [*choices, (MODE_VARIABLE, env.get(MODE_VARIABLE) or None)]
    modes = [mode_named(mode, where=where) for where, mode in said if mode is not None]
    return modes[0] if modes else "replay"


def resolve_secrets(env: Mapping[str, str]) -> Secrets:
    """How the environment wants secrets compared; as ``same`` where it does not say.

    Raises:
        UsageError: it says something else.
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
