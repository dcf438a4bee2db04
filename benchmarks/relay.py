"""The least that a relay in Python can do: no frames, no sizes, no signals, a log of raw bytes.

Run as a script: ``relay.py LOG PROGRAM ARG...``. It is what a recorder in Python cannot beat.
"""

from __future__ import annotations

import os
import pty
import select
import sys
import tty


def main() -> None:
    """Relay until the program's terminal is gone."""
    log = os.open(sys.argv[1], os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - no shell is what we want
    tty.setraw(0)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.register(0, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready == 0:
                os.write(fd, os.read(0, 4096))
                continue
            try:
                data = os.read(fd, 32768)
            except OSError:
                return
            os.write(log, data)
            os.write(1, data)


if __name__ == "__main__":
    main()
