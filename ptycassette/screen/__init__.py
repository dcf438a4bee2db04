"""The emulator, frame policies, screen diffs, query answers, normalisers.

Start here:

``default_emulator(size)``
    renders output: ``feed``, ``resize``, ``snapshot``, ``pending``, ``answers``, and beyond
    the port ``signals`` (what the program told its terminal), ``scrollback``,
    ``synchronized``, ``cells``.
``TracedEmulator(size, on_losing=...)``
    the same screens, plus ``origins()``: per cell the bytes (start, end) of the output
    that painted it, which go with the cell through scrolling, editing, reflow and
    history; ``wrapped()``; and a call ``on_losing(first_row, last_row)`` before
    anything on screen is lost.
``frame_policy(name)``
    which moments of a session become frames.
"""

from ptycassette.screen.emulator import PyteEmulator, default_emulator
from ptycassette.screen.policies import POLICY_NAMES, FramePolicy, frame_policy
from ptycassette.screen.signals import Signal
from ptycassette.screen.trace import OnLosing, TracedEmulator

__all__ = [
    "POLICY_NAMES",
    "FramePolicy",
    "OnLosing",
    "PyteEmulator",
    "Signal",
    "TracedEmulator",
    "default_emulator",
    "frame_policy",
]
