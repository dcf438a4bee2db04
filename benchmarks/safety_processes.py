"""Programs that do not want to end, and recorders that want the same: through ``rec`` itself.

``python -m benchmarks.safety_processes [--runs N] [--rounds N]``

A recorded program lets go of its terminal in one of seven ways; then it ends, or its
recorder is killed with -9, or terminated. Two seconds later
nothing that it started may run. And of recorders that start at the same moment for one
target, or for one account, exactly one wins; the others say who has it and touch nothing.
Recorders are forks of this process. The process ends with 1 when a figure is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main as command_line
from ptycassette.recording.io import recording as rec_session
from ptycassette.scrub.session import default_scrubber
from ptycassette.system.pty._supervisor import descendants

__all__ = ["ENDS", "ESCAPES", "RIVALS", "Outcome", "escape", "escapes", "rivals"]

# Loaded and compiled once, so that the forks spend their lives on what is measured.
PREPARED = (rec_session, default_scrubber())
WITHIN_S = 2.0
_PATIENCE_S = 90.0
"""Before something counts as left: a busy machine may come to it late."""
MARK = "PTYCASSETTE_TEST_MARK"
REC = ["rec", "-q", "--headless"]
_DAEMON = (
    "import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n"
    "  [os.close(n) for n in range(3)]; time.sleep(300)"
)
ESCAPES = {
    "background": "sleep 300 & echo started",
    "nohup": "nohup sleep 300 >/dev/null 2>&1 & echo started",
    "setsid": "setsid sleep 300 >/dev/null 2>&1 & echo started",
    "double fork": "(setsid sh -c 'sleep 300 & sleep 300' >/dev/null 2>&1 &) ; echo started",
    "nohup and setsid": "nohup setsid nohup sleep 300 >/dev/null 2>&1 & echo started",
    "ignores signals": "sh -c \"trap '' HUP INT TERM; sleep 300\" >/dev/null 2>&1 & echo started",
    "python daemon": f"{sys.executable} -c '{_DAEMON}' >/dev/null 2>&1; echo started",
}
ENDS = ("ends", "is killed", "is terminated")
RIVALS = ("target", "account")


class Outcome(msgspec.Struct, kw_only=True):
    """What came of it. ``wrong`` must be empty."""

    runs: int = 0
    slowest_s: float = 0.0
    wrong: list[str] = []


def _fork(action: Callable[[], int], said: Path, *, gate: int | None = None) -> int:
    """Run in a fork without a terminal, once ``gate`` is closed; the process id."""
    pid = os.fork()
    if pid:
        return pid
    status = 99
    with suppress(BaseException):
        null = os.open(os.devnull, os.O_RDWR)
        log = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for fd, source in ((0, null), (1, log), (2, log)):
            os.dup2(source, fd)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        if gate is not None:
            os.read(gate, 1)
        status = action()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _identity(pid: int) -> tuple[int, bytes] | None:
    """A process and the moment of its start, so that no other is taken for it; None when over."""
    try:
        fields = Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] == b"Z" else (pid, fields[19])


class Tree:
    """Everybody that a recorder started, as seen from outside."""

    def __init__(self, recorder: int, mark: bytes) -> None:
        self._recorder = recorder
        self._mark = mark
        self._seen: set[tuple[int, bytes]] = set()

    def look(self) -> int:
        """Remember who is below the recorder now; how many were ever seen."""
        for pid in descendants(self._recorder):
            if (found := _identity(pid)) is not None:
                self._seen.add(found)
        return len(self._seen)

    def left(self) -> list[int]:
        """Who is still there: of those seen, and of all whose environment has the mark."""
        found = {pid for pid, start in self._seen if _identity(pid) == (pid, start)}
        for name in os.listdir("/proc"):  # noqa: PTH208
            if name.isdigit() and int(name) != self._recorder:
                with suppress(OSError):
                    if self._mark in Path("/proc", name, "environ").read_bytes():
                        found.add(int(name))
        return sorted(pid for pid in found if _identity(pid) is not None)


def escape(place: Path, name: str, end: str, *, after_s: float = 0.0) -> tuple[list[str], float]:
    """One run; what is left of it (ended here, so that nothing stays), and how long that took.

    The recorder is killed ``after_s`` after the program and what escapes from it were seen.
    """
    value = os.urandom(8).hex()
    last = "" if end == "ends" else "; sleep 300"

    def record() -> int:
        os.environ[MARK] = value
        words = [*REC, str(place / "c"), "--", "sh", "-c", ESCAPES[name] + last]
        return command_line(words)

    pid = _fork(record, place / "said")
    tree = Tree(pid, f"{MARK}={value}".encode())
    try:
        if end != "ends":
            _await(
                lambda: tree.look() >= 3, _PATIENCE_S
            )  # the supervisor, the program, what escapes
            time.sleep(after_s)
            tree.look()
            os.kill(pid, signal.SIGKILL if end == "is killed" else signal.SIGTERM)
        _await(lambda: (tree.look(), _identity(pid) is None)[1], _PATIENCE_S)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    began = time.monotonic()
    _await(lambda: not tree.left(), _PATIENCE_S)
    took = time.monotonic() - began
    wrong = []
    for stayed in tree.left():
        with suppress(OSError):
            words = Path("/proc", str(stayed), "cmdline").read_bytes().replace(b"\0", b" ")
            wrong.append(f"{name}, recorder {end}: {words.decode('utf-8', 'replace')[:80]}")
            os.kill(stayed, signal.SIGKILL)
    if end == "ends" and status != 0:
        said = (place / "said").read_text("utf-8", "replace")
        wrong.append(f"{name}: the recorder ended with {status}: {said[-300:]}")
    return wrong, took


def _await(true: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def escapes(runs: int, *, seed: int = 1) -> Outcome:
    """Every way out with every end in turn, ``runs`` times."""
    outcome = Outcome()
    ways = [(name, end) for name in ESCAPES for end in ENDS]
    chance = random.Random(seed)  # noqa: S311 - moments, no secret
    chance.shuffle(ways)
    with _place() as top:
        for number in range(runs):
            place = top / f"{number}"
            place.mkdir()
            wrong, took = escape(
                place, *ways[number % len(ways)], after_s=chance.choice((0, 0.4)) * chance.random()
            )
            outcome.wrong += wrong
            outcome.slowest_s = max(outcome.slowest_s, took)
            outcome.runs += 1
            shutil.rmtree(place)
    return outcome


def _round(place: Path, what: str, count: int) -> list[str]:
    """One competition; what was wrong with it."""
    read, write = os.pipe()
    pids = []
    beside = place.with_name(f"{place.name}-beside")
    beside.mkdir()
    for number in range(count):
        target = place / ("c" if what == "target" else f"c{number}")
        account = ["--account", "a@b", "--harness", "x"] if what == "account" else []
        script = (
            f"echo {number}; : > {beside}/{number}; until [ -e {beside}/go ]; do sleep 0.02; done"
        )
        words = [*REC, *account, str(target), "--", "sh", "-c", script]
        pids.append(_fork(partial(command_line, words), place / f"{number}.said", gate=read))
    os.write(write, b"x" * count)
    # The winner goes on until the others have ended, however late those come; or a second has won.
    ended: dict[int, int] = {}

    def decided() -> bool:
        for pid in pids:
            if pid not in ended and (found := os.waitpid(pid, os.WNOHANG))[0]:
                ended[pid] = os.waitstatus_to_exitcode(found[1])
        return len(ended) >= count - 1 or len(list(beside.iterdir())) > 1

    _await(decided, _PATIENCE_S)
    (beside / "go").touch()
    for pid in pids:
        if pid not in ended:
            ended[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    statuses = [ended[pid] for pid in pids]
    shutil.rmtree(beside)
    os.close(read)
    os.close(write)
    won = [number for number, status in enumerate(statuses) if status == 0]
    said = [(place / f"{number}.said").read_text() for number in range(count)]
    wrong = []
    if len(won) != 1 or sorted(statuses) != [0, *[6] * (count - 1)]:
        wrong.append(f"{what}: statuses {statuses}: {said}")
        return wrong
    name = "c" if what == "target" else f"c{won[0]}"
    made = sorted(path.name for path in place.iterdir() if path.suffix != ".said")
    if made != [name]:
        wrong.append(f"{what}: {made} instead of {name}")
        return wrong
    with open_cassette(place / name) as cassette:
        if not b"".join(cassette.raw()).startswith(f"{won[0]}".encode()):
            wrong.append(f"{what}: not the winner's")
    return wrong


def rivals(what: str, rounds: int, *, count: int = 2) -> Outcome:
    """``count`` recorders at the same moment for the same target or account, ``rounds`` times."""
    outcome = Outcome()
    with _place() as top:
        for number in range(rounds):
            place = top / f"{number}"
            place.mkdir()
            outcome.wrong += _round(place, what, count)
            outcome.runs += 1
            shutil.rmtree(place)
    return outcome


class _place:  # noqa: N801 - used as a function
    """A temporary directory, and a state directory in it for the recorders."""

    def __enter__(self) -> Path:
        self._made = tempfile.TemporaryDirectory()
        self._before = os.environ.get("PTYCASSETTE_STATE_DIR")
        os.environ["PTYCASSETTE_STATE_DIR"] = str(Path(self._made.name, "state"))
        place = Path(self._made.name, "targets")
        place.mkdir()
        return place

    def __exit__(self, *_: object) -> None:
        del os.environ["PTYCASSETTE_STATE_DIR"]
        if self._before is not None:
            os.environ["PTYCASSETTE_STATE_DIR"] = self._before
        self._made.cleanup()


def main(words: Sequence[str] | None = None) -> int:
    """Run both; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=500, help="with daemonising children")
    parser.add_argument("--rounds", type=int, default=200, help="of recorders in competition, each")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(words)
    done = escapes(options.runs, seed=options.seed)
    print(
        f"{done.runs} runs in {len(ESCAPES)} ways with {len(ENDS)} ends: {len(done.wrong)} wrong, "
        f"all gone after {done.slowest_s:.2f} s at most",
        flush=True,
    )
    found = list(done.wrong)
    if done.slowest_s > WITHIN_S:
        found.append(f"something of a recorder was there for {done.slowest_s:.2f} s after it")
    for what in RIVALS:
        for count in (2, 5):
            rival = rivals(what, options.rounds // (1 if count == 2 else 5), count=count)
            print(f"{rival.runs} rounds of {count} recorders for one {what}: "
                  f"{len(rival.wrong)} wrong", flush=True)  # fmt: skip
            found += rival.wrong
    for line in found[:20]:
        print(f"    {line}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
