"""A pipe by which a recorder notices the end of its owner, the shim that started it.

Only the owner has the writing end open. So however the owner ends, the kernel closes the pipe and
the recorder reads its end. (The alternative, PR_SET_PDEATHSIG, exists on Linux only, fires when
the parent's *thread* ends, and is lost if the parent ended before it was set.)

- One byte means that the owner's caller is gone. The program is ended as by SIGHUP, the recording
  is saved, and the owner handles it as usual.
- The end of the pipe means that the owner is gone. The program is ended. Nobody will take the
  recording, so its journal is kept for ``recover``, or deleted if only the owner wanted it. If the
  program had ended before, the recording is complete, and the recorder publishes it alone.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable

from ptycassette.system.pty.polling import new_poll

LIFELINE_END = b"E"
"""What the owner writes to have the program ended."""


class Lifeline:
    """The recorder's end of the pipe.

    Args:
        fd: the reading end. This object owns it, and children do not inherit it.
        keeps_journal: the recording is wanted even without its owner. The journal is kept after
            the cassette is published, until the owner has moved that to its place.
        publishes: the recorder moves the recording to its place itself if the owner is gone when it
            is saved; see ``PendingRecordings``.

    Raises:
        OSError: ``fd`` is not open.
    """

    def __init__(self, fd: int, *, keeps_journal: bool, publishes: bool = False) -> None:
        os.set_inheritable(fd, False)
        os.set_blocking(fd, False)
        self._fd = fd
        self.keeps_journal = keeps_journal
        self.publishes = publishes

    def watch(self, end_program: Callable[[], None]) -> None:
        """Call ``end_program`` once, from a thread, when the owner asks for it or is gone."""
        threading.Thread(
            target=self._watch, args=(end_program,), name="owner-watch", daemon=True
        ).start()

    def _watch(self, end_program: Callable[[], None]) -> None:
        # Signals are for the main thread, which they must wake.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        poll = new_poll()
        poll.register(self._fd, select.POLLIN)
        while not poll.poll(None):
            pass
        end_program()

    @property
    def owner_gone(self) -> bool:
        """Whether the other end is closed."""
        while True:
            try:
                if not os.read(self._fd, 16):
                    return True
            except BlockingIOError:
                return False
