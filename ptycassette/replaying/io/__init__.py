"""Replaying: players, stand-ins and tests."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.replaying.io.embeddings import embeddings_scorer
    from ptycassette.replaying.io.library import (
        ChosenCassette,
        Library,
        ProgramStart,
        forget_starts,
    )
    from ptycassette.replaying.io.modes import (
        MODE_HELP,
        MODE_VARIABLE,
        RunMode,
        action_of,
        mode_named,
        resolve_mode,
        resolve_secrets,
        run_modes,
    )
    from ptycassette.replaying.io.player import Player, PlayOptions
    from ptycassette.replaying.io.player_checkpoints import Checkpoints
    from ptycassette.replaying.io.player_terminal import Interrupted, PlayerTerminal
    from ptycassette.replaying.io.player_views import PaintedView, RawView, feed_event
    from ptycassette.replaying.io.rendered import screen_at
    from ptycassette.replaying.io.replayer import areplay, replay, seconds_to_us
    from ptycassette.replaying.io.shims import ShimConfig, find_real, make_shims, read_shim_config
    from ptycassette.replaying.io.sides import drift, semantic_drift, side_of
    from ptycassette.replaying.io.using import Use, UseResult, use
    from ptycassette.replaying.io.watched_uses import watch_uses
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "embeddings": ("embeddings_scorer",),
            "library": ("ChosenCassette", "Library", "ProgramStart", "forget_starts"),
            "modes": (
                "MODE_HELP",
                "MODE_VARIABLE",
                "RunMode",
                "action_of",
                "mode_named",
                "resolve_mode",
                "resolve_secrets",
                "run_modes",
            ),
            "player": ("PlayOptions", "Player"),
            "player_checkpoints": ("Checkpoints",),
            "player_terminal": ("Interrupted", "PlayerTerminal"),
            "player_views": ("PaintedView", "RawView", "feed_event"),
            "rendered": ("screen_at",),
            "replayer": ("areplay", "seconds_to_us", "replay"),
            "shims": ("ShimConfig", "find_real", "make_shims", "read_shim_config"),
            "sides": ("drift", "semantic_drift", "side_of"),
            "using": ("Use", "UseResult", "use"),
            "watched_uses": ("watch_uses",),
        },
    )

__all__ = [
    "MODE_HELP",
    "MODE_VARIABLE",
    "Checkpoints",
    "ChosenCassette",
    "Interrupted",
    "Library",
    "PaintedView",
    "PlayOptions",
    "Player",
    "PlayerTerminal",
    "ProgramStart",
    "RawView",
    "RunMode",
    "ShimConfig",
    "Use",
    "UseResult",
    "action_of",
    "areplay",
    "drift",
    "embeddings_scorer",
    "feed_event",
    "find_real",
    "forget_starts",
    "make_shims",
    "mode_named",
    "read_shim_config",
    "replay",
    "resolve_mode",
    "resolve_secrets",
    "run_modes",
    "screen_at",
    "seconds_to_us",
    "semantic_drift",
    "side_of",
    "use",
    "watch_uses",
]
