"""Processes that run functions for another one, and that do not outlive it.

One Python loads a module and forks the workers: each is ready at once and has its own threads,
signals and folders. That Python, their *foreman*, waits for the end of its stdin, which only its
owner holds: when the owner ends, however it ends, the foreman sends SIGTERM to the workers, so that
they end their programs and remove their folders, and SIGKILL after a grace.
``multiprocessing`` leaves its processes, and a folder, when the owner is killed.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

from ptycassette.system.clock import monotonic_s
from ptycassette.system.interpreter import python_command
from ptycassette.system.ownership import Closing, Owner, unwound

_P = ParamSpec("_P")
_T = TypeVar("_T")
_LENGTH = struct.Struct("!Q")
_GRACE_S = 10.0
_LOOK_S = 0.01
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class WorkerEndedError(Exception):
    """A worker ended, or was ended, before it had an answer."""


class Workers(Closing):
    """So many workers.

    Args:
        jobs: how many.
        loading: the module that they have loaded; it must be safe to fork afterwards.
    """

    def __init__(self, jobs: int, *, loading: str) -> None:
        self._owner = Owner()
        self._threads = ThreadPoolExecutor(jobs)
        self._free: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
        with ExitStack() as theirs:
            ends: list[int] = []
            for _ in range(jobs):
                ours, its = socket.socketpair()
                self._free.put(ours)
                ends.append(theirs.enter_context(its).fileno())
            words = python_command("-m", __name__, loading, *map(str, ends))
            # A session of its own: a key at the terminal is for the owner, who ends them in order.
            self._foreman = subprocess.Popen(
                words, stdin=subprocess.PIPE, pass_fds=ends, start_new_session=True
            )

    def submit(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Have a worker call a function of a module; all that is passed must be picklable.

        Its future raises what the function raises, or ``WorkerEndedError``.
        """
        return self._threads.submit(self._ask, function, args, kwargs)

    def _ask(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        worker = self._free.get()
        try:
            _send(worker, (function, args, kwargs))
            good, result = _received(worker)
        except (OSError, EOFError) as gone:
            raise WorkerEndedError("a worker ended unexpectedly") from gone
        finally:
            self._free.put(worker)
        if good:
            return result
        raise result

    def close(self) -> None:
        """End the workers, with what they are doing; nothing more is done."""
        if not self._owner.here:
            return
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._foreman:  # closes its stdin, and waits for its end
            pass
        self._threads.shutdown()
        with suppress(queue.Empty):
            while True:
                self._free.get_nowait().close()


def _send(connection: socket.socket, value: Any) -> None:
    data = pickle.dumps(value)
    connection.sendall(_LENGTH.pack(len(data)) + data)


def _received(connection: socket.socket) -> Any:
    """The next value.

    Raises:
        EOFError: the other side is gone.
    """
    with connection.makefile("rb") as file:
        head = file.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise EOFError
        # What comes was written by the process of ours at the other end of this pair.
        return pickle.loads(file.read(_LENGTH.unpack(head)[0]))  # noqa: S301


def _work(connection: socket.socket) -> int:
    while True:
        try:
            function, args, kwargs = _received(connection)
        except (OSError, EOFError):
            return 0
        try:
            answer = True, function(*args, **kwargs)
        except Exception as failed:  # noqa: BLE001 - the owner handles it
            answer = False, failed
        _send(connection, answer)


def _die_with(parent: int) -> None:
    """Ask for SIGTERM when the foreman is killed, if the kernel can send it."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only workers need it

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _end(workers: list[int]) -> None:
    """End them: SIGTERM, and SIGKILL after the grace."""
    for number, grace_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _GRACE_S)):
        for pid in workers:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        until = monotonic_s() + grace_s
        while workers and monotonic_s() < until:
            workers = [pid for pid in workers if os.waitpid(pid, os.WNOHANG)[0] == 0]
            time.sleep(_LOOK_S)


def main(arguments: list[str]) -> int:
    """``MODULE FD...``: be the foreman of one worker for each descriptor."""
    module, *numbers = arguments
    importlib.import_module(module)
    ends = [socket.socket(fileno=int(number)) for number in numbers]
    foreman, workers = os.getpid(), list[int]()
    for end in ends:
        end.set_inheritable(False)
    for end in ends:
        pid = os.fork()
        if pid == 0:
            for other in ends:
                if other is not end:
                    other.close()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            _die_with(foreman)
            return unwound(partial(_work, end))
        workers.append(pid)
    for end in ends:
        end.close()
    while os.read(0, 4096):
        pass
    _end(workers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
