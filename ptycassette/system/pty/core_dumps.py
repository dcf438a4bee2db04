"""No core dumps while a program's output is in our memory: they would not be scrubbed.

The soft limit of this process (RLIMIT_CORE, getrlimit(2)) is 0 while a ``NoCoreDumps`` is held, and
is restored afterwards. Recorded programs get the
earlier limit: their own memory is their affair. Other children that are started meanwhile inherit
0, and may raise it. The limit does not stop a program that collects cores (``|`` in core_pattern,
core(5)). Only ``prctl`` would, and it would shut out debuggers (ptrace) as well.
"""

from __future__ import annotations

import resource
import threading
from contextlib import suppress
from typing import Self

_LOCK = threading.Lock()
_HELD: list[NoCoreDumps] = []
_BEFORE: list[tuple[int, int]] = []


class NoCoreDumps:
    """While entered, or between ``hold`` and ``release``, this process writes none.

    Any number may be held at once, by any threads. Both calls are idempotent.
    """

    def hold(self) -> Self:
        """Write no core dumps from now on."""
        with _LOCK:
            if self not in _HELD:
                if not _HELD:
                    before = resource.getrlimit(resource.RLIMIT_CORE)
                    _BEFORE[:] = [before]
                    set_limits((0, before[1]))
                _HELD.append(self)
        return self

    def release(self) -> None:
        """Restore the limit once no holder is left."""
        with _LOCK:
            if self in _HELD:
                _HELD.remove(self)
                if not _HELD:
                    set_limits(_BEFORE.pop())

    @property
    def limits_of_programs(self) -> tuple[int, int] | None:
        """The earlier limits, for recorded programs; None if no ``NoCoreDumps`` is held."""
        with _LOCK:
            return _BEFORE[0] if _BEFORE else None

    def __enter__(self) -> Self:
        return self.hold()

    def __exit__(self, *_: object) -> None:
        self.release()


def set_limits(limits: tuple[int, int]) -> None:
    """Set the limits of the size of cores, as far as that is allowed."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, limits)
