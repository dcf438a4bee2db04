"""The emulator, frame policies, screen diffs, query answers, normalisers."""

from ptycassette.screen.emulator import PyteEmulator, default_emulator
from ptycassette.screen.policies import POLICY_NAMES, FramePolicy, frame_policy

__all__ = [
    "POLICY_NAMES",
    "FramePolicy",
    "PyteEmulator",
    "default_emulator",
    "frame_policy",
]
