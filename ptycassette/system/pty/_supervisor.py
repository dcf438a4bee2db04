"""Watches over one recorded program: nothing of its process tree outlives the recorder.

Rules of this file:

- It runs in a fresh interpreter (``python -I -S``) that starts beside each recorded program, so it
  imports only the standard library, and little of it. ``launch.c`` starts the program and then
  executes this interpreter. Without ``launch.c`` the interpreter comes first, and ``launch`` here
  starts the program.
- It is the parent of the recorded program and, on Linux, the *child subreaper*
  of everything below it (prctl(2), ``PR_SET_CHILD_SUBREAPER``): a process that
  forks twice, calls ``setsid`` and ignores SIGHUP still is a descendant of it, so a walk down the
  children finds every process.
- It holds one end of a socket whose other end only the recorder holds. It
  writes ``X <wait status>`` when the program ended, and ``R`` when the relay of the program's
  namespace (``network_launch.py``) was killed before that; it reads ``T <grace in
  ms>`` as the order to end all processes. The end of the socket means the end of the
  recorder, by any cause, kill -9 included.
- When the program ends, when the recorder ends, or when it is ordered to, it sends SIGTERM to every
process left (and SIGCONT, as a stopped process cannot end). SIGHUP follows at half of the grace, as
  from a terminal that is closed; processes that ignore SIGTERM (interactive shells do) get it at
  once, and again while they live, each time
  after twice as long: Readline misses a signal that comes right before it waits for a key.
  SIGKILL follows at the end of the grace, until no process is left. A grace of 0 is SIGKILL at
  once.
- A program that was given pipes may leave processes running on purpose. If it *lingers*, its end
does not end the others; ``L`` makes the supervisor exit and leave all of them running.

Without ``/proc`` (macOS) the walk asks ``ps``, and there is no subreaper: a process that is an
orphan already when the walk starts is found only if it is in the program's process group.
"""

# ruff: noqa: PTH110,PTH123,PTH208
# pathlib would double the time that this script takes to start.
from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # without loading typing
    import signal
    from collections.abc import Callable
    from contextlib import suppress
else:
    # What ``signal`` is made of. It makes enumerations of the numbers, in a third of the time that
    # an interpreter takes to start; ``contextlib`` takes as long.
    import _signal as signal

    class suppress:  # noqa: N801 - in place of the one of ``contextlib``
        """Ends a block at one of these exceptions."""

        def __init__(self, *exceptions: type[BaseException]) -> None:
            self._exceptions = exceptions

        def __enter__(self) -> None:
            pass

        def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
            return kind is not None and issubclass(kind, self._exceptions)


_TICK_MS = 10
_RELAY = b"ptyc-relay"  # RELAY of network_launch.py
_AGAIN_AFTER_S = 0.2
# Faults of our own must stay visible; SIGKILL and SIGSTOP cannot be changed.
_UNTOUCHED = frozenset(
    {
        signal.SIGKILL,
        signal.SIGSTOP,
        signal.SIGSEGV,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGABRT,
    }
)


def descendants(root: int) -> list[int]:
    """The process ids of all descendants of ``root``, parents before children."""
    listing: Callable[[int], list[int]]
    if os.path.exists("/proc/thread-self/children"):
        listing = _children_from_task
    elif os.path.exists("/proc/self/stat"):
        listing = _by_parent(_parents_from_stat()).__getitem__
    else:
        listing = _by_parent(_parents_from_ps()).__getitem__
    found: list[int] = []
    level = [root]
    while level:
        level = [child for parent in level for child in listing(parent)]
        found += level
    return found


def _children_from_task(pid: int) -> list[int]:
    """The children of one process, from ``/proc/PID/task/TID/children`` (proc_pid_children(5))."""
    children: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with (
                suppress(FileNotFoundError, ProcessLookupError),
                open(f"/proc/{pid}/task/{task}/children", "rb") as file,
            ):
                children += map(int, file.read().split())
    return children


class _by_parent(dict[int, list[int]]):  # noqa: N801 - reads as the function that it is
    """Children by parent, from pairs of (pid, parent); empty for other processes."""

    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        super().__init__()
        for pid, parent in pairs:
            self.setdefault(parent, []).append(pid)

    def __missing__(self, parent: int) -> list[int]:
        return []


def _parents_from_stat() -> list[tuple[int, int]]:
    """All processes with their parents, for kernels without the children files."""
    pairs = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with (
                suppress(FileNotFoundError, ProcessLookupError),
                open(f"/proc/{name}/stat", "rb") as file,
            ):
                # The program's name is in parentheses and may contain anything.
                fields = file.read().rpartition(b")")[2].split()
                pairs.append((int(name), int(fields[1])))
    return pairs


