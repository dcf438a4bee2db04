"""The emulator, frame policies, screen diffs, query answers, normalisers.

Start here:

``default_emulator(size)``
    renders output: ``feed``, ``resize``, ``snapshot``, ``pending``, ``answers``, and beyond
    the port ``signals`` (titles, notifications, modes, ...), ``scrollback``,
    ``synchronized``, ``cells``. ``PyteEmulator`` takes the width mode, the length of
    the scrollback and the ``Profile`` that says which queries are answered.
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
    queries as a ``Profile`` says.
``frame_policy(name)``
    which moments of a session become frames.
``diff``, ``render_text``, ``render_ansi``, ``render_html``, ``screen_hash``, ``screen_cells``
    what to do with one screen, or two.
``normaliser(...)``
    replaces volatile text, for comparison only.
"""

from ptycassette.terminal.backends import answering, available_backends, backend
from ptycassette.terminal.cells import ScreenCell, screen_cells
from ptycassette.terminal.diff import CellChange, ScreenDiff, diff
from ptycassette.terminal.digest import screen_hash
from ptycassette.terminal.emulator import PyteEmulator, default_emulator
from ptycassette.terminal.lazy import LazyEmulator
from ptycassette.terminal.normalise import Normaliser, Rule, normaliser
from ptycassette.terminal.policies import POLICY_NAMES, FramePolicy, frame_policy
from ptycassette.terminal.profiles import DUMB, PROFILES, XTERM, Profile, profile_of
from ptycassette.terminal.render import render_ansi, render_html, render_text
from ptycassette.terminal.signal_reader import SignalReader
from ptycassette.terminal.signals import Signal
from ptycassette.terminal.state import load_emulator, save_emulator

__all__ = [
    "DUMB",
    "POLICY_NAMES",
    "PROFILES",
    "XTERM",
    "CellChange",
    "FramePolicy",
    "LazyEmulator",
    "Normaliser",
    "Profile",
    "PyteEmulator",
    "Rule",
    "ScreenCell",
    "ScreenDiff",
    "Signal",
    "SignalReader",
    "answering",
    "available_backends",
    "backend",
    "default_emulator",
    "diff",
    "frame_policy",
    "load_emulator",
    "normaliser",
    "profile_of",
    "render_ansi",
    "render_html",
    "render_text",
    "save_emulator",
    "screen_cells",
    "screen_hash",
]
