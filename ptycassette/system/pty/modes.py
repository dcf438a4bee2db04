"""The modes that a terminal has when a program starts in it, as a manifest holds them."""

from __future__ import annotations

import os
import termios
from typing import Any

from ptycassette.system.pty.port import LineMode

# The settings that make a visible difference, by their index in tcgetattr's result (termios(3)).
_FLAGS = (
    ("icrnl", 0, termios.ICRNL),
    ("ixon", 0, termios.IXON),
    ("opost", 1, termios.OPOST),
    ("onlcr", 1, termios.ONLCR),
    ("isig", 3, termios.ISIG),
    ("icanon", 3, termios.ICANON),
    ("echo", 3, termios.ECHO),
)


def new_terminal_modes() -> dict[str, Any] | None:
    """``terminal.pty_mode`` of a program that ``spawn`` starts; None where no PTY can be had.

    ``kind`` is ``pty``; the rest are flags of termios(3), in lower case, true when set. They are
    read from a new PTY, which has the same defaults: the program may have changed its own before
    we could look.
    """
    try:
        ours, theirs = os.openpty()
    except OSError:
        return None
    try:
        settings = termios.tcgetattr(theirs)
    except termios.error:
        return None
    finally:
        os.close(ours)
        os.close(theirs)
    return {"kind": "pty"} | {name: bool(settings[at] & flag) for name, at, flag in _FLAGS}


def modes_of_line(mode: LineMode) -> dict[str, Any]:
    """The same for a scripted PTY, as far as its line discipline is known."""
    return {"kind": "pty", "icanon": mode.canonical, "echo": mode.echo}
