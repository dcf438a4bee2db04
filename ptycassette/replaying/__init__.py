"""Replay without a clock: it decides what to emit and how long to wait; the caller waits."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cells import Cell as Cell
    from .cells import cells_of_row as cells_of_row
    from .cells import safe_cluster as safe_cluster
    from .differences import aligned as aligned
    from .differences import changes_of as changes_of
    from .differences import folded_rows as folded_rows
    from .divergence import Divergence as Divergence
    from .divergence import DivergenceSide as DivergenceSide
    from .divergence import divergence_error as divergence_error
    from .divergence import divergence_lines as divergence_lines
    from .divergence import divergence_object as divergence_object
    from .divergence_kinds import CALL_CHANGED as CALL_CHANGED
    from .divergence_kinds import CALL_MISSING as CALL_MISSING
    from .divergence_kinds import CALL_ORDER as CALL_ORDER
    from .divergence_kinds import INPUT_MISSING as INPUT_MISSING
    from .divergence_kinds import TOOL_CHANGED as TOOL_CHANGED
    from .drift_picture import DriftPicture as DriftPicture
    from .drift_picture import picture_object as picture_object
    from .drifted_screens import drift_pictures as drift_pictures
    from .drifts import NO_DRIFT as NO_DRIFT
    from .drifts import Drift as Drift
    from .drifts import DriftChange as DriftChange
    from .drifts import Side as Side
    from .drifts import drift_lines as drift_lines
    from .paint import ansi_lines as ansi_lines
    from .scheduler import DONE as DONE
    from .scheduler import AwaitInput as AwaitInput
    from .scheduler import Decision as Decision
    from .scheduler import Done as Done
    from .scheduler import Emit as Emit
    from .scheduler import ReplayMode as ReplayMode
    from .scheduler import Scheduler as Scheduler
    from .scheduler import Wait as Wait
    from .scheduler import replay_mode as replay_mode
    from .stored import changed_rows as changed_rows
    from .stored import restyled_rows as restyled_rows
    from .stored import screen_object as screen_object
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "cells": "Cell cells_of_row safe_cluster",
            "differences": "aligned changes_of folded_rows",
            "divergence": (
                "Divergence DivergenceSide divergence_error divergence_lines divergence_object"
            ),
            "divergence_kinds": "CALL_CHANGED CALL_MISSING CALL_ORDER INPUT_MISSING TOOL_CHANGED",
            "drift_picture": "DriftPicture picture_object",
            "drifted_screens": "drift_pictures",
            "drifts": "NO_DRIFT Drift DriftChange Side drift_lines",
            "paint": "ansi_lines",
            "scheduler": (
                "AwaitInput DONE Decision Done Emit ReplayMode Scheduler Wait replay_mode"
            ),
            "stored": "changed_rows restyled_rows screen_object",
        },
    )
