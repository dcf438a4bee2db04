"""The emulator, frame policies, query answers, a screen as text and ANSI.

Start here:

``default_emulator(size)``
    renders output: ``feed``, ``resize``, ``snapshot``, ``pending``, ``answers``, and beyond
    the port ``signals`` (titles, notifications, modes, ...), ``scrollback``,
    ``synchronized``, ``cells``. ``PyteEmulator`` takes the width mode, the length of
    the scrollback and the ``QueryProfile`` that says which queries are answered.
``LazyEmulator(size, on_read, traced=...)``
    the same screens, painted on demand; passes rows whose text is not in the print stream
    to ``on_read`` before anything on them is lost; with ``traced``, cells know which bytes
    painted them.
``save_emulator``, ``load_emulator``
    the whole state as bytes, and back: checkpoints for seeking.
``repaint_bytes(emulator)``
    output that brings a fresh terminal into the state of an emulator.
``PaintedBytes(size, rows=..., columns=...)``
    which bytes of the output painted a part of the screen.
``SignalReader``
    the signals in output, without rendering it.
``backend(name)``, ``available_backends()``
    other emulators behind the same port; ``answering(factory, profile)`` those that answer
    queries as a ``QueryProfile`` says.
``frame_policy(name)``
    which moments of a session become frames.
``render_text``, ``render_ansi``
    one screen, to be shown anywhere.
"""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .backends import answering as answering
    from .backends import available_backends as available_backends
    from .backends import backend as backend
    from .cells import split_cells as split_cells
    from .cells import split_clusters as split_clusters
    from .checking import CheckedScreen as CheckedScreen
    from .emulator import PyteEmulator as PyteEmulator
    from .emulator import default_emulator as default_emulator
    from .grid import BLANK as BLANK
    from .grid import Row as Row
    from .lazy import LazyEmulator as LazyEmulator
    from .painted import PaintedBytes as PaintedBytes
    from .policies import POLICY_NAMES as POLICY_NAMES
    from .policies import FramePolicy as FramePolicy
    from .policies import frame_policy as frame_policy
    from .query_profiles import DUMB as DUMB
    from .query_profiles import PROFILES as PROFILES
    from .query_profiles import XTERM as XTERM
    from .query_profiles import QueryProfile as QueryProfile
    from .query_profiles import query_profile_of as query_profile_of
    from .render import render_ansi as render_ansi
    from .render import render_text as render_text
    from .repaint import RESET as RESET
    from .repaint import repaint_bytes as repaint_bytes
    from .sgr import attribute_parameters as attribute_parameters
    from .sgr import color_parameters as color_parameters
    from .signal_reader import SignalReader as SignalReader
    from .signal_reader import TurnReader as TurnReader
    from .signals import Signal as Signal
    from .state import load_emulator as load_emulator
    from .state import save_emulator as save_emulator
    from .turns import Turn as Turn
    from .turns import turn_after as turn_after
    from .widths import width_mode as width_mode
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "backends": "answering available_backends backend",
            "cells": "split_cells split_clusters",
            "checking": "CheckedScreen",
            "emulator": "PyteEmulator default_emulator",
            "grid": "BLANK Row",
            "lazy": "LazyEmulator",
            "painted": "PaintedBytes",
            "policies": "FramePolicy POLICY_NAMES frame_policy",
            "query_profiles": "DUMB PROFILES QueryProfile XTERM query_profile_of",
            "render": "render_ansi render_text",
            "repaint": "RESET repaint_bytes",
            "sgr": "attribute_parameters color_parameters",
            "signal_reader": "SignalReader TurnReader",
            "signals": "Signal",
            "state": "load_emulator save_emulator",
            "turns": "Turn turn_after",
            "widths": "width_mode",
        },
    )
