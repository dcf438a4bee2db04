"""A higher priority for the thread that timestamps output, where the system allows it.

On a busy machine a recorder with output to read waits for the processor, and its timestamps are
late by that. With a nice value lower by ten it runs at once. Linux allows that to root and
to those who have CAP_SYS_NICE or RLIMIT_NICE (setpriority(2)); for all others nothing happens.

On Linux each thread has its own nice value, so only the calling thread is raised. Processes
that it starts while it is raised would inherit the value: start the program before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_STEP = 10


@contextmanager
def raised_priority() -> Iterator[None]:
    """Raise the calling thread's priority for the duration of the block, if that is allowed."""
    if sys.platform != "linux":  # elsewhere it would be that of the whole process
        yield
        return
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, before - _STEP)
    try:
        yield
    finally:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, before)
