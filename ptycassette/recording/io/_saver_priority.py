"""The priority of a saver: low, until the user waits for it.

A nice value of 19 would be best: other processes then get nearly all of the processor. But
an ordinary user cannot lower the value again (setpriority(2)). At the end, when the user
waits, a saver on a busy machine would get no time. So 19 is used only if it can be lowered
again. Otherwise the value is raised a little, and a saver that had to wait for a processor
pauses, longer each time, up to a second.

Linux schedules sessions as groups where it may ("autogroup", sched(7)), and nice values count only
within a group. A saver leads a session, so that its group gets a value, too, which anybody may
lower again. The files below ``/proc/self`` belong to root once a process is not dumpable (proc(5)):
an ordinary user's saver opens what it needs before that.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar

from ptycassette.system.clock import monotonic_s
from ptycassette.system.pty.polling import new_poll

_FAR, _NEAR = 19, 5
_CAP_SYS_NICE = 1 << 23  # linux/capability.h
_SAMPLE_S = 0.008  # of processor time; the clock of a thread is finer than that everywhere
_CONTENDED = 1.3
_LONGEST_PAUSE_S = 1.0
# All processes without CAP_SYS_ADMIN together may write groups ten times a second.
_GROUP_WAIT_MS, _GROUP_TRIES, _URGENT_TRIES = 20, 10, 500


class Priority:
    """Of the thread that makes it, with ``lowered``; on Linux each thread has its own.

    Args:
        before: the nice value to return to; None if the system does not allow it.
    """

    _group_fd: ClassVar[int | None] = None
    """The file of this session's group, where there are groups."""

    @classmethod
    def prepare(cls) -> None:
        """Do what works only while this process is dumpable; it must lead its session already."""
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")
        with suppress(OSError):
            cls._group_fd = os.open("/proc/self/autogroup", os.O_WRONLY | os.O_CLOEXEC)

    def __init__(self, before: int | None) -> None:
        self._before = before
        self._pauses = before is None
        self._thread = threading.get_native_id() if sys.platform == "linux" else 0
        self._pause_s = 0.0
        self._leads = False
        self.discount_pause()

    @classmethod
    def lowered(cls) -> Priority:
        """Lower it now."""
        if not hasattr(os, "setpriority"):
            return cls(None)
        # A saver that the recorder's raised thread started has inherited its value.
        before = max(0, os.getpriority(os.PRIO_PROCESS, 0))
        back = _may_return_to(before)
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, _FAR if back else min(_FAR, before + _NEAR))
        priority = cls(before if back else None)
        priority._leads = os.getsid(0) == os.getpid()
        if priority._leads:
            priority._set_group(_FAR)
        return priority

    def urgent(self) -> None:
        """Return to normal priority, if the system allows it: the user waits. Thread-safe."""
        self._pauses = False
        # First the group, and this thread: raised alone, the saver's thread would take what little
        # time the group has, and this one would not get to raise the group for a minute.
        if self._leads and not self._set_group(0, tries=1):
            # Others wrote theirs just now, and may again; the saver goes on meanwhile.
            patient = partial(self._set_group, 0, tries=_URGENT_TRIES)
            threading.Thread(target=patient, name="group", daemon=True).start()
        if self._before is not None:
            for thread in (0, self._thread):
                with suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, thread, self._before)

    def discount_pause(self) -> None:
        """Do not count the time before now as work."""
        self._passed_s, self._used_s = monotonic_s(), time.thread_time()

    def pause_s(self) -> float:
        """How long to pause, so that other processes get the processor."""
        used_s = time.thread_time() - self._used_s
        if not self._pauses or used_s < _SAMPLE_S:
            return 0.0
        passed_s = monotonic_s() - self._passed_s
        if passed_s > _CONTENDED * used_s:
            self._pause_s = min(max(2 * self._pause_s, 4 * used_s), _LONGEST_PAUSE_S)
        else:
            self._pause_s = 0.0
        self.discount_pause()
        return self._pause_s

    def _set_group(self, nice: int, *, tries: int = _GROUP_TRIES) -> bool:
        """Set the nice value of this session's group, if there are groups; False: try again."""
        if self._group_fd is None:
            return True
        for left in reversed(range(tries)):
            try:
                os.write(self._group_fd, b"%d" % nice)
            except BlockingIOError:
                if left:  # not ``time.sleep``, which does not wait where the clock has gone back
                    new_poll().poll(_GROUP_WAIT_MS)
            except OSError:
                break
            else:
                break
        else:
            return False
        return True


def _may_return_to(value: int) -> bool:
    """Whether the system would let this process have that nice value again (setpriority(2))."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("CapEff:"):
                if int(line.split()[1], 16) & _CAP_SYS_NICE:
                    return True
                break
    try:
        import resource

        return resource.getrlimit(resource.RLIMIT_NICE)[0] >= 20 - value
    except (ImportError, AttributeError, OSError, ValueError):
        return False
