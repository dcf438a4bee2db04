"""Drives: a run of a CLI from start to end, as a checked file. Fixtures are recorded with them.

A drive names its harness and mode, the provider's script, the files of the work
folder and the steps. The same steps drive the real CLI and its recording.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ptycassette.harness.step import DriveStep
from ptycassette.profiles.checked import StrictTable, read_checked
from ptycassette.profiles.predicate import ScreenPredicate
from ptycassette.profiles.profile import Stroke


class Drive(StrictTable, frozen=True, kw_only=True):
    """A whole drive. ``script`` is a file beside it.

    ``prompt`` makes a one-shot run, ``command`` a run of a subcommand; without either the
    terminal interface starts.
    """

    version: Literal[1]
    name: str
    harness: str
    script: str
    title: str = ""
    mode: str = "key"
    model: str = ""
    prompt: str | None = None
    command: tuple[str, ...] | None = None
    arguments: tuple[str, ...] = ()
    files: dict[str, str] = msgspec.field(default_factory=dict)
    timeout_s: float = 60.0
    rows: int | None = None
    cols: int | None = None
    exit_codes: tuple[int, ...] = (0,)
    steps: tuple[DriveStep, ...] = ()

    def __post_init__(self) -> None:
        if self.prompt is not None and self.command is not None:
            raise ValueError("a drive has a prompt or a command, not both")

    @classmethod
    def parse(cls, text: str, *, where: str = "drive") -> Drive:
        """Read and check a drive.

        Raises:
            UsageError: what is wrong, where, and the nearest known name.
        """
        return read_checked(text, cls, where=where, known=(DriveStep, Stroke, ScreenPredicate))
