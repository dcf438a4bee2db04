"""Drives: a run of a CLI from start to end, as a checked file. What fixtures are recorded with.

A drive names its harness and mode, the provider's script, the files of the work
folder and the steps. The same steps drive the real CLI and its recording.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ptycassette.harness.checked import Checked, read_checked
from ptycassette.harness.predicate import Predicate
from ptycassette.harness.profile import Stroke
from ptycassette.harness.step import Step

__all__ = ["Drive"]


class Drive(Checked, frozen=True, kw_only=True):
    """A whole drive. ``prompt`` makes a one-shot run; ``script`` is a file beside the drive."""

    version: Literal[1]
    name: str
    harness: str
    script: str
    title: str = ""
    mode: str = "key"
    model: str = ""
    prompt: str | None = None
    arguments: tuple[str, ...] = ()
    files: dict[str, str] = msgspec.field(default_factory=dict)
    timeout_s: float = 60.0
    rows: int | None = None
    cols: int | None = None
    exit_codes: tuple[int, ...] = (0,)
    steps: tuple[Step, ...] = ()

    @classmethod
    def parse(cls, text: str, *, where: str = "drive") -> Drive:
        """Read and check a drive.

        Raises:
            UsageError: what is wrong, where, and the nearest known name.
        """
        return read_checked(text, cls, where=where, known=(Step, Stroke, Predicate))
