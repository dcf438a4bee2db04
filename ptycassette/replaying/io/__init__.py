"""Replaying: players, stand-ins and tests."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .embeddings import embeddings_scorer as embeddings_scorer
    from .faults import FAULT_LOG_VARIABLE as FAULT_LOG_VARIABLE
    from .faults import FAULT_VARIABLE as FAULT_VARIABLE
    from .faults import fault_in_force as fault_in_force
    from .faults import faulty_engine_of as faulty_engine_of
    from .faults import faulty_rerun as faulty_rerun
    from .faults import note_met as note_met
    from .library import ChosenCassette as ChosenCassette
    from .library import Library as Library
    from .library_rules import ProgramStart as ProgramStart
    from .modes import MODE_HELP as MODE_HELP
    from .modes import MODE_VARIABLE as MODE_VARIABLE
    from .modes import Action as Action
    from .modes import RunMode as RunMode
    from .modes import action_of as action_of
    from .modes import mode_in_force as mode_in_force
    from .modes import mode_named as mode_named
    from .modes import resolve_mode as resolve_mode
    from .modes import resolve_secrets as resolve_secrets
    from .modes import run_modes as run_modes
    from .places import folders_of as folders_of
    from .places import folders_of_callers as folders_of_callers
    from .places import found_path as found_path
    from .player import Player as Player
    from .player import PlayOptions as PlayOptions
    from .player_checkpoints import Checkpoints as Checkpoints
    from .player_terminal import Interrupted as Interrupted
    from .player_terminal import PlayerTerminal as PlayerTerminal
    from .player_views import PaintedView as PaintedView
    from .player_views import RawView as RawView
    from .player_views import feed_event as feed_event
    from .rendered import screen_at as screen_at
    from .replayer import areplay as areplay
    from .replayer import replay as replay
    from .replayer import seconds_to_us as seconds_to_us
    from .shims import ShimConfig as ShimConfig
    from .shims import find_real as find_real
    from .shims import make_shims as make_shims
    from .shims import read_shim_config as read_shim_config
    from .sides import Comparable as Comparable
    from .sides import screen_drift as screen_drift
    from .sides import semantic_screen_drift as semantic_screen_drift
    from .sides import side_of as side_of
    from .start_counts import forget_starts as forget_starts
    from .using import Use as Use
    from .using import UseResult as UseResult
    from .using import use as use
    from .watched_uses import WatchedResult as WatchedResult
    from .watched_uses import announce_recorded as announce_recorded
    from .watched_uses import announce_recording as announce_recording
    from .watched_uses import announce_use as announce_use
    from .watched_uses import watch_uses as watch_uses
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "embeddings": "embeddings_scorer",
            "faults": "FAULT_LOG_VARIABLE FAULT_VARIABLE fault_in_force faulty_engine_of "
            "faulty_rerun note_met",
            "library": "ChosenCassette Library",
            "library_rules": "ProgramStart",
            "start_counts": "forget_starts",
            "modes": (
                "Action MODE_HELP MODE_VARIABLE RunMode action_of mode_in_force mode_named "
                "resolve_mode resolve_secrets run_modes"
            ),
            "places": "folders_of folders_of_callers found_path",
            "player": "PlayOptions Player",
            "player_checkpoints": "Checkpoints",
            "player_terminal": "Interrupted PlayerTerminal",
            "player_views": "PaintedView RawView feed_event",
            "rendered": "screen_at",
            "replayer": "areplay replay seconds_to_us",
            "shims": "ShimConfig find_real make_shims read_shim_config",
            "sides": "Comparable screen_drift semantic_screen_drift side_of",
            "using": "Use UseResult use",
            "watched_uses": (
                "WatchedResult announce_recorded announce_recording announce_use watch_uses"
            ),
        },
    )
