"""Replay without a clock: what to emit and how long to wait; the owner of the loop waits."""

from ptycassette.replaying.scheduler import (
    DONE,
    AwaitInput,
    Decision,
    Done,
    Emit,
    Mode,
    Scheduler,
    Wait,
    replay_mode,
)

__all__ = [
    "DONE",
    "AwaitInput",
    "Decision",
    "Done",
    "Emit",
    "Mode",
    "Scheduler",
    "Wait",
    "replay_mode",
]
