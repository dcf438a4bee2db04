"""A command that a signal ends removes what it made for itself, and still ends by that signal.

By default SIGTERM ends a process where it is: temporary files and folders stay.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class _EndedError(BaseException):
    """As ``KeyboardInterrupt``: it is handled by nobody on its way."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def unwound(run: Callable[[], int]) -> int:
    """Run; SIGTERM and SIGHUP unwind ``run``, then end the process. A second one ends it at once.

    Only in the main thread, and only signals that would end the process.

    Returns:
        What ``run`` returned.
    """
    main = threading.current_thread() is threading.main_thread()
    taken = [number for number in _ENDING if main and signal.getsignal(number) is signal.SIG_DFL]

    def release() -> None:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)

    def end(number: int, _: FrameType | None) -> None:
        release()
        raise _EndedError(number)

    for number in taken:
        signal.signal(number, end)
    try:
        return run()
    except _EndedError as ended:
        atexit._run_exitfuncs()  # noqa: SLF001 - those of multiprocessing remove its folder
        os.kill(os.getpid(), ended.number)
        return 128 + ended.number
    finally:
        release()
