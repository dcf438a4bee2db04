"""What a fault is, and what was asked for: ``NAME[:NUMBER][@K]``. Pure."""

from __future__ import annotations

from typing import ClassVar

import msgspec

MOST_S = 600.0
"""The longest time that a fault takes."""


class Fault:
    """One thing that goes wrong, by a mechanism of its own. A new fault is one class.

    Args:
        spec: what was asked for.

    Attributes:
        name: what users call it.
        what: what happens, for lists of faults.
        number: what its number is, ``TIME`` or ``STATUS``; "" if it takes none.
        default: the number, where none is given.
    """

    name: ClassVar[str]
    what: ClassVar[str]
    number: ClassVar[str] = ""
    default: ClassVar[float] = 0.0

    def __init__(self, spec: FaultSpec) -> None:
        self.spec = spec


class FaultSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A fault as it was asked for.

    ``value`` is its number, or the default one. ``at`` is where it happens: a request of the tape
    (a fault of the provider), or an input as a stand-in counts them (a fault of the terminal); None
    where that was left open. ``text`` is the fault without its place, as it was written.
    """

    name: str
    value: float = 0.0
    at: int | None = None

    text: str = ""

    def __str__(self) -> str:
        return self.text if self.at is None else f"{self.text}@{self.at}"
