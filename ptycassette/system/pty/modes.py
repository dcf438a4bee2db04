"""The settings that a terminal has when a program starts in it."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

import msgspec

from ptycassette.system.pty.port import LineMode

_IUTF8 = getattr(termios, "IUTF8", 0o40000)  # Linux and macOS; Python 3.13 has the name
# The settings that make a visible difference, by their index in tcgetattr's result (termios(3)).
_FLAGS = (
    ("icrnl", 0, termios.ICRNL),
    ("ixon", 0, termios.IXON),
    ("iutf8", 0, _IUTF8),
    ("opost", 1, termios.OPOST),
    ("onlcr", 1, termios.ONLCR),
    ("isig", 3, termios.ISIG),
    ("icanon", 3, termios.ICANON),
    ("echo", 3, termios.ECHO),
)
_LOCALE_NAMES = ("LC_ALL", "LC_CTYPE", "LANG")


class TerminalTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for a new terminal.

    Attributes:
        attributes: what ``termios.tcgetattr`` returned for the user's terminal: modes, speed and
            control characters; None for the system's defaults.
        utf8: whether Backspace erases a whole character (IUTF8), with the defaults.
        pixels: width and height of the terminal in pixels; 0 for unknown.
    """

    attributes: list[Any] | None = None
    utf8: bool = True
    pixels: tuple[int, int] = (0, 0)

    @classmethod
    def of_terminal(cls, fd: int) -> Self | None:
        """The settings of the terminal at ``fd``; None if it is not a terminal."""
        try:
            attributes = termios.tcgetattr(fd)
        except (OSError, termios.error):
            return None
        return cls(attributes=attributes, pixels=window_pixels(fd))

    @classmethod
    def of_environment(cls, env: Mapping[str, str]) -> Self:
        """The defaults, for a program with this environment.

        UTF-8 unless the locale names another encoding. A locale without one counts as UTF-8, as
        in Python (PEP 538): most containers have none.
        """
        locale = next((env[name] for name in _LOCALE_NAMES if env.get(name)), "")
        codeset = locale.partition("@")[0].partition(".")[2].replace("-", "").lower()
        return cls(utf8=codeset in {"", "utf8"})

    def without_pixels(self) -> Self:
        """The same for a terminal of another size."""
        return msgspec.structs.replace(self, pixels=(0, 0))

    def give_to(self, slave: int) -> None:
        """Set a new terminal so, before a program starts in it."""
        attributes = termios.tcgetattr(slave) if self.attributes is None else [*self.attributes]
        if self.attributes is None and self.utf8:
            attributes[0] |= _IUTF8
        with suppress(termios.error):  # a speed that a PTY does not take
            termios.tcsetattr(slave, termios.TCSANOW, attributes)

    def modes(self) -> dict[str, Any] | None:
        """``terminal.pty_mode`` of a program that starts with it; None where no PTY can be had.

        ``kind`` is ``pty``; the rest are flags of termios(3), in lower case, true when set. They
        are read from a new PTY, which has the same settings: the program may have changed its
        own before we could look.
        """
        try:
            ours, theirs = os.openpty()
        except OSError:
            return None
        try:
            self.give_to(theirs)
            settings = termios.tcgetattr(theirs)
        except termios.error:
            return None
        finally:
            os.close(ours)
            os.close(theirs)
        return {"kind": "pty"} | {name: bool(settings[at] & flag) for name, at, flag in _FLAGS}


def window_pixels(fd: int) -> tuple[int, int]:
    """Width and height in pixels of the terminal at ``fd``; 0 for unknown."""
    try:
        packed = fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8))
    except OSError:
        return (0, 0)
    _, _, width, height = struct.unpack("HHHH", packed)
    return (width, height)


def modes_of_line(mode: LineMode) -> dict[str, Any]:
    """The same for a scripted PTY, as far as its line discipline is known."""
    return {"kind": "pty", "icanon": mode.canonical, "echo": mode.echo}
