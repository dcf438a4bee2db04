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

from ptycassette.terminal.backends import answering, available_backends, backend
from ptycassette.terminal.emulator import PyteEmulator, default_emulator
from ptycassette.terminal.lazy import LazyEmulator
from ptycassette.terminal.policies import POLICY_NAMES, FramePolicy, frame_policy
from ptycassette.terminal.query_profiles import (
    DUMB,
    PROFILES,
    XTERM,
    QueryProfile,
    query_profile_of,
)
from ptycassette.terminal.render import render_ansi, render_text
from ptycassette.terminal.signal_reader import SignalReader
from ptycassette.terminal.signals import Signal
from ptycassette.terminal.state import load_emulator, save_emulator

__all__ = [
    "DUMB",
    "POLICY_NAMES",
    "PROFILES",
    "XTERM",
    "FramePolicy",
    "LazyEmulator",
    "PyteEmulator",
    "QueryProfile",
    "Signal",
    "SignalReader",
    "answering",
    "available_backends",
    "backend",
    "default_emulator",
    "frame_policy",
    "load_emulator",
    "query_profile_of",
    "render_ansi",
    "render_text",
    "save_emulator",
]
