"""Programs under a PTY, and the user's own terminal."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.system.pty.core_dumps import NoCoreDumps
    from ptycassette.system.pty.modes import modes_of_line, new_terminal_modes
    from ptycassette.system.pty.piped import PipedChild, spawn_piped
    from ptycassette.system.pty.polling import Poll, new_poll
    from ptycassette.system.pty.port import LineMode, Pty, Scripted
    from ptycassette.system.pty.process import DEFAULT_GRACE_S, PtyChild, signal_name, spawn
    from ptycassette.system.pty.scripted import ScriptedPty
    from ptycassette.system.pty.signals import exit_status, signal_number
    from ptycassette.system.pty.terminal import (
        DEFAULT_SIZE,
        SignalPipe,
        UserTerminal,
        local_modes,
        suspend,
        window_size,
    )
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "core_dumps": ("NoCoreDumps",),
            "modes": ("modes_of_line", "new_terminal_modes"),
            "piped": ("PipedChild", "spawn_piped"),
            "polling": ("Poll", "new_poll"),
            "port": ("LineMode", "Pty", "Scripted"),
            "process": ("DEFAULT_GRACE_S", "PtyChild", "signal_name", "spawn"),
            "scripted": ("ScriptedPty",),
            "signals": ("exit_status", "signal_number"),
            "terminal": (
                "DEFAULT_SIZE",
                "SignalPipe",
                "UserTerminal",
                "local_modes",
                "suspend",
                "window_size",
            ),
        },
    )

__all__ = [
    "DEFAULT_GRACE_S",
    "DEFAULT_SIZE",
    "LineMode",
    "NoCoreDumps",
    "PipedChild",
    "Poll",
    "Pty",
    "PtyChild",
    "Scripted",
    "ScriptedPty",
    "SignalPipe",
    "UserTerminal",
    "exit_status",
    "local_modes",
    "modes_of_line",
    "new_poll",
    "new_terminal_modes",
    "signal_name",
    "signal_number",
    "spawn",
    "spawn_piped",
    "suspend",
    "window_size",
]