def _parents_from_ps() -> list[tuple[int, int]]:
    """All processes with their parents, by POSIX ps(1)."""
    import subprocess  # noqa: PLC0415 - slow to load, and only for systems without /proc

    listed = subprocess.run(["/bin/ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=False)
    words = [line.split() for line in listed.stdout.splitlines()]
    return [(int(pid), int(parent)) for pid, parent in words]


def _ignores_sigterm(pid: int) -> bool:  # pragma: no cover - as below
    """Whether SIGTERM does nothing to a process, from SigIgn in ``/proc/PID/status``."""
    with suppress(OSError), open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith(b"SigIgn:"):
                return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


class Watch:  # pragma: no cover - a process of its own, without coverage in it
    """The loop of the supervisor.

    Args:
        control_fd: our end of the socket.
        program: process id of the recorded program, a child of this process.
        recorder: process id of the recorder, our parent.
        grace_ms: how long processes may take after SIGTERM if the order has no time.
        lingers: whether other processes go on after the end of the program.
        ended: whether the end of the program was already reported.
    """

    def __init__(
        self,
        control_fd: int,
        program: int,
        recorder: int,
        grace_ms: int,
        *,
        lingers: bool = False,
        ended: bool = False,
    ) -> None:
        self._control = control_fd
        self._program = 0 if ended else program
        self._recorder = recorder
        self._grace_ms = grace_ms
        self._lingers = lingers
        self._left = False
        self._ended = ended
        self._deadline: float | None = None
        self._hup_at = 0.0
        self._hung_up: list[int] = []  # ignored SIGTERM when it came
        self._again_at = 0.0
        self._again_after_s = _AGAIN_AFTER_S
        self._poll = select.poll()
        self._poll.register(control_fd, select.POLLIN)
        self._wakeup = self._watch_signals()
        self._pidfd = self._watch_recorder()

    def run(self) -> None:
        """Return when the program has ended and no descendant is left."""
        while True:
            self._reap()
            if self._left and self._deadline is None:
                return
            if self._deadline is None and self._ended:
                if not self._lingers:
                    self._stop(self._grace_ms)
                elif not descendants(os.getpid()):
                    return
            if self._deadline is not None and not self._sweep():
                return
            self._wait(None if self._deadline is None else _TICK_MS)

    def _watch_signals(self) -> int:
        """Ignore signals that would end us; SIGCHLD and SIGTERM wake the loop.

        SIGCHLD is never ignored, not even for a moment: the system would discard the status of
        a child that ends just then (wait(2)).
        """
        for number in signal.valid_signals() - _UNTOUCHED - {signal.SIGCHLD}:
            with suppress(OSError, ValueError):  # libc keeps some for its threads
                signal.signal(number, signal.SIG_IGN)
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        self._poll.register(reading, select.POLLIN)
        return reading

    def _watch_recorder(self) -> int | None:
        """Notice the recorder's end also if a fork of it keeps the socket open (pidfd_open(2))."""
        pidfd = None
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):
                pidfd = os.pidfd_open(self._recorder)
                self._poll.register(pidfd, select.POLLIN)
        if os.getppid() != self._recorder:  # gone before we looked
            self._stop(self._grace_ms)
        return pidfd

    def _wait(self, timeout_ms: int | None) -> None:
        """Sleep until something happens, and record what."""
        for fd, _ in self._poll.poll(timeout_ms):
            if fd == self._wakeup:
                if signal.SIGTERM in os.read(self._wakeup, 4096):
                    self._stop(self._grace_ms)
            elif fd == self._pidfd:
                self._poll.unregister(fd)
                self._stop(self._grace_ms)
            else:
                self._obey()

    def _obey(self) -> None:
        """Take commands from the recorder; the end of the socket is the end of the recorder."""
        try:
            data = os.read(self._control, 4096)
        except OSError:
            data = b""
        if not data:
            self._poll.unregister(self._control)
            self._stop(self._grace_ms)
        for line in data.splitlines():
            if line == b"L":
                self._left = True
            else:
                self._stop(int(line.removeprefix(b"T ")))

    def _stop(self, grace_ms: int) -> None:
        """Begin to end all processes, or end them sooner than planned."""
        now = time.monotonic()
        deadline = now + grace_ms / 1000
        if self._deadline is None and grace_ms > 0:
            self._signal((signal.SIGTERM, signal.SIGCONT))
            self._hung_up = [pid for pid in descendants(os.getpid()) if _ignores_sigterm(pid)]
            self._again_at = now  # the sweep that follows
        self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)
        self._hup_at = (now + self._deadline) / 2

    def _sweep(self) -> bool:
        """Send the signals that are due; return whether a process is left that we may signal."""
        everybody = descendants(os.getpid())
        if not everybody:
            return False
        now = time.monotonic()
        if self._deadline is not None and now >= self._deadline:
            return self._signal((signal.SIGKILL,), everybody)
        if now >= self._hup_at:
            self._hup_at = float("inf")
            self._signal((signal.SIGHUP,), everybody)
        elif now >= self._again_at:
            self._again_at = now + self._again_after_s
            self._again_after_s *= 2
            for pid in self._hung_up:
                if pid in everybody:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGHUP)
        return True

    def _signal(self, numbers: tuple[int, ...], pids: list[int] | None = None) -> bool:
        """Signal all descendants; returns whether any could be signalled (sudo's child cannot)."""
        reached = False
        for pid in descendants(os.getpid()) if pids is None else pids:
            for number in numbers:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
                    reached = True
        if not self._ended:  # where the walk cannot see orphans, the group still can
            for number in numbers:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._program, number)
        return reached

    def _reap(self) -> None:
        """Reap processes that ended; report the program's status to the recorder."""
        while True:
            self._look_for_lost_relay()
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                # Nobody is left, so the program has ended, even if another process got its status.
                self._ended = True
                return
            if pid == 0:
                return
            if pid == self._program:
                self._ended = True
                with suppress(OSError):
                    os.write(self._control, b"X %d\n" % status)

    def _look_for_lost_relay(self) -> None:
        """Report a relay that failed before we end all processes; its name remains (proc(5))."""
        if self._deadline is not None or not hasattr(os, "waitid"):  # macOS has no relay
            return
        with suppress(OSError):
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None or (found.si_code == os.CLD_EXITED and found.si_status == 0):
                return
            with open(f"/proc/{found.si_pid}/comm", "rb") as file:
                if file.read().strip() == _RELAY and found.si_pid != self._program:
                    os.write(self._control, b"R\n")


