"""The fault that a stand-in has: from its option, or from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ptycassette.errors import StorageError
from ptycassette.faults import FaultSpec, check_terminal, parse_fault

FAULT_VARIABLE = "PTYCASSETTE_FAULT"
"""``NAME[:NUMBER][@K]``, for every recording that is played: in this process, or by a stand-in."""
FAULT_LOG_VARIABLE = "PTYCASSETTE_FAULT_LOG"
"""A file that gets a line when a driver meets the fault."""


def fault_in_force(given: str, env: Mapping[str, str]) -> FaultSpec | None:
    """The fault that was asked for; None without one.

    Args:
        given: by an option, which is the stronger; may be empty.
        env: the environment.

    Raises:
        UsageError: there is no such fault of a terminal.
    """
    text = given or env.get(FAULT_VARIABLE, "")
    if not text:
        return None
    spec = parse_fault(text)
    check_terminal(spec)
    return spec


def note_met(env: Mapping[str, str]) -> None:
    """Say in the log of the environment, if it names one, that a driver has met its fault.

    Raises:
        StorageError: the log cannot be written.
    """
    path = env.get(FAULT_LOG_VARIABLE)
    if not path:
        return
    try:
        fd = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            os.write(fd, b"met\n")
        finally:
            os.close(fd)
    except OSError as failed:
        raise StorageError(
            f"cannot be written: {failed.strerror}", where=path,
            hint=f"{FAULT_LOG_VARIABLE} names a file that may be made or written",
        ) from failed  # fmt: skip
