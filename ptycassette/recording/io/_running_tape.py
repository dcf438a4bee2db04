"""What a recorder asks of whatever records model traffic beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol


class RunningTape(Protocol):
    """What records model traffic while the program runs.

    Attributes:
        environment: variables that the program needs for it.
        arguments: what to put behind the program's name; no part of the recorded ``argv``.
        secrets: what is secret in both, and in what the program may show of them.
        address: host and port of it, which the program may show, and which are no secret but
            others each time.
        problem: why model traffic was not recorded to its end; None if all is well.
        described: what the manifest says of how the program was pointed at it.
        reports: lines for the user.
        needed: whether a run in which nothing is asked through it is a failure.
    """

    environment: Mapping[str, str]
    arguments: Sequence[str]
    secrets: Sequence[str]
    address: str
    described: Mapping[str, Any]
    needed: bool

    @property
    def problem(self) -> str | None:
        """See above."""

    @property
    def reports(self) -> Sequence[str]:
        """See above."""

    def close(self) -> None:
        """End it. When this returns its journal is complete. Does nothing the second time."""


TapeStarter = Callable[[Path, Mapping[str, str]], RunningTape]
"""Starts it: with the path of its journal, a file that does not exist yet, and the environment in
which the program will be started."""
