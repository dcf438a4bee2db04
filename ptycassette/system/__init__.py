"""Clocks, programs under a PTY, terminals, files, locks: what a machine has."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.system.clock import (
        MonotonicClock,
        SystemAsyncSleeper,
        SystemSleeper,
        random_id,
    )
    from ptycassette.system.closing import Closing
    from ptycassette.system.priority import raised_priority
    from ptycassette.system.streams import reopened, same_stream, stream_kind, unread_bytes
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "clock": ("MonotonicClock", "SystemAsyncSleeper", "SystemSleeper", "random_id"),
            "closing": ("Closing",),
            "priority": ("raised_priority",),
            "streams": ("reopened", "same_stream", "stream_kind", "unread_bytes"),
        },
    )

__all__ = [
    "Closing",
    "MonotonicClock",
    "SystemAsyncSleeper",
    "SystemSleeper",
    "raised_priority",
    "random_id",
    "reopened",
    "same_stream",
    "stream_kind",
    "unread_bytes",
]
