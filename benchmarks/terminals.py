"""A terminal for programs to run in, and the recorders to run in between."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shlex
import shutil
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ptycassette.system.pty.process import PURE_PYTHON

__all__ = ["Terminal", "contenders", "ptycassette_rec", "terminal"]

Wrap = Callable[[list[str]], list[str]]


def ptycassette_rec(folder: Path, *options: str) -> Wrap:
    """``ptycassette rec``."""
    code = "import sys; from ptycassette.cli import main; sys.exit(main())"
    start = [sys.executable, "-c", code, "rec", "-q", "--overwrite", *options]
    return lambda argv: [*start, str(folder / "cassette"), "--", *argv]


def contenders(folder: Path) -> dict[str, Wrap]:
    """Who is installed, by name; ``bare`` runs the program in the terminal itself."""
    found: dict[str, Wrap] = {"bare": lambda argv: argv, "ptycassette": ptycassette_rec(folder)}
    typescript, tty, cast = (str(folder / name) for name in ("typescript", "ttyrec", "cast"))
    others: dict[str, Wrap] = {
        "script": lambda argv: ["script", "-q", "-e", "-c", shlex.join(argv), typescript],
        "ttyrec": lambda argv: ["ttyrec", "-e", shlex.join(argv), tty],
        "ovh-ttyrec": lambda argv: ["ovh-ttyrec", "-f", tty, "--", *argv],
        "asciinema": lambda argv: [
            "asciinema", "rec", "-q", "--overwrite", "-c", shlex.join(argv), cast,
        ],
    }  # fmt: skip
    found["ptycassette-python"] = lambda argv: [
        "/usr/bin/env", f"{PURE_PYTHON}=1", *found["ptycassette"](argv),
    ]  # fmt: skip
    relay = [sys.executable, "-I", "-S", str(Path(__file__).with_name("relay.py")), tty]
    found["relay"] = lambda argv: [*relay, *argv]
    return found | {name: wrap for name, wrap in others.items() if shutil.which(name)}


class Terminal:
    """The far side of a PTY with a program in it."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(env, BENCH_RECORDER=str(os.getpid()), SHELL="/bin/sh")
            with suppress(OSError):
                os.execvp(argv[0], argv)  # noqa: S606 - no shell is what we want
            os._exit(127)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def read(self) -> bytes:
        """What comes next; empty at the end."""
        try:
            return os.read(self.fd, 65536)
        except OSError:
            return b""

    def read_until(self, text: bytes, timeout_s: float = 30) -> bytes:
        """What comes until ``text`` did."""
        shown = b""
        deadline = time.monotonic() + timeout_s
        while text not in shown:
            if time.monotonic() > deadline or not (data := self.read()):
                raise RuntimeError(f"{text!r} did not come, but {shown[-200:]!r}")
            shown += data
        return shown

    def drain(self, until: Callable[[], bool]) -> int:
        """Read and count until that holds."""
        count = 0
        while not until():
            if select.select([self.fd], [], [], 0.05)[0]:
                data = self.read()
                if not data:
                    break
                count += len(data)
        return count

    def kill(self) -> None:
        """End it with SIGKILL, and let it go."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@contextmanager
def terminal(argv: list[str], folder: Path) -> Iterator[Terminal]:
    """A terminal that is killed at the end; its journals lie in ``folder``."""
    inside = Terminal(argv, {"PTYCASSETTE_STATE_DIR": str(folder / "state")})
    try:
        yield inside
    finally:
        inside.kill()
        time.sleep(0.05)
        shutil.rmtree(folder / "state", ignore_errors=True)
