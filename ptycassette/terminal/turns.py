"""Whose turn it is, the user's or the program's, as the program's signals report it.

There are two conventions: OSC 7501 (``state=working``, ``idle``, ``done``, ``clear``;
Codex and others) and the prompt marks of OSC 133 and OSC 633 (``C``: a command
runs; ``D``, ``A``, ``B``: it is done, a prompt is shown). For a program that uses
neither, the turn stays ``unknown``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ptycassette.terminal.core import Signal

Turn = Literal["unknown", "idle", "working"]

_WORKING = frozenset({"working", "busy", "running"})


def turn_after(signals: Iterable[Signal]) -> Turn | None:
    """The side whose turn it is after ``signals``; None if none of them is about turns."""
    turn: Turn | None = None
    for signal in signals:
        match signal.name:
            case "turn":
                turn = "working" if signal.data.get("state") in _WORKING else "idle"
            case "prompt":
                turn = "working" if signal.data.get("mark") == "C" else "idle"
            case "reset":
                turn = "unknown"
            case _:
                pass
    return turn
