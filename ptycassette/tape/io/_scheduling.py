"""Ask the kernel to run this process soon after it wakes up.

The proxy works for a millisecond and then waits, once for the client and once for the provider. On
a busy machine most of its cost is the wait for a processor. Linux (EEVDF, from 6.12) lets any
process ask for shorter slices (sched_setattr(2), ``sched_runtime``): it gets no more time than
others, but its turn comes earlier. A lower nice value would need a privilege, and counts only
within the session.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from contextlib import suppress

_SYSCALLS = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
_SLICE_NS = 100_000
"""The shortest slice that the kernel accepts."""
# struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period, utilisation.
_ATTRIBUTES = struct.Struct("=IIQiIQQQII")


def ask_for_short_slices() -> None:
    """Ask for short slices. Does nothing if the system does not support them."""
    number = _SYSCALLS.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        return  # it already has a better one
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = _ATTRIBUTES.pack(_ATTRIBUTES.size, 0, 0, nice, 0, _SLICE_NS, 0, 0, 0, 0)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).syscall(number, 0, attributes, 0)
