"""The pipe between a recorder and whoever started it in their place: a shim.

The owner holds the writing end, and nobody else does. So the kernel itself says when the
owner is gone, whatever ended it: the recorder reads the end of the pipe. (A signal at the
parent's death, PR_SET_PDEATHSIG, is Linux's alone, comes when the parent's *thread* ends,
and is lost where the parent was gone before it was asked for.)

- One byte: the owner's caller is gone. The program is ended, as by a terminal that hangs
  up; the recording is saved, and the owner does with it what it would have done.
- The end of the pipe: the owner is gone. The program is ended; nobody is there to take the
  recording, so its journal is kept for ``recover``, or deleted where it was for the owner alone.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable

from ptycassette.system.pty.polling import new_poll

__all__ = ["END", "Lifeline"]

END = b"E"
"""What the owner writes to have the program ended."""


class Lifeline:
    """The recorder's end of the pipe.

    Args:
        fd: the reading end; from now on ours, and inherited by nobody.
        keeps_journal: what is recorded is worth a cassette without its owner, too: the journal
            stays when the cassette is published, until the owner has put that in its place.

    Raises:
        OSError: ``fd`` is not open.
    """

    def __init__(self, fd: int, *, keeps_journal: bool) -> None:
        os.set_inheritable(fd, False)
        os.set_blocking(fd, False)
        self._fd = fd
        self.keeps_journal = keeps_journal

    def watch(self, end_program: Callable[[], None]) -> None:
        """Call ``end_program``, once, from a thread, when the owner says so or is gone."""
        threading.Thread(
            target=self._watch, args=(end_program,), name="owner-watch", daemon=True
        ).start()

    def _watch(self, end_program: Callable[[], None]) -> None:
        # Signals are for the main thread, which they are to wake.
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
