"""Sessions with a live program."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.session._stream_ends import StreamEnds
    from ptycassette.session.async_session import AsyncSession
    from ptycassette.session.base import SessionBase
    from ptycassette.session.core import SessionView
    from ptycassette.session.options import (
        CLEAN_NAMES,
        DEFAULT_SIZE,
        StreamChoice,
        child_environment,
        kinds_named,
    )
    from ptycassette.session.session import Session
    from ptycassette.session.steps import SessionStep, StepLog, collect_steps
    from ptycassette.session.waits import matches_in_file
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "_stream_ends": ("StreamEnds",),
            "async_session": ("AsyncSession",),
            "core": ("SessionView",),
            "base": ("SessionBase",),
            "options": (
                "CLEAN_NAMES",
                "DEFAULT_SIZE",
                "StreamChoice",
                "child_environment",
                "kinds_named",
            ),
            "session": ("Session",),
            "steps": ("SessionStep", "StepLog", "collect_steps"),
            "waits": ("matches_in_file",),
        },
    )

__all__ = [
    "CLEAN_NAMES",
    "DEFAULT_SIZE",
    "AsyncSession",
    "Session",
    "SessionBase",
    "SessionStep",
    "SessionView",
    "StepLog",
    "StreamChoice",
    "StreamEnds",
    "child_environment",
    "collect_steps",
    "kinds_named",
    "matches_in_file",
]
