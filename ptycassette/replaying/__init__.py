"""Replay without a clock: what to emit and how long to wait; the owner of the loop waits."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.replaying.cells import Cell, cells_of_row, safe_cluster
    from ptycassette.replaying.differences import changes_of, folded_rows
    from ptycassette.replaying.divergence import (
        divergence_error,
        divergence_lines,
        divergence_object,
    )
    from ptycassette.replaying.divergence_kinds import INPUT_MISSING
    from ptycassette.replaying.drift_picture import DriftPicture, picture_object
    from ptycassette.replaying.drifted_screens import drift_pictures
    from ptycassette.replaying.drifts import NO_DRIFT, Drift, DriftChange, Side, drift_lines
    from ptycassette.replaying.paint import ansi_lines
    from ptycassette.replaying.scheduler import (
        DONE,
        AwaitInput,
        Decision,
        Done,
        Emit,
        ReplayMode,
        Scheduler,
        Wait,
        replay_mode,
    )
    from ptycassette.replaying.stored import changed_rows, restyled_rows, screen_object, screen_of
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "cells": ("Cell", "cells_of_row", "safe_cluster"),
            "differences": ("changes_of", "folded_rows"),
            "divergence": ("divergence_error", "divergence_lines", "divergence_object"),
            "divergence_kinds": ("INPUT_MISSING",),
            "drift_picture": ("DriftPicture", "picture_object"),
            "drifted_screens": ("drift_pictures",),
            "drifts": ("NO_DRIFT", "DriftChange", "Drift", "Side", "drift_lines"),
            "paint": ("ansi_lines",),
            "scheduler": (
                "DONE",
                "AwaitInput",
                "Decision",
                "Done",
                "Emit",
                "ReplayMode",
                "Scheduler",
                "Wait",
                "replay_mode",
            ),
            "stored": ("changed_rows", "restyled_rows", "screen_object", "screen_of"),
        },
    )

__all__ = [
    "DONE",
    "INPUT_MISSING",
    "NO_DRIFT",
    "AwaitInput",
    "Cell",
    "Decision",
    "Done",
    "Drift",
    "DriftChange",
    "DriftPicture",
    "Emit",
    "ReplayMode",
    "Scheduler",
    "Side",
    "Wait",
    "ansi_lines",
    "cells_of_row",
    "changed_rows",
    "changes_of",
    "divergence_error",
    "divergence_lines",
    "divergence_object",
    "drift_lines",
    "drift_pictures",
    "folded_rows",
    "picture_object",
    "replay_mode",
    "restyled_rows",
    "safe_cluster",
    "screen_object",
    "screen_of",
]
