"""Programs under a PTY, and the user's own terminal."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .core_dumps import NoCoreDumps as NoCoreDumps
    from .driver_signals import DriverSignals as DriverSignals
    from .driver_signals import hand_over_terminal as hand_over_terminal
    from .modes import TerminalTemplate as TerminalTemplate
    from .modes import modes_of_line as modes_of_line
    from .modes import window_pixels as window_pixels
    from .piped import PipedChild as PipedChild
    from .piped import spawn_piped as spawn_piped
    from .polling import PURE_PYTHON as PURE_PYTHON
    from .polling import Poll as Poll
    from .polling import new_poll as new_poll
    from .port import LineMode as LineMode
    from .port import Pty as Pty
    from .port import Scripted as Scripted
    from .process import DEFAULT_GRACE_S as DEFAULT_GRACE_S
    from .process import PtyChild as PtyChild
    from .process import spawn as spawn
    from .scripted import ScriptedPty as ScriptedPty
    from .signals import QUIET as QUIET
    from .signals import STOPPING as STOPPING
    from .signals import TAKEN as TAKEN
    from .signals import WAITED as WAITED
    from .signals import block_waited_signals as block_waited_signals
    from .signals import disposition as disposition
    from .signals import exit_status as exit_status
    from .signals import put_back as put_back
    from .signals import signal_name as signal_name
    from .signals import signal_number as signal_number
    from .signals import stop_self as stop_self
    from .terminal import DEFAULT_SIZE as DEFAULT_SIZE
    from .terminal import SignalPipe as SignalPipe
    from .terminal import UserTerminal as UserTerminal
    from .terminal import WaitedSignals as WaitedSignals
    from .terminal import local_modes as local_modes
    from .terminal import suspend as suspend
    from .terminal import window_size as window_size
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "core_dumps": "NoCoreDumps",
            "driver_signals": "DriverSignals hand_over_terminal",
            "modes": "TerminalTemplate modes_of_line window_pixels",
            "piped": "PipedChild spawn_piped",
            "polling": "PURE_PYTHON Poll new_poll",
            "port": "LineMode Pty Scripted",
            "process": "DEFAULT_GRACE_S PtyChild spawn",
            "scripted": "ScriptedPty",
            "signals": "QUIET STOPPING TAKEN WAITED block_waited_signals disposition exit_status"
            " put_back signal_name signal_number stop_self",
            "terminal": "DEFAULT_SIZE SignalPipe UserTerminal WaitedSignals local_modes suspend"
            " window_size",
        },
    )