def main(arguments: list[str]) -> None:  # pragma: no cover - as above
    """Run with ``[control_fd, program, recorder, grace_ms]``, 1 if it lingers, 1 if it ended.

    Without arguments it first starts the program by the plan that ``launch.c`` describes.
    """
    control_fd, program, recorder, grace_ms, *rest = map(int, arguments or launch())
    lingers, ended = (*map(bool, rest), False, False)[:2]
    Watch(control_fd, program, recorder, grace_ms, lingers=lingers, ended=ended).run()


FORM = b"1"
"""The form of the plan, its first word."""
_TTY, _CONTROL, _ERRORS = 10, 11, 12  # where descriptors are kept, away from 0 to 5


def launch() -> list[str]:  # pragma: no cover - as above
    """Do what ``launch.c`` does, in Python; returns the arguments of ``main``."""
    os.closerange(6, min(1 << 20, os.sysconf("SC_OPEN_MAX")))
    os.setsid()
    os.dup2(0, _TTY, inheritable=False)
    os.dup2(2, _CONTROL)
    with open(1, "rb", closefd=False) as file:
        file.seek(0)
        plan = iter(file.read().split(b"\0"))
    if next(plan) != FORM:
        os._exit(125)
    recorder, grace_ms, lingers, given, soft, hard, path, cwd = (next(plan) for _ in range(8))
    [next(plan) for _ in range(int(next(plan)))]  # the argv of this interpreter
    argv = [next(plan) for _ in range(int(next(plan)))]
    env = [next(plan).partition(b"=") for _ in range(int(next(plan)))]
    if os.path.exists("/proc/self/stat"):
        import ctypes  # noqa: PLC0415 - for systems without a compiler alone

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
    reading, writing = os.pipe()
    os.dup2(writing, _ERRORS, inheritable=False)
    os.close(writing)
    if soft:
        _set_cores(soft, hard)
    program = os.fork()
    if program == 0:
        try:
            _take_terminal(int(given))
            _execute(path, argv, {name: value for name, _, value in env}, cwd)
        finally:
            os._exit(127)
    os.close(_ERRORS)
    failure = os.read(reading, 100)
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    for fd in (3, 4, 5, reading, null, _TTY):
        with suppress(OSError):
            os.close(fd)
    with suppress(OSError):  # the recorder may be gone already
        os.write(_CONTROL, b"P %d\n%s" % (program, failure))
    if failure:
        os._exit(0)
    if soft:
        _set_cores(b"0", hard)
    os.chdir("/")
    return [str(_CONTROL), str(program), *map(os.fsdecode, (recorder, grace_ms, lingers))]


def _take_terminal(given: int) -> None:  # pragma: no cover - as above
    """Lead a new session, with the streams that are ``given``, a bit for each, and the PTY."""
    import fcntl  # noqa: PLC0415 - as above
    import termios  # noqa: PLC0415

    os.setsid()
    if given != 7:
        fcntl.ioctl(_TTY, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(3 + number if given >> number & 1 else _TTY, number)
    os.closerange(3, _ERRORS)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; others are inherited
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _execute(
    path: bytes, argv: list[bytes], env: dict[bytes, bytes], cwd: bytes
) -> None:  # pragma: no cover
    """Become the program; returns after reporting why that was impossible."""
    stage = b"cwd"
    try:
        if cwd:
            os.chdir(cwd)
        stage = b"exec"
        os.execve(path, argv, env)  # noqa: S606 - no shell is what we want
    except OSError as exc:
        os.write(_ERRORS, b"E %d %s\n" % (exc.errno or 0, stage))


def _set_cores(soft: bytes, hard: bytes) -> None:  # pragma: no cover - as above
    import resource  # noqa: PLC0415 - as above

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (_limit(soft), _limit(hard)))


def _limit(text: bytes) -> int:  # pragma: no cover - as above
    """A limit of resources: the largest number is RLIM_INFINITY, which is -1 in Python."""
    return -1 if int(text) == 0xFFFF_FFFF_FFFF_FFFF else int(text)
