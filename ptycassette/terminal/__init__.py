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

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.terminal.backends import answering, available_backends, backend
    from ptycassette.terminal.cells import split_cells, split_clusters
    from ptycassette.terminal.checking import CheckedScreen
    from ptycassette.terminal.emulator import PyteEmulator, default_emulator
    from ptycassette.terminal.grid import BLANK, Row
    from ptycassette.terminal.keys import KILL_LINE, KILL_WORD, RUBOUT, typed_keys
    from ptycassette.terminal.lazy import LazyEmulator
    from ptycassette.terminal.line_editor import TypedText, edited_text, typed_text
    from ptycassette.terminal.policies import POLICY_NAMES, FramePolicy, frame_policy
    from ptycassette.terminal.query_profiles import (
        DUMB,
        PROFILES,
        XTERM,
        QueryProfile,
        query_profile_of,
    )
    from ptycassette.terminal.render import render_ansi, render_text
    from ptycassette.terminal.sgr import attribute_parameters, color_parameters
    from ptycassette.terminal.signal_reader import SignalReader, TurnReader
    from ptycassette.terminal.signals import Signal
    from ptycassette.terminal.state import load_emulator, save_emulator
    from ptycassette.terminal.turns import Turn, turn_after
    from ptycassette.terminal.widths import width_mode
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "backends": ("answering", "available_backends", "backend"),
            "cells": ("split_cells", "split_clusters"),
            "checking": ("CheckedScreen",),
            "emulator": ("PyteEmulator", "default_emulator"),
            "grid": ("BLANK", "Row"),
            "keys": ("KILL_LINE", "KILL_WORD", "RUBOUT", "typed_keys"),
            "lazy": ("LazyEmulator",),
            "line_editor": ("TypedText", "edited_text", "typed_text"),
            "policies": ("POLICY_NAMES", "FramePolicy", "frame_policy"),
            "query_profiles": ("DUMB", "PROFILES", "XTERM", "QueryProfile", "query_profile_of"),
            "render": ("render_ansi", "render_text"),
            "sgr": ("attribute_parameters", "color_parameters"),
            "signal_reader": ("SignalReader", "TurnReader"),
            "signals": ("Signal",),
            "state": ("load_emulator", "save_emulator"),
            "turns": ("Turn", "turn_after"),
            "widths": ("width_mode",),
        },
    )

__all__ = [
    "BLANK",
    "DUMB",
    "KILL_LINE",
    "KILL_WORD",
    "POLICY_NAMES",
    "PROFILES",
    "RUBOUT",
    "XTERM",
    "CheckedScreen",
    "FramePolicy",
    "LazyEmulator",
    "PyteEmulator",
    "QueryProfile",
    "Row",
    "Signal",
    "SignalReader",
    "Turn",
    "TurnReader",
    "TypedText",
    "answering",
    "attribute_parameters",
    "available_backends",
    "backend",
    "color_parameters",
    "default_emulator",
    "edited_text",
    "frame_policy",
    "load_emulator",
    "query_profile_of",
    "render_ansi",
    "render_text",
    "save_emulator",
    "split_cells",
    "split_clusters",
    "turn_after",
    "typed_keys",
    "typed_text",
    "width_mode",
]
