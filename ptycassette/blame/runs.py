"""One run, and what it showed: as recorded, something else, or nothing that counts. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from ptycassette.fork.changes import Change
from ptycassette.fork.places import ForkPlace
from ptycassette.model.events import ExitStatus

UndefinedKind = Literal["prefix", "time", "crash", "unanswered", "refused", "oracle", "unpublished"]

UNDEFINED: dict[UndefinedKind, str] = {
    "prefix": "the run was not the recorded one before the change",
    "time": "the program did not end in time",
    "crash": "the program crashed",
    "unanswered": "a question had no answer",
    "refused": "a question to the live provider was refused",
    "oracle": "the oracle gave no answer",
    "unpublished": "the run could not be kept",
}
"""Why a run does not count."""

PASSING: frozenset[str] = frozenset(("prefix",))
"""Reasons that may be those of a busy machine: such a run is tried once more."""

_FIRST_SIGNAL_STATUS = 129  # 128 + n, as shells report a program that signal n ended
_LAST_SIGNAL_STATUS = 128 + 64
_CRASHED = re.compile(  # also behind what a program has said without an end of line
    r"Traceback \(most recent call last\):$"  # Python
    r"|thread '[^'\n]{0,200}'.{0,40} panicked at "  # Rust
    r"|goroutine \d{1,9} \[running\]:$"  # Go
    r"|^Node\.js v\d{1,4}\."  # Node's last line after an error that nothing caught
    r"|Exception in thread \"",  # Java
    re.MULTILINE,
)


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is to be made: ``number`` counts those of one name at one step, from 1."""

    at: ForkPlace
    name: str
    change: Change
    number: int

    @property
    def file_name(self) -> str:
        """For the child, if it is kept."""
        return f"{self.at.kind}-{self.at.number}-{self.name}-{self.number}"


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What a run showed.

    Attributes:
        value: what the oracle answered; None where the run does not count.
        undefined, detail: why it does not.
        raised: of code in ``use_tape``: the exception that left its block, or its command.
        signature: a digest of all that was compared of it, to see whether runs repeat.
        retried: whether it was tried before and did not count.
    """

    value: str | None = None
    undefined: UndefinedKind | None = None
    detail: str = ""
    raised: str = ""
    signature: str = ""
    retried: bool = False


def crash(ended: ExitStatus | None, rows: Sequence[str], recorded: ExitStatus | None) -> str | None:
    """How a program crashed; None if it did not, or if the recorded one ended in the same way.

    A signal; a status above 128, by which shells tell of one; a status other than 0 below the
    words with which a runtime reports an error that nothing caught.

    Args:
        ended: how it ended.
        rows: its last screen.
        recorded: how the recorded run ended.
    """
    if ended is None or ended == recorded:
        return None
    if ended.signaled:
        return f"signal {ended.signal}"
    if _FIRST_SIGNAL_STATUS <= ended.code <= _LAST_SIGNAL_STATUS:
        return f"status {ended.code}"
    found = _CRASHED.search("\n".join(rows)) if ended.code else None
    return f"status {ended.code} below {found[0]!r}" if found else None
