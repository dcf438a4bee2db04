"""Sessions with a live program."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._stream_ends import StreamEnds as StreamEnds
    from .async_session import AsyncSession as AsyncSession
    from .async_session import require_asyncio as require_asyncio
    from .base import SessionBase as SessionBase
    from .core import SessionView as SessionView
    from .options import CLEAN_NAMES as CLEAN_NAMES
    from .options import DEFAULT_SIZE as DEFAULT_SIZE
    from .options import StreamChoice as StreamChoice
    from .options import child_environment as child_environment
    from .options import kinds_named as kinds_named
    from .options import size_given as size_given
    from .options import words_given as words_given
    from .session import Session as Session
    from .steps import SessionStep as SessionStep
    from .steps import StepLog as StepLog
    from .steps import collect_steps as collect_steps
    from .waits import Idle as Idle
    from .waits import matches_in_file as matches_in_file
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_stream_ends": "StreamEnds",
            "async_session": "AsyncSession require_asyncio",
            "core": "SessionView",
            "base": "SessionBase",
            "options": (
                "CLEAN_NAMES DEFAULT_SIZE StreamChoice child_environment kinds_named size_given "
                "words_given"
            ),
            "session": "Session",
            "steps": "SessionStep StepLog collect_steps",
            "waits": "Idle matches_in_file",
        },
    )
