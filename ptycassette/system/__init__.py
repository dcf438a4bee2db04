"""Clocks, programs under a PTY, terminals, files, locks."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clock import MonotonicClock as MonotonicClock
    from .clock import Steady as Steady
    from .clock import SystemAsyncSleeper as SystemAsyncSleeper
    from .clock import SystemSleeper as SystemSleeper
    from .clock import is_frozen as is_frozen
    from .clock import monotonic_s as monotonic_s
    from .clock import random_id as random_id
    from .closing import Closing as Closing
    from .git_questions import IgnoredFile as IgnoredFile
    from .git_questions import WorkTree as WorkTree
    from .git_questions import asked_git as asked_git
    from .interpreter import program_of_ours as program_of_ours
    from .interpreter import python_command as python_command
    from .network import NETWORK_VARIABLE as NETWORK_VARIABLE
    from .network import ConnectionWatch as ConnectionWatch
    from .network import Guard as Guard
    from .network import guarded_command as guarded_command
    from .network import may_isolate as may_isolate
    from .network import network_disabled as network_disabled
    from .network import require_isolation as require_isolation
    from .network import required_guard as required_guard
    from .network_block import NETWORK_LEVEL as NETWORK_LEVEL
    from .network_block import NetworkBlockedError as NetworkBlockedError
    from .network_block import blocked_network as blocked_network
    from .ownership import Owner as Owner
    from .ownership import owned_async_context as owned_async_context
    from .ownership import owned_context as owned_context
    from .priority import raised_priority as raised_priority
    from .streams import reopened as reopened
    from .streams import same_stream as same_stream
    from .streams import stream_kind as stream_kind
    from .streams import unread_bytes as unread_bytes
    from .unwinding import StopSignals as StopSignals
    from .unwinding import is_making_a_temporary as is_making_a_temporary
    from .unwinding import unwound as unwound
    from .workers import WorkerEndedError as WorkerEndedError
    from .workers import Workers as Workers
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "network_block": "NETWORK_LEVEL NetworkBlockedError blocked_network",
            "clock": "MonotonicClock Steady SystemAsyncSleeper SystemSleeper is_frozen monotonic_s"
            " random_id",
            "closing": "Closing",
            "interpreter": "program_of_ours python_command",
            "network": "NETWORK_VARIABLE ConnectionWatch Guard guarded_command may_isolate"
            " network_disabled require_isolation required_guard",
            "ownership": "Owner owned_async_context owned_context",
            "git_questions": "IgnoredFile WorkTree asked_git",
            "priority": "raised_priority",
            "streams": "reopened same_stream stream_kind unread_bytes",
            "unwinding": "StopSignals is_making_a_temporary unwound",
            "workers": "WorkerEndedError Workers",
        },
    )
