"""The terminal of a recording: the options ``rec --emulator`` and ``--answers``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ptycassette.model.ports import EmulatorFactory
    from ptycassette.terminal.query_profiles import QueryProfile

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def emulator_options(command: Decorated) -> Decorated:
    """The two options."""
    emulator = click.option(
        "--emulator",
        metavar="NAME",
        help="Make the frames with pyte (default), ghostty, stock-pyte, or an emulator of another"
        " package.",
    )
    answers = click.option(
        "--answers",
        metavar="PROFILE",
        help="Without your terminal: answer the program's terminal queries as xterm (default),"
        " dumb (no answers), or a TOML file (docs/screens.md).",
    )
    return emulator(answers(command))


def chosen_emulator(given: dict[str, Any]) -> EmulatorFactory:
    """The chosen factory.

    Raises:
        UsageError: there is no such emulator, or it does not support the profile.
        CassetteError: the profile cannot be read.
    """
    from ptycassette.terminal.backends import answering, backend
    from ptycassette.terminal.emulator import default_emulator

    if given["emulator"] is None and given["answers"] is None:
        return default_emulator
    factory = backend(given["emulator"] or "pyte")
    return factory if given["answers"] is None else answering(factory, _profile(given["answers"]))


def _profile(name: str) -> QueryProfile:
    from ptycassette.errors import UsageError
    from ptycassette.model.toml_text import MAX_TOML_BYTES
    from ptycassette.system.files.plain_file import read_plain
    from ptycassette.terminal.query_profiles import PROFILES, query_profile_of

    if name in PROFILES:
        return PROFILES[name]
    if "/" not in name and not name.endswith(".toml"):
        raise UsageError(
            f"no profile named {name!r}", hint=f"there are: {', '.join(PROFILES)}; or name a file"
        )
    try:
        return query_profile_of(read_plain(name, max_bytes=MAX_TOML_BYTES))
    except ValueError as exc:
        raise UsageError(f"no profile of answers: {exc}", where=name) from exc
